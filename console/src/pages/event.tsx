// Events: the list of regressions, and one event with its evidence and its status.

import { A, useNavigate, useParams, useSearchParams } from "@solidjs/router";
import { createEffect, createMemo, createSignal, For, type JSX, on, Show } from "solid-js";
import {
  call,
  type EventStatus,
  type JsonChange,
  type JsonEvent,
  type JsonEventAlert,
  list,
  type UpdateEventStatus,
} from "../api";
import { Effect, Levels } from "../change";
import { ACTIONS, Commits, eventHeading, isSameSeries, leadOf, StatusBadge, updateEvent } from "../event";
import { plural } from "../format";
import { nameOf } from "../history";
import { bindKeys, bindRowKeys } from "../keys";
import { perfAround, sharedUrl } from "../links";
import { load } from "../load";
import { MuteDialog, MutedBadge, untilText } from "../mute";
import { useProject } from "../project";
import { Button, copyText, LinkButton } from "../ui/Button";
import { EditableFact, Fact, Facts } from "../ui/Facts";
import { List as Rows } from "../ui/List";
import { LoadingPage, Page } from "../ui/Page";
import { Raw } from "../ui/Raw";
import { Empty, Notice } from "../ui/State";
import { Table } from "../ui/Table";
import { StatusTabs } from "../ui/Tabs";
import { toast, toastFailure } from "../ui/Toast";
import { Name, Time } from "../ui/Value";
import { Actions } from "./event_actions";
import { AlertEffect, AlertTable } from "./event_alerts";
import { Bisection } from "./event_bisection";
import { ConfirmationSection } from "./event_confirmation";
import { AlertHistory, ChangeHistory } from "./event_history";
import { CommitRange } from "./event_range";
import { EventSummary } from "./event_summary";
import "./lists.css";

type Shown = EventStatus | "all";
const TABS: readonly { value: Shown; label: string; none: string }[] = [
  { value: "open", label: "Open", none: "No open regressions" },
  { value: "expected", label: "Expected", none: "No expected changes" },
  { value: "fixed", label: "Fixed", none: "No fixed regressions" },
  { value: "false_alarm", label: "False alarms", none: "No false alarms" },
  { value: "dismissed", label: "Dismissed", none: "No dismissed events" },
  { value: "recovered", label: "Recovered", none: "No recovered regressions" },
  { value: "all", label: "All", none: "No events yet" },
];

const ORDERS = [
  { value: "time", label: "Newest first" },
  { value: "size", label: "Largest first" },
] as const;

/** Values of the filter by direction; the default is not in the URL. */
const DIRECTIONS = ["", "improvement", "any"] as const;

/** Values of the filter of muted events; the default is not in the URL. */
const MUTED = ["", "true", "any"] as const;

