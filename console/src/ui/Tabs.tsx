// Tabs with URLs.

import { A } from "@solidjs/router";
import { createEffect, For, type JSX } from "solid-js";
import { count } from "../format";

/** Tabs with URLs. */
export function Tabs(props: {
  label: string;
  tabs: readonly { href: string; label: JSX.Element; end?: boolean }[];
}): JSX.Element {
  return (
    <nav class="tabs" aria-label={props.label}>
      <For each={props.tabs}>
        {(tab) => (
          <A href={tab.href} end={tab.end ?? true}>
            {tab.label}
          </A>
        )}
      </For>
    </nav>
  );
}

/**
 * Tabs by status with counts. The first tab is the default and has no query parameter; `kept` are the other query parameters to keep.
 */
export function StatusTabs(props: {
  tabs: readonly { value: string; label: string }[];
  chosen: string;
  totals: readonly number[] | undefined;
  kept: Readonly<Record<string, string | undefined>>;
}): JSX.Element {
  const address = (status: string) => {
    const query = Object.entries({ status: status === props.tabs[0]?.value ? undefined : status, ...props.kept });
    return `?${new URLSearchParams(query.flatMap(([name, value]) => (value ? [[name, value]] : [])))}`;
  };
  let tabs: HTMLElement | undefined;
  // On a phone, the chosen tab may be beyond the edge. The counts change the widths of the tabs before it.
  createEffect(() => {
    const chosen = props.totals && tabs?.querySelector<HTMLElement>(`[data-status="${props.chosen}"]`);
    if (tabs && chosen)
      tabs.scrollLeft = chosen.offsetLeft - tabs.offsetLeft - (tabs.clientWidth - chosen.clientWidth) / 2;
  });
  return (
    <nav ref={tabs} class="tabs" aria-label="Status">
      <For each={props.tabs}>
        {({ value, label }, place) => (
          <a href={address(value)} data-status={value} aria-current={props.chosen === value ? "page" : undefined}>
            {label} <span class="muted small number">{count(props.totals?.[place()] ?? 0)}</span>
          </a>
        )}
      </For>
    </nav>
  );
}
