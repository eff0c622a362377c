// A combobox with search: a branch, a testbed, a measure. Works as a form field.

import { createEffect, createSignal, createUniqueId, For, type JSX, on, Show } from "solid-js";
import { type Page, sentence } from "../api";
import { load } from "../load";
import { Icon } from "./Icon";

/** An option: all items of a project have both fields. */
export interface Choice {
  uuid: string;
  name: string;
}

/** Delay after the last key before the search, in milliseconds. */
const PAUSE = 120;

export function Picker<T extends Choice>(props: {
  label: string;
  /** The name of the form field; its value is the UUID. */
  name?: string;
  value: T | undefined;
  onPick: (choice: T | undefined) => void;
  search: (words: string, signal: AbortSignal) => Promise<Page<T>>;
  required?: boolean;
  placeholder?: string;
  hint?: JSX.Element;
  /** Whether the label is only for screen readers, for example above a list. */
  quiet?: boolean;
}): JSX.Element {
  const id = createUniqueId();
  const [open, setOpen] = createSignal(false);
  const [words, setWords] = createSignal("");
  const [asked, setAsked] = createSignal("");
  const [place, setPlace] = createSignal(0);
  const found = load(
    () => open() && { words: asked() },
    ({ words }, signal) => props.search(words, signal),
  );
  const choices = () => found()?.rows ?? [];
  let field: HTMLInputElement | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** The pressed option. */
  let pressed: T | undefined;
  const close = () => {
    pressed = undefined;
    clearTimeout(timer);
    setOpen(false);
    setWords("");
    setAsked("");
    setPlace(0);
  };
  const pick = (choice: T | undefined) => {
    close();
    props.onPick(choice);
  };
  const press = (event: PointerEvent & { currentTarget: HTMLElement }, choice: T) => {
    // The input keeps the focus; otherwise the list would close.
    event.preventDefault();
    pressed = event.button ? undefined : choice;
    // Search results may replace the option before the pointer is released, and then there is no click.
    event.currentTarget.parentElement?.setPointerCapture(event.pointerId);
  };
  const release = (event: PointerEvent & { currentTarget: HTMLElement }) => {
    const choice = pressed;
    pressed = undefined;
    if (choice && event.currentTarget.contains(document.elementFromPoint(event.clientX, event.clientY))) pick(choice);
  };
  const type = (text: string) => {
    setOpen(true);
    setPlace(0);
    setWords(text);
    clearTimeout(timer);
    timer = setTimeout(() => setAsked(text), PAUSE);
  };
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      if (open()) setPlace((place) => Math.min(Math.max(place + step, 0), Math.max(choices().length - 1, 0)));
      setOpen(true);
    } else if (event.key === "Enter" && open()) {
      const choice = choices()[place()];
      if (choice) pick(choice);
    } else if (event.key === "Escape" && open()) close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  createEffect(
    on(place, (place) => document.getElementById(`${id}-${place}`)?.scrollIntoView({ block: "nearest" }), {
      defer: true,
    }),
  );
  return (
    <div class="field picker" classList={{ quiet: props.quiet ?? false }}>
      <label for={id} classList={{ "visually-hidden": props.quiet ?? false }}>
        {props.label}
      </label>
      <Show when={props.name}>{(name) => <input type="hidden" name={name()} value={props.value?.uuid ?? ""} />}</Show>
      <div class="picker-box">
        <input
          ref={field}
          id={id}
          role="combobox"
          type="text"
          autocomplete="off"
          required={props.required ?? false}
          placeholder={open() && props.value ? props.value.name : (props.placeholder ?? "Search")}
          value={open() ? words() : (props.value?.name ?? "")}
          aria-expanded={open()}
          aria-controls={`${id}-list`}
          aria-autocomplete="list"
          aria-activedescendant={open() && choices().length ? `${id}-${place()}` : undefined}
          aria-describedby={props.hint ? `${id}-hint` : undefined}
          onFocus={() => setOpen(true)}
          onClick={() => setOpen(true)}
          onBlur={close}
          onInput={(event) => type(event.currentTarget.value)}
          onKeyDown={onKey}
        />
        <Show
          when={props.value && !props.required}
          fallback={
            <span class="picker-icon">
              <Icon name="down" size={16} />
            </span>
          }
        >
          <button
            type="button"
            class="icon-button picker-clear"
            aria-label={`Any: ${props.label}`}
            onClick={() => {
              pick(undefined);
              field?.focus();
              close();
            }}
          >
            <Icon name="close" size={16} />
          </button>
        </Show>
        <Show when={open()}>
          <div
            class="menu-list"
            id={`${id}-list`}
            role="listbox"
            aria-label={props.label}
            onPointerUp={release}
            onPointerCancel={() => (pressed = undefined)}
          >
            <For
              each={choices()}
              fallback={
                // biome-ignore lint/a11y/useFocusableInteractive: the input keeps the focus (aria-activedescendant).
                <div class="muted small" role="option" aria-selected="false" aria-disabled="true">
                  {found.error() ? sentence(found.error()) : found() ? "No matches." : "…"}
                </div>
              }
            >
              {(choice, number) => (
                // biome-ignore lint/a11y/useFocusableInteractive: the input keeps the focus (aria-activedescendant).
                // biome-ignore lint/a11y/useKeyWithClickEvents: the input handles the keys.
                <div
                  id={`${id}-${number()}`}
                  role="option"
                  class="break"
                  classList={{ current: number() === place() }}
                  aria-selected={choice.uuid === props.value?.uuid}
                  onPointerDown={(event) => press(event, choice)}
                  onClick={() => pick(choice)}
                >
                  {choice.name}
                </div>
              )}
            </For>
          </div>
        </Show>
      </div>
      <Show when={props.hint}>
        <span class="small muted" id={`${id}-hint`}>
          {props.hint}
        </span>
      </Show>
    </div>
  );
}
