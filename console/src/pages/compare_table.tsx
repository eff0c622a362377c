// The table of a comparison.

import { A } from "@solidjs/router";
import { For, type JSX, Show } from "solid-js";
import { count, ratio, scaleOf } from "../format";
import { type ProjectHere, useProject } from "../project";
import type { Verdict } from "../stats/compare";
import { moved, type Row, type Side } from "../stats/sides";
import { badness } from "../stats/worse";
import { Badge, type Tone } from "../ui/Badge";
import { Delta, Name, Value } from "../ui/Value";
import "./compare.css";

/** Maximum number of rows; a search finds the others. */
const MAX_ROWS = 500;

/** The compared benchmarks, with the values of both sides, the change and its confidence interval. */
export function ComparisonTable(props: {
  rows: readonly Row[];
  from: Side;
  to: Side;
  /** The change at the end of the interval graphics. */
  reach: number;
  stale: boolean;
}): JSX.Element {
  const project = useProject();
  return (
    <>
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
            <For each={props.rows.slice(0, MAX_ROWS)}>
              {(row) => {
                const scale = scaleOf(row.comparison.base, row.measure.units);
                return (
                  <tr>
                    <td class="first">
                      <A class="row-link break" href={perfOfRow(project, row, props.from, props.to)}>
                        <Name of={row.benchmark.name} />
                      </A>
                      <div class="small muted break">{[row.variant, row.measure.name].filter(Boolean).join(" · ")}</div>
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
                      <Interval row={row} reach={props.reach} />
                    </td>
                    <td>
                      <VerdictCell row={row} />
                    </td>
                  </tr>
                );
              }}
            </For>
          </tbody>
        </table>
      </div>
      <Show when={props.rows.length > MAX_ROWS}>
        <p class="muted small">
          The first {count(MAX_ROWS)} of {count(props.rows.length)} are shown. Search for the others.
        </p>
      </Show>
    </>
  );
}

/** The perf page with both sides of a row. */
function perfOfRow(project: ProjectHere, row: Row, from: Side, to: Side): string {
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
  return `${project.perfPath()}?${query}`;
}

const TONES: Readonly<Record<Verdict, Tone>> = {
  worse: "alert",
  better: "good",
  different: "brand",
  same: "neutral",
  unclear: "neutral",
};

/** The verdict on a row, or the reason why there is none. */
function VerdictCell(props: { row: Row }): JSX.Element {
  const words = (): string => {
    const { row } = props;
    const { source, enough, base, next } = row.comparison;
    if (source === "none") return "no interval";
    if (source === "bounds") return moved(row) ? "ranges apart" : "ranges overlap";
    if (moved(row))
      return row.worse ? `maybe ${next > base === (row.worse === "up") ? "worse" : "better"}` : "maybe different";
    return enough ? "unclear" : "too few runs";
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
