// Preview of a false-alarm budget: its notifications on past data, compared with the current budget.

import { useSearchParams } from "@solidjs/router";
import { For, type JSX, Show } from "solid-js";
import { type BacktestVerdict, call, type JsonBacktest, type JsonBacktestAlarm } from "../api";
import { Levels } from "../change";
import { FilterPicker, type Kind } from "../choices";
import { monthly } from "../detection";
import { count, day, plural } from "../format";
import { nameOf } from "../history";
import { perfAround } from "../links";
import { load } from "../load";
import { useProject } from "../project";
import { worseOf } from "../stats/worse";
import { Badge, type Tone } from "../ui/Badge";
import { Empty, Failure, Skeleton } from "../ui/State";
import { Table } from "../ui/Table";
import { Delta, Name, Time } from "../ui/Value";
import "./detection.css";
import "./lists.css";

/** Number of rows before "Show more". */
const FIRST = 25;
const KINDS: readonly Kind[] = ["branch", "testbed", "benchmark", "measure"];

const FIGURES: readonly { label: string; about?: string; text: (of: JsonBacktest) => string }[] = [
  {
    label: "Notifications per month",
    about: "one per run",
    text: ({ per_month, raised, runs }) => monthly(raised ? (per_month * runs) / raised : 0),
  },
  { label: "Notified, confirmed", text: ({ found }) => count(found) },
  { label: "Missed, confirmed", text: ({ missed }) => count(missed) },
  { label: "False alarms", about: "marked as a false alarm", text: ({ false_alarms }) => count(false_alarms) },
  { label: "Notified, not reviewed", text: ({ unknown }) => count(unknown) },
];

const VERDICTS: Readonly<Record<BacktestVerdict, { word: string; tone: Tone }>> = {
  real: { word: "real", tone: "brand" },
  false_alarm: { word: "false alarm", tone: "warn" },
  unknown: { word: "not reviewed", tone: "neutral" },
};

export function Backtest(props: {
  /** The false-alarm budget to test. */
  chosen: number;
  /** The current budget of the project. */
  current: number;
  /** Whether the user is selecting another budget. */
  isMoving: boolean;
}): JSX.Element {
  const project = useProject();
  const [params] = useSearchParams();
  const filter = () =>
    Object.fromEntries(
      KINDS.flatMap((kind) => (typeof params[kind] === "string" && params[kind] ? [[kind, params[kind]]] : [])),
    );
  const test = (budget: () => number | undefined) =>
    load(
      () => {
        const false_alarms_per_month = budget();
        if (!false_alarms_per_month) return undefined;
        return { path: { project: project.slug() }, body: { false_alarms_per_month, ...filter() } };
      },
      (request, signal) => call("post", "/v0/projects/{project}/backtest", { ...request, signal }),
    );
  const current = test(() => props.current);
  const other = test(() => (props.chosen === props.current ? undefined : props.chosen));
  const chosen = () => (props.chosen === props.current ? current : other);
  const isWorking = () => props.isMoving || chosen().pending() || current.pending();
  // Fade only the figures of another budget, not the placeholders.
  const isStale = () => chosen()() !== undefined && (props.isMoving || chosen().pending());
  const error = () => chosen().error() ?? current.error();
  return (
    <section
      class="stack backtest"
      classList={{ outdated: isStale() }}
      aria-labelledby="backtest"
      aria-busy={isWorking()}
    >
      <h2 id="backtest">Preview on past data</h2>
      <div class="list-tools">
        <For each={KINDS}>{(kind) => <FilterPicker kind={kind} />}</For>
      </div>
      <p class="small muted" role="status">
        <Show when={!isWorking()} fallback="Analyzing the history…">
          <Show when={chosen()()} fallback={"\u00a0"}>
            {(known) => scope(known())}
          </Show>
        </Show>
      </p>
      <Show when={error()}>
        {(error) => (
          <Failure error={error()} retry={() => Promise.all([current, other].map(({ refresh }) => refresh()))} />
        )}
      </Show>
      <Table
        label="Results of the backtest"
        rows={FIGURES}
        columns={[
          {
            title: "Figure",
            cell: ({ label, about }) => (
              <>
                {label}
                <Show when={about}>
                  <span class="subtext">{about}</span>
                </Show>
              </>
            ),
          },
          {
            title: `Selected: ${count(props.chosen)}`,
            end: true,
            cell: ({ text }) => <strong class="number">{figure(chosen()(), text)}</strong>,
          },
          {
            title: `Current: ${count(props.current)}`,
            end: true,
            cell: ({ text }) => <span class="number">{figure(current(), text)}</span>,
          },
        ]}
      />
      <Show
        when={chosen()()}
        fallback={
          <Show when={!error()}>
            <Skeleton lines={8} />
          </Show>
        }
      >
        {(known) => <NotificationTable of={known()} />}
      </Show>
    </section>
  );
}

