// Changes of level, found by detection, and their status.

import { useSearchParams } from "@solidjs/router";
import { createSignal, For, type JSX, Show } from "solid-js";
import { type ChangeDirection, type ChangeStatus, call, type JsonChange, type JsonUpdateChange, list } from "../api";
import { DIRECTIONS, Effect, Levels } from "../change";
import { nameOf } from "../history";
import { perfAround } from "../links";
import { load } from "../load";
import { useProject } from "../project";
import { Badge, type Tone } from "../ui/Badge";
import { IconButton, LinkButton } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { Form, SelectField, TextField, type Values } from "../ui/Form";
import { List as Rows } from "../ui/List";
import { Page } from "../ui/Page";
import { Empty } from "../ui/State";
import { StatusTabs } from "../ui/Tabs";
import { toast, toastFailure } from "../ui/Toast";
import { Name, Time } from "../ui/Value";
import { Version } from "../ui/Version";
import "./lists.css";

type Shown = ChangeStatus | "all";
const TABS: readonly { value: Shown; label: string; none: string }[] = [
  { value: "active", label: "Active", none: "No active changes" },
  { value: "acknowledged", label: "Acknowledged", none: "No acknowledged changes" },
  { value: "expected", label: "Expected", none: "No expected changes" },
  { value: "fixed", label: "Fixed", none: "No fixed changes" },
  { value: "false_alarm", label: "False alarms", none: "No false alarms" },
  { value: "all", label: "All", none: "No changes yet" },
];

const STATUSES: Readonly<Record<ChangeStatus, { word: string; meaning: string; tone: Tone }>> = {
  active: { word: "active", meaning: "Active: not reviewed", tone: "warn" },
  acknowledged: { word: "acknowledged", meaning: "Acknowledged: reviewed", tone: "brand" },
  expected: { word: "expected", meaning: "Expected: intended", tone: "neutral" },
  fixed: { word: "fixed", meaning: "Fixed: the cause was removed", tone: "good" },
  false_alarm: { word: "false alarm", meaning: "False alarm: not a change", tone: "neutral" },
};

const ORDERS = [
  { value: "time", label: "Newest first" },
  { value: "size", label: "Largest first" },
] as const;

export function List(): JSX.Element {
  const project = useProject();
  const [params, setParams] = useSearchParams();
  const [judged, setJudged] = createSignal<JsonChange>();
  const [settled, setSettled] = createSignal(0);
  const status = (): Shown => TABS.find(({ value }) => value === params.status)?.value ?? "active";
  const order = () => ORDERS.find(({ value }) => value === params.sort)?.value ?? "time";
  const direction = (): { change_direction?: ChangeDirection } =>
    typeof params.change_direction === "string" && params.change_direction in DIRECTIONS
      ? { change_direction: params.change_direction as ChangeDirection }
      : {};
  const filter = (status: Shown) => ({ ...(status === "all" ? {} : { status }), ...direction() });
  const totals = load(
    () => ({ project: project.slug(), settled: settled(), ...direction() }),
    async ({ project }, signal) => {
      const total = async ({ value }: { value: Shown }) =>
        (
          await list("/v0/projects/{project}/changes", {
            path: { project },
            query: { ...filter(value), per_page: 0 },
            signal,
          })
        ).total;
      return await Promise.all(TABS.map(total));
    },
  );
  return (
    <Page title="Changes" crumbs={project.crumbs()}>
      <StatusTabs
        tabs={TABS}
        chosen={status()}
        totals={totals()}
        kept={{ sort: order() === "time" ? undefined : order(), ...direction() }}
      />
      {/* A separate list per status, so that no row of the previous status remains while loading. */}
      <Show when={status()} keyed>
        {(shown) => (
          <Rows<JsonChange>
            noun="change"
            again={settled()}
            filters={[
              {
                name: "change_direction",
                label: "Direction",
                options: [
                  { value: "", label: "Any direction" },
                  { value: "regression", label: "Regressions" },
                  { value: "improvement", label: "Improvements" },
                ],
              },
            ]}
            load={({ page, per_page }, signal) =>
              list("/v0/projects/{project}/changes", {
                path: { project: project.slug() },
                query: { page, per_page, ...filter(shown), sort: order() },
                signal,
              })
            }
            href={(change) => perfAround(project, change, change.at.start_time)}
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
              { title: "Series", cell: (change) => <Series change={change} status={shown === "all"} /> },
              { title: "Effect", end: true, cell: (change) => <Effect change={change} /> },
              {
                title: "Level",
                wide: true,
                end: true,
                cell: (change) => <Levels before={change.before} after={change.after} units={change.measure.units} />,
              },
              { title: "Began", wide: true, end: true, cell: (change) => <StartOfChange change={change} /> },
              {
                title: "Notified",
                wide: true,
                end: true,
                cell: (change) => (
                  <Show when={change.raised} fallback={<span class="muted">–</span>}>
                    {(raised) => <Time at={raised()} />}
                  </Show>
                ),
              },
              ...(shown === "all"
                ? [
                    {
                      title: "Status",
                      wide: true,
                      cell: (change: JsonChange) => <StatusBadge status={change.status} />,
                    },
                  ]
                : []),
            ]}
            {...(project.may("edit")
              ? {
                  rowActions: (change: JsonChange) => (
                    <IconButton icon="edit" label="Review" onClick={() => setJudged(change)} />
                  ),
                }
              : {})}
            empty={<EmptyList status={shown} />}
          />
        )}
      </Show>
      <Review
        change={judged()}
        onClose={() => setJudged(undefined)}
        onDone={() => setSettled((number) => number + 1)}
      />
    </Page>
  );
}

