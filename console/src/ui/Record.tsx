// One thing and its facts; those that may be changed are changed where they stand.

import { createSignal, createUniqueId, type JSX, Show } from "solid-js";
import { sentence } from "../api";
import { Copy, IconButton } from "./parts";

/** The facts about one thing. */
export function Record(props: { children: JSX.Element }): JSX.Element {
  return <dl class="record">{props.children}</dl>;
}

/** One fact. `copy` is what the button beside it copies. */
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

/** A fact that can be changed in its place: Enter keeps the change, Escape drops it. */
export function EditableFact(props: {
  label: string;
  value: string;
  /** Whether the reader may change it. */
  editable: boolean;
  save: (value: string) => Promise<unknown>;
  type?: "text" | "email" | "url";
  maxLength?: number;
  /** Whether it may be empty. */
  optional?: boolean;
  /** How it looks when it is not being changed. */
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
                <IconButton icon="edit" label={`Change: ${props.label}`} onClick={begin} />
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