function figure(of: JsonBacktest | undefined, text: (of: JsonBacktest) => string): string {
  return of ? text(of) : "…";
}

/** Describes the analyzed data: `581 series with 43,990 values since 16 Nov 2025`. */
function scope({ series, values, since }: JsonBacktest): string {
  return `${count(series)} series with ${plural(values, "value")}${since ? ` since ${day(since)}` : ""}`;
}

function NotificationTable(props: { of: JsonBacktest }): JSX.Element {
  const project = useProject();
  const alarms = () => props.of.alarms;
  return (
    <Show
      when={alarms().length}
      fallback={<Empty title="No notifications">This setting would have sent no notifications.</Empty>}
    >
      <div class="stack tight">
        <h3>
          {alarms().length < props.of.raised
            ? `The newest ${count(alarms().length)} of ${plural(props.of.raised, "notified change")}`
            : plural(props.of.raised, "notified change")}
        </h3>
        <Table<JsonBacktestAlarm>
          label="Notifications of the backtest"
          rows={alarms()}
          first={FIRST}
          href={(alarm) => perfAround(project, alarm, alarm.start_time)}
          columns={[
            {
              title: "Series",
              cell: (alarm) => (
                <>
                  <Name of={nameOf(alarm)} />
                  <span class="subtext on-phone">
                    <Review of={alarm.verdict} />
                  </span>
                  <span class="subtext">
                    {alarm.measure.name} · {alarm.branch.name} · {alarm.testbed.name}
                  </span>
                  <span class="subtext on-phone">
                    <Levels before={alarm.before} after={alarm.after} units={alarm.measure.units} />
                  </span>
                  <span class="subtext on-phone">
                    <Time at={alarm.start_time} />
                  </span>
                </>
              ),
            },
            {
              title: "Level",
              wide: true,
              end: true,
              cell: (alarm) => <Levels before={alarm.before} after={alarm.after} units={alarm.measure.units} />,
            },
            { title: "Change", end: true, cell: (alarm) => <AlarmChange alarm={alarm} /> },
            {
              title: "Began",
              wide: true,
              end: true,
              cell: (alarm) => (
                <span class="muted">
                  <Time at={alarm.start_time} />
                </span>
              ),
            },
            {
              title: "Review",
              wide: true,
              end: true,
              cell: (alarm) => <Review of={alarm.verdict} />,
            },
          ]}
        />
      </div>
    </Show>
  );
}

function Review(props: { of: BacktestVerdict }): JSX.Element {
  return <Badge tone={VERDICTS[props.of].tone}>{VERDICTS[props.of].word}</Badge>;
}

function AlarmChange(props: { alarm: JsonBacktestAlarm }): JSX.Element {
  const worse = () => worseOf(props.alarm.measure);
  return (
    <Show when={typeof props.alarm.before === "number"} fallback={<span class="muted">–</span>}>
      <Delta
        from={props.alarm.before ?? 0}
        to={props.alarm.after}
        {...(worse() ? { worse: worse() as "up" | "down" } : {})}
      />
    </Show>
  );
}
