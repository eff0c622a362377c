// A select without a visible label. See Form.tsx for the select field of a form.

import { For, type JSX } from "solid-js";

export interface Option<T extends string> {
  value: T;
  label: string;
}

/** The option of an item with a slug. */
export function toOption({ slug, name }: { slug: string; name: string }): Option<string> {
  return { value: slug, label: name };
}

export function Select<T extends string>(props: {
  /** The accessible name. */
  label: string;
  value: T;
  options: readonly Option<T>[];
  onChange: (value: T) => unknown;
  /** Whether its width is that of its content. */
  short?: boolean;
}): JSX.Element {
  return (
    <select
      classList={{ short: props.short ?? false }}
      aria-label={props.label}
      onChange={(event) => props.onChange(event.currentTarget.value as T)}
    >
      <For each={props.options}>
        {(option) => (
          <option value={option.value} selected={option.value === props.value}>
            {option.label}
          </option>
        )}
      </For>
    </select>
  );
}
