// Backtest: the notifications at another sensitivity, compared with the default and with a threshold.

import { useSearchParams } from "@solidjs/router";
import { createEffect, createSignal, For, type JSX, on, onCleanup, Show } from "solid-js";
import { type BacktestVerdict, call, type JsonBacktest, type JsonBacktestAlarm, type JsonNewBacktest } from "../api";
import { Levels } from "../change";
import { FilterPicker, type Kind } from "../choices";
import { monthly } from "../detection";
import { count, day, plural, significant } from "../format";
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

/** The threshold for the comparison: limits by Student's t that 1 % of unchanged values cross. */
const T_TEST: JsonNewBacktest = { model: { test: "t_test", max_sample_size: 64 } };

/** Range and step of the slider, as powers of ten. */
const POWERS = { least: -3, most: 3, step: 0.25 };
/** Delay after the last movement of the slider before the request, in milliseconds. */
const REST = 300;
/** Number of rows before "Show more". */
const FIRST = 25;
const KINDS: readonly Kind[] = ["branch", "testbed", "benchmark", "measure"];

const FIGURES: readonly { label: string; about?: string; text: (of: JsonBacktest) => string }[] = [
  { label: "Notifications per month", text: ({ per_month }) => monthly(per_month) },
  { label: "Runs with a notification", text: ({ runs }) => count(runs) },
  { label: "Notified changes", about: "confirmed by users", text: ({ found }) => count(found) },
  { label: "Missed changes", about: "confirmed by users", text: ({ missed }) => count(missed) },
  { label: "False alarms", about: "marked as a false alarm", text: ({ false_alarms }) => count(false_alarms) },
  { label: "Not reviewed", about: "still active", text: ({ unknown }) => count(unknown) },
];

const VERDICTS: Readonly<Record<BacktestVerdict, { word: string; tone: Tone }>> = {
  real: { word: "real", tone: "brand" },
  false_alarm: { word: "false alarm", tone: "warn" },
  unknown: { word: "not reviewed", tone: "neutral" },
};

export function Backtest(): JSX.Element {
  const project = useProject();
  const [params, setParams] = useSearchParams();
  const sensitivity = () => sensitivityAt(Math.log10(Number(params.sensitivity) || 1));
  const [power, setPower] = createSignal(Math.log10(sensitivity()));
  createEffect(on(sensitivity, (given) => setPower(Math.log10(given)), { defer: true }));
  let timer: ReturnType<typeof setTimeout> | undefined;
  onCleanup(() => clearTimeout(timer));
  const move = (next: number) => {
    setPower(next);
    clearTimeout(timer);
    const wanted = sensitivityAt(next);
    timer = setTimeout(
      () => setParams({ sensitivity: wanted === 1 ? undefined : String(wanted) }, { replace: true, scroll: false }),
      REST,
    );
  };

  const filter = () =>
    Object.fromEntries(
      KINDS.flatMap((kind) => (typeof params[kind] === "string" && params[kind] ? [[kind, params[kind]]] : [])),
    );
  const test = (body: () => JsonNewBacktest | undefined) =>
    load(
      () => {
        const how = body();
        return how && { path: { project: project.slug() }, body: { ...how, ...filter() } };
      },
      (request, signal) => call("post", "/v0/projects/{project}/backtest", { ...request, signal }),
    );
  const usual = test(() => ({ sensitivity: 1 }));
  const other = test(() => (sensitivity() === 1 ? undefined : { sensitivity: sensitivity() }));
  const threshold = test(() => T_TEST);
  const chosen = () => (sensitivity() === 1 ? usual : other);
  const isWorking = () =>
    sensitivityAt(power()) !== sensitivity() || [chosen(), usual, threshold].some(({ pending }) => pending());
  // Fade only the figures of another sensitivity, not the placeholders.
  const isStale = () => chosen()() !== undefined && (sensitivityAt(power()) !== sensitivity() || chosen().pending());
  const error = () => chosen().error() ?? usual.error() ?? threshold.error();
  const words = () => {
    const wanted = sensitivityAt(power());
    return wanted === 1 ? "1 (default)" : `${significant(wanted, 2)} times the default`;
  };
  return (
    <section
      class="stack backtest"
      classList={{ outdated: isStale() }}
      aria-labelledby="backtest"
      aria-busy={isWorking()}
    >
      <h2 id="backtest">Backtest</h2>
      <p class="muted prose">
        Apply another sensitivity to the whole history of the project. The backtest changes nothing.
      </p>
      <div class="list-tools">
        <For each={KINDS}>{(kind) => <FilterPicker kind={kind} />}</For>
      </div>
      <div class="sensitivity">
        <label for="sensitivity">Sensitivity</label>
        <span class="small muted">fewer notifications</span>
        <input
          id="sensitivity"
          type="range"
          min={POWERS.least}
          max={POWERS.most}
          step={POWERS.step}
          value={power()}
          aria-valuetext={words()}
          onInput={(event) => move(event.currentTarget.valueAsNumber)}
        />
        <span class="small muted">more notifications</span>
        <output for="sensitivity" class="small number">
          {words()}
        </output>
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
          <Failure
            error={error()}
            retry={() => Promise.all([usual, other, threshold].map(({ refresh }) => refresh()))}
          />
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
            title: "Selected",
            end: true,
            cell: ({ text }) => <strong class="number">{figure(chosen()(), text)}</strong>,
          },
          { title: "Default", end: true, cell: ({ text }) => <span class="number">{figure(usual(), text)}</span> },
          { title: "t-test", end: true, cell: ({ text }) => <span class="number">{figure(threshold(), text)}</span> },
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

/** The sensitivity for a power of ten, rounded for the API and for display. */
function sensitivityAt(power: number): number {
  return Number((10 ** Math.min(Math.max(power, POWERS.least), POWERS.most)).toPrecision(2));
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
      fallback={<Empty title="No notifications">This sensitivity would have sent no notifications.</Empty>}
    >
      <div class="stack tight">
        <h3>
          {alarms().length < props.of.raised
            ? `The newest ${count(alarms().length)} of ${plural(props.of.raised, "notification")}`
            : plural(props.of.raised, "alarm")}
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
              end: true,
              cell: (alarm) => <Badge tone={VERDICTS[alarm.verdict].tone}>{VERDICTS[alarm.verdict].word}</Badge>,
            },
          ]}
        />
      </div>
    </Show>
  );
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
