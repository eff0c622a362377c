// Detection settings of a project: the false-alarm budget with its preview, thresholds, and the kind of notifications.

import { A, useSearchParams } from "@solidjs/router";
import { createEffect, createSignal, type JSX, on, onCleanup, Show } from "solid-js";
import { type ConfirmMode, call, type JsonDetection, type JsonUpdateDetection, type Notifies } from "../api";
import { loadDetection, monthly } from "../detection";
import { count, day, plural } from "../format";
import type { Loaded } from "../load";
import { useProject } from "../project";
import { Button, LinkButton } from "../ui/Button";
import { CheckField, ChoiceField, Form, type Values } from "../ui/Form";
import { Page } from "../ui/Page";
import { Raw } from "../ui/Raw";
import { Failure, Skeleton } from "../ui/State";
import { toast, toastFailure } from "../ui/Toast";
import { Backtest } from "./backtest";
import { Thresholds } from "./related";
import "./detection.css";
import "./home.css";
import "./lists.css";

const NOTIFIES: readonly { value: Notifies; label: string; about: string }[] = [
  { value: "changes", label: "Changes", about: "lasting shifts of the level of a series" },
  { value: "alerts", label: "Alerts", about: "values outside the limits of thresholds" },
];

const CONFIRM: readonly { value: ConfirmMode; label: string; about: string }[] = [
  { value: "off", label: "At once", about: "without a second measurement" },
  { value: "confirm", label: "After a second measurement", about: "by a runner, on the commits before and after" },
  { value: "confirm_and_bisect", label: "With the commit", about: "also search for the commit of a confirmed change" },
];

/** False-alarm budgets of the slider. */
const BUDGETS = [1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000];
/** Delay after the last movement of the slider before the request, in milliseconds. */
const REST = 300;

export function View(): JSX.Element {
  const project = useProject();
  const detection = loadDetection();
  return (
    <Page
      title="Detection"
      crumbs={project.crumbs()}
      actions={<Show when={detection()}>{(known) => <Raw value={known()} />}</Show>}
    >
      <p class="muted prose">
        After each run, the server analyzes every series for changes of its level, without a threshold. The{" "}
        <A href={project.path("regressions")}>list of regressions</A> shows all of them. The number of false alarms per
        month decides which changes the server also sends a notification for.
      </p>
      <Show when={detection.error()}>{(error) => <Failure error={error()} retry={detection.refresh} />}</Show>
      <Show
        when={detection()}
        fallback={
          <Show when={!detection.error()}>
            <Skeleton lines={16} />
          </Show>
        }
      >
        {(known) => <Settings of={known()} loaded={detection} />}
      </Show>
    </Page>
  );
}

