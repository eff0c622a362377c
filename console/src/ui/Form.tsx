// Forms: fields with label, hint and server error.

import { createContext, createSignal, createUniqueId, For, type JSX, onMount, Show, useContext } from "solid-js";
import { sentence } from "../api";
import { forgetInput, restoreDraft } from "../drafts";
import { user } from "../session";
import { FormFailure } from "./State";

interface FormState {
  pending: () => boolean;
  /** The server error of a field. */
  problem: (name: string) => string | undefined;
}

const Context = createContext<FormState>({ pending: () => false, problem: () => undefined });

/** The values of a form by field name; omits empty fields. */
export type Values = Record<string, string>;

/** A form that sends itself. Shows an error that names a field at the field, and other errors at the end. */
export function Form(props: {
  onSubmit: (values: Values) => Promise<unknown>;
  action: string;
  onCancel?: () => void;
  disabled?: boolean;
  children: JSX.Element;
}): JSX.Element {
  const [pending, setPending] = createSignal(false);
  const [error, setError] = createSignal<unknown>();
  const failure = () => (error() === undefined ? undefined : sentence(error()));
  let form: HTMLFormElement | undefined;
  onMount(() => form && restoreDraft(form, user()?.uuid ?? ""));
  const field = () => /at `(\w+)/.exec(failure() ?? "")?.[1];
  const isShown = () => field() !== undefined && form?.elements.namedItem(field() ?? "") instanceof HTMLElement;
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (pending()) return;
    const entries = [...new FormData(event.currentTarget as HTMLFormElement)];
    const values: Values = {};
    for (const [name, value] of entries)
      if (typeof value === "string" && value.trim() !== "") values[name] = value.trim();
    setPending(true);
    setError(undefined);
    try {
      await props.onSubmit(values);
      if (form) forgetInput(form);
    } catch (error) {
      setError(error);
      const named = form?.elements.namedItem(field() ?? "");
      if (named instanceof HTMLElement) named.focus();
    }
    setPending(false);
  };
  const problem = (name: string) => (field() === name ? explain(failure() ?? "") : undefined);
  return (
    <Context.Provider value={{ pending, problem }}>
      <form ref={form} class="form" onSubmit={(event) => void submit(event)}>
        {props.children}
        <Show when={failure() && !isShown()}>
          <FormFailure error={error()} />
        </Show>
        <div class="row">
          <button type="submit" class="button primary" disabled={pending() || props.disabled} aria-busy={pending()}>
            {props.action}
          </button>
          <Show when={props.onCancel}>
            {(cancel) => (
              <button type="button" class="button" onClick={() => cancel()()}>
                Cancel
              </button>
            )}
          </Show>
        </div>
      </form>
    </Context.Provider>
  );
}

/**
 * Extracts the reason: `The body is invalid at `name`: it is too long (line 1, column 2).` becomes `It is too long.`
 */
function explain(message: string): string {
  const reason = message.replace(/^The body .*? at `[^`]+`: /, "").replace(/ \(line \d+, column \d+\)\.?$/, "");
  return `${reason.charAt(0).toUpperCase()}${reason.slice(1).replace(/\.$/, "")}.`;
}

interface FieldProps {
  name: string;
  label: string;
  hint?: JSX.Element;
  required?: boolean;
  value?: string;
  onInput?: (value: string) => void;
}

function Field(
  props: FieldProps & {
    children: (id: string, about: () => string | undefined, invalid: () => boolean) => JSX.Element;
  },
): JSX.Element {
  const form = useContext(Context);
  const id = createUniqueId();
  const about = () =>
    [props.hint && `${id}-hint`, form.problem(props.name) && `${id}-error`].filter(Boolean).join(" ") || undefined;
  return (
    <div class="field">
      <label for={id}>
        {props.label}
        <Show when={!props.required}>
          <span class="muted small"> (optional)</span>
        </Show>
      </label>
      {props.children(id, about, () => form.problem(props.name) !== undefined)}
      <Show when={props.hint}>
        <span class="small muted" id={`${id}-hint`}>
          {props.hint}
        </span>
      </Show>
      <Show when={form.problem(props.name)}>
        {(text) => (
          <span class="field-error" id={`${id}-error`} role="alert">
            {text()}
          </span>
        )}
      </Show>
    </div>
  );
}

/** A single-line text field. */
export function TextField(
  props: FieldProps & {
    type?: "text" | "email" | "url" | "number" | "password" | "date" | "time" | "datetime-local";
    autocomplete?: string;
    maxLength?: number;
    min?: number | string;
    max?: number | string;
    step?: number | "any";
    placeholder?: string;
    autofocus?: boolean;
    /** Whether the value is a secret that the browser must not store. */
    secret?: boolean;
  },
): JSX.Element {
  return (
    <Field {...props}>
      {(id, about, invalid) => (
        <input
          id={id}
          name={props.name}
          type={props.type ?? "text"}
          value={props.value ?? ""}
          required={props.required}
          maxLength={props.maxLength}
          min={props.min}
          max={props.max}
          step={props.step}
          placeholder={props.placeholder}
          autocomplete={props.autocomplete ?? "off"}
          autofocus={props.autofocus}
          data-secret={props.secret ? "" : undefined}
          aria-describedby={about()}
          aria-invalid={invalid()}
          onInput={(event) => props.onInput?.(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

/** A select field. */
export function SelectField(props: FieldProps & { options: readonly { value: string; label: string }[] }): JSX.Element {
  return (
    <Field {...props}>
      {(id, about, invalid) => (
        <select
          id={id}
          name={props.name}
          required={props.required}
          aria-describedby={about()}
          aria-invalid={invalid()}
          onChange={(event) => props.onInput?.(event.currentTarget.value)}
        >
          <For each={props.options}>
            {(option) => (
              <option value={option.value} selected={option.value === props.value}>
                {option.label}
              </option>
            )}
          </For>
        </select>
      )}
    </Field>
  );
}

/** Radio buttons, each with an explanation. */
export function ChoiceField<T extends string>(props: {
  name: string;
  legend: string;
  choices: readonly { value: T; label: string; about: string }[];
  value: T | undefined;
  disabled?: boolean;
  onChange?: (value: T) => void;
}): JSX.Element {
  return (
    <fieldset class="choices" disabled={props.disabled}>
      <legend>{props.legend}</legend>
      <For each={props.choices}>
        {({ value, label, about }) => (
          <label class="check">
            <input
              type="radio"
              name={props.name}
              value={value}
              checked={props.value === value}
              onChange={() => props.onChange?.(value)}
            />
            <span>
              <strong>{label}</strong> <span class="muted">{about}</span>
            </span>
          </label>
        )}
      </For>
    </fieldset>
  );
}

/** A checkbox; its value is `on` or missing. */
export function CheckField(props: {
  name: string;
  label: JSX.Element;
  checked?: boolean;
  required?: boolean;
  onInput?: (checked: boolean) => void;
}): JSX.Element {
  return (
    <label class="check">
      <input
        type="checkbox"
        name={props.name}
        checked={props.checked}
        required={props.required}
        onInput={(event) => props.onInput?.(event.currentTarget.checked)}
      />
      <span>{props.label}</span>
    </label>
  );
}
