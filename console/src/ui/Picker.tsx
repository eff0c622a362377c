// One of many: a field that searches while one types, with the keyboard as with the pointer.

import { createSignal, createUniqueId, For, onCleanup, Show, type JSX } from "solid-js";
import { sentence } from "../api";
import { Icon } from "./Icon";
import "./picker.css";

export interface Choice {
  value: string;
  label: string;
}

export function Picker(props: {
  label: string;
  /** Whether the label is for those who listen only. */
  quiet?: boolean;
  placeholder?: string;
  hint?: JSX.Element;
  chosen: Choice | undefined;
  onChoose: (choice: Choice | undefined) => void;
  search: (words: string, signal: AbortSignal) => Promise<readonly Choice[]>;
  required?: boolean;
  autofocus?: boolean;
}): JSX.Element {
  const id = createUniqueId();
  const [words, setWords] = createSignal<string>();
  const [open, setOpen] = createSignal(false);
  const [found, setFound] = createSignal<readonly Choice[]>();
  const [failure, setFailure] = createSignal<string>();
  const [active, setActive] = createSignal(0);
  let abort: AbortController | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let field: HTMLInputElement | undefined;
  const stop = () => {
    clearTimeout(timer);
    abort?.abort();
  };
  onCleanup(stop);

  const search = async () => {
    stop();
    const own = (abort = new AbortController());
    try {
      const choices = await props.search(words() ?? "", own.signal);
      if (own.signal.aborted) return;
      setFailure(undefined);
      setFound(choices);
      setActive(Math.max(words() === undefined ? choices.findIndex(({ value }) => value === props.chosen?.value) : 0, 0));
    } catch (error) {
      if (!own.signal.aborted) setFailure(sentence(error));
    }
  };
  const show = () => {
    if (open()) return;
    setOpen(true);
    void search();
  };
  const hide = () => {
    stop();
    setOpen(false);
    setWords(undefined);
    // What was typed and not chosen is dropped.
    if (field) field.value = props.chosen?.label ?? "";
  };
  const type = (text: string) => {
    setWords(text);
    setOpen(true);
    clearTimeout(timer);
    timer = setTimeout(() => void search(), 150);
  };
  const choose = (choice: Choice | undefined) => {
    props.onChoose(choice);
    hide();
  };
  const onKey = (event: KeyboardEvent) => {
    const count = found()?.length ?? 0;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (!open()) show();
      else if (count) setActive((active() + (event.key === "ArrowDown" ? 1 : count - 1)) % count);
      document.getElementById(`${id}-${active()}`)?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter" && open() && count) choose(found()?.[active()]);
    else if (event.key === "Escape" && open()) hide();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div class="field picker" classList={{ quiet: props.quiet ?? false }}>
      <label for={id} classList={{ "visually-hidden": props.quiet ?? false }}>{props.label}</label>
      <div class="picker-box">
        <input
          ref={field}
          id={id}
          role="combobox"
          aria-expanded={open()}
          aria-controls={`${id}-list`}
          aria-autocomplete="list"
          aria-activedescendant={open() && found()?.length ? `${id}-${active()}` : undefined}
          aria-describedby={props.hint ? `${id}-hint` : undefined}
          autocomplete="off"
          autofocus={props.autofocus}
          required={props.required}
          placeholder={props.placeholder ?? "Search"}
          value={words() ?? props.chosen?.label ?? ""}
          onFocus={(event) => event.currentTarget.select()}
          onClick={show}
          onInput={(event) => type(event.currentTarget.value)}
          onKeyDown={onKey}
          onBlur={hide}
        />
        <Show when={props.chosen && !props.required} fallback={<span class="picker-mark"><Icon name="down" size={16} /></span>}>
          <button type="button" class="icon-button picker-clear" aria-label={`Clear: ${props.label}`} onClick={() => choose(undefined)}><Icon name="close" size={16} /></button>
        </Show>
        {/* The pointer must not take the focus, or the list would go before the click arrives. */}
        <ul class="picker-list" id={`${id}-list`} role="listbox" aria-label={props.label} hidden={!open()} onPointerDown={(event) => event.preventDefault()} onMouseDown={(event) => event.preventDefault()}>
          <For each={found()}>
            {(choice, place) => (
              <li id={`${id}-${place()}`} role="option" class="break" aria-selected={place() === active()} onPointerMove={() => setActive(place())} onClick={() => choose(choice)}>
                {choice.label}
              </li>
            )}
          </For>
          <Show when={failure() ?? (found()?.length === 0 ? "Nothing matches." : undefined)}>
            {(text) => <li class="muted" role="option" aria-selected="false" aria-disabled="true">{text()}</li>}
          </Show>
        </ul>
      </div>
      <Show when={props.hint}><span class="small muted" id={`${id}-hint`}>{props.hint}</span></Show>
    </div>
  );
}
