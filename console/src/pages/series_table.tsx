// The series of the newest report of a testbed, as the server compared them with the baseline: newest value, change, noise
// and smallest detectable change. With search, filter, order and pages.

import { A, useSearchParams } from "@solidjs/router";
import { createMemo, For, type JSX, Show } from "solid-js";
import { colorDirection } from "../answer";
import { call, type JsonVerdict, type JsonVerdictComparison } from "../api";
import { Share } from "../change";
import { noiseText, smallestDetectable } from "../comparison";
import { fetchVerdict } from "../fetch_verdict";
import { count, plural, value } from "../format";
import { nameOf } from "../history";
import { load } from "../load";
import { MutedBadge } from "../mute";
import type { TestbedReports } from "../newest";
import { useProject } from "../project";
import { IconButton } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { SearchField } from "../ui/SearchField";
import { Select, toOption } from "../ui/Select";
import { Failure, Skeleton } from "../ui/State";
import { Name, Sparkline, Value } from "../ui/Value";
import "./lists.css";
import "./series_table.css";

type Comparison = JsonVerdictComparison;

/** Rows per page. A request for their values has at most 15 × 15 permutations; the limit of the server is 255. */
const PAGE = 15;
/** Number of values of a sparkline. */
const LAST = 40;

/** The orders and the titles of their columns. */
const ORDERS = {
  name: "Series",
  /** By measure, because the units differ. */
  head: "Newest value",
  /** Regressions first, as the server sorts them. */
  change: "Change",
  noise: "Noise",
  detectable: "Smallest change detectable in one run",
} as const;
type Order = keyof typeof ORDERS;

/** The table of the newest report of a testbed. */
export function SeriesTable(props: { of: TestbedReports; order: Order }): JSX.Element {
  const project = useProject();
  const verdict = load(
    () => ({ project: project.slug(), report: props.of.newest.uuid }),
    ({ project, report }, signal) => fetchVerdict(project, report, {}, signal),
  );
  // Ignore the verdict of the previous report.
  const shown = () => {
    const known = verdict();
    return known?.report === props.of.newest.uuid ? known : undefined;
  };
  return (
    <>
      <Show when={verdict.error()}>{(error) => <Failure error={error()} retry={verdict.refresh} />}</Show>
      <Show
        when={shown()}
        fallback={
          <Show when={!verdict.error()}>
            <Skeleton lines={PAGE} />
          </Show>
        }
      >
        {(verdict) => <Series verdict={verdict()} of={props.of} order={props.order} />}
      </Show>
    </>
  );
}

