// Alerts: the list, and one alert with its history.

import { A, useParams, useSearchParams } from "@solidjs/router";
import { createSignal, type JSX, Show } from "solid-js";
import { type AlertStatus, call, type JsonAlert, list, type UpdateAlertStatus } from "../api";
import { value } from "../format";
import { nameOf } from "../history";
import { perfWithLimits } from "../links";
import { type Loaded, load } from "../load";
import { describe } from "../model";
import { MutedBadge } from "../mute";
import { type ProjectHere, useProject } from "../project";
import { worseOf } from "../stats/worse";
import { Button, LinkButton } from "../ui/Button";
import { Fact, Facts } from "../ui/Facts";
import { List as Rows } from "../ui/List";
import { LoadingPage, Page } from "../ui/Page";
import { Raw } from "../ui/Raw";
import { Empty, Notice } from "../ui/State";
import { StatusTabs } from "../ui/Tabs";
import { toast, toastFailure } from "../ui/Toast";
import { Delta, Name, Time, Value } from "../ui/Value";
import { limitsText, StatusBadge } from "../ui/Verdict";
import { Version } from "../ui/Version";
import { DismissAlerts } from "./alert_dismiss";
import { History } from "./alert_history";
import "./lists.css";

type Shown = AlertStatus | "all";
const STATUSES: readonly { value: Shown; label: string }[] = [
  { value: "active", label: "Active" },
  { value: "dismissed", label: "Dismissed" },
  { value: "silenced", label: "Silenced" },
  { value: "all", label: "All" },
];

export function List(): JSX.Element {
  const project = useProject();
  const [params] = useSearchParams();
  const [dismissing, setDismissing] = createSignal(false);
  const [changes, setChanges] = createSignal(0);
  const status = (): Shown => STATUSES.find(({ value }) => value === params.status)?.value ?? "active";
  const filter = (status: Shown) => (status === "all" ? {} : { status });
  /** The threshold or the event whose alerts the list shows. */
  const scope = () => {
    const given = (name: "threshold" | "event") => (typeof params[name] === "string" ? { [name]: params[name] } : {});
    return { ...given("threshold"), ...given("event") };
  };
  const archived = () => params.archived === "true";
  const totals = load(
    () => ({ project: project.slug(), changes: changes(), query: { ...scope(), archived: archived() } }),
    async ({ project, query }, signal) => {
      const total = async ({ value }: { value: Shown }) =>
        (
          await list("/v0/projects/{project}/alerts", {
            path: { project },
            query: { ...filter(value), ...query, per_page: 0 },
            signal,
          })
        ).total;
      return await Promise.all(STATUSES.map(total));
    },
  );
  const onUpdated = () => {
    setChanges((number) => number + 1);
    void project.alerts.refresh();
  };
  return (
    <Page
      title="Alerts"
      crumbs={project.crumbs()}
      actions={
        <Show when={project.may("edit") && project.alerts()}>
          <Button onClick={() => setDismissing(true)}>Dismiss multiple…</Button>
        </Show>
      }
    >
      <Show when={Object.keys(scope())[0]}>
        {(noun) => (
          <Notice>
            These are the alerts of one {noun()}. <A href={project.path("alerts")}>Show all alerts</A>
          </Notice>
        )}
      </Show>
      <StatusTabs
        tabs={STATUSES}
        chosen={status()}
        totals={totals()}
        kept={{ ...scope(), archived: archived() ? "true" : undefined }}
      />
      {/* A separate list per status, so that no row of the previous status remains while loading. */}
      <Show when={status()} keyed>
        {(shown) => (
          <Rows<JsonAlert>
            noun="alert"
            archived
            params={["threshold", "event"]}
            again={changes()}
            load={({ sort, ...query }, signal) =>
              list("/v0/projects/{project}/alerts", {
                path: { project: project.slug() },
                query: {
                  direction: "desc",
                  ...query,
                  ...filter(shown),
                  sort: sort === "modified" ? "modified" : "created",
                },
                signal,
              })
            }
            href={(alert) => project.path("alerts", alert.uuid)}
            columns={[
              {
                title: "Alert",
                cell: (alert) => (
                  <>
                    <Name of={nameOf(alert)} />
                    <span class="subtext">
                      {alert.threshold.measure.name} · {alert.threshold.branch.name} · {alert.threshold.testbed.name}
                    </span>
                    <span class="subtext on-phone">
                      <Value value={alert.metric.value} units={alert.threshold.measure.units} /> ·{" "}
                      <Time at={alert.created} />
                    </span>
                  </>
                ),
              },
              ...(shown === "all"
                ? [{ title: "Status", wide: true, cell: (alert: JsonAlert) => <StatusBadge status={alert.status} /> }]
                : []),
              {
                title: "Value",
                wide: true,
                end: true,
                cell: (alert) => <Value value={alert.metric.value} units={alert.threshold.measure.units} />,
              },
              { title: "Change", end: true, cell: (alert) => <AlertChange alert={alert} /> },
              {
                title: "Raised",
                sort: "created",
                descending: true,
                wide: true,
                end: true,
                cell: (alert) => (
                  <span class="muted">
                    <Time at={alert.created} />
                  </span>
                ),
              },
              ...(shown === "active"
                ? []
                : [
                    {
                      title: "Changed",
                      sort: "modified",
                      descending: true,
                      wide: true,
                      end: true,
                      cell: (alert: JsonAlert) => (
                        <span class="muted">
                          <Time at={alert.modified} />
                        </span>
                      ),
                    },
                  ]),
            ]}
            rowActions={(alert, rows) => (
              <Show when={project.may("edit")}>
                <Button
                  onClick={() =>
                    updateStatus(
                      project,
                      rows,
                      alert,
                      alert.status === "active" ? "dismissed" : "active",
                      shown === "all",
                      onUpdated,
                    )
                  }
                >
                  {alert.status === "active" ? "Dismiss" : "Reactivate"}
                </Button>
              </Show>
            )}
            empty={<EmptyList status={shown} />}
          />
        )}
      </Show>
      <DismissAlerts open={dismissing()} onClose={() => setDismissing(false)} onDone={onUpdated} />
    </Page>
  );
}

