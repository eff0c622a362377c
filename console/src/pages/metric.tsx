// One metric with all its data.

import { A, useParams } from "@solidjs/router";
import { type JSX, Show } from "solid-js";
import { call, type JsonOneMetric } from "../api";
import { moment, value } from "../format";
import { parametersOf } from "../history";
import { perfWithLimits } from "../links";
import { load } from "../load";
import { describe } from "../model";
import { useProject } from "../project";
import { worseOf } from "../stats/worse";
import { LinkButton } from "../ui/Button";
import { Fact, Facts } from "../ui/Facts";
import { LoadingPage, Page } from "../ui/Page";
import { Raw } from "../ui/Raw";
import { Delta, Time, Value } from "../ui/Value";
import { Gauge, limitsText, StatusBadge } from "../ui/Verdict";
import { Version } from "../ui/Version";
import "./lists.css";

export function View(): JSX.Element {
  const project = useProject();
  const params = useParams<{ metric: string }>();
  const metric = load(
    () => ({ project: project.slug(), metric: params.metric }),
    (path, signal) => call("get", "/v0/projects/{project}/metrics/{metric}", { path, signal }),
  );
  return (
    <Show when={metric()} fallback={<LoadingPage title="Metric" crumbs={project.crumbs()} lines={10} item={metric} />}>
      {(shown) => (
        <Page
          title={value(shown().metric.value, shown().measure.units)}
          aside={
            <Show when={shown().alert}>
              {(alert) => (
                <A class="plain-link" href={project.path("alerts", alert().uuid)}>
                  Alert <StatusBadge status={alert().status} />
                </A>
              )}
            </Show>
          }
          crumbs={[
            ...project.crumbs("reports", "Runs"),
            { href: project.path("reports", shown().report), label: `Run of ${moment(shown().start_time)}` },
          ]}
          actions={
            <>
              <LinkButton icon="chart" href={perfWithLimits(project, shown())}>
                Explore
              </LinkButton>
              <Raw value={shown()} />
            </>
          }
        >
          <Details metric={shown()} />
        </Page>
      )}
    </Show>
  );
}

function Details(props: { metric: JsonOneMetric }): JSX.Element {
  const project = useProject();
  const it = () => props.metric;
  const units = () => it().measure.units;
  const direction = () => worseOf(it().measure);
  return (
    <Facts>
      <Fact label="Benchmark">
        <A href={project.path("benchmarks", it().benchmark.slug)}>{it().benchmark.name}</A>
      </Fact>
      <Show when={parametersOf(it().variant)}>{(parameters) => <Fact label="Parameters">{parameters()}</Fact>}</Show>
      <Fact label="Measure">
        <A href={project.path("measures", it().measure.slug)}>{it().measure.name}</A>{" "}
        <span class="muted">{units()}</span>
      </Fact>
      <Fact label="Value" copy={String(it().metric.value)}>
        <Value value={it().metric.value} units={units()} />
      </Fact>
      <Show when={typeof it().metric.lower_value === "number" || typeof it().metric.upper_value === "number"}>
        <Fact label="Spread">
          {[it().metric.lower_value, it().metric.upper_value]
            .map((edge) => (typeof edge === "number" ? value(edge, units()) : "…"))
            .join(" to ")}
        </Fact>
      </Show>
      <Show when={it().boundary}>
        {(boundary) => (
          <>
            <Show when={typeof boundary().baseline === "number"}>
              <Fact label="Baseline">
                <Value value={boundary().baseline ?? 0} units={units()} />,{" "}
                <Delta
                  from={boundary().baseline ?? 0}
                  to={it().metric.value}
                  {...(it().alert && direction() ? { worse: direction() as "up" | "down" } : {})}
                />
              </Fact>
            </Show>
            <Fact label="Limits">
              <Show
                when={typeof boundary().lower_limit === "number" || typeof boundary().upper_limit === "number"}
                fallback={<span class="muted">none: the sample was too small</span>}
              >
                <span class="row">
                  <Gauge value={it().metric.value} boundary={boundary()} units={units()} bad={Boolean(it().alert)} />
                  {limitsText(boundary(), units())}
                </span>
              </Show>
            </Fact>
          </>
        )}
      </Show>
      <Fact label="Threshold">
        <Show when={it().threshold} fallback={<span class="muted">none</span>}>
          {(threshold) => (
            <A href={`${project.path("thresholds", threshold().uuid)}?model=${threshold().model.uuid}`}>
              {describe(threshold().model)}
            </A>
          )}
        </Show>
      </Fact>
      <Fact label="Branch">
        <A href={`${project.path("branches", it().branch.slug)}?head=${it().branch.head.uuid}`}>{it().branch.name}</A>{" "}
        <Version version={it().branch.head.version} />
      </Fact>
      <Fact label="Testbed">
        <A href={project.path("testbeds", it().testbed.slug)}>{it().testbed.name}</A>
        <Show when={it().testbed.spec}>{(spec) => <span class="muted"> · {spec().name}</span>}</Show>
      </Fact>
      <Fact label="Run">
        <A href={project.path("reports", it().report)}>{moment(it().start_time)}</A>{" "}
        <span class="muted">
          <Time at={it().start_time} />
          <Show when={it().iteration}>, iteration {it().iteration}</Show>
        </span>
      </Fact>
      <Fact label="UUID" copy={it().uuid}>
        <span class="mono">{it().uuid}</span>
      </Fact>
    </Facts>
  );
}
