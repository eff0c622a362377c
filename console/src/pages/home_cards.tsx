// Cards of the home page: recent changes and active alerts.

import { A, useSearchParams } from "@solidjs/router";
import { createMemo, createSignal, For, type JSX, Show } from "solid-js";
import type { JsonAlert, JsonBranch, Page as Rows } from "../api";
import { count, shortHash } from "../format";
import { perfOfSeries } from "../links";
import type { Loaded } from "../load";
import { useProject } from "../project";
import { REPORTS, type Recent } from "../stats/recent";
import { badness } from "../stats/worse";
import { Select, toOption } from "../ui/Select";
import { Failure, Skeleton } from "../ui/State";
import { Delta, Name, Sparkline, Time, Value } from "../ui/Value";
import "./home.css";

/** Number of rows of a card before "All". */
const SHOWN = 6;
/** Maximum age of a recent change, in days. */
const RECENT_DAYS = 30;

/** The card of the series of a branch that changed recently, worst first. */
export function RecentChanges(props: {
  branches: readonly JsonBranch[];
  branch: JsonBranch | undefined;
  series: Loaded<Recent>;
  /** The completed share of the analysis. */
  progress: number;
}): JSX.Element {
  const [, setParams] = useSearchParams<{ branch?: string }>();
  return (
    <section class="card home-card" aria-labelledby="home-changes">
      <header class="row between">
        <h2 id="home-changes">Recent changes</h2>
        <Show when={props.branches.length > 1}>
          <label class="row small">
            <span class="muted">on</span>
            <Select
              short
              label="Branch"
              value={props.branch?.slug ?? ""}
              options={props.branches.map(toOption)}
              onChange={(slug) => setParams({ branch: slug }, { replace: true, scroll: false })}
            />
          </label>
        </Show>
      </header>
      <Show when={props.series.error()}>{(error) => <Failure error={error()} retry={props.series.refresh} />}</Show>
      <Show
        when={props.series()}
        fallback={
          <Show when={!props.series.error()}>
            <Progress share={props.progress} />
          </Show>
        }
      >
        {(recent) => <Changes recent={recent()} />}
      </Show>
    </section>
  );
}

function Progress(props: { share: number }): JSX.Element {
  return (
    <>
      <p class="small muted" role="status">
        Analyzing the last {REPORTS} reports of each testbed… {Math.round(props.share * 100)} %
      </p>
      <Skeleton lines={SHOWN} />
    </>
  );
}

function Changes(props: { recent: Recent }): JSX.Element {
  const project = useProject();
  const [all, setAll] = createSignal(false);
  const since = Date.now() - RECENT_DAYS * 86_400_000;
  const changed = createMemo(() =>
    props.recent.series
      .filter(({ health, points }) => health.change && new Date(points[health.change.at]?.time ?? 0).getTime() >= since)
      .sort(
        (left, right) =>
          badness(right.health.change?.share ?? 0, right.worse) - badness(left.health.change?.share ?? 0, left.worse),
      ),
  );
  const shown = () => (all() ? changed() : changed().slice(0, SHOWN));
  return (
    <Show
      when={changed().length}
      fallback={
        <EmptySection title="No recent changes">
          No series changed its level in the last {RECENT_DAYS} days.
        </EmptySection>
      }
    >
      <ul class="home-list">
        <For each={shown()}>
          {(series) => {
            const change = series.health.change as NonNullable<typeof series.health.change>;
            const point = series.points[change.at];
            return (
              <li>
                <A class="grow" href={perfOfSeries(project, series)}>
                  <span class="break strong">
                    <Name of={series.benchmark.name} />
                  </span>
                  <span class="small muted break">
                    {[series.variant, series.measure.name, series.testbed.name].filter(Boolean).join(" · ")}
                  </span>
                </A>
                <span class="home-spark">
                  <Sparkline
                    values={series.points.map(({ value }) => value)}
                    label={`${series.benchmark.name} in its last ${series.points.length} reports`}
                  />
                </span>
                <span class="home-delta">
                  <Delta from={change.before} to={change.after} {...(series.worse ? { worse: series.worse } : {})} />
                  <span class="small muted nowrap">
                    <Show when={point?.version.hash}>{(hash) => <span class="mono">{shortHash(hash())}</span>}</Show>{" "}
                    <Time at={point?.time ?? 0} />
                  </span>
                </span>
              </li>
            );
          }}
        </For>
      </ul>
      <Show when={changed().length > SHOWN}>
        <button type="button" class="button quiet" onClick={() => setAll(!all())}>
          {all() ? "Show fewer" : `All ${count(changed().length)}`}
        </button>
      </Show>
    </Show>
  );
}