function EmptyList(props: { status: Shown }): JSX.Element {
  const project = useProject();
  const action = <LinkButton href={project.path("thresholds")}>View thresholds</LinkButton>;
  return (
    <Show
      when={props.status === "active" || props.status === "all"}
      fallback={
        <Empty title={`No ${props.status} alerts`}>
          {props.status === "dismissed"
            ? "This list shows dismissed alerts."
            : "This list shows alerts of replaced heads."}
        </Empty>
      }
    >
      <Empty title={props.status === "active" ? "No active alerts" : "No alerts yet"} action={action}>
        A value that crosses the limit of a threshold raises an alert.
      </Empty>
    </Show>
  );
}

function AlertChange(props: { alert: JsonAlert }): JSX.Element {
  const direction = () => worseOf(props.alert.threshold.measure) ?? (props.alert.limit === "upper" ? "up" : "down");
  return (
    <Show
      when={typeof props.alert.boundary.baseline === "number"}
      fallback={
        <span class="small muted nowrap">{props.alert.limit === "upper" ? "above the limit" : "below the limit"}</span>
      }
    >
      <Delta from={props.alert.boundary.baseline ?? 0} to={props.alert.metric.value} worse={direction()} />
    </Show>
  );
}

/** Updates one alert of a list immediately and removes it unless the list shows all statuses. */
async function updateStatus(
  project: ProjectHere,
  rows: Loaded<{ rows: JsonAlert[]; total: number }>,
  alert: JsonAlert,
  status: UpdateAlertStatus,
  keepsRow: boolean,
  onUpdated: () => void,
): Promise<void> {
  const request = (status: UpdateAlertStatus) =>
    call("patch", "/v0/projects/{project}/alerts/{alert}", {
      path: { project: project.slug(), alert: alert.uuid },
      body: { status },
    });
  const before = alert.status;
  try {
    await rows.optimistic(
      ({ rows, total }) =>
        keepsRow
          ? { rows: rows.map((row) => (row.uuid === alert.uuid ? { ...row, status } : row)), total }
          : { rows: rows.filter((row) => row.uuid !== alert.uuid), total: total - 1 },
      () => request(status),
    );
    onUpdated();
    const undo = async (to: UpdateAlertStatus) => {
      await request(to).catch(toastFailure);
      onUpdated();
    };
    // Only the server sets the status `silenced`.
    toast(
      status === "dismissed" ? "Alert dismissed." : "Alert reactivated.",
      before === "silenced" ? undefined : () => undo(before),
    );
  } catch (error) {
    toastFailure(error);
  }
}

