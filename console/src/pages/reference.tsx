// The API reference, generated from the OpenAPI description of the running server. A user can send each operation with
// the current session.

import { A, useLocation, useParams, useSearchParams } from "@solidjs/router";
import { createEffect, createMemo, createSignal, For, type JSX, onCleanup, Show } from "solid-js";
import { call } from "../api";
import { count } from "../format";
import { load } from "../load";
import {
  bare,
  example,
  limits,
  matches,
  nameOf,
  type Operation,
  operations,
  type Parameter,
  resolve,
  right,
  type Schema,
  type Spec,
  typeText,
} from "../openapi";
import { user } from "../session";
import { LoadingPage, Page } from "../ui/Page";
import { Badge, Button, Code, Copy, Empty } from "../ui/parts";
import { SearchField } from "../ui/SearchField";
import "./reference.css";

const BASE = "/console/api";

export function Reference(): JSX.Element {
  const params = useParams<{ operation?: string }>();
  const spec = load(
    () => ({}),
    async (_, signal) => (await call("get", "/v0/server/spec", { signal })) as unknown as Spec,
  );
  return (
    <Show when={spec()} fallback={<LoadingPage title="API reference" lines={14} item={spec} />}>
      {(spec) => (
        <div class="reference" classList={{ inside: Boolean(params.operation) }}>
          <Contents spec={spec()} />
          <Shown spec={spec()} place={decodeURIComponent(params.operation ?? "")} />
        </div>
      )}
    </Show>
  );
}

function Shown(props: { spec: Spec; place: string }): JSX.Element {
  const operation = createMemo(() => operations(props.spec).find(({ id }) => id === props.place));
  const schema = () => /^schemas\/(\w+)$/.exec(props.place)?.[1];
  return (
    <Show when={props.place} fallback={<Overview spec={props.spec} />}>
      <Show when={operation()} keyed fallback={<SchemaPage spec={props.spec} name={schema() ?? props.place} />}>
        {(operation) => <OperationPage spec={props.spec} operation={operation} />}
      </Show>
    </Show>
  );
}

/** The search and the list of operations. */
function Contents(props: { spec: Spec }): JSX.Element {
  const [params, setParams] = useSearchParams<{ search?: string }>();
  const location = useLocation();
  const words = () => params.search ?? "";
  const groups = createMemo(() => {
    const found = new Map<string, Operation[]>();
    for (const operation of operations(props.spec))
      if (matches(operation, words())) found.set(operation.tag, [...(found.get(operation.tag) ?? []), operation]);
    return [...found.entries()];
  });
  const schemas = createMemo(() =>
    words()
      ? Object.keys(props.spec.components.schemas)
          .filter((name) => name.toLowerCase().includes(words().toLowerCase()))
          .slice(0, 12)
      : [],
  );
  const query = () => (words() ? `?search=${encodeURIComponent(words())}` : "");
  return (
    <nav class="contents" aria-label="Operations">
      <SearchField
        label="Search the API"
        value={words()}
        onInput={(words) => setParams({ search: words || undefined }, { replace: true, scroll: false })}
        shortcut="Search the API"
      />
      <div class="contents-list">
        <For each={groups()} fallback={<p class="muted small">No operation matches.</p>}>
          {([tag, own]) => (
            <details open={Boolean(words()) || own.some(({ id }) => location.pathname === `${BASE}/${id}`)}>
              <summary>
                {tag.charAt(0).toUpperCase() + tag.slice(1)} <span class="muted small">{own.length}</span>
              </summary>
              <ul>
                <For each={own}>
                  {(operation) => (
                    <li>
                      <A href={`${BASE}/${operation.id}${query()}`}>
                        <Method of={operation.method} />
                        <span>{operation.summary?.replace(/\.$/, "")}</span>
                      </A>
                    </li>
                  )}
                </For>
              </ul>
            </details>
          )}
        </For>
        <Show when={schemas().length}>
          <details open>
            <summary>Schemas</summary>
            <ul>
              <For each={schemas()}>
                {(name) => (
                  <li>
                    <A href={`${BASE}/schemas/${name}${query()}`}>
                      <span class="mono">{name}</span>
                    </A>
                  </li>
                )}
              </For>
            </ul>
          </details>
        </Show>
      </div>
    </nav>
  );
}

