// A search field with an icon. The page filters while the user types.

import { type JSX, Show } from "solid-js";
import { bindKeys } from "../keys";
import { Icon } from "./Icon";

export function SearchField(props: {
  /** The accessible name. */
  label: string;
  value: string;
  onInput: (words: string) => void;
  /** The name of the shortcut `/`, which focuses the field [default: no shortcut]. */
  shortcut?: string;
  /** Whether Escape clears the field and leaves it. */
  clearOnEscape?: boolean;
}): JSX.Element {
  let field: HTMLInputElement | undefined;
  if (props.shortcut) bindKeys([{ keys: "/", label: props.shortcut, run: () => field?.focus() }]);
  return (
    <label class="search">
      <Icon name="search" size={16} />
      <span class="visually-hidden">{props.label}</span>
      <input
        ref={field}
        type="search"
        value={props.value}
        placeholder="Search"
        maxLength={1024}
        onInput={(event) => props.onInput(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Escape" || !props.clearOnEscape) return;
          props.onInput("");
          event.currentTarget.blur();
        }}
      />
      <Show when={props.shortcut}>
        <kbd aria-hidden="true">/</kbd>
      </Show>
    </label>
  );
}