export function View(): JSX.Element {
  const project = useProject();
  const params = useParams<{ alert: string }>();
  const path = () => ({ project: project.slug(), alert: params.alert });
  const alert = load(path, (path, signal) => call("get", "/v0/projects/{project}/alerts/{alert}", { path, signal }));
  const set = async (status: UpdateAlertStatus): Promise<void> => {
    try {
      const before = alert()?.status;
      const changed = await alert.optimistic(
        (old) => ({ ...old, status }),
        () => call("patch", "/v0/projects/{project}/alerts/{alert}", { path: path(), body: { status } }),
      );
      alert.set(changed);
      void project.alerts.refresh();
      toast(
        status === "dismissed" ? "Alert dismissed." : "Alert reactivated.",
        before === "silenced" ? undefined : () => set(status === "dismissed" ? "active" : "dismissed"),
      );
    } catch (error) {
      toastFailure(error);
    }
  };
  return (
    <Show
      when={alert()}
      fallback={<LoadingPage title="Alert" crumbs={project.crumbs("alerts", "Alerts")} lines={12} item={alert} />}
    >
      {(shown) => (
        <Page
          title={nameOf(shown())}
          aside={
            <>
              <StatusBadge status={shown().status} /> <MutedBadge of={shown().muted} />
            </>
          }
          crumbs={project.crumbs("alerts", "Alerts")}
          actions={
            <>
              <LinkButton
                icon="chart"
                href={perfWithLimits(project, { ...shown().threshold, benchmark: shown().benchmark })}
              >
                Explore
              </LinkButton>
              <Raw value={shown()} />
              <Show when={project.may("edit")}>
                <Show
                  when={shown().status === "active"}
                  fallback={<Button onClick={() => set("active")}>Reactivate</Button>}
                >
                  <Button kind="primary" icon="check" onClick={() => set("dismissed")}>
                    Dismiss
                  </Button>
                </Show>
              </Show>
            </>
          }
        >
          <p class="lead">
            <Sentence alert={shown()} />
          </p>
          <History alert={shown()} />
          <Context alert={shown()} />
        </Page>
      )}
    </Show>
  );
}

/** Summarizes the alert in one sentence. */
function Sentence(props: { alert: JsonAlert }): JSX.Element {
  const { threshold, metric, boundary, limit, created } = props.alert;
  const measure = threshold.measure;
  const edge = limit === "upper" ? boundary.upper_limit : boundary.lower_limit;
  return (
    <>
      {measure.name} on <strong>{threshold.branch.name}</strong> was{" "}
      <strong class="number">{value(metric.value, measure.units)}</strong>
      <Show when={typeof boundary.baseline === "number"}>
        , <AlertChange alert={props.alert} /> against the baseline of{" "}
        <span class="number">{value(boundary.baseline ?? 0, measure.units)}</span>
      </Show>
      <Show when={typeof edge === "number"}>
        {" "}
        and {limit === "upper" ? "above" : "below"} the limit of{" "}
        <span class="number">{value(edge ?? 0, measure.units)}</span>
      </Show>
      , <Time at={created} />.
    </>
  );
}

function Context(props: { alert: JsonAlert }): JSX.Element {
  const project = useProject();
  const threshold = () => props.alert.threshold;
  return (
    <Facts>
      <Fact label="Raised">
        <Time at={props.alert.created} />
      </Fact>
      <Fact label="Run">
        <A href={project.path("reports", props.alert.report)}>View run</A>
        <Show when={props.alert.iteration}>
          {" "}
          <span class="muted">iteration {props.alert.iteration}</span>
        </Show>
      </Fact>
      <Fact label="Branch">
        <A href={`${project.path("branches", threshold().branch.slug)}?head=${threshold().branch.head.uuid}`}>
          {threshold().branch.name}
        </A>{" "}
        <Version version={threshold().branch.head.version} />
      </Fact>
      <Fact label="Testbed">
        <A href={project.path("testbeds", threshold().testbed.slug)}>{threshold().testbed.name}</A>
        <Show when={threshold().testbed.spec}>{(spec) => <span class="muted"> · {spec().name}</span>}</Show>
      </Fact>
      <Fact label="Benchmark">
        <A href={project.path("benchmarks", props.alert.benchmark.slug)}>{props.alert.benchmark.name}</A>
      </Fact>
      <Fact label="Measure">
        <A href={project.path("measures", threshold().measure.slug)}>{threshold().measure.name}</A>
      </Fact>
      <Fact label="Value">
        <A href={project.path("metrics", props.alert.metric.uuid)}>
          <Value value={props.alert.metric.value} units={threshold().measure.units} />
        </A>
      </Fact>
      <Fact label="Limits">{limitsText(props.alert.boundary, threshold().measure.units)}</Fact>
      <Fact label="Threshold">
        <A
          href={
            project.path("thresholds", threshold().uuid) +
            (threshold().model ? `?model=${threshold().model?.uuid}` : "")
          }
        >
          <Show when={threshold().model} fallback="without a model">
            {(model) => describe(model())}
          </Show>
        </A>
      </Fact>
      <Fact label="Changed">
        <Time at={props.alert.modified} />
      </Fact>
    </Facts>
  );
}
