// The history of the series of a change, with its levels before and after.

import { createMemo, type JSX, Show } from "solid-js";
import { call, type JsonChange } from "../api";
import { Levels, Share } from "../change";
import { historyLine, inTime, nameOf } from "../history";
import { load } from "../load";
import { HistoryPlot } from "../plot/HistoryPlot";
import type { Line } from "../plot/line";
import { changeMark } from "../plot/lines";
import { useProject } from "../project";
import { Time, Value } from "../ui/Value";
import { Version } from "../ui/Version";
import "./lists.css";

/** The plot of the series of a change. */
export function ChangeHistory(props: { change: JsonChange }): JSX.Element {
  const project = useProject();
  const perf = load(
    () => {
      const { branch, testbed, benchmark, measure, variant } = props.change;
      return {
        project: project.slug(),
        variant: variant?.uuid,
        query: {
          branches: branch.uuid,
          heads: branch.head.uuid,
          testbeds: testbed.uuid,
          benchmarks: benchmark.uuid,
          measures: measure.uuid,
        },
      };
    },
    async ({ project, query, variant }, signal) => {
      const { results } = await call("get", "/v0/projects/{project}/perf", { path: { project }, query, signal });
      // A benchmark with parameters has one series per variant.
      const series = results.find((one) => (one.variant?.uuid ?? undefined) === variant);
      return inTime(series?.metrics ?? []);
    },
  );
  const place = () => perf()?.findIndex(({ report }) => report === props.change.at.report) ?? -1;
  const label = () => `${props.change.measure.name} of ${nameOf(props.change)}`;
  const lines = createMemo((): Line[] | undefined => {
    const metrics = perf();
    if (!metrics) return undefined;
    const { uuid, measure, at, before, after } = props.change;
    const start = Date.parse(at.start_time);
    const line = historyLine({ id: uuid, label: label(), units: measure.units }, metrics);
    const level = (name: string, value: number, from: number, to: number): Line => ({
      id: name,
      label: name,
      units: measure.units,
      x: Float64Array.of(from, to),
      y: Float64Array.of(value, value),
    });
    const [first, last] = [line.x[0] ?? start, line.x.at(-1) ?? start];
    return [
      { ...line, changes: [changeMark(props.change, "date_time")] },
      level("Level before", before, first, start),
      level("Level after", after, start, last),
    ];
  });
  return (
    <section class="stack tight" aria-label="History">
      <HistoryPlot
        title={label()}
        noun="change"
        label={`${label()} around the change`}
        metrics={perf}
        place={place()}
        lines={lines()}
        readout={(line, at) => (
          <Show
            when={line.id === props.change.uuid && perf()?.[at]}
            fallback={
              <p>
                {line.label}: <Value value={line.y[at] ?? 0} units={line.units} />
              </p>
            }
          >
            {(point) => (
              <>
                <p>
                  <Value value={point().metric.value} units={line.units} />
                </p>
                <p class="small muted">
                  <Version version={point().version} /> <Time at={point().start_time} />
                </p>
              </>
            )}
          </Show>
        )}
      >
        <p class="row">
          <Share of={props.change.effect} direction={props.change.direction} />
          <Levels before={props.change.before} after={props.change.after} units={props.change.measure.units} />
        </p>
      </HistoryPlot>
    </section>
  );
}