function Method(props: { of: string }): JSX.Element {
  return <span class={`method ${props.of}`}>{props.of === "delete" ? "DEL" : props.of.toUpperCase()}</span>;
}

/** Renders code between backticks, and paragraphs. */
function Prose(props: { text: string | undefined }): JSX.Element {
  const paragraphs = () => (props.text ?? "").split(/\n\s*\n/).filter(Boolean);
  return (
    <For each={paragraphs()}>
      {(paragraph) => (
        <p class="prose">
          <Words text={paragraph} />
        </p>
      )}
    </For>
  );
}

function Words(props: { text: string }): JSX.Element {
  return <For each={props.text.split("`")}>{(part, place) => (place() % 2 ? <code>{part}</code> : part)}</For>;
}

function Overview(props: { spec: Spec }): JSX.Element {
  const host = location.origin;
  const sentences = () => (props.spec.info.description ?? "").split(/(?<=\.) (?=[A-Z])/);
  return (
    <Page title="API reference" aside={<Badge>contract {props.spec.info.version}</Badge>}>
      <div class="stack">
        <p class="muted prose">
          The console uses only this API. {count(operations(props.spec).length)} operations, described by this server.
        </p>
        <h2>Authentication</h2>
        <p class="prose">
          Send a key in the header of each request. Create one on{" "}
          <A href={`/console/users/${user()?.slug ?? ""}/keys`}>the page of your keys</A>, or on the keys page of a
          project. Requests from this page use your session.
        </p>
        <Code
          label="Example request"
          text={[
            "export TIDEMARK_API_KEY=svc_user_…",
            `curl -H "Authorization: Bearer $TIDEMARK_API_KEY" ${host}/v0/organizations`,
          ].join("\n")}
        />
        <h2>Conventions</h2>
        <ul class="prose stack tight">
          <For each={sentences()}>
            {(sentence) => (
              <li>
                <Words text={sentence} />
              </li>
            )}
          </For>
        </ul>
        <p>
          <a href="/v0/server/spec" target="_self">
            openapi.json
          </a>{" "}
          <span class="muted">contains the same for programs.</span>
        </p>
      </div>
    </Page>
  );
}

const CRUMBS = [{ href: BASE, label: "API reference" }];

