// One of many, found by typing: a branch, a testbed, a measure. In a form it is a field like the others.

import { createSignal, createUniqueId, For, Show, type JSX } from "solid-js";
import type { Page } from "../api";
import { load } from "../load";

/** What can be picked: everything in a project has both. */
export interface Choice {
  uuid: string;
  name: string;
}

export function Picker<T extends Choice>(props: {
  label: string;
  /** The name in a form, where it gives the UUID. */
  name?: string;
  value: T | undefined;
  onPick: (choice: T | undefined) => void;
  search: (words: string, signal: AbortSignal) => Promise<Page<T>>;
  required?: boolean;
  placeholder?: string;
}): JSX.Element {
  const id = createUniqueId();
  const [open, setOpen] = createSignal(false);
  const [words, setWords] = createSignal("");
  const [place, setPlace] = createSignal(0);
  const found = load(() => open() && { words: words() }, ({ words }, signal) => props.search(words, signal));
  const choices = () => found()?.rows ?? [];
  const pick = (choice: T | undefined) => {
    setOpen(false);
    setWords("");
    props.onPick(choice);
  };
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      setOpen(true);
      setPlace((place) => Math.min(Math.max(place + step, 0), Math.max(choices().length - 1, 0)));
    } else if (event.key === "Enter" && open()) {
      const choice = choices()[place()];
      if (choice) pick(choice);
    } else if (event.key === "Escape" && open()) {
      setOpen(false);
      setWords("");
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="field picker">
      <label for={id}>{props.label}</label>
      <Show when={props.name}>{(name) => <input type="hidden" name={name()} value={props.value?.uuid ?? ""} />}</Show>
      <input
        id={id}
        role="combobox"
        type="text"
        autocomplete="off"
        required={props.required ?? false}
        placeholder={props.placeholder ?? "Search"}
        value={open() ? words() : (props.value?.name ?? "")}
        aria-expanded={open()}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={open() && choices().length ? `${id}-${place()}` : undefined}
        onFocus={() => setOpen(true)}
        onClick={() => setOpen(true)}
        onBlur={() => { setOpen(false); setWords(""); }}
        onInput={(event) => { setOpen(true); setPlace(0); setWords(event.currentTarget.value); }}
        onKeyDown={onKey}
      />
      <Show when={open()}>
        <div class="menu-list" id={`${id}-list`} role="listbox" aria-label={props.label}>
          <For each={choices()} fallback={<div class="muted small" role="option" aria-selected="false" aria-disabled="true">{found() ? "Nothing is called that." : "…"}</div>}>
            {(choice, number) => (
              // Before the field loses the focus, which closes the list.
              <div id={`${id}-${number()}`} role="option" class="break" classList={{ current: number() === place() }} aria-selected={choice.uuid === props.value?.uuid} onPointerDown={(event) => { event.preventDefault(); pick(choice); }}>
                {choice.name}
              </div>
            )}
          </For>
        </div>
      </Show>
    </div>
  );
}
