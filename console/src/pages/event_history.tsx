// The history of the series of a change, with its levels before and after.

import { createMemo, createSignal, type JSX, Show } from "solid-js";
import { call, type JsonChange } from "../api";
import { Levels, Share } from "../change";
import { historyLine, inTime, nameOf } from "../history";
import { load } from "../load";
import type { Line, Range } from "../plot/line";
import { Plot } from "../plot/Plot";
import { useProject } from "../project";
import { Failure } from "../ui/State";
import { Time, Value } from "../ui/Value";
import { Version } from "../ui/Version";
import "./lists.css";

/** Number of points shown before and after the change. */
const SHOWN_POINTS = { before: 40, after: 40 };

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
    const { uuid, measure, at, direction, before, after } = props.change;
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
      { ...line, steps: [{ x: start, worse: direction === "regression" }] },
      level("Level before", before, first, start),
      level("Level after", after, start, last),
    ];
  });
  const time = (at: number) => Date.parse(perf()?.at(at)?.start_time ?? "");
  const around = createMemo((): Range | undefined => {
    const length = perf()?.length ?? 0;
    if (place() < 0 || length <= SHOWN_POINTS.before + SHOWN_POINTS.after) return undefined;
    const [from, to] = [Math.max(place() - SHOWN_POINTS.before, 0), Math.min(place() + SHOWN_POINTS.after, length - 1)];
    const room = (time(to) - time(from)) * 0.02;
    return [time(from) - room, time(to) + room];
  });
  const [whole, setWhole] = createSignal(false);
  return (
    <section class="stack tight" aria-label="History">
      <div class="row between">
        <h2 class="break">{label()}</h2>
        <Show when={around()}>
          <div class="segments" role="group" aria-label="Range">
            <button type="button" aria-pressed={!whole()} onClick={() => setWhole(false)}>
              Around the change
            </button>
            <button type="button" aria-pressed={whole()} onClick={() => setWhole(true)}>
              Whole history
            </button>
          </div>
        </Show>
      </div>
      <p class="row">
        <Share of={props.change.effect} direction={props.change.direction} />
        <Levels before={props.change.before} after={props.change.after} units={props.change.measure.units} />
      </p>
      <Show when={perf.error()}>{(error) => <Failure error={error()} retry={perf.refresh} />}</Show>
      <div class="history-plot">
        <Show when={lines()}>
          {(lines) => (
            <Plot
              label={`${label()} around the change`}
              lines={lines()}
              height={300}
              range={whole() ? undefined : around()}
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
            />
          )}
        </Show>
      </div>
    </section>
  );
}
