// The keyboard: `/` searches, `g p` goes to the perf page, `?` lists what there is. A page binds its own with `bindKeys`.

import { createSignal, onCleanup } from "solid-js";

/** What a key, or two in a row (`g p`), does. */
export interface Binding {
  keys: string;
  label: string;
  run: () => void;
}

const [bindings, setBindings] = createSignal<readonly Binding[]>([]);

export { bindings };

/** How long the second key may take, in milliseconds. */
const PATIENCE = 1200;

/** Binds keys while the component that calls it is there. */
export function bindKeys(own: readonly Binding[]): void {
  setBindings((all) => [...all, ...own]);
  onCleanup(() => setBindings((all) => all.filter((binding) => !own.includes(binding))));
}

let first: { key: string; at: number } | undefined;

function onKey(event: KeyboardEvent): void {
  // The one key that also works while one types: Ctrl-K, or Command-K.
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
  // In a dialog the page behind it does not listen.
  if (document.querySelector("dialog[open]")) return;
  const chord = first && event.timeStamp - first.at < PATIENCE ? `${first.key} ${event.key}` : event.key;
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
