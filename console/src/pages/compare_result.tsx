// The result of a comparison: geometric means, filters and the table.

import { createMemo, For, type JSX, Show } from "solid-js";
import { count, plural, ratio } from "../format";
import { geometricMean, SAME_WITHIN, SMALLEST, type Verdict } from "../stats/compare";
import { type Compared, moved, type Row, type Side } from "../stats/sides";
import { badness } from "../stats/worse";
import { SearchField } from "../ui/SearchField";
import { Select, toOption } from "../ui/Select";
import { Empty, Notice } from "../ui/State";
import { Delta } from "../ui/Value";
import { ComparisonTable } from "./compare_table";
import "./compare.css";

/** The query parameters that filter and order the table. */
export interface ComparisonParams extends Record<string, string | undefined> {
  measure?: string;
  search?: string;
  moved?: string;
  sort?: string;
}

const SORTS = [
  { value: "effect", label: "Largest effect first" },
  { value: "worst", label: "Worst first" },
  { value: "best", label: "Best first" },
  { value: "name", label: "By name" },
] as const;

/** The result of a comparison: means, filters and the table. */
export function Comparison(props: {
  compared: Compared;
  from: Side;
  to: Side;
  stale: boolean;
  params: ComparisonParams;
  change: (next: ComparisonParams) => void;
}): JSX.Element {
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
  return (
    <Show
      when={props.compared.rows.length}
      fallback={
        <Empty title="No common benchmarks">
          {props.from.reports.length && props.to.reports.length
            ? "No benchmark was measured on both sides. Select another testbed or other sides."
            : `There is no run of ${props.from.reports.length ? props.to.label : props.from.label} on this testbed.`}
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
      <Explanation sources={sources()} severalVersions={props.from.versions > 1 || props.to.versions > 1} />
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
        <ComparisonTable rows={rows()} from={props.from} to={props.to} reach={reach()} stale={props.stale} />
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

function Explanation(props: {
  sources: ReadonlySet<Row["comparison"]["source"]>;
  severalVersions: boolean;
}): JSX.Element {
  return (
    <details class="explain">
      <summary>How the verdicts are computed</summary>
      <div class="stack tight prose">
        <Show when={props.sources.has("reports")}>
          <p>
            <strong>From repeated runs.</strong> Each run is one value. The 95 % confidence interval uses Student's t on
            logarithms with the degrees of freedom of the smaller side, widened for autocorrelation. <em>Worse</em> and{" "}
            <em>better</em> require significance after Holm's correction for the number of benchmarks, agreement of a
            rank test, and a change of at least {ratio(SMALLEST).slice(1)}. <em>Maybe</em> means that only the interval
            excludes zero, as for 5 of 100 unchanged benchmarks. <em>Same</em> means an interval within ±
            {ratio(SAME_WITHIN).slice(1)}. All other results are <em>unclear</em>. With too few runs, for example three
            on each side, there is no verdict.
          </p>
        </Show>
        <Show when={props.sources.has("bounds")}>
          <p>
            <strong>From the bounds.</strong> With one run on each side, the interval comes from the lower and upper
            values of the benchmark tool. They describe one run, so they give a hint, not a verdict.
          </p>
        </Show>
        <Show when={props.sources.has("none")}>
          <p>
            <strong>Without an interval.</strong> With one value on a side and no bounds, the noise is unknown.
          </p>
        </Show>
        <Show when={props.severalVersions}>
          <p>A branch is compared by its last runs. Changes between their versions count as noise.</p>
        </Show>
        <p>The geometric mean gives all benchmarks the same weight.</p>
      </div>
    </details>
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
