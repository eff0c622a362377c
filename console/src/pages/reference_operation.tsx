// The page of an operation in the API reference: parameters, body and responses.

import { A } from "@solidjs/router";
import { For, type JSX, Show } from "solid-js";
import { describeRight, example, type Operation, type Parameter, type Spec } from "../openapi";
import { Badge } from "../ui/Badge";
import { Copy } from "../ui/Button";
import { Code } from "../ui/Code";
import { Page } from "../ui/Page";
import { RequestForm } from "./reference_request";
import { FieldRow, Fields, TypeName } from "./reference_schema";
import { BASE, CRUMBS, Method, Prose } from "./reference_text";
import "./reference.css";

/** The page of an operation. */
export function OperationPage(props: { spec: Spec; operation: Operation }): JSX.Element {
  const parameters = (place: Parameter["in"]) =>
    (props.operation.parameters ?? []).filter((parameter) => parameter.in === place);
  const body = () => props.operation.requestBody?.content["application/json"]?.schema;
  const answers = () => Object.entries(props.operation.responses).filter(([status]) => status.startsWith("2"));
  return (
    <Page title={props.operation.summary?.replace(/\.$/, "") ?? props.operation.id} crumbs={CRUMBS}>
      <div class="endpoint">
        <Method of={props.operation.method} />
        <code class="break grow">{props.operation.path}</code>
        <Copy text={props.operation.path} label="Copy the path" />
      </div>
      <Prose text={props.operation.description} />
      <p>
        <span class="muted">Access:</span> {describeRight(props.operation["x-right"])}.
      </p>
      <Show when={parameters("path").length}>
        <section class="stack tight">
          <h2>In the path</h2>
          <Parameters spec={props.spec} of={parameters("path")} />
        </section>
      </Show>
      <Show when={parameters("query").length}>
        <section class="stack tight">
          <h2>In the query</h2>
          <Parameters spec={props.spec} of={parameters("query")} />
        </section>
      </Show>
      <Show when={body()}>
        {(schema) => (
          <section class="stack tight">
            <h2>Body</h2>
            <Fields spec={props.spec} schema={schema()} />
          </section>
        )}
      </Show>
      <section class="stack tight">
        <h2>Response</h2>
        <For each={answers()}>
          {([status, answer]) => {
            const schema = answer.content?.["application/json"]?.schema;
            const kinds = Object.keys(answer.content ?? {}).filter((kind) => kind !== "application/json");
            const isEmpty = !schema || (!schema.$ref && !schema.type && !schema.items);
            return (
              <div class="stack tight">
                <p>
                  <Badge tone="good">{status}</Badge>{" "}
                  <Show
                    when={!isEmpty && schema}
                    fallback={<span class="muted">{kinds.length ? kinds.join(", ") : "nothing"}</span>}
                  >
                    {(schema) => <TypeName spec={props.spec} schema={schema()} />}
                  </Show>
                </p>
                <Show when={!isEmpty && schema}>
                  {(schema) => (
                    <details class="explain">
                      <summary>Fields and an example</summary>
                      <div class="stack tight">
                        <Fields spec={props.spec} schema={schema().items ?? schema()} />
                        <Code
                          label={`Example of ${status}`}
                          text={JSON.stringify(example(props.spec, schema(), true), null, 2)}
                        />
                      </div>
                    </details>
                  )}
                </Show>
              </div>
            );
          }}
        </For>
        <p class="muted small">
          Errors have a status of 400 or more and the body <A href={`${BASE}/schemas/Error`}>Error</A>, whose{" "}
          <code>message</code> states the reason.
        </p>
      </section>
      <RequestForm spec={props.spec} operation={props.operation} />
    </Page>
  );
}

function Parameters(props: { spec: Spec; of: readonly Parameter[] }): JSX.Element {
  return (
    <dl class="fields">
      <For each={props.of}>
        {(parameter) => (
          <FieldRow
            spec={props.spec}
            name={parameter.name}
            schema={parameter.schema}
            required={parameter.required ?? false}
            about={parameter.description}
          />
        )}
      </For>
    </dl>
  );
}
