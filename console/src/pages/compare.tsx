// Compares two reports, branches or versions: changes and their confidence intervals.

import { A, useSearchParams } from "@solidjs/router";
import { createEffect, createMemo, For, type JSX, Show } from "solid-js";
import { type JsonReport, list } from "../api";
import { count, day, plural, ratio, scaleOf, shortHash } from "../format";
import { load } from "../load";
import { useProject } from "../project";
import { geometricMean, SAME_WITHIN, SMALLEST, type Verdict } from "../stats/compare";
import { mainBranch } from "../stats/recent";
import {
  type Choice,
  type Compared,
  compareSides,
  fetchSide,
  moved,
  parseChoice,
  type Row,
  type Side,
  writeChoice,
} from "../stats/sides";
import { badness } from "../stats/worse";
import { Page } from "../ui/Page";
import {
  Badge,
  Delta,
  Empty,
  Failure,
  IconButton,
  LinkButton,
  Name,
  Notice,
  Skeleton,
  type Tone,
  Value,
} from "../ui/parts";
import { SearchField } from "../ui/SearchField";
import { Select, toOption } from "../ui/Select";
import "./compare.css";

interface Params extends Record<string, string | undefined> {
  from?: string;
  to?: string;
  testbed?: string;
  last?: string;
  measure?: string;
  search?: string;
  moved?: string;
  sort?: string;
}

const LAST = 10;

export function Compare(): JSX.Element {
  const project = useProject();
  const [params, setParams] = useSearchParams<Params>();
  const change = (next: Params) => setParams(next, { replace: true, scroll: false });
  const reports = load(
    () => ({ project: project.slug() }),
    (path, signal) => list("/v0/projects/{project}/reports", { path, query: { per_page: 255 }, signal }),
  );
  const from = () => parseChoice(params.from);
  const to = () => parseChoice(params.to);
  const last = () => Math.min(Math.max(Number(params.last ?? LAST) || LAST, 1), 50);
  createEffect(() => {
    const known = reports()?.rows;
    if (!known?.length || (from() && to())) return;
    change(guess(known, params));
  });
  const side = (choice: () => Choice | undefined) =>
    load(
      () => {
        const chosen = choice();
        return (
          chosen && {
            project: project.slug(),
            chosen,
            testbed: chosen.kind === "report" ? undefined : params.testbed,
            last: chosen.kind === "branch" ? last() : 0,
          }
        );
      },
      ({ project, chosen, testbed, last }, signal) => fetchSide(project, chosen, testbed, last, signal),
    );
  const [left, right] = [side(from), side(to)];
  const compared = createMemo(() => {
    const [base, next] = [left(), right()];
    return base && next ? compareSides(base, next) : undefined;
  });
  const error = () => left.error() ?? right.error();
  const testbeds = createMemo(() => [
    ...new Map((reports()?.rows ?? []).map(({ testbed }) => [testbed.slug, testbed])).values(),
  ]);
  const choices = (): [Choice | undefined, Choice | undefined] => [from(), to()];
  return (
    <Page title="Compare" crumbs={project.crumbs()}>
      <Show when={reports.error()}>{(error) => <Failure error={error()} retry={reports.refresh} />}</Show>
      <Show
        when={reports()?.total !== 0}
        fallback={
          <Empty
            title="Nothing to compare yet"
            action={
              <LinkButton href="/console/onboard/run" primary>
                Send a report
              </LinkButton>
            }
          >
            A comparison needs at least two reports.
          </Empty>
        }
      >
        <div class="sides">
          <Picker
            label="From"
            choice={from()}
            side={left()}
            reports={reports()?.rows ?? []}
            onChange={(choice) => change({ from: writeChoice(choice) })}
          />
          <IconButton icon="swap" label="Swap sides" onClick={() => change({ from: params.to, to: params.from })} />
          <Picker
            label="To"
            choice={to()}
            side={right()}
            reports={reports()?.rows ?? []}
            onChange={(choice) => change({ to: writeChoice(choice) })}
          />
        </div>
        <div class="row compare-options">
          <Show when={choices().some((choice) => choice && choice.kind !== "report")}>
            <label class="row small">
              <span class="muted">on</span>
              <Select
                short
                label="Testbed"
                value={params.testbed ?? ""}
                options={[{ value: "", label: "any testbed" }, ...testbeds().map(toOption)]}
                onChange={(slug) => change({ testbed: slug || undefined })}
              />
            </label>
          </Show>
          <Show when={choices().some((choice) => choice?.kind === "branch")}>
            <label class="row small">
              <span class="muted">per branch, the last</span>
              <Select
                short
                label="Reports of a branch"
                value={String(last())}
                options={[1, 5, 10, 20, 50].map((number) => ({
                  value: String(number),
                  label: plural(number, "report"),
                }))}
                onChange={(number) => change({ last: number === String(LAST) ? undefined : number })}
              />
            </label>
          </Show>
        </div>
        <Show when={error()}>
          {(error) => (
            <Failure
              error={error()}
              retry={() => {
                void left.refresh();
                void right.refresh();
              }}
            />
          )}
        </Show>
        <Show
          when={compared()}
          fallback={
            <Show when={!error()}>
              <Skeleton lines={12} />
            </Show>
          }
        >
          {(compared) => (
            <Result
              compared={compared()}
              from={left() as Side}
              to={right() as Side}
              stale={left.pending() || right.pending()}
              params={params}
              change={change}
            />
          )}
        </Show>
      </Show>
    </Page>
  );
}