export function List(): JSX.Element {
  const project = useProject();
  const [params, setParams] = useSearchParams();
  const status = (): Shown => TABS.find(({ value }) => value === params.status)?.value ?? "open";
  const order = () => ORDERS.find(({ value }) => value === params.sort)?.value ?? "time";
  const direction = () => DIRECTIONS.find((value) => value === params.change_direction) ?? "";
  const muted = () => MUTED.find((value) => value === params.muted) ?? "";
  bindRowKeys("event");
  /** The benchmark whose events the list shows, if any. */
  const benchmark = () => (typeof params.benchmark === "string" ? params.benchmark : undefined);
  const filter = (status: Shown) => {
    const chosen = direction();
    const only = benchmark();
    return {
      ...(only ? { benchmark: only } : {}),
      ...(muted() === "any" ? {} : { muted: muted() === "true" }),
      ...(status === "all" ? {} : { status }),
      ...(chosen === "any" ? {} : { change_direction: chosen || ("regression" as const) }),
    };
  };
  const totals = load(
    () => ({
      project: project.slug(),
      direction: direction(),
      muted: muted(),
      benchmark: benchmark(),
    }),
    async ({ project }, signal) => {
      const total = async ({ value }: { value: Shown }) =>
        (
          await list("/v0/projects/{project}/events", {
            path: { project },
            query: { ...filter(value), per_page: 0 },
            signal,
          })
        ).total;
      return await Promise.all(TABS.map(total));
    },
  );
  createEffect(
    on(project.regressions, (_, before) => {
      if (before !== undefined) void totals.refresh();
    }),
  );
  return (
    <Page
      title="Regressions"
      crumbs={project.crumbs()}
      actions={
        <LinkButton icon="bell" href={project.path("alerts")}>
          Threshold alerts
        </LinkButton>
      }
    >
      <StatusTabs
        tabs={TABS}
        chosen={status()}
        totals={totals()}
        kept={{
          sort: order() === "time" ? undefined : order(),
          change_direction: direction() || undefined,
          muted: muted() || undefined,
          benchmark: benchmark(),
        }}
      />
      <Show when={benchmark()}>
        {(slug) => (
          <p class="small">
            Only events of the benchmark <A href={project.path("benchmarks", slug())}>{slug()}</A>.{" "}
            <A href={project.path("regressions")}>Show the events of all benchmarks</A>
          </p>
        )}
      </Show>
      {/* A separate list per status, so that no row of the previous status remains while loading. */}
      <Show when={status()} keyed>
        {(shown) => (
          <Rows<JsonEvent>
            noun="event"
            params={["benchmark"]}
            again={project.regressions()}
            filters={[
              {
                name: "change_direction",
                label: "Direction",
                options: [
                  { value: "", label: "Regressions" },
                  { value: "improvement", label: "Improvements" },
                  { value: "any", label: "Any direction" },
                ],
              },
              {
                name: "muted",
                label: "Muted",
                options: [
                  { value: "", label: "Not muted" },
                  { value: "true", label: "Muted" },
                  { value: "any", label: "Muted or not" },
                ],
              },
            ]}
            load={({ page, per_page }, signal) =>
              list("/v0/projects/{project}/events", {
                path: { project: project.slug() },
                query: { page, per_page, ...filter(shown), sort: order() },
                signal,
              })
            }
            href={(event) => project.path("regressions", event.uuid)}
            tools={() => (
              <div class="segments" role="group" aria-label="Order">
                <For each={ORDERS}>
                  {({ value, label }) => (
                    <button
                      type="button"
                      aria-pressed={order() === value}
                      onClick={() =>
                        setParams(
                          { page: undefined, sort: value === "time" ? undefined : value },
                          { replace: true, scroll: false },
                        )
                      }
                    >
                      {label}
                    </button>
                  )}
                </For>
              </div>
            )}
            columns={[
              { title: "Event", cell: (event) => <EventSummary event={event} status={shown === "all"} /> },
              {
                title: "Worst effect",
                end: true,
                cell: (event) => <LeadEffect event={event} />,
              },
              { title: "Commit", wide: true, end: true, cell: (event) => <Commits event={event} /> },
              { title: "Began", wide: true, end: true, cell: (event) => <Time at={event.start_time} /> },
              ...(shown === "all"
                ? [{ title: "Status", wide: true, cell: (event: JsonEvent) => <StatusBadge of={event} /> }]
                : []),
            ]}
            empty={<EmptyList status={shown} />}
          />
        )}
      </Show>
    </Page>
  );
}

/** The effect of the change or the alert that the list names. */
function LeadEffect(props: { event: JsonEvent }): JSX.Element {
  const lead = () => leadOf(props.event);
  const change = () => props.event.changes.find((change) => change === lead());
  const alert = () => props.event.alerts.find((alert) => alert === lead());
  return (
    <Show when={change()} fallback={<AlertEffect alert={alert()} isMuted={Boolean(props.event.muted)} />}>
      {(worst) => <Effect change={worst()} />}
    </Show>
  );
}

function EmptyList(props: { status: Shown }): JSX.Element {
  const project = useProject();
  const title = () => TABS.find(({ value }) => value === props.status)?.none ?? "";
  return (
    <Show
      when={props.status === "open" || props.status === "all"}
      fallback={<Empty title={title()}>This list shows the events with this status.</Empty>}
    >
      <Empty title={title()} action={<LinkButton href={project.perfPath()}>Explore</LinkButton>}>
        An event groups the changes that began with the same commit, and the values outside a threshold. Detection needs
        no threshold, only about eight values, and finishes within seconds after a run.
      </Empty>
    </Show>
  );
}

