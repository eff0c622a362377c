// Keyboard shortcuts: `/` searches, `g p` opens Explore, `?` lists all shortcuts. Pages add shortcuts with
// `bindKeys`.

import { createSignal, onCleanup } from "solid-js";

/** The action of a key or of two keys in sequence (`g p`). */
export interface Binding {
  keys: string;
  label: string;
  run: () => void;
}

const [bindings, setBindings] = createSignal<readonly Binding[]>([]);

export { bindings };

/** Maximum delay of the second key, in milliseconds. */
const SECOND_KEY_DELAY = 1200;

/** Binds shortcuts for the lifetime of the calling component. */
export function bindKeys(own: readonly Binding[]): void {
  setBindings((all) => [...all, ...own]);
  onCleanup(() => setBindings((all) => all.filter((binding) => !own.includes(binding))));
}

/** Binds shortcuts that move the focus between the links of the rows of a list; Enter opens the row. */
export function bindRowKeys(noun: string): void {
  const move = (by: 1 | -1) => {
    const links = [...document.querySelectorAll<HTMLElement>("main .row-link")];
    const place = links.indexOf(document.activeElement as HTMLElement) + by;
    links[Math.min(Math.max(place, 0), links.length - 1)]?.focus();
  };
  bindKeys([
    { keys: "j", label: `Go to the next ${noun}; Enter opens it`, run: () => move(1) },
    { keys: "k", label: `Go to the previous ${noun}`, run: () => move(-1) },
  ]);
}

let first: { key: string; at: number } | undefined;

function onKey(event: KeyboardEvent): void {
  // Ctrl-K or Command-K, the only shortcut that works in a text field.
  if (
    (event.ctrlKey || event.metaKey) &&
    !event.altKey &&
    event.key.toLowerCase() === "k" &&
    !document.querySelector("dialog[open]")
  ) {
    const find = bindings().findLast((binding) => binding.keys === "Ctrl-k");
    if (find) event.preventDefault();
    find?.run();
    return;
  }
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  // Shortcuts are disabled while a dialog is open.
  if (document.querySelector("dialog[open]")) return;
  const chord = first && event.timeStamp - first.at < SECOND_KEY_DELAY ? `${first.key} ${event.key}` : event.key;
  const match = (keys: string) => bindings().findLast((binding) => binding.keys === keys);
  const found = match(chord) ?? match(event.key);
  first = undefined;
  if (found) {
    event.preventDefault();
    found.run();
  } else if (bindings().some((binding) => binding.keys.startsWith(`${event.key} `))) {
    first = { key: event.key, at: event.timeStamp };
  }
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

export function startKeys(): void {
  document.addEventListener("keydown", onKey);
}