/** The default comparison: the newest branch with the main branch, or the two newest versions. */
function guess(reports: readonly JsonReport[], params: Params): Params {
  const main = mainBranch(reports) as JsonReport["branch"];
  const other = reports.find(({ branch }) => branch.uuid !== main.uuid);
  const testbed = params.testbed ?? (other ?? reports[0])?.testbed.slug;
  if (other)
    return { from: params.from ?? `branch:${main.slug}`, to: params.to ?? `branch:${other.branch.slug}`, testbed };
  const numbers = [
    ...new Set(
      reports.filter(({ testbed: own }) => own.slug === testbed).map(({ branch }) => branch.head.version?.number ?? 0),
    ),
  ];
  return {
    from: params.from ?? `version:${main.slug}@${numbers[1] ?? numbers[0]}`,
    to: params.to ?? `version:${main.slug}@${numbers[0]}`,
    testbed,
  };
}

const KINDS = [
  { kind: "branch", label: "Branch" },
  { kind: "version", label: "Version" },
  { kind: "report", label: "Report" },
] as const;

/** Selects one side. */
function Picker(props: {
  label: string;
  choice: Choice | undefined;
  side: Side | undefined;
  reports: readonly JsonReport[];
  onChange: (choice: Choice) => void;
}): JSX.Element {
  const branches = createMemo(() =>
    [...new Map(props.reports.map(({ branch }) => [branch.slug, branch.name])).entries()].sort(([, one], [, two]) =>
      one.localeCompare(two),
    ),
  );
  const versions = createMemo(() => {
    const found = new Map<string, { slug: string; number: number; hash: string | undefined; at: string }[]>();
    for (const { branch, start_time } of props.reports) {
      const { version } = branch.head;
      const own = found.get(branch.name) ?? [];
      found.set(branch.name, own);
      if (version && !own.some(({ number }) => number === version.number))
        own.push({ slug: branch.slug, number: version.number, hash: version.hash ?? undefined, at: start_time });
    }
    return [...found.entries()].sort(([one], [two]) => one.localeCompare(two));
  });
  const kind = () => props.choice?.kind ?? "branch";
  const turn = (kind: Choice["kind"]) => {
    const near = props.side?.reports[0] ?? props.reports[0];
    if (!near) return;
    if (kind === "report") props.onChange({ kind, report: near.uuid });
    else if (kind === "branch") props.onChange({ kind, branch: near.branch.slug });
    else props.onChange({ kind, branch: near.branch.slug, number: near.branch.head.version?.number ?? 0 });
  };
  const pick = (text: string) => {
    const choice = parseChoice(text);
    if (choice) props.onChange(choice);
  };
  const selected = () => (props.choice ? writeChoice(props.choice) : "");
  // The list may not contain an older selected side.
  const known = () => {
    const { choice } = props;
    if (!choice) return true;
    if (choice.kind === "report") return props.reports.some(({ uuid }) => uuid === choice.report);
    return choice.kind === "branch"
      ? branches().some(([slug]) => slug === choice.branch)
      : versions().some(([, own]) =>
          own.some(({ slug, number }) => slug === choice.branch && number === choice.number),
        );
  };
  return (
    <fieldset class="card side-picker">
      <legend class="visually-hidden">{props.label}</legend>
      <div class="row between">
        <span class="side-label" aria-hidden="true">
          {props.label}
        </span>
        <div class="segments" role="group" aria-label={`${props.label}: what to compare`}>
          <For each={KINDS}>
            {(one) => (
              <button type="button" aria-pressed={kind() === one.kind} onClick={() => turn(one.kind)}>
                {one.label}
              </button>
            )}
          </For>
        </div>
      </div>
      <select aria-label={`${props.label}: which ${kind()}`} onChange={(event) => pick(event.currentTarget.value)}>
        <Show when={!known()}>
          <option value={selected()} selected>
            {props.side?.label ?? "…"}
          </option>
        </Show>
        <Show when={kind() === "branch"}>
          <For each={branches()}>
            {([slug, name]) => (
              <option value={`branch:${slug}`} selected={selected() === `branch:${slug}`}>
                {name}
              </option>
            )}
          </For>
        </Show>
        <Show when={kind() === "version"}>
          <For each={versions()}>
            {([name, own]) => (
              <optgroup label={name}>
                <For each={own}>
                  {({ slug, number, hash, at }) => (
                    <option value={`version:${slug}@${number}`} selected={selected() === `version:${slug}@${number}`}>
                      #{number} {hash ? shortHash(hash) : ""} · {day(at)}
                    </option>
                  )}
                </For>
              </optgroup>
            )}
          </For>
        </Show>
        <Show when={kind() === "report"}>
          <For each={props.reports}>
            {(report) => (
              <option value={`report:${report.uuid}`} selected={selected() === `report:${report.uuid}`}>
                {report.branch.name}{" "}
                {report.branch.head.version?.hash ? shortHash(report.branch.head.version.hash) : ""} ·{" "}
                {report.testbed.name} · {day(report.start_time)}
              </option>
            )}
          </For>
        </Show>
      </select>
      <p class="small muted side-about">
        <Show when={props.side} fallback={"\u00a0"}>
          {(side) => (
            <>
              {plural(side().reports.length, "report")}
              <Show when={side().versions > 1}> of {plural(side().versions, "version")}</Show>
              <Show when={side().testbeds.length}>
                {" "}
                on{" "}
                {side()
                  .testbeds.map(({ name }) => name)
                  .join(", ")}
              </Show>
            </>
          )}
        </Show>
      </p>
    </fieldset>
  );
}

