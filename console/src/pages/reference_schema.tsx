// Schemas in the API reference: the page of a schema, its fields and the names of types.

import { A } from "@solidjs/router";
import { createMemo, For, type JSX, Show } from "solid-js";
import {
  example,
  limits,
  nameOf,
  operations,
  resolve,
  type Schema,
  type Spec,
  typeText,
  unwrapNullable,
} from "../openapi";
import { Code } from "../ui/Code";
import { Page } from "../ui/Page";
import { Empty } from "../ui/State";
import { BASE, CRUMBS, InlineCode, Method, Prose } from "./reference_text";
import "./reference.css";

/** The page of a schema: its fields, an example and the operations that use it. */
export function SchemaPage(props: { spec: Spec; name: string }): JSX.Element {
  const schema = () => props.spec.components.schemas[props.name];
  const users = createMemo(() =>
    operations(props.spec).filter((operation) =>
      JSON.stringify([operation.requestBody, operation.responses]).includes(`/schemas/${props.name}"`),
    ),
  );
  return (
    <Show
      when={schema()}
      fallback={
        <Page title="API reference" crumbs={CRUMBS}>
          <Empty title="Operation not found">It may have been renamed. Use the search.</Empty>
        </Page>
      }
    >
      {(schema) => (
        <Page title={props.name} crumbs={CRUMBS}>
          <Prose text={schema().description} />
          <Fields spec={props.spec} schema={schema()} />
          <section class="stack tight">
            <h2>Example</h2>
            <Code label="Example" text={JSON.stringify(example(props.spec, schema(), true), null, 2)} />
          </section>
          <Show when={users().length}>
            <section class="stack tight">
              <h2>Used by</h2>
              <ul class="plain-list">
                <For each={users()}>
                  {(operation) => (
                    <li>
                      <A href={`${BASE}/${operation.id}`}>
                        <Method of={operation.method} /> {operation.path}
                      </A>
                    </li>
                  )}
                </For>
              </ul>
            </section>
          </Show>
        </Page>
      )}
    </Show>
  );
}

/** The fields of an object, or the type of another schema. */
export function Fields(props: { spec: Spec; schema: Schema; depth?: number }): JSX.Element {
  const found = () => resolve(props.spec, unwrapNullable(props.schema).schema);
  const entries = () =>
    Object.entries(found().properties ?? {}).sort(
      ([one], [two]) =>
        Number(found().required?.includes(two) ?? false) - Number(found().required?.includes(one) ?? false),
    );
  return (
    <Show
      when={entries().length}
      fallback={
        <p class="small">
          <TypeName spec={props.spec} schema={props.schema} />{" "}
          <Show when={found().enum}>{(values) => <EnumValues of={values()} />}</Show>{" "}
          <span class="muted">
            <InlineCode text={found().description ?? ""} />
          </span>
        </p>
      }
    >
      <dl class="fields">
        <For each={entries()}>
          {([name, schema]) => (
            <FieldRow
              spec={props.spec}
              name={name}
              schema={schema}
              required={found().required?.includes(name) ?? false}
              about={undefined}
              depth={props.depth ?? 0}
            />
          )}
        </For>
      </dl>
    </Show>
  );
}

/** One field or parameter with its type, limits and nested fields. */
export function FieldRow(props: {
  spec: Spec;
  name: string;
  schema: Schema;
  required: boolean;
  about: string | undefined;
  depth?: number;
}): JSX.Element {
  const inner = () => unwrapNullable(props.schema).schema;
  const found = () => resolve(props.spec, inner());
  const about = () => props.about ?? props.schema.description ?? found().description;
  const nested = () =>
    found().properties
      ? inner()
      : found().items && resolve(props.spec, found().items as Schema).properties
        ? (found().items as Schema)
        : undefined;
  return (
    <div>
      <dt>
        <code>{props.name}</code>{" "}
        <span class="small muted">
          <TypeName spec={props.spec} schema={props.schema} />
        </span>{" "}
        <Show when={props.required}>
          <span class="small required">required</span>
        </Show>
      </dt>
      <dd>
        <Show when={about()}>
          {(text) => (
            <span>
              <InlineCode text={text()} />
            </span>
          )}
        </Show>
        <Show when={limits(found())}>{(text) => <span class="small muted"> {text()}</span>}</Show>
        <Show when={found().enum}>{(values) => <EnumValues of={values()} />}</Show>
        <Show when={(props.depth ?? 0) < 3 && nested()}>
          {(schema) => (
            <details class="explain">
              <summary class="small">Fields of {nameOf(schema()) ?? "it"}</summary>
              <Fields spec={props.spec} schema={schema()} depth={(props.depth ?? 0) + 1} />
            </details>
          )}
        </Show>
      </dd>
    </div>
  );
}

function EnumValues(props: { of: readonly unknown[] }): JSX.Element {
  return (
    <span class="values">
      <For each={props.of}>{(value) => <code>{String(value)}</code>}</For>
    </span>
  );
}

/** The name of a schema, with a link if it has a page. */
export function TypeName(props: { spec: Spec; schema: Schema }): JSX.Element {
  const inner = () => unwrapNullable(props.schema).schema;
  const linked = () => nameOf(inner()) ?? nameOf(inner().items);
  return (
    <Show when={linked()} fallback={typeText(props.spec, props.schema)}>
      {(name) => <A href={`${BASE}/schemas/${name()}`}>{typeText(props.spec, props.schema)}</A>}
    </Show>
  );
}