function OperationPage(props: { spec: Spec; operation: Operation }): JSX.Element {
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
        <span class="muted">Access:</span> {right(props.operation["x-right"])}.
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
      <Try spec={props.spec} operation={props.operation} />
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

/** The fields of an object, or the type of another schema. */
function Fields(props: { spec: Spec; schema: Schema; depth?: number }): JSX.Element {
  const found = () => resolve(props.spec, bare(props.schema).schema);
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
          <Show when={found().enum}>{(values) => <Values of={values()} />}</Show>{" "}
          <span class="muted">
            <Words text={found().description ?? ""} />
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

function FieldRow(props: {
  spec: Spec;
  name: string;
  schema: Schema;
  required: boolean;
  about: string | undefined;
  depth?: number;
}): JSX.Element {
  const inner = () => bare(props.schema).schema;
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
              <Words text={text()} />
            </span>
          )}
        </Show>
        <Show when={limits(found())}>{(text) => <span class="small muted"> {text()}</span>}</Show>
        <Show when={found().enum}>{(values) => <Values of={values()} />}</Show>
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

function Values(props: { of: readonly unknown[] }): JSX.Element {
  return (
    <span class="values">
      <For each={props.of}>{(value) => <code>{String(value)}</code>}</For>
    </span>
  );
}

/** The name of a schema, with a link if it has a page. */
function TypeName(props: { spec: Spec; schema: Schema }): JSX.Element {
  const inner = () => bare(props.schema).schema;
  const linked = () => nameOf(inner()) ?? nameOf(inner().items);
  return (
    <Show when={linked()} fallback={typeText(props.spec, props.schema)}>
      {(name) => <A href={`${BASE}/schemas/${name()}`}>{typeText(props.spec, props.schema)}</A>}
    </Show>
  );
}

function SchemaPage(props: { spec: Spec; name: string }): JSX.Element {
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
              <ul class="plain">
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

interface Tried {
  status: number;
  ok: boolean;
  milliseconds: number;
  headers: [string, string][];
  text: string | undefined;
  picture: string | undefined;
}

/** Sends the operation with the current session. */
function Try(props: { spec: Spec; operation: Operation }): JSX.Element {
  const parameters = () => (props.operation.parameters ?? []).filter((parameter) => parameter.in !== "header");
  const known: Record<string, string> = {
    project: localStorage.getItem("tidemark-project") ?? "",
    user: user()?.slug ?? "",
  };
  const [values, setValues] = createSignal<Record<string, string>>(
    Object.fromEntries(parameters().map(({ name, in: place }) => [name, place === "path" ? (known[name] ?? "") : ""])),
  );
  const schema = () => props.operation.requestBody?.content["application/json"]?.schema;
  const [body, setBody] = createSignal(
    schema() ? JSON.stringify(example(props.spec, schema() as Schema, false), null, 2) : "",
  );
  const [tried, setTried] = createSignal<Tried>();
  const [failure, setFailure] = createSignal<string>();
  const address = () => {
    const path = props.operation.path.replace(/\{(\w+)\}/g, (_, name: string) =>
      values()[name] ? encodeURIComponent(values()[name] ?? "") : `{${name}}`,
    );
    const query = new URLSearchParams(
      parameters().flatMap(({ name, in: place }) =>
        place === "query" && values()[name] ? [[name, values()[name] ?? ""]] : [],
      ),
    );
    return path + (query.size ? `?${query}` : "");
  };
  const missing = () =>
    parameters()
      .filter(({ name, required, in: place }) => (place === "path" || required) && !values()[name])
      .map(({ name }) => name);
  const wrong = () => {
    if (!schema()) return undefined;
    try {
      JSON.parse(body());
      return undefined;
    } catch (error) {
      return `The body is not valid JSON: ${(error as Error).message}`;
    }
  };
  const curl = () => {
    const method = props.operation.method === "get" ? "" : `-X ${props.operation.method.toUpperCase()} `;
    const lines = [`curl ${method}"${location.origin}${address()}"`];
    if (props.operation["x-right"] !== "public") lines.push('-H "Authorization: Bearer $TIDEMARK_API_KEY"');
    if (schema()) lines.push("-H 'Content-Type: application/json'", `-d '${body().replaceAll("'", "'\\''")}'`);
    return lines.join(" \\\n  ");
  };
  const forget = () => {
    const { picture } = tried() ?? {};
    if (picture) URL.revokeObjectURL(picture);
  };
  onCleanup(forget);
  const send = async () => {
    forget();
    setFailure(undefined);
    const start = performance.now();
    try {
      const response = await fetch(address(), {
        method: props.operation.method.toUpperCase(),
        credentials: "same-origin",
        headers: {
          accept: "application/json, image/*, */*",
          "x-tidemark-console": "1",
          ...(schema() ? { "content-type": "application/json" } : {}),
        },
        ...(schema() ? { body: body() } : {}),
      });
      const kind = response.headers.get("content-type") ?? "";
      const blob = await response.blob();
      const isPicture = kind.startsWith("image/");
      const raw = isPicture ? "" : await blob.text();
      const text = kind.startsWith("application/json") && raw ? JSON.stringify(JSON.parse(raw), null, 2) : raw;
      setTried({
        status: response.status,
        ok: response.ok,
        milliseconds: performance.now() - start,
        headers: ["content-type", "x-total-count", "x-perf-truncated", "x-request-id", "etag"].flatMap(
          (name): [string, string][] => (response.headers.get(name) ? [[name, response.headers.get(name) ?? ""]] : []),
        ),
        text: isPicture ? undefined : text.length > 100_000 ? `${text.slice(0, 100_000)}\n…` : text,
        picture: isPicture ? URL.createObjectURL(blob) : undefined,
      });
    } catch {
      setTried(undefined);
      setFailure("The server is unreachable. Check the connection and try again.");
    }
  };
  // A response belongs to its request.
  createEffect(() => {
    props.operation.id;
    setTried(undefined);
  });
  return (
    <section class="card stack" aria-labelledby="try">
      <header class="row between">
        <h2 id="try">Try it</h2>
        <Show when={props.operation.method !== "get"}>
          <span class="small muted">uses your session and changes real data</span>
        </Show>
      </header>
      <Show when={parameters().length}>
        <div class="try-fields">
          <For each={parameters()}>
            {(parameter) => {
              const options = () =>
                resolve(props.spec, bare(parameter.schema).schema).enum ??
                (bare(parameter.schema).schema.type === "boolean" ? [true, false] : undefined);
              const set = (value: string) => setValues((old) => ({ ...old, [parameter.name]: value }));
              return (
                // biome-ignore lint/a11y/noLabelWithoutControl: `<Show>` contains the input or the select.
                <label class="field">
                  <span class="mono">
                    {parameter.name}
                    <Show when={parameter.in === "path" || parameter.required}>
                      <span class="required" aria-hidden="true">
                        {" "}
                        *
                      </span>
                    </Show>
                  </span>
                  <Show
                    when={options()}
                    fallback={
                      <input
                        value={values()[parameter.name] ?? ""}
                        required={parameter.in === "path" || parameter.required}
                        autocomplete="off"
                        onInput={(event) => set(event.currentTarget.value)}
                      />
                    }
                  >
                    {(options) => (
                      <select onChange={(event) => set(event.currentTarget.value)}>
                        <option value="" />
                        <For each={options()}>
                          {(option) => <option value={String(option)}>{String(option)}</option>}
                        </For>
                      </select>
                    )}
                  </Show>
                </label>
              );
            }}
          </For>
        </div>
      </Show>
      <Show when={schema()}>
        {(schema) => (
          <div class="stack tight">
            <div class="row between">
              <label for="try-body" class="strong">
                Body
              </label>
              <span class="row small">
                <button
                  type="button"
                  class="button quiet"
                  onClick={() => setBody(JSON.stringify(example(props.spec, schema(), false), null, 2))}
                >
                  Required only
                </button>
                <button
                  type="button"
                  class="button quiet"
                  onClick={() => setBody(JSON.stringify(example(props.spec, schema(), true), null, 2))}
                >
                  All fields
                </button>
              </span>
            </div>
            <textarea
              id="try-body"
              class="mono"
              rows={Math.min(Math.max(body().split("\n").length, 4), 20)}
              spellcheck={false}
              value={body()}
              aria-invalid={wrong() !== undefined}
              onInput={(event) => setBody(event.currentTarget.value)}
            />
            <Show when={wrong()}>{(text) => <p class="field-error">{text()}</p>}</Show>
          </div>
        )}
      </Show>
      <Code label="curl command" text={curl()} />
      <div class="row">
        <Button
          kind={props.operation.method === "delete" ? "danger" : "primary"}
          disabled={missing().length > 0 || wrong() !== undefined}
          onClick={send}
        >
          Send
        </Button>
        <Show when={missing().length}>
          <span class="small muted">requires {missing().join(", ")}</span>
        </Show>
      </div>
      <Show when={failure()}>
        {(text) => (
          <p class="field-error" role="alert">
            {text()}
          </p>
        )}
      </Show>
      <Show when={tried()}>
        {(tried) => (
          <div class="stack tight" role="status">
            <p class="row">
              <Badge tone={tried().ok ? "good" : "alert"}>{tried().status}</Badge>
              <span class="small muted number">{Math.round(tried().milliseconds)} ms</span>
            </p>
            <dl class="small headers">
              <For each={tried().headers}>
                {([name, value]) => (
                  <div>
                    <dt class="muted">{name}</dt>
                    <dd class="break">{value}</dd>
                  </div>
                )}
              </For>
            </dl>
            <Show when={tried().picture}>{(source) => <img class="picture" src={source()} alt="Response" />}</Show>
            <Show when={tried().text}>
              {(text) => (
                <div class="answer">
                  <Code label="Response" text={text()} />
                </div>
              )}
            </Show>
          </div>
        )}
      </Show>
    </section>
  );
}
