// States of a page or a section: loading, empty, failed, and notices.

import { For, type JSX, Show } from "solid-js";
import { ApiError, sentence } from "../api";
import type { Tone } from "./Badge";
import { Button } from "./Button";
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

/** An error message with a retry. */
export function Failure(props: { error: unknown; retry?: () => unknown }): JSX.Element {
  const id = () => (props.error instanceof ApiError && props.error.status >= 500 ? props.error.requestId : undefined);
  return (
    <div class="failure" role="alert">
      <Icon name="warning" />
      <div class="grow">
        <p>{sentence(props.error)}</p>
        <Show when={id()}>{(id) => <p class="small muted break">Request {id()}</p>}</Show>
      </div>
      <Show when={props.retry}>{(retry) => <Button onClick={() => retry()()}>Try again</Button>}</Show>
    </div>
  );
}

/** A notice that stays on the page. */
export function Notice(props: { tone?: Tone; children: JSX.Element }): JSX.Element {
  return <div class={`notice ${props.tone ?? "brand"}`}>{props.children}</div>;
}
