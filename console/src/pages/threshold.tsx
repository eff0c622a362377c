// Thresholds: the watched measure, branch and testbed, and the model.

import { A, useNavigate, useParams, useSearchParams } from "@solidjs/router";
import { createMemo, createSignal, For, type JSX, Show } from "solid-js";
import { call, type JsonMeasure, type JsonModel, type JsonThreshold, list, sentence } from "../api";
import { FilterPicker, type Kind, type Named, useChoices } from "../choices";
import { duration } from "../format";
import { load } from "../load";
import { boundaryText, describe, TESTS } from "../model";
import { useProject } from "../project";
import type { Model } from "../stats/limits";
import { worseOf } from "../stats/worse";
import { Confirm } from "../ui/Dialog";
import { List as Rows } from "../ui/List";
import { LoadingPage, Page } from "../ui/Page";
import { Picker } from "../ui/Picker";
import { Badge, Button, Empty, Failure, LinkButton, Notice, Skeleton, Time } from "../ui/parts";
import { Raw } from "../ui/Raw";
import { Fact, Record as Facts } from "../ui/Record";
import { Table } from "../ui/Table";
import { toast, toastFailure } from "../ui/Toast";
import "./lists.css";
import { defaultModel, ModelForm } from "./threshold_form";
import { Preview } from "./threshold_preview";

export function List(): JSX.Element {
  const project = useProject();
  const add = () => (
    <Show when={project.may("create")}>
      <LinkButton href={project.path("thresholds", "add")} icon="plus" primary>
        Add a threshold
      </LinkButton>
    </Show>
  );
  return (
    <Page title="Thresholds" crumbs={project.crumbs()} actions={add()}>
      <Rows<JsonThreshold>
        noun="threshold"
        archived
        params={["branch", "testbed", "measure"]}
        tools={() => (
          <>
            <FilterPicker kind="branch" />
            <FilterPicker kind="testbed" />
            <FilterPicker kind="measure" />
          </>
        )}
        load={({ sort, ...query }, signal) =>
          list("/v0/projects/{project}/thresholds", {
            path: { project: project.slug() },
            query: { direction: "desc", ...query, sort: sort === "modified" ? "modified" : "created" },
            signal,
          })
        }
        href={(threshold) => project.path("thresholds", threshold.uuid)}
        columns={[
          {
            title: "Scope",
            cell: (threshold) => (
              <>
                {threshold.measure.name}
                <span class="below">
                  {threshold.branch.name} · {threshold.testbed.name}
                </span>
              </>
            ),
          },
          {
            title: "Model",
            cell: (threshold) => (
              <Show when={threshold.model} fallback={<Badge>no model</Badge>}>
                {(model) => <span class="small">{describe(model())}</span>}
              </Show>
            ),
          },
          {
            title: "Created",
            sort: "created",
            falling: true,
            wide: true,
            end: true,
            cell: (threshold) => (
              <span class="muted">
                <Time at={threshold.created} />
              </span>
            ),
          },
          {
            title: "Changed",
            sort: "modified",
            falling: true,
            wide: true,
            end: true,
            cell: (threshold) => (
              <span class="muted">
                <Time at={threshold.modified} />
              </span>
            ),
          },
        ]}
        empty={
          <Empty title="No thresholds yet" action={add()}>
            A threshold checks one measure on a branch and a testbed, and raises an alert if a value crosses a limit.{" "}
            <code>tidemark run --threshold-measure latency --threshold-test t_test</code> also creates one.
          </Empty>
        }
      />
    </Page>
  );
}

/** Number of changes of the model made outside the page that shows it. */
const [changes, setChanges] = createSignal(0);