const SORTS = [
  { value: "effect", label: "Largest effect first" },
  { value: "worst", label: "Worst first" },
  { value: "best", label: "Best first" },
  { value: "name", label: "By name" },
] as const;

function Result(props: {
  compared: Compared;
  from: Side;
  to: Side;
  stale: boolean;
  params: Params;
  change: (next: Params) => void;
}): JSX.Element {
  const project = useProject();
  const measures = createMemo(() => [
    ...new Map(props.compared.rows.map(({ measure }) => [measure.uuid, measure])).values(),
  ]);
  const effect = ({ comparison: { change } }: Row) =>
    change === undefined ? 0 : Math.log1p(Math.max(change, -0.999999));
  const rows = createMemo(() => {
    const words = (props.params.search ?? "").toLowerCase();
    const found = props.compared.rows.filter(
      (row) =>
        (!props.params.measure || row.measure.slug === props.params.measure) &&
        `${row.benchmark.name} ${row.variant}`.toLowerCase().includes(words) &&
        (props.params.moved !== "true" || moved(row)),
    );
    const bad = (row: Row) => badness(row.comparison.change ?? 0, row.worse);
    const orders = {
      effect: (one: Row, two: Row) => Math.abs(effect(two)) - Math.abs(effect(one)),
      worst: (one: Row, two: Row) => bad(two) - bad(one),
      best: (one: Row, two: Row) => bad(one) - bad(two),
      name: (one: Row, two: Row) => one.benchmark.name.localeCompare(two.benchmark.name),
    };
    const order = SORTS.find(({ value }) => value === props.params.sort)?.value ?? "effect";
    return found.sort(orders[order]);
  });
  // The scale of the interval graphics: nearly all intervals fit.
  const reach = createMemo(() => {
    const ends = props.compared.rows
      .flatMap(({ comparison: { interval, change } }) => (interval ?? [change ?? 0]).map((end) => Math.abs(end)))
      .filter(Number.isFinite)
      .sort((one, two) => one - two);
    return Math.max(ends[Math.floor(ends.length * 0.95)] ?? 0, 0.02);
  });
  const sources = createMemo(() => new Set(props.compared.rows.map(({ comparison }) => comparison.source)));
  const machines = () => new Set([...props.from.testbeds, ...props.to.testbeds].map(({ uuid }) => uuid)).size;
  const SHOWN = 500;
  return (
    <Show
      when={props.compared.rows.length}
      fallback={
        <Empty title="No common benchmarks">
          {props.from.reports.length && props.to.reports.length
            ? "No benchmark was measured on both sides. Select another testbed or other sides."
            : `There is no report of ${props.from.reports.length ? props.to.label : props.from.label} on this testbed.`}
        </Empty>
      }
    >
      <Show when={machines() > 1}>
        <Notice tone="warn">
          These values come from {plural(machines(), "testbed")}: a difference may come from the machines instead of the
          code. Select one testbed.
        </Notice>
      </Show>
      <section class="means" aria-label="Geometric mean of each measure" classList={{ stale: props.stale }}>
        <For each={measures()}>
          {(measure) => (
            <Mean rows={props.compared.rows.filter((row) => row.measure.uuid === measure.uuid)} name={measure.name} />
          )}
        </For>
      </section>
      <details class="explain">
        <summary>How the verdicts are computed</summary>
        <div class="stack tight prose">
          <Show when={sources().has("reports")}>
            <p>
              <strong>From repeated reports.</strong> Each report is one value. The 95 % confidence interval uses
              Student's t on logarithms with the degrees of freedom of the smaller side, widened for autocorrelation.{" "}
              <em>Worse</em> and <em>better</em> require significance after Holm's correction for the number of
              benchmarks, agreement of a rank test, and a change of at least {ratio(SMALLEST).slice(1)}. <em>Maybe</em>{" "}
              means that only the interval excludes zero, as for 5 of 100 unchanged benchmarks. <em>Same</em> means an
              interval within ±{ratio(SAME_WITHIN).slice(1)}. All other results are <em>unclear</em>. With too few
              reports, for example three on each side, there is no verdict.
            </p>
          </Show>
          <Show when={sources().has("bounds")}>
            <p>
              <strong>From the bounds.</strong> With one report on each side, the interval comes from the lower and
              upper values of the benchmark tool. They describe one run, so they give a hint, not a verdict.
            </p>
          </Show>
          <Show when={sources().has("none")}>
            <p>
              <strong>Without an interval.</strong> With one value on a side and no bounds, the noise is unknown.
            </p>
          </Show>
          <Show when={props.from.versions > 1 || props.to.versions > 1}>
            <p>A branch is compared by its last reports. Changes between their versions count as noise.</p>
          </Show>
          <p>The geometric mean gives all benchmarks the same weight.</p>
        </div>
      </details>
      <div class="list-tools">
        <SearchField
          label="Search benchmarks"
          value={props.params.search ?? ""}
          onInput={(words) => props.change({ search: words || undefined })}
          shortcut="Search benchmarks"
        />
        <Show when={measures().length > 1}>
          <Select
            short
            label="Measure"
            value={props.params.measure ?? ""}
            options={[{ value: "", label: "All measures" }, ...measures().map(toOption)]}
            onChange={(slug) => props.change({ measure: slug || undefined })}
          />
        </Show>
        <Select
          short
          label="Order"
          value={props.params.sort ?? "effect"}
          options={SORTS}
          onChange={(sort) => props.change({ sort: sort === "effect" ? undefined : sort })}
        />
        <label class="check small">
          <input
            type="checkbox"
            checked={props.params.moved === "true"}
            onChange={(event) => props.change({ moved: event.currentTarget.checked ? "true" : undefined })}
          />
          <span>Only changes</span>
        </label>
        <span class="grow" />
        <span class="muted small number" role="status">
          {count(rows().length)} of {count(props.compared.rows.length)}
        </span>
      </div>
      <Show
        when={rows().length}
        fallback={
          <Empty
            title="No changes"
            action={
              <button
                type="button"
                class="button"
                onClick={() => props.change({ moved: undefined, search: undefined, measure: undefined })}
              >
                Show all
              </button>
            }
          >
            No benchmark matches the search and the filters.
          </Empty>
        }
      >
        <div class="table-wrap" tabindex="0" role="region" aria-label="Comparison" classList={{ stale: props.stale }}>
          <table class="rows compare-rows">
            <thead>
              <tr>
                <th scope="col">Benchmark</th>
                <th scope="col" class="end wide">
                  {props.from.label}
                </th>
                <th scope="col" class="end wide">
                  {props.to.label}
                </th>
                <th scope="col" class="end">
                  Change
                </th>
                <th scope="col" class="wide">
                  95 % interval
                </th>
                <th scope="col">Verdict</th>
              </tr>
            </thead>
            <tbody>
              <For each={rows().slice(0, SHOWN)}>
                {(row) => {
                  const scale = scaleOf(row.comparison.base, row.measure.units);
                  return (
                    <tr>
                      <td class="first">
                        <A class="row-link break" href={perfPath(project.path("perf"), row, props.from, props.to)}>
                          <Name of={row.benchmark.name} />
                        </A>
                        <div class="small muted break">
                          {[row.variant, row.measure.name].filter(Boolean).join(" · ")}
                        </div>
                      </td>
                      <td class="end wide">
                        <Value value={row.comparison.base} units={row.measure.units} scale={scale} />
                      </td>
                      <td class="end wide">
                        <Value value={row.comparison.next} units={row.measure.units} scale={scale} />
                      </td>
                      <td class="end strong">
                        <Delta
                          from={row.comparison.base}
                          to={row.comparison.next}
                          {...(row.worse ? { worse: row.worse } : {})}
                        />
                      </td>
                      <td class="wide">
                        <Interval row={row} reach={reach()} />
                      </td>
                      <td>
                        <Word row={row} />
                      </td>
                    </tr>
                  );
                }}
              </For>
            </tbody>
          </table>
        </div>
        <Show when={rows().length > SHOWN}>
          <p class="muted small">
            The first {count(SHOWN)} of {count(rows().length)} are shown. Search for the others.
          </p>
        </Show>
      </Show>
      <Show when={props.compared.onlyFrom || props.compared.onlyTo}>
        <p class="muted small">
          Omitted: {plural(props.compared.onlyFrom, "value")} that only {props.from.label} has,{" "}
          {plural(props.compared.onlyTo, "value")} that only {props.to.label} has.
        </p>
      </Show>
    </Show>
  );
}

