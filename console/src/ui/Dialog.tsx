// Modal dialogs. The native dialog element keeps the focus inside and restores it.

import { createEffect, createSignal, createUniqueId, type JSX, Show } from "solid-js";
import { sentence } from "../api";
import { IconButton } from "./Button";

/** A dialog that is open while `open` is true. */
export function Dialog(props: {
  open: boolean;
  title: string;
  onClose: () => void;
  children: JSX.Element;
  wide?: boolean;
}): JSX.Element {
  const id = createUniqueId();
  let dialog: HTMLDialogElement | undefined;
  createEffect(() => {
    if (props.open && !dialog?.open) dialog?.showModal();
    else if (!props.open && dialog?.open) dialog.close();
  });
  return (
    <dialog
      ref={dialog}
      class="dialog"
      classList={{ wide: props.wide ?? false }}
      aria-labelledby={id}
      onClose={() => props.onClose()}
      onPointerDown={(event) => {
        if (event.target === dialog) props.onClose();
      }}
    >
      <Show when={props.open}>
        <div class="dialog-body">
          <header class="row between">
            <h2 id={id}>{props.title}</h2>
            <IconButton icon="close" label="Close" onClick={() => props.onClose()} />
          </header>
          {props.children}
        </div>
      </Show>
    </dialog>
  );
}

/** Confirms an irreversible action. The user must type `type` to continue. */
export function Confirm(props: {
  open: boolean;
  title: string;
  action: string;
  type?: string;
  /** Another action to offer, for items that cannot be deleted. */
  instead?: { label: string; run: () => unknown } | undefined;
  /** Whether the action is not possible yet. */
  disabled?: boolean;
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
  children: JSX.Element;
}): JSX.Element {
  const [typed, setTyped] = createSignal("");
  const [failure, setFailure] = createSignal<unknown>();
  const [busy, setBusy] = createSignal(false);
  const close = () => {
    setTyped("");
    setFailure(undefined);
    props.onClose();
  };
  const confirm = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await props.onConfirm();
      close();
    } catch (error) {
      setFailure(error);
    }
    setBusy(false);
  };
  return (
    <Dialog open={props.open} title={props.title} onClose={close}>
      <form class="stack" onSubmit={(event) => void confirm(event)}>
        <div class="stack tight">{props.children}</div>
        <Show when={props.type}>
          {(word) => (
            <label class="field">
              <span>
                Type <strong class="break">{word()}</strong> to continue
              </span>
              <input value={typed()} onInput={(event) => setTyped(event.currentTarget.value)} autocomplete="off" />
            </label>
          )}
        </Show>
        <Show when={failure()}>
          {(error) => (
            <p class="field-error" role="alert">
              {sentence(error())}
            </p>
          )}
        </Show>
        <div class="row">
          <button
            type="submit"
            class="button danger"
            disabled={busy() || props.disabled || (props.type !== undefined && typed() !== props.type)}
          >
            {props.action}
          </button>
          <Show when={props.instead}>
            {(instead) => (
              <button
                type="button"
                class="button"
                onClick={() => {
                  instead().run();
                  close();
                }}
              >
                {instead().label}
              </button>
            )}
          </Show>
          <button type="button" class="button" onClick={close}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}
