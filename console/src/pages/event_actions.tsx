// The changes of the status of an event, newest first.

import { For, type JSX, Show } from "solid-js";
import type { JsonEvent } from "../api";
import { StatusBadge } from "../event";
import { Time } from "../ui/Value";

export function Actions(props: { of: JsonEvent["actions"] }): JSX.Element {
  return (
    <Show when={props.of.length}>
      <section class="stack tight" aria-labelledby="event-actions">
        <h2 id="event-actions">Status history</h2>
        <ul class="event-actions">
          <For each={props.of}>
            {(action) => (
              <li>
                <StatusBadge of={action} /> by{" "}
                {action.actor.name ?? (action.actor.kind === "system" ? "Tidemark" : "a deleted user")}{" "}
                <span class="muted">
                  <Time at={action.created} />
                </span>
                <Show when={action.note}>{(note) => <span class="subtext note">“{note()}”</span>}</Show>
              </li>
            )}
          </For>
        </ul>
      </section>
    </Show>
  );
}