/** The perf page with both sides of a row. */
function perfPath(base: string, row: Row, from: Side, to: Side): string {
  const reports = [...from.reports, ...to.reports];
  const unique = (values: string[]) => [...new Set(values)].join();
  const start = Math.min(...reports.map(({ start_time }) => new Date(start_time).getTime()));
  const query = new URLSearchParams({
    branches: unique(reports.map(({ branch }) => branch.uuid)),
    testbeds: unique(reports.map(({ testbed }) => testbed.uuid)),
    benchmarks: row.benchmark.uuid,
    measures: row.measure.uuid,
    start_time: String(start - 7 * 86_400_000),
  });
  return `${base}?${query}`;
}

const TONES: Readonly<Record<Verdict, Tone>> = {
  worse: "alert",
  better: "good",
  different: "brand",
  same: "neutral",
  unclear: "neutral",
};

function Word(props: { row: Row }): JSX.Element {
  const words = (): string => {
    const { row } = props;
    const { source, enough, base, next } = row.comparison;
    if (source === "none") return "no interval";
    if (source === "bounds") return moved(row) ? "ranges apart" : "ranges overlap";
    if (moved(row))
      return row.worse ? `maybe ${next > base === (row.worse === "up") ? "worse" : "better"}` : "maybe different";
    return enough ? "unclear" : "too few reports";
  };
  return (
    <Show when={props.row.verdict !== "unclear"} fallback={<span class="muted nowrap">{words()}</span>}>
      <Badge tone={TONES[props.row.verdict]}>{props.row.verdict}</Badge>
    </Show>
  );
}

