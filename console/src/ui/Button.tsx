// Buttons and links styled as buttons.

import { A } from "@solidjs/router";
import { createSignal, type JSX, Show } from "solid-js";
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
  /** The tooltip. */
  title?: string;
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
      title={props.title}
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
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
