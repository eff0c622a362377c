// Adds a threshold and edits its model, with a preview of its alerts in the past.

import { useNavigate, useParams } from "@solidjs/router";
import { createMemo, createSignal, For, type JSX, onMount, Show } from "solid-js";
import { call, type JsonMeasure } from "../api";
import { type Kind, type Named, useChoices } from "../choices";
import { restoreDraft } from "../drafts";
import { load } from "../load";
import { modelBody, thresholdTitle } from "../model";
import { useProject } from "../project";
import { user } from "../session";
import type { Model } from "../stats/limits";
import { worseOf } from "../stats/worse";
import { LoadingPage, Page } from "../ui/Page";
import { Picker } from "../ui/Picker";
import { Empty, FormFailure } from "../ui/State";
import { toast, toastFailure } from "../ui/Toast";
import "./lists.css";
import { defaultModel, ModelForm } from "./threshold_form";
import { Preview } from "./threshold_preview";

/** Number of changes of the model made outside the page that shows it. */
const [modelChanges, setModelChanges] = createSignal(0);

export { modelChanges };

const DIMENSIONS: readonly { kind: Exclude<Kind, "benchmark">; label: string; hint: string }[] = [
  { kind: "branch", label: "Branch", hint: "Branches that start from it can copy its thresholds." },
  { kind: "testbed", label: "Testbed", hint: "Values of other testbeds are never compared." },
  {
    kind: "measure",
    label: "Measure",
    hint: "Applies to all benchmarks with this measure, each with its own history.",
  },
];

export function Add(): JSX.Element {
  const project = useProject();
  const navigate = useNavigate();
  const [chosen, setChosen] = createSignal<Partial<Record<Kind, Named>>>({});
  const [edited, setEdited] = createSignal<Model>();
  const [values, setValues] = createSignal<{ least: number; most: number }>();
  const measure = load(
    () => (chosen().measure ? { project: project.slug(), measure: chosen().measure?.uuid ?? "" } : undefined),
    (path, signal) => call("get", "/v0/projects/{project}/measures/{measure}", { path, signal }),
  );
  const direction = () => (measure() ? worseOf(measure() as JsonMeasure) : "up");
  const model = () => edited() ?? defaultModel("t_test", direction());
  const watched = createMemo(() => {
    const { branch, testbed, measure } = chosen();
    return branch && testbed && measure
      ? { branch: branch.uuid, testbed: testbed.uuid, measure: measure.uuid }
      : undefined;
  });
  const save = async () => {
    const at = watched();
    if (!at) return;
    const made = await call("post", "/v0/projects/{project}/thresholds", {
      path: { project: project.slug() },
      body: { ...at, ...modelBody(model()) },
    });
    toast("Threshold added.");
    navigate(project.path("thresholds", made.uuid));
  };
  return (
    <Page title="Add a threshold" crumbs={project.crumbs("thresholds", "Thresholds")}>
      <ModelEditor
        action="Add the threshold"
        save={save}
        onCancel={() => navigate(project.path("thresholds"))}
        model={model()}
        fields={
          <>
            <For each={DIMENSIONS}>
              {({ kind, label, hint }) => (
                <Picker
                  label={label}
                  hint={hint}
                  required
                  value={chosen()[kind]}
                  onPick={(choice) => setChosen((old) => (choice ? { ...old, [kind]: choice } : old))}
                  search={useChoices(kind)}
                />
              )}
            </For>
            <ModelForm model={model()} onChange={setEdited} worse={direction()} values={values()} />
          </>
        }
      >
        <Show
          when={watched()}
          fallback={
            <Empty title="Preview">
              Select a branch, a testbed and a measure to preview the alerts of the model in the past.
            </Empty>
          }
        >
          {(at) => <Preview watched={at()} model={model()} onValues={setValues} />}
        </Show>
      </ModelEditor>
    </Page>
  );
}

export function Edit(): JSX.Element {
  const project = useProject();
  const params = useParams<{ threshold: string }>();
  const navigate = useNavigate();
  const path = () => ({ project: project.slug(), threshold: params.threshold });
  const threshold = load(path, (path, signal) =>
    call("get", "/v0/projects/{project}/thresholds/{threshold}", { path, signal }),
  );
  const [edited, setEdited] = createSignal<Model>();
  const [values, setValues] = createSignal<{ least: number; most: number }>();
  const direction = () => (threshold() ? worseOf(threshold()?.measure as JsonMeasure) : undefined);
  const model = () => edited() ?? threshold()?.model ?? defaultModel("t_test", direction());
  const save = async () => {
    const before = threshold()?.model;
    const put = (model: Model) =>
      call("put", "/v0/projects/{project}/thresholds/{threshold}", { path: path(), body: modelBody(model) });
    await put(model());
    const undo = before
      ? () => put(before).then(() => setModelChanges((number) => number + 1), toastFailure)
      : undefined;
    navigate(project.path("thresholds", params.threshold));
    toast("Model saved.", undo);
  };
  return (
    <Show
      when={threshold()}
      fallback={
        <LoadingPage
          title="Threshold"
          crumbs={project.crumbs("thresholds", "Thresholds")}
          lines={12}
          item={threshold}
        />
      }
    >
      {(shown) => (
        <Page
          title="Edit model"
          crumbs={[
            ...project.crumbs("thresholds", "Thresholds"),
            { href: project.path("thresholds", params.threshold), label: thresholdTitle(shown()) },
          ]}
        >
          <ModelEditor
            action="Save model"
            save={save}
            onCancel={() => navigate(project.path("thresholds", params.threshold))}
            model={model()}
            fields={<ModelForm model={model()} onChange={setEdited} worse={direction()} values={values()} />}
          >
            <Preview
              watched={{ branch: shown().branch.uuid, testbed: shown().testbed.uuid, measure: shown().measure.uuid }}
              model={model()}
              onValues={setValues}
            />
          </ModelEditor>
        </Page>
      )}
    </Show>
  );
}

/** The form of the settings and their preview, side by side. */
function ModelEditor(props: {
  action: string;
  save: () => Promise<void>;
  onCancel: () => void;
  model: Model;
  fields: JSX.Element;
  children: JSX.Element;
}): JSX.Element {
  const [failure, setFailure] = createSignal<unknown>();
  const [busy, setBusy] = createSignal(false);
  let form: HTMLFormElement | undefined;
  onMount(() => form && restoreDraft(form, user()?.uuid ?? ""));
  const submit = async (event: Event) => {
    event.preventDefault();
    if (typeof props.model.lower_boundary !== "number" && typeof props.model.upper_boundary !== "number")
      return setFailure(new Error("Set an upper or a lower limit, or both."));
    setBusy(true);
    setFailure(undefined);
    try {
      await props.save();
    } catch (error) {
      setFailure(error);
    }
    setBusy(false);
  };
  return (
    <div class="model-editor">
      <form ref={form} class="form" onSubmit={(event) => void submit(event)}>
        {props.fields}
        <Show when={failure()}>{(error) => <FormFailure error={error()} />}</Show>
        <div class="row">
          <button type="submit" class="button primary" disabled={busy()} aria-busy={busy()}>
            {props.action}
          </button>
          <button type="button" class="button" onClick={() => props.onCancel()}>
            Cancel
          </button>
        </div>
      </form>
      {props.children}
    </div>
  );
}
