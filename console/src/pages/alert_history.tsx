// The history of the series of an alert, around the alert, and its current state.

import { A } from "@solidjs/router";
import { createMemo, type JSX, Show } from "solid-js";
import { call, type JsonAlert, type JsonPerfMetric } from "../api";
import { moment, plural, value } from "../format";
import { historyLine, inTime, nameOf } from "../history";
import { load } from "../load";
import { HistoryPlot } from "../plot/HistoryPlot";
import { useProject } from "../project";
import { Notice } from "../ui/State";
import { Delta } from "../ui/Value";
import { limitsText } from "../ui/Verdict";
import { Version } from "../ui/Version";
import "./lists.css";

/** The plot of the series of an alert. */
export function History(props: { alert: JsonAlert }): JSX.Element {
  const project = useProject();
  const measure = () => props.alert.threshold.measure;
  const perf = load(
    () => {
      const { threshold, benchmark, metric } = props.alert;
      return {
        project: project.slug(),
        branch: threshold.branch.uuid,
        head: threshold.branch.head.uuid,
        testbed: threshold.testbed.uuid,
        spec: threshold.testbed.spec?.uuid,
        benchmark: benchmark.uuid,
        measure: threshold.measure.uuid,
        metric: metric.uuid,
      };
    },
    async ({ project, branch, head, testbed, spec, benchmark, measure, metric }, signal) => {
      const query = {
        branches: branch,
        heads: head,
        testbeds: testbed,
        ...(spec ? { specs: spec } : {}),
        benchmarks: benchmark,
        measures: measure,
      };
      const { results } = await call("get", "/v0/projects/{project}/perf", { path: { project }, query, signal });
      // A benchmark with parameters has one series per variant.
      const series = results.find(({ metrics }) => metrics.some((point) => point.metric.uuid === metric));
      return inTime(series?.metrics ?? []);
    },
  );
  const place = () => perf()?.findIndex(({ metric }) => metric.uuid === props.alert.metric.uuid) ?? -1;
  const lines = createMemo(() => {
    const metrics = perf();
    return (
      metrics && [
        historyLine(
          { id: props.alert.metric.uuid, label: nameOf(props.alert), units: measure().units },
          metrics,
          ({ alert }) => alert?.uuid === props.alert.uuid,
        ),
      ]
    );
  });
  const shown = () => ({ lower_boundary: measureHas("lower_limit"), upper_boundary: measureHas("upper_limit") });
  const measureHas = (name: "lower_limit" | "upper_limit") => typeof props.alert.boundary[name] === "number";
  return (
    <section class="stack tight" aria-label="History">
      <HistoryPlot
        title="History"
        noun="alert"
        label={`${measure().name} of ${nameOf(props.alert)} around the alert`}
        metrics={perf}
        place={place()}
        lines={lines()}
        shown={shown()}
        readout={(_, at) => (
          <Show when={perf()?.[at]}>{(point) => <Readout point={point()} alert={props.alert} />}</Show>
        )}
      />
      <div class="alert-state">
        <CurrentState alert={props.alert} metrics={perf()} place={place()} />
      </div>
    </section>
  );
}

function Readout(props: { point: JsonPerfMetric; alert: JsonAlert }): JSX.Element {
  const project = useProject();
  const units = () => props.alert.threshold.measure.units;
  return (
    <>
      <strong class="number">{value(props.point.metric.value, units())}</strong>
      <Show when={typeof props.point.boundary?.baseline === "number"}>
        <span class="small">
          <Delta from={props.point.boundary?.baseline ?? 0} to={props.point.metric.value} /> against the baseline
        </span>
      </Show>
      <Show when={props.point.boundary}>
        {(boundary) => <span class="small muted">Allowed: {limitsText(boundary(), units())}</span>}
      </Show>
      <span class="small muted">{moment(props.point.start_time)}</span>
      <span class="small">
        <Version version={props.point.version} /> · <A href={project.path("reports", props.point.report)}>run</A>
      </span>
    </>
  );
}

/** The current state: whether the newest values still cross the limit. */
function CurrentState(props: {
  alert: JsonAlert;
  metrics: readonly JsonPerfMetric[] | undefined;
  place: number;
}): JSX.Element {
  const later = () => (props.place < 0 ? [] : (props.metrics ?? []).slice(props.place + 1));
  const crosses = ({ metric }: JsonPerfMetric) => {
    const { lower_limit: lower, upper_limit: upper } = props.alert.boundary;
    return props.alert.limit === "upper"
      ? typeof upper === "number" && metric.value > upper
      : typeof lower === "number" && metric.value < lower;
  };
  const back = () => later().findIndex((metric) => !crosses(metric));
  const last = () => later().at(-1);
  return (
    <Show when={props.metrics}>
      <Show when={last()} fallback={<Notice tone="neutral">This is the newest value of the series.</Notice>}>
        {(last) => (
          <Show
            when={crosses(last())}
            fallback={
              <Notice tone="good">
                The newest value, {value(last().metric.value, props.alert.threshold.measure.units)}, is within the limit
                again, first {plural(back() + 1, "run")} after the alert.
              </Notice>
            }
          >
            <Notice tone="warn">
              The newest value, {value(last().metric.value, props.alert.threshold.measure.units)}, still crosses the
              limit {plural(later().length, "run")} later.
            </Notice>
          </Show>
        )}
      </Show>
    </Show>
  );
}
