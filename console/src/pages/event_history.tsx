// The history of a series of an event: of a change with its levels before and after, or of an alert with the limits.

import { createMemo, type JSX, Show } from "solid-js";
import { colorDirection } from "../answer";
import { call, type JsonChange, type JsonEvent, type JsonEventAlert, type JsonPerfMetric } from "../api";
import { Levels, Share } from "../change";
import { alertShare, isSameSeries } from "../event";
import { plural } from "../format";
import { historyLine, inTime, nameOf } from "../history";
import { type Loaded, load } from "../load";
import { HistoryPlot } from "../plot/HistoryPlot";
import type { Line } from "../plot/line";
import { changeMark } from "../plot/lines";
import { useProject } from "../project";
import { Time, Value } from "../ui/Value";
import { limitsText } from "../ui/Verdict";
import { Version } from "../ui/Version";
import "./lists.css";

/** Loads the metrics of a series on a head, ordered by time. */
function loadMetrics(
  series: () => Pick<JsonChange, "branch" | "testbed" | "benchmark" | "measure" | "variant">,
): Loaded<JsonPerfMetric[]> {
  const project = useProject();
  return load(
    () => {
      const { branch, testbed, benchmark, measure, variant } = series();
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
}

/** The value, the commit and the time of a point. */
function PointReadout(props: { point: JsonPerfMetric; units: string }): JSX.Element {
  return (
    <>
      <p>
        <Value value={props.point.metric.value} units={props.units} />
      </p>
      <Show when={props.point.boundary}>
        {(boundary) => <p class="small muted">Allowed: {limitsText(boundary(), props.units)}</p>}
      </Show>
      <p class="small muted">
        <Version version={props.point.version} /> <Time at={props.point.start_time} />
      </p>
    </>
  );
}

/** The plot of the series of a change. */
export function ChangeHistory(props: { change: JsonChange }): JSX.Element {
  const perf = loadMetrics(() => props.change);
  const place = () => perf()?.findIndex(({ report }) => report === props.change.at.report) ?? -1;
  const label = () => `${props.change.measure.name} of ${nameOf(props.change)}`;
  const lines = createMemo((): Line[] | undefined => {
    const metrics = perf();
    if (!metrics) return undefined;
    const { uuid, measure, at, before, after } = props.change;
    const start = Date.parse(at.start_time);
    const line = historyLine({ id: uuid, label: label(), units: measure.units }, metrics);
    const level = (name: string, color: number, value: number, from: number, to: number): Line => ({
      id: name,
      label: name,
      color,
      units: measure.units,
      x: Float64Array.of(from, to),
      y: Float64Array.of(value, value),
    });
    const [first, last] = [line.x[0] ?? start, line.x.at(-1) ?? start];
    return [
      { ...line, changes: [changeMark(props.change, "date_time")] },
      level("Level before", 1, before, first, start),
      level("Level after", 2, after, start, last),
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
            {(point) => <PointReadout point={point()} units={line.units} />}
          </Show>
        )}
      >
        <p class="row">
          <Share of={props.change.effect} direction={colorDirection(props.change)} />
          <Levels before={props.change.before} after={props.change.after} units={props.change.measure.units} />
        </p>
      </HistoryPlot>
    </section>
  );
}

/** The plot of the series of an alert, with the limits and with the alerts of the event. */
export function AlertHistory(props: { event: JsonEvent; alert: JsonEventAlert }): JSX.Element {
  const perf = loadMetrics(() => ({ ...props.alert, branch: props.event.branch }));
  const place = () => perf()?.findIndex(({ alert }) => alert?.uuid === props.alert.uuid) ?? -1;
  const label = () => `${props.alert.measure.name} of ${nameOf(props.alert)}`;
  const lines = createMemo((): Line[] | undefined => {
    const metrics = perf();
    const { uuid, measure } = props.alert;
    const own = new Set(props.event.alerts.map(({ uuid }) => uuid));
    return (
      metrics && [
        historyLine(
          { id: uuid, label: label(), units: measure.units },
          metrics,
          // The event has only its newest alerts.
          ({ alert }) => alert?.status === "active" || own.has(alert?.uuid ?? ""),
        ),
      ]
    );
  });
  const number = () => props.event.alerts.filter((alert) => isSameSeries(alert, props.alert)).length;
  return (
    <section class="stack tight" aria-label="History">
      <HistoryPlot
        title={label()}
        noun="alert"
        label={`${label()} around the alert`}
        metrics={perf}
        place={place()}
        lines={lines()}
        shown={{ lower_boundary: true, upper_boundary: true }}
        readout={(line, at) => (
          <Show when={perf()?.[at]}>{(point) => <PointReadout point={point()} units={line.units} />}</Show>
        )}
      >
        <p class="row">
          <Share
            of={alertShare(props.alert)}
            direction={colorDirection({ direction: "regression", muted: props.event.muted })}
          />
          <span>
            <Value value={props.alert.value} units={props.alert.measure.units} />{" "}
            <span class="muted">Allowed: {limitsText(props.alert.boundary, props.alert.measure.units)}</span>
          </span>
          <Show when={number() > 1}>
            <span class="muted">{plural(number(), "alert")}</span>
          </Show>
        </p>
      </HistoryPlot>
    </section>
  );
}
