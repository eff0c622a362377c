// Toasts: short messages in a corner, announced by screen readers.

import { createSignal, For, type JSX, Show } from "solid-js";
import { ApiError, sentence } from "../api";
import { Icon } from "./Icon";

interface Message {
  text: string;
  failed: boolean;
  undo: (() => unknown) | undefined;
}

const [messages, setMessages] = createSignal<readonly Message[]>([]);

/** Confirms an action and offers to undo it. */
export function toast(text: string, undo?: () => unknown): void {
  show({ text, failed: false, undo });
}

/** Shows an error. */
export function toastFailure(error: unknown): void {
  const id = error instanceof ApiError && error.status >= 500 ? error.requestId : undefined;
  const text = id ? `${sentence(error)} Request ID for the operator: ${id}` : sentence(error);
  show({ text, failed: true, undo: undefined });
}

function show(message: Message): void {
  setMessages((all) => [...all.slice(-2), message]);
  setTimeout(() => hide(message), message.failed || message.undo ? 10_000 : 4_000);
}

function hide(message: Message): void {
  setMessages((all) => all.filter((other) => other !== message));
}

export function Toasts(): JSX.Element {
  return (
    <div class="toasts" role="status" aria-live="polite">
      <For each={messages()}>
        {(message) => (
          <div class="toast" classList={{ failed: message.failed }}>
            <span class="grow">{message.text}</span>
            <Show when={message.undo}>
              {(undo) => (
                <button
                  type="button"
                  class="button quiet"
                  onClick={() => {
                    hide(message);
                    void undo()();
                  }}
                >
                  Undo
                </button>
              )}
            </Show>
            <button type="button" class="icon-button" aria-label="Dismiss" onClick={() => hide(message)}>
              <Icon name="close" size={16} />
            </button>
          </div>
        )}
      </For>
    </div>
  );
}