function Settings(props: { of: JsonDetection; loaded: Loaded<JsonDetection> }): JSX.Element {
  const project = useProject();
  const [params, setParams] = useSearchParams();
  const current = () => props.of.false_alarms_per_month;
  const budgets = () => [...new Set([...BUDGETS, current()])].sort((one, two) => one - two);
  /** The budget of the preview. */
  const chosen = () => nearest(budgets(), Number(params.false_alarms_per_month) || current());
  const [shown, setShown] = createSignal(chosen());
  createEffect(on(chosen, setShown, { defer: true }));
  let timer: ReturnType<typeof setTimeout> | undefined;
  onCleanup(() => clearTimeout(timer));
  const show = (budget: number) =>
    setParams(
      { false_alarms_per_month: budget === current() ? undefined : String(budget) },
      { replace: true, scroll: false },
    );
  const move = (budget: number) => {
    setShown(budget);
    clearTimeout(timer);
    timer = setTimeout(() => show(budget), REST);
  };
  const patch = async (body: JsonUpdateDetection) =>
    props.loaded.set(
      await call("patch", "/v0/projects/{project}/detection", { path: { project: project.slug() }, body }),
    );
  const apply = async () => {
    clearTimeout(timer);
    const [before, after] = [current(), shown()];
    try {
      await patch({ false_alarms_per_month: after });
      show(after);
      toast(`The limit is ${plural(after, "false alarm")} per month.`, () =>
        patch({ false_alarms_per_month: before }).catch(toastFailure),
      );
    } catch (error) {
      toastFailure(error);
    }
  };
  return (
    <div class="detection-settings">
      <section class="card stack" aria-labelledby="budget-title">
        <h2 id="budget-title">False alarms per month</h2>
        <div class="budget">
          <label for="budget">Accept at most</label>
          <output for="budget" class="number">
            {count(shown())} per month
          </output>
          <input
            id="budget"
            type="range"
            min={0}
            max={budgets().length - 1}
            step={1}
            value={budgets().indexOf(shown())}
            aria-valuetext={`${plural(shown(), "false alarm")} per month`}
            onInput={(event) => move(budgets()[event.currentTarget.valueAsNumber] ?? current())}
          />
          <span class="small muted">fewer notifications</span>
          <span class="small muted end">smaller changes, sooner</span>
        </div>
        <div class="row">
          <Show when={project.may("manage")}>
            <Button kind="primary" disabled={shown() === current()} onClick={apply}>
              Apply
            </Button>
          </Show>
          <span class="small muted">Current: {count(current())} per month</span>
        </div>
        <Observed of={props.of} />
      </section>
      <Thresholds
        title="Thresholds: hard limits"
        about="A value outside the limit of a threshold raises an alert, independent of change detection."
        alerts
        actions={
          <Show when={project.may("create")}>
            <LinkButton href={project.path("thresholds", "add")} icon="plus">
              Add
            </LinkButton>
          </Show>
        }
      />
      <Show when={project.may("manage")}>
        <Notifications of={props.of} patch={patch} />
      </Show>
      <Backtest chosen={chosen()} current={current()} isMoving={shown() !== chosen()} />
    </div>
  );
}

/** The budget that is nearest on a logarithmic scale. */
function nearest(budgets: readonly number[], wanted: number): number {
  const distance = (budget: number) => Math.abs(Math.log(budget / Math.max(wanted, 1)));
  return budgets.reduce((best, budget) => (distance(budget) < distance(best) ? budget : best));
}

function Observed(props: { of: JsonDetection }): JSX.Element {
  const observed = () => props.of.observed;
  return (
    <div class="stack tight">
      <dl class="key-figures observed">
        <div>
          <dt>Observed per month</dt>
          <dd class="number">{monthly(observed().false_alarms_per_month)}</dd>
          <dd class="small muted">
            {count(observed().false_alarms)} of {plural(observed().raised, "notification")} since{" "}
            {day(observed().since)}
          </dd>
        </div>
        <div>
          <dt>Runs per month</dt>
          <dd class="number">{count(props.of.runs_per_month)}</dd>
          <dd class="small muted">the budget is divided among them</dd>
        </div>
      </dl>
      <p class="small muted prose">
        A false alarm is a notified change that a user marked as false alarm, that later values withdrew, or that is
        between runs of the same binary.
      </p>
    </div>
  );
}

function Notifications(props: {
  of: JsonDetection;
  patch: (body: JsonUpdateDetection) => Promise<unknown>;
}): JSX.Element {
  const project = useProject();
  const save = async ({ notifies, notifies_host, confirm }: Values) => {
    const { notifies: old, notifies_host: oldHost, confirm: oldConfirm } = props.of;
    await props.patch({
      notifies: notifies as Notifies,
      notifies_host: notifies_host === "on",
      confirm: confirm as ConfirmMode,
    });
    toast("Saved.", () =>
      props.patch({ notifies: old, notifies_host: oldHost, confirm: oldConfirm }).catch(toastFailure),
    );
  };
  return (
    <section class="card stack notifications" aria-labelledby="notifications-title">
      <h2 id="notifications-title">Notifications</h2>
      <p class="muted">
        <A href={project.path("notices")}>Notifications</A> lists where the project sends them.
      </p>
      <Form action="Save" onSubmit={save}>
        <ChoiceField name="notifies" legend="Notify about" choices={NOTIFIES} value={props.of.notifies} />
        <ChoiceField name="confirm" legend="Notify" choices={CONFIRM} value={props.of.confirm} />
        <CheckField
          name="notifies_host"
          checked={props.of.notifies_host}
          label={
            <>
              <strong>Machine</strong> <span class="muted">also notify when most benchmarks change together</span>
            </>
          }
        />
      </Form>
    </section>
  );
}
