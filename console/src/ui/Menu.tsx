// A menu button.

import { A } from "@solidjs/router";
import { createSignal, createUniqueId, For, type JSX, onCleanup, onMount, Show } from "solid-js";
import { Icon, type IconName } from "./Icon";

export interface MenuItem {
  label: string;
  icon?: IconName;
  danger?: boolean;
  /** Its link or its action. */
  href?: string;
  /** Whether the link leaves the console. */
  external?: boolean;
  run?: () => unknown;
}

/** A menu button. */
export function Menu(props: { label: string; items: readonly MenuItem[]; trigger?: JSX.Element }): JSX.Element {
  const id = createUniqueId();
  const [open, setOpen] = createSignal(false);
  let root: HTMLDivElement | undefined;
  let button: HTMLButtonElement | undefined;
  const entries = () => [...(root?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
  const show = () => {
    setOpen(true);
    queueMicrotask(() => entries()[0]?.focus());
  };
  const hide = (focus: boolean) => {
    setOpen(false);
    if (focus) button?.focus();
  };
  const onKey = (event: KeyboardEvent) => {
    const all = entries();
    const place = all.indexOf(document.activeElement as HTMLElement);
    const to = { ArrowDown: place + 1, ArrowUp: place - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to !== undefined) all[(to + all.length) % all.length]?.focus();
    else if (event.key === "Escape") hide(true);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const outside = (event: Event) => {
    if (!root?.contains(event.target as Node)) hide(false);
  };
  onMount(() => document.addEventListener("pointerdown", outside));
  onCleanup(() => document.removeEventListener("pointerdown", outside));
  return (
    <div
      class="menu"
      ref={root}
      onFocusOut={(event) => {
        if (event.relatedTarget && !root?.contains(event.relatedTarget as Node)) hide(false);
      }}
    >
      <button
        ref={button}
        type="button"
        class={props.trigger ? "menu-trigger" : "icon-button"}
        aria-haspopup="menu"
        aria-expanded={open()}
        aria-controls={id}
        aria-label={props.label}
        onClick={() => (open() ? hide(true) : show())}
      >
        {props.trigger ?? <Icon name="more" />}
      </button>
      <Show when={open()}>
        <div class="menu-list" id={id} role="menu" aria-label={props.label} onKeyDown={onKey}>
          <For each={props.items}>
            {(item) => {
              const inside = () => (
                <>
                  <Show when={item.icon}>{(icon) => <Icon name={icon()} />}</Show>
                  {item.label}
                </>
              );
              return item.href !== undefined ? (
                <A
                  role="menuitem"
                  tabindex="-1"
                  href={item.href}
                  {...(item.external ? { rel: "external" } : {})}
                  onClick={() => hide(false)}
                >
                  {inside()}
                </A>
              ) : (
                <button
                  type="button"
                  role="menuitem"
                  tabindex="-1"
                  classList={{ danger: item.danger ?? false }}
                  onClick={() => {
                    hide(true);
                    void item.run?.();
                  }}
                >
                  {inside()}
                </button>
              );
            }}
          </For>
        </div>
      </Show>
    </div>
  );
}
