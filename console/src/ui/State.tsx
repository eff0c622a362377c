// States of a page or a section: loading, empty, failed, and notices.

import { For, type JSX, onCleanup, onMount, Show } from "solid-js";
import { ApiError, sentence } from "../api";
import { expired, signInPath } from "../session";
import type { Tone } from "./Badge";
import { Button, Copy } from "./Button";
import { Icon } from "./Icon";

/** A placeholder with the height of the content. */
export function Skeleton(props: { lines?: number }): JSX.Element {
  return (
    <div class="skeleton" aria-hidden="true">
      <For each={Array.from({ length: props.lines ?? 1 })}>{() => <span />}</For>
    </div>
  );
}

/** An empty state: what belongs here and what to do next. */
export function Empty(props: { title: string; children?: JSX.Element; action?: JSX.Element }): JSX.Element {
  return (
    <section class="empty">
      <h2>{props.title}</h2>
      <Show when={props.children}>
        <p class="muted">{props.children}</p>
      </Show>
      <Show when={props.action}>
        <div class="row">{props.action}</div>
      </Show>
    </section>
  );
}

/** An error message, the next step, and a retry. Retries when the browser is online again. */
export function Failure(props: { error: unknown; retry?: () => unknown }): JSX.Element {
  const again = () => {
    if (isOffline(props.error)) void props.retry?.();
  };
  onMount(() => window.addEventListener("online", again));
  onCleanup(() => window.removeEventListener("online", again));
  const isExpired = () => expired() && props.error instanceof ApiError && props.error.status === 401;
  return (
    <div class="failure" role="alert">
      <Icon name="warning" />
      <div class="grow stack tight">
        <p>{isExpired() ? "Your session has expired." : sentence(props.error)}</p>
        <NextStep error={props.error} />
      </div>
      <Show when={isExpired()}>
        {/* Loads the page anew: this page still has the user of the expired session. */}
        <a class="button" href={signInPath(location.pathname + location.search)} target="_self" rel="external">
          Sign in
        </a>
      </Show>
      <Show when={props.retry}>{(retry) => <Button onClick={() => retry()()}>Try again</Button>}</Show>
    </div>
  );
}

/** The error of a form, whose input stays. */
export function FormFailure(props: { error: unknown }): JSX.Element {
  return (
    <div class="stack tight" role="alert">
      <p class="field-error">{sentence(props.error)}</p>
      <NextStep error={props.error} />
      <Show when={isOffline(props.error) || serverError(props.error)}>
        <p class="small muted">Your input is still here.</p>
      </Show>
    </div>
  );
}

/** What to do about an error of the server. */
function NextStep(props: { error: unknown }): JSX.Element {
  return (
    <Show when={serverError(props.error)}>
      {(error) => (
        <Show
          when={error().requestId}
          fallback={<p class="small">Try again. If the error persists, contact the operator of the server.</p>}
        >
          {(id) => (
            <div class="small">
              <p>Try again. If the error persists, send this request ID to the operator of the server:</p>
              <p>
                <span class="mono break">{id()}</span>
                <Copy text={id()} label="Copy: Request ID" />
              </p>
            </div>
          )}
        </Show>
      )}
    </Show>
  );
}

function isOffline(error: unknown): boolean {
  return error instanceof ApiError && error.status === 0;
}

/** The error, if the server failed. */
function serverError(error: unknown): ApiError | undefined {
  return error instanceof ApiError && error.status >= 500 ? error : undefined;
}

/** A notice that stays on the page. */
export function Notice(props: { tone?: Tone; children: JSX.Element }): JSX.Element {
  return <div class={`notice ${props.tone ?? "brand"}`}>{props.children}</div>;
}
