// The frame of every page: breadcrumbs, title, actions, and the focus after navigation.

import { A } from "@solidjs/router";
import { createEffect, For, type JSX, onMount, Show } from "solid-js";
import { isMissing } from "../api";
import type { Loaded } from "../load";
import { LinkButton } from "./Button";
import { Empty, Failure, Skeleton } from "./State";

export interface Crumb {
  href: string;
  label: string;
}

/**
 * The first page keeps the default focus of the browser; later pages focus the heading, so that a screen reader
 * announces it.
 */
let isFirst = true;

export function Page(props: {
  title: string;
  /** A badge or status beside the title. */
  aside?: JSX.Element;
  crumbs?: readonly Crumb[];
  actions?: JSX.Element;
  /** Shows the actions below the title, so that it does not move when actions appear. */
  stacked?: boolean;
  /** Limits the width to that of a text or form. */
  narrow?: boolean;
  children: JSX.Element;
}): JSX.Element {
  let heading: HTMLHeadingElement | undefined;
  createEffect(() => {
    document.title = `${props.title} · Tidemark`;
  });
  onMount(() => {
    if (!isFirst && !document.querySelector("[autofocus]")) heading?.focus({ preventScroll: true });
    isFirst = false;
  });
  return (
    <article class="page" classList={{ narrow: props.narrow ?? false }}>
      <header class="page-header">
        <Show when={props.crumbs?.length}>
          <nav class="crumbs" aria-label="Breadcrumbs">
            <ol>
              <For each={props.crumbs}>
                {(crumb) => (
                  <li>
                    <A href={crumb.href} end>
                      {crumb.label}
                    </A>
                  </li>
                )}
              </For>
            </ol>
          </nav>
        </Show>
        <div class="row between" classList={{ stacked: props.stacked ?? false }}>
          <div class="row title">
            <h1 ref={heading} tabindex="-1" class="break">
              {props.title}
            </h1>
            {props.aside}
          </div>
          <Show when={props.actions}>
            <div class="row actions">{props.actions}</div>
          </Show>
        </div>
      </header>
      {props.children}
    </article>
  );
}

/** The page of an item that has not loaded: a placeholder with a number of lines, or the error. */
export function LoadingPage(props: {
  title: string;
  crumbs?: readonly Crumb[];
  lines: number;
  item: Pick<Loaded<unknown>, "error" | "refresh">;
}): JSX.Element {
  return (
    <Page title={props.title} crumbs={props.crumbs ?? []}>
      <Show when={props.item.error()} fallback={<Skeleton lines={props.lines} />}>
        {(error) => (
          <Show when={isMissing(error())} fallback={<Failure error={error()} retry={props.item.refresh} />}>
            <Empty
              title={`${props.title} not found`}
              action={
                <Show when={props.crumbs?.at(-1)}>
                  {(parent) => <LinkButton href={parent().href}>Go to {parent().label}</LinkButton>}
                </Show>
              }
            >
              It does not exist, it was deleted, or you do not have permission to view it.
            </Empty>
          </Show>
        )}
      </Show>
    </Page>
  );
}
