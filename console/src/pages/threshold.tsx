// Thresholds: the list, and one threshold with its models.

import { A, useNavigate, useParams, useSearchParams } from "@solidjs/router";
import { createSignal, type JSX, Show } from "solid-js";
import { call, type JsonModel, type JsonThreshold, list } from "../api";
import { FilterPicker } from "../choices";
import { duration } from "../format";
import { load } from "../load";
import { boundaryText, describe, modelBody, TESTS, thresholdTitle } from "../model";
import { useProject } from "../project";
import { Badge } from "../ui/Badge";
import { Button, LinkButton } from "../ui/Button";
import { Confirm } from "../ui/Dialog";
import { Fact, Facts } from "../ui/Facts";
import { List as Rows } from "../ui/List";
import { LoadingPage, Page } from "../ui/Page";
import { Raw } from "../ui/Raw";
import { Empty, Failure, Notice, Skeleton } from "../ui/State";
import { Table } from "../ui/Table";
import { toast, toastFailure } from "../ui/Toast";
import { Time } from "../ui/Value";
import "./lists.css";
import { modelChanges } from "./threshold_edit";
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
                <span class="subtext">
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
            descending: true,
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
            descending: true,
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

export function View(): JSX.Element {
  const project = useProject();
  const params = useParams<{ threshold: string }>();
  const [query] = useSearchParams<{ model?: string }>();
  const navigate = useNavigate();
  const [deleting, setDeleting] = createSignal(false);
  const path = () => ({ project: project.slug(), threshold: params.threshold });
  const threshold = load(
    () => ({ ...path(), model: query.model, changes: modelChanges() }),
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
          body: model ? modelBody(model) : { test: null },
        }),
    );
    threshold.set(changed);
  };
  const removeModel = async () => {
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
            title={thresholdTitle(shown())}
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
                    <Button onClick={removeModel}>Remove model</Button>
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
              instead={project.may("edit") && shown().model ? { label: "Remove model", run: removeModel } : undefined}
              onClose={() => setDeleting(false)}
            >
              <p>
                Delete <strong>{thresholdTitle(shown())}</strong> permanently?
              </p>
              <p class="muted">
                A threshold that has checked values cannot be deleted. Remove its model instead: it then raises no
                alerts.
              </p>
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
      <Fact label="Upper limit">{boundary(props.model.upper_boundary)}</Fact>
      <Fact label="Lower limit">{boundary(props.model.lower_boundary)}</Fact>
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