/** The card of the active alerts, worst first. */
export function ActiveAlerts(props: { alerts: Loaded<Rows<JsonAlert>> }): JSX.Element {
  const project = useProject();
  return (
    <section class="card home-card" aria-labelledby="home-alerts">
      <header class="row between">
        <h2 id="home-alerts">Active alerts</h2>
        <Show when={!project.isPublic && props.alerts()?.total}>
          {(total) => (
            <A class="small" href={`${project.path("alerts")}?status=active`}>
              All {count(total())}
            </A>
          )}
        </Show>
      </header>
      <Show when={props.alerts.error()}>{(error) => <Failure error={error()} retry={props.alerts.refresh} />}</Show>
      <Show when={props.alerts()} fallback={<Skeleton lines={SHOWN} />}>
        {(alerts) => <Alerts alerts={alerts().rows} />}
      </Show>
    </section>
  );
}

function Alerts(props: { alerts: readonly JsonAlert[] }): JSX.Element {
  const project = useProject();
  const excess = ({ metric, boundary, limit }: JsonAlert) => {
    const baseline =
      boundary.baseline ?? (limit === "upper" ? boundary.upper_limit : boundary.lower_limit) ?? metric.value;
    return badness(baseline ? metric.value / baseline - 1 : 0, limit === "upper" ? "up" : "down");
  };
  // One row per series: a change raises an alert in each report until a user dismisses it.
  const worst = createMemo(() => {
    const series = new Map<string, { alert: JsonAlert; count: number }>();
    for (const alert of props.alerts) {
      const { benchmark, threshold, limit } = alert;
      const key = [benchmark.uuid, threshold.uuid, limit].join();
      const known = series.get(key);
      series.set(key, {
        alert: known && excess(known.alert) > excess(alert) ? known.alert : alert,
        count: (known?.count ?? 0) + 1,
      });
    }
    return [...series.values()].sort((left, right) => excess(right.alert) - excess(left.alert)).slice(0, SHOWN);
  });
  return (
    <Show when={worst().length} fallback={<EmptySection title="No active alerts">No alert needs review.</EmptySection>}>
      <ul class="home-list">
        <For each={worst()}>
          {({ alert, count }) => (
            <li>
              <A class="grow" href={project.path("alerts", alert.uuid)}>
                <span class="break strong">
                  <Name of={alert.benchmark.name} />
                </span>
                <span class="small muted break">
                  {[alert.threshold.measure.name, alert.threshold.branch.name, alert.threshold.testbed.name].join(
                    " · ",
                  )}
                </span>
              </A>
              <span class="home-delta">
                <Show
                  when={alert.boundary.baseline}
                  fallback={<Value value={alert.metric.value} units={alert.threshold.measure.units} />}
                >
                  {(baseline) => (
                    <Delta from={baseline()} to={alert.metric.value} worse={alert.limit === "upper" ? "up" : "down"} />
                  )}
                </Show>
                <span class="small muted nowrap">
                  <Show when={count > 1}>{count}× · </Show>
                  <Time at={alert.created} />
                </span>
              </span>
            </li>
          )}
        </For>
      </ul>
    </Show>
  );
}

function EmptySection(props: { title: string; children: JSX.Element }): JSX.Element {
  return (
    <div class="home-empty">
      <p class="strong">{props.title}</p>
      <p class="muted small">{props.children}</p>
    </div>
  );
}
