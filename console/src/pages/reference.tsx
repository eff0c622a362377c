// The API reference, generated from the OpenAPI description of the running server. A user can send each operation with
// the current session.

import { A, useLocation, useParams, useSearchParams } from "@solidjs/router";
import { createMemo, For, type JSX, Show } from "solid-js";
import { call } from "../api";
import { count } from "../format";
import { load } from "../load";
import { matches, type Operation, operations, type Spec } from "../openapi";
import { user } from "../session";
import { Badge } from "../ui/Badge";
import { Code } from "../ui/Code";
import { LoadingPage, Page } from "../ui/Page";
import { SearchField } from "../ui/SearchField";
import { OperationPage } from "./reference_operation";
import { SchemaPage } from "./reference_schema";
import { BASE, InlineCode, Method } from "./reference_text";
import "./reference.css";

export function Reference(): JSX.Element {
  const params = useParams<{ operation?: string }>();
  const spec = load(
    () => ({}),
    async (_, signal) => (await call("get", "/v0/server/spec", { signal })) as unknown as Spec,
  );
  return (
    <Show when={spec()} fallback={<LoadingPage title="API reference" lines={14} item={spec} />}>
      {(spec) => (
        <div class="reference" classList={{ "has-selection": Boolean(params.operation) }}>
          <OperationList spec={spec()} />
          <SelectedPage spec={spec()} place={decodeURIComponent(params.operation ?? "")} />
        </div>
      )}
    </Show>
  );
}

function SelectedPage(props: { spec: Spec; place: string }): JSX.Element {
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
function OperationList(props: { spec: Spec }): JSX.Element {
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
                {tag.charAt(0).toUpperCase() + tag.slice(1).replaceAll("_", " ")}{" "}
                <span class="muted small">{own.length}</span>
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

function Overview(props: { spec: Spec }): JSX.Element {
  const host = location.origin;
  const sentences = () => (props.spec.info.description ?? "").split(/(?<=\.) (?=[A-Z])/);
  return (
    <Page title="API reference" aside={<Badge>API {props.spec.info.version}</Badge>}>
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
                <InlineCode text={sentence} />
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