/** A confidence interval around its change, centered on zero. */
function Interval(props: { row: Row; reach: number }): JSX.Element {
  const WIDTH = 132;
  const x = (share: number) => Math.min(Math.max(((share / props.reach + 1) / 2) * WIDTH, 2), WIDTH - 2);
  const comparison = () => props.row.comparison;
  const tone = () =>
    moved(props.row) && props.row.worse
      ? badness(comparison().change ?? 0, props.row.worse) > 0
        ? "worse"
        : "better"
      : "";
  return (
    <span class="interval">
      <svg width={WIDTH} height="18" viewBox={`0 0 ${WIDTH} 18`} class={tone()} aria-hidden="true">
        <line class="zero" x1={WIDTH / 2} x2={WIDTH / 2} y1="1" y2="17" />
        <Show when={comparison().interval}>
          {(interval) => (
            <line
              x1={x(interval()[0])}
              x2={x(interval()[1])}
              y1="9"
              y2="9"
              classList={{ hint: comparison().source === "bounds" }}
            />
          )}
        </Show>
        <circle cx={x(comparison().change ?? 0)} cy="9" r="3.5" />
      </svg>
      <span class="small muted number nowrap">
        <Show when={comparison().interval} fallback="–">
          {(interval) => (
            <>
              {ratio(interval()[0])} … {ratio(interval()[1])}
            </>
          )}
        </Show>
      </span>
    </span>
  );
}

