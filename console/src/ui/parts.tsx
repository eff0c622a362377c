// Small shared components.

import { A } from "@solidjs/router";
import { createSignal, createUniqueId, For, type JSX, onCleanup, onMount, Show } from "solid-js";
import { ApiError, sentence } from "../api";
import { change, count, exactMoment, relative, type Scale, scaled } from "../format";
import { Icon, type IconName } from "./Icon";

/** A link styled as a button, for navigation. */
export function LinkButton(props: {
  href: string;
  icon?: IconName;
  primary?: boolean;
  children: JSX.Element;
}): JSX.Element {
  return (
    <A href={props.href} class="button" classList={{ primary: props.primary ?? false }}>
      <Show when={props.icon}>{(icon) => <Icon name={icon()} />}</Show>
      {props.children}
    </A>
  );
}

/** A button with text. Disabled while its action is pending. */
export function Button(props: {
  onClick: () => unknown;
  icon?: IconName;
  kind?: "primary" | "danger" | "quiet";
  disabled?: boolean;
  children: JSX.Element;
}): JSX.Element {
  const [busy, setBusy] = createSignal(false);
  const press = async () => {
    setBusy(true);
    try {
      await props.onClick();
    } finally {
      setBusy(false);
    }
  };
  return (
    <button
      type="button"
      class={`button ${props.kind ?? ""}`}
      disabled={props.disabled || busy()}
      aria-busy={busy()}
      onClick={() => void press()}
    >
      <Show when={props.icon}>{(icon) => <Icon name={icon()} />}</Show>
      {props.children}
    </button>
  );
}

/** A button with an icon; the label states its action. */
export function IconButton(props: {
  icon: IconName;
  label: string;
  onClick: () => void;
  pressed?: boolean;
  expanded?: boolean;
}): JSX.Element {
  return (
    <button
      type="button"
      class="icon-button"
      aria-label={props.label}
      title={props.label}
      aria-pressed={props.pressed}
      aria-expanded={props.expanded}
      onClick={() => props.onClick()}
    >
      <Icon name={props.icon} />
    </button>
  );
}

export type Tone = "neutral" | "brand" | "good" | "warn" | "alert";

/** A badge: a status, a kind, a count. */
export function Badge(props: { tone?: Tone; children: JSX.Element }): JSX.Element {
  return <span class={`badge ${props.tone ?? "neutral"}`}>{props.children}</span>;
}

/** A copy button with visible and spoken confirmation. */
export function Copy(props: { text: string; label?: string }): JSX.Element {
  const [done, setDone] = createSignal(false);
  const copy = async () => {
    await copyText(props.text);
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return (
    <button
      type="button"
      class="icon-button"
      title={props.label ?? "Copy"}
      aria-label={done() ? "Copied" : (props.label ?? "Copy")}
      aria-live="polite"
      onClick={() => void copy()}
    >
      <Icon name={done() ? "check" : "copy"} size={16} />
    </button>
  );
}

/** The clipboard API requires HTTPS or localhost; otherwise use the deprecated command. */
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

/** Text to copy: a command, a token. */
export function Code(props: { text: string; label: string }): JSX.Element {
  return (
    <div class="code">
      <pre tabindex="0" role="group" aria-label={props.label}>
        <code>{props.text}</code>
      </pre>
      <Copy text={props.text} label={`Copy: ${props.label}`} />
    </div>
  );
}

/** The name of a benchmark, with line breaks between its groups. */
export function Name(props: { of: string }): JSX.Element {
  return (
    <For each={props.of.split(/(?<=::|\/)/)}>
      {(part, place) => (
        <>
          {place() ? <wbr /> : ""}
          {part}
        </>
      )}
    </For>
  );
}

const [now, setNow] = createSignal(Date.now());
setInterval(() => setNow(Date.now()), 30_000);

/** A relative time with the exact local time as a tooltip. */
export function Time(props: { at: string | number }): JSX.Element {
  return (
    <time class="nowrap" datetime={new Date(props.at).toISOString()} title={exactMoment(props.at)}>
      {relative(props.at, now())}
    </time>
  );
}

/** A value in its most readable unit. */
export function Value(props: { value: number; units: string; scale?: Scale }): JSX.Element {
  const parts = () => scaled(props.value, props.units, props.scale);
  return (
    <span class="value number nowrap" title={`${props.value} ${props.units}`}>
      {parts()[0]}
      <Show when={parts()[1]}>
        {" "}
        <span class="muted">{parts()[1]}</span>
      </Show>
    </span>
  );
}

/** A relative change, colored by direction. */
export function Delta(props: { from: number; to: number; worse?: "up" | "down" }): JSX.Element {
  const text = () => change(props.from, props.to);
  const tone = () => {
    if (!props.worse || text().startsWith("±") || text() === "–") return "";
    return props.to > props.from === (props.worse === "up") ? "worse" : "better";
  };
  return <span class={`delta number nowrap ${tone()}`}>{text()}</span>;
}

/** A sparkline. The label describes it for screen readers. */
export function Sparkline(props: {
  values: readonly number[];
  label: string;
  width?: number;
  height?: number;
}): JSX.Element {
  const [width, height] = [props.width ?? 96, props.height ?? 24];
  const points = () => {
    const [low, high] = [Math.min(...props.values), Math.max(...props.values)];
    const step = width / Math.max(props.values.length - 1, 1);
    const y = (value: number) => (high === low ? height / 2 : 2 + (height - 4) * (1 - (value - low) / (high - low)));
    return props.values.map((value, place) => `${(place * step).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
  };
  return (
    <svg
      class="sparkline"
      role="img"
      aria-label={props.label}
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
    >
      <polyline points={points()} />
    </svg>
  );
}

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
 * Tabs by status with counts. The default tab has no query parameter; `kept` are the other query parameters to keep.
 */
export function StatusTabs(props: {
  tabs: readonly { value: string; label: string }[];
  chosen: string;
  totals: readonly number[] | undefined;
  kept: Readonly<Record<string, string | undefined>>;
}): JSX.Element {
  const address = (status: string) => {
    const query = Object.entries({ status: status === "active" ? undefined : status, ...props.kept });
    return `?${new URLSearchParams(query.flatMap(([name, value]) => (value ? [[name, value]] : [])))}`;
  };
  return (
    <nav class="tabs" aria-label="Status">
      <For each={props.tabs}>
        {({ value, label }, place) => (
          <a href={address(value)} aria-current={props.chosen === value ? "page" : undefined}>
            {label} <span class="muted small number">{count(props.totals?.[place()] ?? 0)}</span>
          </a>
        )}
      </For>
    </nav>
  );
}

export interface MenuItem {
  label: string;
  icon?: IconName;
  danger?: boolean;
  /** Its link or its action. */
  href?: string;
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
                <A role="menuitem" tabindex="-1" href={item.href} onClick={() => hide(false)}>
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