/** A model in the format of the API: unset values are null. */
function body(model: Model) {
  const {
    test,
    lower_boundary = null,
    upper_boundary = null,
    min_sample_size = null,
    max_sample_size = null,
    window = null,
  } = model;
  return { test, lower_boundary, upper_boundary, min_sample_size, max_sample_size, window };
}

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
      body: { ...at, ...body(model()) },
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
      call("put", "/v0/projects/{project}/thresholds/{threshold}", { path: path(), body: body(model) });
    await put(model());
    const undo = before ? () => put(before).then(() => setChanges((number) => number + 1), toastFailure) : undefined;
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
            { href: project.path("thresholds", params.threshold), label: titleOf(shown()) },
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

/** The settings and their preview, side by side. */
function ModelEditor(props: {
  action: string;
  save: () => Promise<void>;
  onCancel: () => void;
  model: Model;
  fields: JSX.Element;
  children: JSX.Element;
}): JSX.Element {
  const [failure, setFailure] = createSignal<string>();
  const [busy, setBusy] = createSignal(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (typeof props.model.lower_boundary !== "number" && typeof props.model.upper_boundary !== "number")
      return setFailure("Set an upper or a lower boundary, or both.");
    setBusy(true);
    setFailure(undefined);
    try {
      await props.save();
    } catch (error) {
      setFailure(sentence(error));
    }
    setBusy(false);
  };
  return (
    <div class="tuning">
      <form class="form" onSubmit={(event) => void submit(event)}>
        {props.fields}
        <Show when={failure()}>
          {(text) => (
            <p class="field-error" role="alert">
              {text()}
            </p>
          )}
        </Show>
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

export function View(): JSX.Element {
  const project = useProject();
  const params = useParams<{ threshold: string }>();
  const [query] = useSearchParams<{ model?: string }>();
  const navigate = useNavigate();
  const [deleting, setDeleting] = createSignal(false);
  const path = () => ({ project: project.slug(), threshold: params.threshold });
  const threshold = load(
    () => ({ ...path(), model: query.model, changes: changes() }),
    ({ project, threshold, model }, signal) =>
      call("get", "/v0/projects/{project}/thresholds/{threshold}", {
        path: { project, threshold },
        ...(model ? { query: { model } } : {}),
        signal,
      }),
  );
  const models = load(
    () => threshold() && { ...path(), now: threshold()?.modified },
    ({ project, threshold }, signal) =>
      list("/v0/projects/{project}/thresholds/{threshold}/models", {
        path: { project, threshold },
        query: { per_page: 255 },
        signal,
      }),
  );
  const put = async (model: JsonModel | null | undefined) => {
    const changed = await threshold.optimistic(
      (old) => ({ ...old, model: model ?? null }),
      () =>
        call("put", "/v0/projects/{project}/thresholds/{threshold}", {
          path: path(),
          body: model ? body(model) : { test: null },
        }),
    );
    threshold.set(changed);
  };
  const takeOff = async () => {
    const before = threshold()?.model;
    await put(null).then(
      () => toast("Model removed. The threshold raises no alerts.", () => put(before).catch(toastFailure)),
      toastFailure,
    );
  };
  const remove = async () => {
    await call("delete", "/v0/projects/{project}/thresholds/{threshold}", { path: path() });
    toast("Threshold deleted.");
    navigate(project.path("thresholds"));
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
      {(shown) => {
        const old = () => shown().model?.replaced;
        return (
          <Page
            title={titleOf(shown())}
            aside={
              <Show when={!shown().model}>
                <Badge tone="warn">no model</Badge>
              </Show>
            }
            crumbs={project.crumbs("thresholds", "Thresholds")}
            actions={
              <>
                <Raw value={shown()} />
                <Show when={project.may("edit") && !old()}>
                  <Show when={shown().model}>
                    <Button onClick={takeOff}>Remove model</Button>
                  </Show>
                  <LinkButton href={project.path("thresholds", params.threshold, "edit")} icon="edit" primary>
                    {shown().model ? "Edit model" : "Set model"}
                  </LinkButton>
                </Show>
                <Show when={project.may("delete")}>
                  <Button kind="danger" onClick={() => setDeleting(true)}>
                    Delete
                  </Button>
                </Show>
              </>
            }
          >
            <Show when={old()}>
              {(replaced) => (
                <Notice tone="warn">
                  This model is inactive: it was replaced <Time at={replaced()} />.{" "}
                  <A href={project.path("thresholds", params.threshold)}>Show the current model</A>
                </Notice>
              )}
            </Show>
            <div class="columns top">
              <Facts>
                <Fact label="Branch">
                  <A href={project.path("branches", shown().branch.slug)}>{shown().branch.name}</A>
                </Fact>
                <Fact label="Testbed">
                  <A href={project.path("testbeds", shown().testbed.slug)}>{shown().testbed.name}</A>
                </Fact>
                <Fact label="Measure">
                  <A href={project.path("measures", shown().measure.slug)}>{shown().measure.name}</A>
                </Fact>
                <Fact label="Created">
                  <Time at={shown().created} />
                </Fact>
                <Fact label="UUID" copy={shown().uuid}>
                  <code>{shown().uuid}</code>
                </Fact>
              </Facts>
              <Show
                when={shown().model}
                fallback={<Empty title="No model">The threshold has no model. Existing alerts are kept.</Empty>}
              >
                {(model) => <ModelFacts model={model()} />}
              </Show>
            </div>
            <Show when={shown().model}>
              {(model) => (
                <Preview
                  watched={{
                    branch: shown().branch.uuid,
                    testbed: shown().testbed.uuid,
                    measure: shown().measure.uuid,
                  }}
                  model={model()}
                />
              )}
            </Show>
            <section class="stack tight">
              <h2>Models</h2>
              <Show when={models.error()}>{(error) => <Failure error={error()} retry={models.refresh} />}</Show>
              <Show when={models()} fallback={<Skeleton lines={3} />}>
                {(models) => (
                  <Table<JsonModel>
                    label="Models"
                    rows={models().rows}
                    href={(model) =>
                      `${project.path("thresholds", params.threshold)}${model.replaced ? `?model=${model.uuid}` : ""}`
                    }
                    columns={[
                      { title: "Model", cell: (model) => describe(model) },
                      { title: "From", wide: true, end: true, cell: (model) => <Time at={model.created} /> },
                      {
                        title: "Until",
                        end: true,
                        cell: (model) => (
                          <Show when={model.replaced} fallback={<Badge tone="good">current</Badge>}>
                            {(replaced) => <Time at={replaced()} />}
                          </Show>
                        ),
                      },
                    ]}
                  />
                )}
              </Show>
            </section>
            <Confirm
              open={deleting()}
              title="Delete threshold?"
              action="Delete"
              onConfirm={remove}
              onClose={() => setDeleting(false)}
            >
              <p>
                <strong>{titleOf(shown())}</strong> will raise no more alerts.
              </p>
              <p class="muted">You cannot delete a threshold that has checked values. Remove its model instead.</p>
            </Confirm>
          </Page>
        );
      }}
    </Show>
  );
}

function ModelFacts(props: { model: JsonModel }): JSX.Element {
  const boundary = (number: number | null | undefined) =>
    typeof number === "number" ? boundaryText(props.model.test, number) : "none";
  return (
    <Facts>
      <Fact label="Test">{TESTS[props.model.test].name}</Fact>
      <Fact label="Upper boundary">{boundary(props.model.upper_boundary)}</Fact>
      <Fact label="Lower boundary">{boundary(props.model.lower_boundary)}</Fact>
      <Show when={props.model.test !== "static"}>
        <Fact label="Sample">
          {[
            `at least ${props.model.min_sample_size ?? "the minimum of the test"}`,
            `at most ${props.model.max_sample_size ?? 4096}`,
          ].join(", ")}
        </Fact>
        <Fact label="Window">{typeof props.model.window === "number" ? duration(props.model.window) : "no limit"}</Fact>
      </Show>
    </Facts>
  );
}

function titleOf({ measure, branch, testbed }: JsonThreshold): string {
  return `${measure.name} · ${branch.name} · ${testbed.name}`;
}