/** The summary of one measure over all benchmarks. */
function Mean(props: { rows: readonly Row[]; name: string }): JSX.Element {
  const mean = () => geometricMean(props.rows.map(({ comparison }) => comparison));
  const number = (verdict: Verdict) => props.rows.filter((row) => row.verdict === verdict).length;
  const worse = () => props.rows[0]?.worse;
  // No color without a verdict.
  const colored = () => (number("worse") + number("better") > 0 ? worse() : undefined);
  const judged = () => props.rows.some(({ comparison }) => comparison.enough);
  return (
    <div class="card">
      <h2 class="small muted">{props.name}</h2>
      <p class="mean">
        <Show when={mean()} fallback="–">
          {(mean) => (
            <Delta from={1} to={1 + mean().change} {...(colored() ? { worse: colored() as "up" | "down" } : {})} />
          )}
        </Show>
      </p>
      <p class="small muted">geometric mean of {plural(mean()?.count ?? 0, "benchmark")}</p>
      <p class="small">
        <Show
          when={judged()}
          fallback={<span class="muted">{plural(props.rows.filter(moved).length, "benchmark")} may have changed</span>}
        >
          <Show when={worse()} fallback={<>{number("different")} different</>}>
            <span classList={{ "worse-text": number("worse") > 0 }}>{number("worse")} worse</span>,{" "}
            <span classList={{ "better-text": number("better") > 0 }}>{number("better")} better</span>
          </Show>
          , {number("same")} same, <span class="muted">{number("unclear")} unclear</span>
        </Show>
      </p>
    </div>
  );
}
