// The dialog that dismisses multiple alerts.

import { createMemo, createSignal, For, type JSX, Show } from "solid-js";
import { call, type JsonAlert, list } from "../api";
import { type Kind, type Named, useChoices } from "../choices";
import { count, plural } from "../format";
import { load } from "../load";
import { useProject } from "../project";
import { Confirm } from "../ui/Dialog";
import { Picker } from "../ui/Picker";
import { Failure } from "../ui/State";
import { toast, toastFailure } from "../ui/Toast";

const KINDS: readonly { kind: Kind; label: string }[] = [
  { kind: "branch", label: "Branch" },
  { kind: "testbed", label: "Testbed" },
  { kind: "benchmark", label: "Benchmark" },
  { kind: "measure", label: "Measure" },
];

/** Dismisses the active alerts that match the filters, or all of them if the user selects all, with one request. */
export function DismissAlerts(props: { open: boolean; onClose: () => void; onDone: () => void }): JSX.Element {
  const project = useProject();
  const [chosen, setChosen] = createSignal<Partial<Record<Kind, Named>>>({});
  const [all, setAll] = createSignal(false);
  const isFiltered = () => Object.keys(chosen()).length > 0;
  const active = load(
    () => props.open && { project: project.slug(), at: Date.now() },
    ({ project }, signal) => allActive(project, signal),
  );
  const matching = createMemo(() => {
    const slugOf: Readonly<Record<Kind, (alert: JsonAlert) => string>> = {
      branch: ({ threshold }) => threshold.branch.slug,
      testbed: ({ threshold }) => threshold.testbed.slug,
      benchmark: ({ benchmark }) => benchmark.slug,
      measure: ({ threshold }) => threshold.measure.slug,
    };
    return active()?.filter(
      (alert) =>
        (all() || isFiltered()) &&
        KINDS.every(({ kind }) => !chosen()[kind] || slugOf[kind](alert) === chosen()[kind]?.slug),
    );
  });
  const confirm = async () => {
    const before = matching() ?? [];
    const slugs = Object.fromEntries(
      KINDS.flatMap(({ kind }) => (chosen()[kind] ? [[kind, chosen()[kind]?.slug]] : [])),
    );
    const { updated } = await call("patch", "/v0/projects/{project}/alerts", {
      path: { project: project.slug() },
      body: { status: "dismissed", ...slugs },
    });
    props.onDone();
    toast(`${plural(updated, "alert")} dismissed.`, async () => {
      // One request per alert: a single request would also restore alerts that were dismissed before.
      for (const { uuid } of before) {
        await call("patch", "/v0/projects/{project}/alerts/{alert}", {
          path: { project: project.slug(), alert: uuid },
          body: { status: "active" },
        }).catch(toastFailure);
      }
      props.onDone();
    });
  };
  const close = () => {
    setChosen({});
    setAll(false);
    props.onClose();
  };
  return (
    <Confirm
      open={props.open}
      title="Dismiss multiple alerts"
      action={matching() ? `Dismiss ${plural(matching()?.length ?? 0, "alert")}` : "Dismiss"}
      disabled={!matching()?.length}
      onConfirm={confirm}
      onClose={close}
    >
      <p class="muted">Select the active alerts to dismiss: the alerts that match the filters, or all alerts.</p>
      <label class="check">
        <input
          type="checkbox"
          checked={all() && !isFiltered()}
          disabled={isFiltered()}
          onInput={(event) => setAll(event.currentTarget.checked)}
        />
        <span>Select all</span>
      </label>
      <For each={KINDS}>
        {({ kind, label }) => (
          <Picker
            label={label}
            placeholder={`Any ${kind}`}
            value={chosen()[kind]}
            onPick={(choice) =>
              setChosen(({ [kind]: _, ...others }) => (choice ? { ...others, [kind]: choice } : others))
            }
            search={useChoices(kind)}
          />
        )}
      </For>
      <Show when={active.error()}>{(error) => <Failure error={error()} retry={active.refresh} />}</Show>
      <p class="number" role="status">
        {matching()
          ? `${plural(matching()?.length ?? 0, "alert")} of ${count(active()?.length ?? 0)} selected.`
          : "Counting…"}
      </p>
    </Confirm>
  );
}

async function allActive(project: string, signal: AbortSignal): Promise<JsonAlert[]> {
  const all: JsonAlert[] = [];
  for (let page = 1; ; page++) {
    const { rows, total } = await list("/v0/projects/{project}/alerts", {
      path: { project },
      query: { status: "active", page, per_page: 255 },
      signal,
    });
    all.push(...rows);
    if (!rows.length || all.length >= total) return all;
  }
}
