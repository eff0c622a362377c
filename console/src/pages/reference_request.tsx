// The form that sends an operation of the API reference with the current session, and shows the response.

import { createEffect, createSignal, For, type JSX, onCleanup, Show } from "solid-js";
import { example, type Operation, resolve, type Schema, type Spec, unwrapNullable } from "../openapi";
import { user } from "../session";
import { Badge } from "../ui/Badge";
import { Button } from "../ui/Button";
import { Code } from "../ui/Code";
import "./reference.css";

/** A response as the page shows it. */
interface ReceivedResponse {
  status: number;
  ok: boolean;
  milliseconds: number;
  headers: [string, string][];
  text: string | undefined;
  picture: string | undefined;
}

/** Sends the operation with the current session. */
export function RequestForm(props: { spec: Spec; operation: Operation }): JSX.Element {
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
  const [response, setResponse] = createSignal<ReceivedResponse>();
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
    const { picture } = response() ?? {};
    if (picture) URL.revokeObjectURL(picture);
  };
  onCleanup(forget);
  const send = async () => {
    forget();
    setFailure(undefined);
    const start = performance.now();
    try {
      const answer = await fetch(address(), {
        method: props.operation.method.toUpperCase(),
        credentials: "same-origin",
        headers: {
          accept: "application/json, image/*, */*",
          "x-tidemark-console": "1",
          ...(schema() ? { "content-type": "application/json" } : {}),
        },
        ...(schema() ? { body: body() } : {}),
      });
      const kind = answer.headers.get("content-type") ?? "";
      const blob = await answer.blob();
      const isPicture = kind.startsWith("image/");
      const raw = isPicture ? "" : await blob.text();
      const text = kind.startsWith("application/json") && raw ? JSON.stringify(JSON.parse(raw), null, 2) : raw;
      setResponse({
        status: answer.status,
        ok: answer.ok,
        milliseconds: performance.now() - start,
        headers: ["content-type", "x-total-count", "x-perf-truncated", "x-request-id", "etag"].flatMap(
          (name): [string, string][] => (answer.headers.get(name) ? [[name, answer.headers.get(name) ?? ""]] : []),
        ),
        text: isPicture ? undefined : text.length > 100_000 ? `${text.slice(0, 100_000)}\n…` : text,
        picture: isPicture ? URL.createObjectURL(blob) : undefined,
      });
    } catch {
      setResponse(undefined);
      setFailure("The server is unreachable. Check the connection and try again.");
    }
  };
  // A response belongs to its request.
  createEffect(() => {
    props.operation.id;
    setResponse(undefined);
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
                resolve(props.spec, unwrapNullable(parameter.schema).schema).enum ??
                (unwrapNullable(parameter.schema).schema.type === "boolean" ? [true, false] : undefined);
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
      <Show when={response()}>{(response) => <ResponseView response={response()} />}</Show>
    </section>
  );
}

function ResponseView(props: { response: ReceivedResponse }): JSX.Element {
  return (
    <div class="stack tight" role="status">
      <p class="row">
        <Badge tone={props.response.ok ? "good" : "alert"}>{props.response.status}</Badge>
        <span class="small muted number">{Math.round(props.response.milliseconds)} ms</span>
      </p>
      <dl class="small response-headers">
        <For each={props.response.headers}>
          {([name, value]) => (
            <div>
              <dt class="muted">{name}</dt>
              <dd class="break">{value}</dd>
            </div>
          )}
        </For>
      </dl>
      <Show when={props.response.picture}>
        {(source) => <img class="response-image" src={source()} alt="Response" />}
      </Show>
      <Show when={props.response.text}>
        {(text) => (
          <div class="response-body">
            <Code label="Response" text={text()} />
          </div>
        )}
      </Show>
    </div>
  );
}