function Series(props: { verdict: JsonVerdict; of: TestbedReports; order: Order }): JSX.Element {
  const project = useProject();
  const [params, setParams] = useSearchParams<{
    measure?: string;
    series_search?: string;
    series_sort?: string;
    series_direction?: string;
    series_page?: string;
  }>();
  const measures = createMemo(() =>
    [...new Map(props.verdict.comparisons.map(({ measure }) => [measure.uuid, measure])).values()].sort((a, b) =>
      a.name.localeCompare(b.name),
    ),
  );
  const order = (): Order =>
    params.series_sort && params.series_sort in ORDERS ? (params.series_sort as Order) : props.order;
  const natural = (by: Order) => (by === "name" ? "asc" : "desc");
  const direction = () => params.series_direction ?? natural(order());
  const rows = createMemo(() => {
    const words = (params.series_search ?? "").toLowerCase();
    const found = props.verdict.comparisons.filter(
      (one) => (!params.measure || one.measure.slug === params.measure) && nameOf(one).toLowerCase().includes(words),
    );
    const by = order();
    const byName = (a: Comparison, b: Comparison) => nameOf(a).localeCompare(nameOf(b));
    const byMeasure = (a: Comparison, b: Comparison) => a.measure.name.localeCompare(b.measure.name);
    if (by === "name") found.sort((a, b) => byName(a, b) || byMeasure(a, b));
    else if (by === "head") found.sort((a, b) => byMeasure(a, b) || b.head - a.head);
    else if (by !== "change") found.sort((a, b) => (b[by] ?? -1) - (a[by] ?? -1) || byMeasure(a, b));
    return direction() === natural(by) ? found : found.reverse();
  });
  const last = () => Math.max(Math.ceil(rows().length / PAGE), 1);
  const page = () => Math.min(Math.max(Number(params.series_page ?? 1) || 1, 1), last());
  const shown = createMemo(() => rows().slice((page() - 1) * PAGE, page() * PAGE));
  const values = load(
    () => {
      const unique = (names: readonly string[]) => [...new Set(names)].sort().join();
      const { branch, testbed, reports } = { ...props.of.newest, reports: props.of.reports };
      const first = reports[Math.min(LAST, reports.length) - 1];
      return (
        shown().length > 0 && {
          branches: branch.uuid,
          heads: branch.head.uuid,
          testbeds: testbed.uuid,
          benchmarks: unique(shown().map(({ benchmark }) => benchmark.uuid)),
          measures: unique(shown().map(({ measure }) => measure.uuid)),
          start_time: Date.parse(first?.start_time ?? ""),
        }
      );
    },
    async (query, signal) => {
      const { results } = await call("get", "/v0/projects/{project}/perf", {
        path: { project: project.slug() },
        query,
        signal,
      });
      return new Map(
        results.map((series) => [keyOf(series), series.metrics.slice(-LAST).map(({ metric }) => metric.value)]),
      );
    },
  );
  const change = (next: Record<string, string | undefined>) =>
    setParams({ series_page: undefined, ...next }, { replace: true, scroll: false });
  const turn = (page: number) =>
    setParams({ series_page: page === 1 ? undefined : String(page) }, { replace: true, scroll: false });
  const sortBy = (by: Order) =>
    change({
      series_sort: by === props.order ? undefined : by,
      series_direction: order() === by && direction() === natural(by) ? (by === "name" ? "desc" : "asc") : undefined,
    });
  const head = (by: Order, classes = "") => (
    <th
      scope="col"
      class={classes}
      aria-sort={order() === by ? (direction() === "asc" ? "ascending" : "descending") : undefined}
    >
      <button type="button" class="sort" onClick={() => sortBy(by)}>
        {ORDERS[by]}
        <Icon name="down" size={14} />
      </button>
    </th>
  );
  const href = ({ benchmark, measure }: Comparison) => {
    const { branch, testbed } = props.of.newest;
    const query = new URLSearchParams({ branch: branch.slug, testbed: testbed.slug, measure: measure.slug });
    return `${project.path("benchmarks", benchmark.slug)}?${query}`;
  };
  return (
    <>
      <div class="list-tools">
        <SearchField
          label="Search series"
          value={params.series_search ?? ""}
          onInput={(words) => change({ series_search: words || undefined })}
          {...(props.order === "name" ? { shortcut: "Search series" } : {})}
        />
        <Show when={measures().length > 1}>
          <Select
            short
            label="Measure"
            value={params.measure ?? ""}
            options={[{ value: "", label: "All measures" }, ...measures().map(toOption)]}
            onChange={(slug) => change({ measure: slug || undefined })}
          />
        </Show>
        <span class="grow" />
        <span class="muted small number" role="status">
          {count(rows().length)} series
        </span>
      </div>
      <div class="table-wrap series-table" tabindex="0" role="region" aria-label="List of series">
        <table class="rows">
          <thead>
            <tr>
              {head("name")}
              <th scope="col" class="wide">
                Last runs
              </th>
              {head("head", "end wide")}
              {head("change", "end")}
              {head("noise", "end wide")}
              {head("detectable", "end wide")}
            </tr>
          </thead>
          <tbody>
            <For
              each={shown()}
              fallback={
                <tr>
                  <td colspan="6" class="muted">
                    No series matches.
                  </td>
                </tr>
              }
            >
              {(one) => (
                <tr>
                  <td class="first">
                    <A class="row-link break" href={href(one)}>
                      <Name of={nameOf(one)} />
                      <span class="subtext">
                        {one.measure.name} <MutedBadge of={one.muted} />
                      </span>
                      <span class="subtext on-phone">
                        {value(one.head, one.measure.units)} · noise <Noise of={one.noise} /> · detectable{" "}
                        <Detectable change={one.detectable} />
                      </span>
                    </A>
                  </td>
                  <td class="wide">
                    <Trend values={values()?.get(keyOf(one))} isLoading={values.pending()} />
                  </td>
                  <td class="end wide">
                    <Value value={one.head} units={one.measure.units} />
                  </td>
                  <td class="end">
                    <ChangeFromBaseline of={one} />
                  </td>
                  <td class="end wide number nowrap">
                    <Noise of={one.noise} />
                  </td>
                  <td class="end wide number nowrap">
                    <Detectable change={one.detectable} />
                  </td>
                </tr>
              )}
            </For>
          </tbody>
        </table>
      </div>
      <Show when={last() > 1}>
        <nav class="pager" aria-label="Pages of series">
          <Show when={page() > 1}>
            <IconButton icon="left" label="Previous page" onClick={() => turn(page() - 1)} />
          </Show>
          <span class="small muted number">
            Page {count(page())} of {count(last())}
          </span>
          <Show when={page() < last()}>
            <IconButton icon="right" label="Next page" onClick={() => turn(page() + 1)} />
          </Show>
        </nav>
      </Show>
    </>
  );
}

/** Identifies a series of a testbed. */
function keyOf({ benchmark, variant, measure }: Pick<Comparison, "benchmark" | "variant" | "measure">): string {
  return [benchmark.uuid, variant?.uuid, measure.uuid].join();
}

function Trend(props: { values: readonly number[] | undefined; isLoading: boolean }): JSX.Element {
  return (
    <Show
      when={props.values}
      fallback={
        <Show when={props.isLoading} fallback={<span class="muted">–</span>}>
          <Skeleton />
        </Show>
      }
    >
      {(values) => <Sparkline values={values()} label={`Last ${values().length} values`} width={120} />}
    </Show>
  );
}

/** The change from the baseline, colored by the verdict, and the baseline. */
export function ChangeFromBaseline(props: { of: Comparison }): JSX.Element {
  return (
    <Show when={typeof props.of.base === "number"} fallback={<span class="muted">no baseline</span>}>
      <Share of={props.of.change} direction={colorDirection(props.of)} />
      <span class="subtext number" title={`Baseline of ${plural(props.of.base_runs, "run")}`}>
        from {value(props.of.base ?? 0, props.of.measure.units)}
      </span>
    </Show>
  );
}

/** The noise of a series as a share of its level. */
export function Noise(props: { of: number | null | undefined }): JSX.Element {
  return <>{noiseText(props.of)}</>;
}

/** A detectable change with a bar, which is full at 50 %. */
export function Detectable(props: { change: number | null | undefined }): JSX.Element {
  const change = () => props.change ?? 0;
  return (
    <Show when={typeof props.change === "number"} fallback={<span class="muted">too few runs</span>}>
      <span class="detectable">
        <meter min="0" max="0.5" value={Math.min(change(), 0.5)} aria-hidden="true" />
        <span class="detectable-value">{smallestDetectable(change())}</span>
      </span>
    </Show>
  );
}