function EmptyList(props: { status: Shown }): JSX.Element {
  const project = useProject();
  const title = () => TABS.find(({ value }) => value === props.status)?.none ?? "";
  return (
    <Show
      when={props.status === "active" || props.status === "all"}
      fallback={<Empty title={title()}>This list shows the changes with this status.</Empty>}
    >
      <Empty title={title()} action={<LinkButton href={project.perfPath()}>View plots</LinkButton>}>
        A change is a lasting shift of the level of a series. Detection needs no threshold, only about eight values, and
        finishes within seconds after a report.
      </Empty>
    </Show>
  );
}

function Series(props: { change: JsonChange; status: boolean }): JSX.Element {
  return (
    <>
      <Name of={nameOf(props.change)} />
      <span class="subtext">
        {props.change.measure.name} · {props.change.branch.name} · {props.change.testbed.name}
      </span>
      <span class="subtext on-phone">
        <Levels before={props.change.before} after={props.change.after} units={props.change.measure.units} />
      </span>
      <span class="subtext on-phone">
        <Time at={props.change.at.start_time} />
        <Show when={props.change.raised}>
          {(raised) => (
            <>
              {" "}
              · notified <Time at={raised()} />
            </>
          )}
        </Show>
        <Show when={props.status}> · {STATUSES[props.change.status].word}</Show>
      </span>
      <Show when={props.change.note}>{(note) => <span class="subtext note">“{note()}”</span>}</Show>
    </>
  );
}

/** The time and version at which the change began; a version range if the position is uncertain. */
function StartOfChange(props: { change: JsonChange }): JSX.Element {
  const isSure = () => props.change.earliest.version.number === props.change.latest.version.number;
  return (
    <>
      <Time at={props.change.at.start_time} />
      <span class="subtext">
        <Show when={!isSure()} fallback={<Version version={props.change.at.version} />}>
          <Version version={props.change.earliest.version} /> … <Version version={props.change.latest.version} />
        </Show>
      </span>
    </>
  );
}

function StatusBadge(props: { status: ChangeStatus }): JSX.Element {
  return <Badge tone={STATUSES[props.status].tone}>{STATUSES[props.status].word}</Badge>;
}

/** A dialog to set the status of a change, with a note. */
function Review(props: { change: JsonChange | undefined; onClose: () => void; onDone: () => void }): JSX.Element {
  const project = useProject();
  const save = async (change: JsonChange, { status, note }: Values) => {
    const patch = (body: JsonUpdateChange) =>
      call("patch", "/v0/projects/{project}/changes/{change}", {
        path: { project: project.slug(), change: change.uuid },
        body,
      });
    const { status: now } = await patch({ status: status as ChangeStatus, note: note ?? null });
    props.onClose();
    props.onDone();
    toast(`The change is ${now === "false_alarm" ? "a false alarm" : STATUSES[now].word} now.`, async () => {
      await patch({ status: change.status, note: change.note ?? null }).catch(toastFailure);
      props.onDone();
    });
  };
  return (
    <Dialog open={props.change !== undefined} title="Review change" onClose={props.onClose}>
      <Show when={props.change}>
        {(change) => (
          <>
            <p class="break">
              <Name of={nameOf(change())} />{" "}
              <span class="muted">
                {change().measure.name} · {change().branch.name} · {change().testbed.name}
              </span>
            </p>
            <p class="row">
              <Effect change={change()} />{" "}
              <Levels before={change().before} after={change().after} units={change().measure.units} />
            </p>
            <p class="muted small">
              Detected <Time at={change().created} />,{" "}
              <Show when={change().raised} fallback="not notified.">
                {(raised) => (
                  <>
                    notified <Time at={raised()} />.
                  </>
                )}
              </Show>
            </p>
            <Form action="Save" onSubmit={(values) => save(change(), values)} onCancel={props.onClose}>
              <SelectField
                name="status"
                label="Status"
                required
                value={change().status}
                options={Object.entries(STATUSES).map(([value, { meaning }]) => ({ value, label: meaning }))}
              />
              <TextField name="note" label="Note" value={change().note ?? ""} hint="The reason, for other users." />
            </Form>
          </>
        )}
      </Show>
    </Dialog>
  );
}
