// An item and its fields, editable in place.

import { createSignal, createUniqueId, type JSX, Show } from "solid-js";
import { sentence } from "../api";
import { Copy, IconButton } from "./Button";
import { type Option, Select } from "./Select";

/** The fields of an item. */
export function Facts(props: { children: JSX.Element }): JSX.Element {
  return <dl class="facts">{props.children}</dl>;
}

/** One field. `copy` is the text of its copy button. */
export function Fact(props: { label: string; copy?: string; children: JSX.Element }): JSX.Element {
  return (
    <div class="fact">
      <dt>{props.label}</dt>
      <dd>
        <span class="break">{props.children}</span>
        <Show when={props.copy}>{(text) => <Copy text={text()} label={`Copy: ${props.label}`} />}</Show>
      </dd>
    </div>
  );
}

/** An editable field: Enter saves, Escape cancels. */
export function EditableFact(props: {
  label: string;
  value: string;
  /** Whether the user may edit it. */
  editable: boolean;
  save: (value: string) => Promise<unknown>;
  type?: "text" | "email" | "url";
  maxLength?: number;
  /** Whether it can be empty. */
  optional?: boolean;
  /** A note below the field. */
  hint?: string | undefined;
  /** The display while not editing. */
  children?: JSX.Element;
}): JSX.Element {
  const id = createUniqueId();
  const [editing, setEditing] = createSignal(false);
  const [failure, setFailure] = createSignal<string>();
  const [busy, setBusy] = createSignal(false);
  let field: HTMLInputElement | undefined;
  let place: HTMLDivElement | undefined;
  const begin = () => {
    setFailure(undefined);
    setEditing(true);
    queueMicrotask(() => field?.select());
  };
  const end = () => {
    setEditing(false);
    queueMicrotask(() => place?.querySelector<HTMLElement>("button")?.focus());
  };
  const save = async (event: Event) => {
    event.preventDefault();
    const next = field?.value.trim() ?? "";
    if (next === props.value) return end();
    setBusy(true);
    try {
      await props.save(next);
      end();
    } catch (error) {
      setFailure(sentence(error));
      field?.focus();
    }
    setBusy(false);
  };
  return (
    <div class="fact" ref={place}>
      <dt id={id}>{props.label}</dt>
      <dd>
        <Show
          when={editing()}
          fallback={
            <>
              <span class="break">{props.children ?? (props.value || <span class="muted">none</span>)}</span>
              <Show when={props.editable}>
                <IconButton icon="edit" label={`Edit: ${props.label}`} onClick={begin} />
              </Show>
            </>
          }
        >
          <form class="inline-edit" onSubmit={(event) => void save(event)}>
            <input
              ref={field}
              type={props.type ?? "text"}
              value={props.value}
              required={!props.optional}
              maxLength={props.maxLength}
              aria-labelledby={id}
              aria-describedby={props.hint ? `${id}-hint` : undefined}
              aria-invalid={failure() !== undefined}
              onKeyDown={(event) => {
                if (event.key === "Escape") end();
              }}
            />
            <button type="submit" class="button primary" disabled={busy()}>
              Save
            </button>
            <button type="button" class="button" onClick={end}>
              Cancel
            </button>
            <Show when={props.hint}>
              <p class="small muted" id={`${id}-hint`}>
                {props.hint}
              </p>
            </Show>
            <Show when={failure()}>
              {(text) => (
                <p class="field-error" role="alert">
                  {text()}
                </p>
              )}
            </Show>
          </form>
        </Show>
      </dd>
    </div>
  );
}

/** An editable field with a few options. */
export function SelectFact<T extends string>(props: {
  label: string;
  value: T;
  options: readonly Option<T>[];
  save: (value: T) => unknown;
}): JSX.Element {
  return (
    <Fact label={props.label}>
      <Select label={props.label} value={props.value} options={props.options} onChange={props.save} />
    </Fact>
  );
}