export function View(): JSX.Element {
  const project = useProject();
  const params = useParams<{ event: string }>();
  const event = load(
    () => ({ project: project.slug(), event: params.event }),
    (path, signal) => call("get", "/v0/projects/{project}/events/{event}", { path, signal }),
  );
  // While the next event loads, no key or button may act on the previous one.
  const current = () => (event()?.uuid === params.event.toLowerCase() ? event() : undefined);
  return (
    <Show
      when={current()}
      fallback={
        <LoadingPage title="Event" crumbs={project.crumbs("regressions", "Regressions")} lines={12} item={event} />
      }
    >
      {(loaded) => <EventPage event={loaded()} onChange={event.set} refresh={event.refresh} />}
    </Show>
  );
}

function EventPage(props: {
  event: JsonEvent;
  onChange: (event: JsonEvent) => void;
  refresh: () => unknown;
}): JSX.Element {
  const project = useProject();
  const navigate = useNavigate();
  const [chosen, setChosen] = createSignal<{ change: JsonChange } | { alert: JsonEventAlert }>();
  const [muting, setMuting] = createSignal(false);
  createEffect(
    on(
      () => props.event.uuid,
      () => setChosen(undefined),
    ),
  );
  /** The change or alert in the plot: by default the worst change, else the first alert of the newest alert's series. */
  const shown = () => {
    const [change] = props.event.changes;
    const [newest] = props.event.alerts;
    const first = newest && props.event.alerts.findLast((alert) => isSameSeries(alert, newest));
    return chosen() ?? (change ? { change } : first && { alert: first });
  };
  const shownChange = createMemo(() => {
    const current = shown();
    return current && "change" in current ? current.change : undefined;
  });
  const shownAlert = createMemo(() => {
    const current = shown();
    return current && "alert" in current ? current.alert : undefined;
  });
  const others = () => new Set(props.event.changes.map(({ benchmark }) => benchmark.name)).size - 1;
  const update = (body: Parameters<typeof updateEvent>[2]) =>
    updateEvent(project.slug(), props.event, body, (event) => {
      if (event.uuid === props.event.uuid) props.onChange(event);
      void project.regressions.refresh();
      void project.alerts.refresh();
    });
  const set = (status: UpdateEventStatus) => void update({ status }).catch(toastFailure);
  /** Opens the next open event, oldest after newest. */
  const next = async () => {
    const { rows } = await list("/v0/projects/{project}/events", {
      path: { project: project.slug() },
      query: { status: "open", change_direction: "regression", muted: false, per_page: 255 },
    });
    const place = rows.findIndex(({ uuid }) => uuid === props.event.uuid);
    const other = rows[place + 1] ?? rows.find(({ uuid }) => uuid !== props.event.uuid);
    navigate(other ? project.path("regressions", other.uuid) : project.path("regressions"));
  };
  const share = () =>
    void copyText(sharedUrl(project, "regressions", props.event.uuid))
      .then(() => toast("Link copied."))
      .catch(toastFailure);
  bindKeys([
    ...ACTIONS.map(({ status, label, key }) => ({
      keys: key,
      label: `Mark as ${label.toLowerCase()}`,
      run: () => project.may("edit") && set(status),
    })),
    { keys: "o", label: "Reopen the event", run: () => project.may("edit") && set("open") },
    { keys: "m", label: "Mute the benchmark", run: () => project.may("edit") && setMuting(true) },
    { keys: "n", label: "Go to the next open regression", run: () => void next().catch(toastFailure) },
  ]);
  return (
    <Page
      title={eventHeading(props.event)}
      stacked
      crumbs={project.crumbs("regressions", "Regressions")}
      aside={
        <>
          <StatusBadge of={props.event} /> <MutedBadge of={props.event.muted} />
        </>
      }
      actions={
        <>
          <Show when={project.may("edit")}>
            <For each={ACTIONS.filter(({ status }) => status !== props.event.status)}>
              {({ status, label, about, key }) => (
                <Button title={`${about} (${key})`} onClick={() => set(status)}>
                  {label}
                </Button>
              )}
            </For>
            <Show when={props.event.status !== "open"}>
              <Button title="The event needs review (o)" onClick={() => set("open")}>
                Reopen
              </Button>
            </Show>
            <Button title="No notifications and no failing checks for a period (m)" onClick={() => setMuting(true)}>
              Mute
            </Button>
          </Show>
          <Button title="The next open regression (n)" onClick={() => void next().catch(toastFailure)}>
            Next
          </Button>
          <Button title="Copy the URL of the event" onClick={share}>
            Share
          </Button>
          <Raw value={props.event} />
        </>
      }
    >
      <Show when={props.event.cause === "host"}>
        <Notice>
          Most benchmarks moved together, so that the machine is the probable cause. Check the machine first.
        </Notice>
      </Show>
      <Show when={props.event.muted}>
        {(muted) => (
          <Notice>
            Muted {untilText(muted())}: {muted().reason} <A href={project.path("mutes")}>View mutes</A>
          </Notice>
        )}
      </Show>
      <Show when={!props.event.total && !props.event.total_alerts}>
        <Notice>Later values did not confirm the changes of this event. Detection has withdrawn them.</Notice>
      </Show>
      <Facts>
        <Fact label={props.event.candidates.length > 1 ? "Possible commits" : "Commit"}>
          <Commits event={props.event} /> <CommitRange event={props.event} />
        </Fact>
        <Fact label="Branch">
          <A href={project.path("branches", props.event.branch.slug)}>{props.event.branch.name}</A>
        </Fact>
        <Fact label="Began">
          <Time at={props.event.start_time} />
        </Fact>
        <Fact label="Notified">
          <Show when={props.event.raised} fallback={<span class="muted">no</span>}>
            {(raised) => <Time at={raised()} />}
          </Show>
        </Fact>
        <Fact label="Alerts">
          <A class="number" href={`${project.path("alerts")}?event=${props.event.uuid}`}>
            {props.event.total_alerts}
          </A>
        </Fact>
        <EditableFact
          label="Note"
          value={props.event.note ?? ""}
          editable={project.may("edit")}
          optional
          maxLength={1_024}
          save={(note) => update({ note: note || null })}
        />
      </Facts>
      <Show when={props.event.confirmation}>{(known) => <ConfirmationSection of={known()} />}</Show>
      <Show when={shownChange()}>{(change) => <ChangeHistory change={change()} />}</Show>
      <Show when={shownAlert()}>{(alert) => <AlertHistory event={props.event} alert={alert()} />}</Show>
      <Bisection event={props.event} change={shownChange()} onChange={props.onChange} />
      <Show when={props.event.total}>
        <div class="stack tight">
          <h2>Affected series</h2>
          <Table<JsonChange>
            label="Affected series"
            rows={props.event.changes}
            first={16}
            href={(change) => perfAround(project, change, change.at.start_time)}
            columns={[
              {
                title: "Series",
                cell: (change) => (
                  <>
                    <Name of={nameOf(change)} />
                    <span class="subtext">
                      {change.measure.name} · {change.testbed.name} <MutedBadge of={change.muted} />
                    </span>
                  </>
                ),
              },
              { title: "Effect", end: true, cell: (change) => <Effect change={change} /> },
              {
                title: "Level",
                wide: true,
                end: true,
                cell: (change) => <Levels before={change.before} after={change.after} units={change.measure.units} />,
              },
              {
                title: "Plot",
                end: true,
                cell: (change) => (
                  <span class="above-row-link">
                    <Button disabled={shownChange()?.uuid === change.uuid} onClick={() => setChosen({ change })}>
                      Show
                    </Button>
                  </span>
                ),
              },
            ]}
          />
          <Show when={props.event.total > props.event.changes.length}>
            <p class="small muted">
              The {props.event.changes.length} worst of {props.event.total} series.
            </p>
          </Show>
        </div>
      </Show>
      <Show when={props.event.total_alerts}>
        <AlertTable event={props.event} shown={shownAlert()} onShow={(alert) => setChosen({ alert })} />
      </Show>
      <Actions of={props.event.actions} />
      <MuteDialog
        open={muting()}
        benchmark={(shownChange() ?? shownAlert())?.benchmark.name}
        hint={others() > 0 ? `The event has ${plural(others(), "other benchmark")}. Use * in a pattern.` : undefined}
        onClose={() => setMuting(false)}
        onChange={() => {
          void props.refresh();
          void project.regressions.refresh();
        }}
      />
    </Page>
  );
}
