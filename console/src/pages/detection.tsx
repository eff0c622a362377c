// Detection settings of a project: the false-alarm budget, observed false alarms and the backtest.

import { A } from "@solidjs/router";
import { For, type JSX, Show } from "solid-js";
import { call, type JsonDetection, type Notifies } from "../api";
import { loadDetection, monthly } from "../detection";
import { count, day, plural } from "../format";
import type { Loaded } from "../load";
import { useProject } from "../project";
import { CheckField, Form, TextField, type Values } from "../ui/Form";
import { Page } from "../ui/Page";
import { Raw } from "../ui/Raw";
import { Failure, Skeleton } from "../ui/State";
import { toast, toastFailure } from "../ui/Toast";
import { Backtest } from "./backtest";
import "./detection.css";
import "./home.css";
import "./lists.css";

const NOTIFIES: readonly { value: Notifies; label: string; about: string }[] = [
  { value: "changes", label: "Changes", about: "lasting shifts of the level of a series" },
  { value: "alerts", label: "Alerts", about: "values outside the limits of thresholds" },
];

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
        After each report, the server analyzes every series for changes of its level, without a threshold. The{" "}
        <A href={project.path("regressions")}>list of regressions</A> shows all of them. Notifications are limited to
        changes within the false-alarm budget of the project. A change between runs of the same binary is noise and
        never causes a notification.
      </p>
      <Show when={detection.error()}>{(error) => <Failure error={error()} retry={detection.refresh} />}</Show>
      <Show
        when={detection()}
        fallback={
          <Show when={!detection.error()}>
            <Skeleton lines={4} />
          </Show>
        }
      >
        {(known) => (
          <>
            <Figures of={known()} />
            <Show when={project.may("manage")}>
              <Settings of={known()} loaded={detection} />
            </Show>
          </>
        )}
      </Show>
      <Backtest />
    </Page>
  );
}

function Figures(props: { of: JsonDetection }): JSX.Element {
  const observed = () => props.of.observed;
  return (
    <section class="stack tight" aria-label="Figures">
      <dl class="key-figures">
        <div>
          <dt>False alarms per month</dt>
          <dd class="number">{monthly(observed().false_alarms_per_month)}</dd>
          <dd class="small muted">
            {count(observed().false_alarms)} of {plural(observed().raised, "alarm")} since {day(observed().since)}
          </dd>
        </div>
        <div>
          <dt>False-alarm budget</dt>
          <dd class="number">{count(props.of.false_alarms_per_month)}</dd>
          <dd class="small muted">notifications for {props.of.notifies}</dd>
        </div>
        <div>
          <dt>Runs per month</dt>
          <dd class="number">{count(props.of.runs_per_month)}</dd>
          <dd class="small muted">share the budget</dd>
        </div>
      </dl>
      <p class="small muted prose">
        A false alarm is a notified change that a user marked as false alarm, that later values withdrew, or that is
        between runs of the same binary.
      </p>
    </section>
  );
}

function Settings(props: { of: JsonDetection; loaded: Loaded<JsonDetection> }): JSX.Element {
  const project = useProject();
  const patch = async (notifies: Notifies, false_alarms_per_month: number, notifies_host: boolean) =>
    props.loaded.set(
      await call("patch", "/v0/projects/{project}/detection", {
        path: { project: project.slug() },
        body: { notifies, false_alarms_per_month, notifies_host },
      }),
    );
  const save = async ({ notifies, false_alarms_per_month, notifies_host }: Values) => {
    const before = props.of;
    await patch(notifies as Notifies, Number(false_alarms_per_month), notifies_host === "on");
    toast("Saved.", () =>
      patch(before.notifies, before.false_alarms_per_month, before.notifies_host).catch(toastFailure),
    );
  };
  return (
    <section class="card detection-form stack" aria-labelledby="settings">
      <h2 id="settings">Notifications</h2>
      <Form action="Save" onSubmit={save}>
        <fieldset class="roles">
          <legend>Notify about</legend>
          <For each={NOTIFIES}>
            {({ value, label, about }) => (
              <label class="check">
                <input type="radio" name="notifies" value={value} checked={props.of.notifies === value} />
                <span>
                  <strong>{label}</strong> <span class="muted">{about}</span>
                </span>
              </label>
            )}
          </For>
        </fieldset>
        <TextField
          name="false_alarms_per_month"
          label="False-alarm budget"
          type="number"
          required
          min={1}
          max={1000}
          step={1}
          value={String(props.of.false_alarms_per_month)}
          hint="False alarms per month. A larger budget means earlier notifications and notifications of smaller changes."
        />
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
