// The first cell of the list of events.

import { type JSX, Show } from "solid-js";
import type { JsonEvent } from "../api";
import { ConfirmationBadge, eventSeries, eventTitle, STATUSES } from "../event";
import { plural } from "../format";
import { MutedBadge } from "../mute";
import { Name, Time } from "../ui/Value";
import "./lists.css";

/** The benchmarks of an event, its counts and its note; `status` adds the status on a phone. */
export function EventSummary(props: { event: JsonEvent; status: boolean }): JSX.Element {
  return (
    <>
      <Show when={eventSeries(props.event)} keyed>
        {({ name, more }) => (
          <span class="strong break">
            <Name of={name} />
            {more}
          </span>
        )}
      </Show>{" "}
      <MutedBadge of={props.event.muted} /> <ConfirmationBadge of={props.event.confirmation} />
      <span class="subtext break">
        {eventTitle(props.event)} · {props.event.branch.name}
      </span>
      <Show when={props.event.total > props.event.improvements && props.event.total_alerts}>
        {(alerts) => <span class="subtext">{plural(alerts(), "value")} outside a threshold</span>}
      </Show>
      <span class="subtext on-phone">
        <Time at={props.event.start_time} />
        <Show when={props.status}> · {STATUSES[props.event.status].word}</Show>
      </span>
      <Show when={props.event.note}>{(note) => <span class="subtext note">“{note()}”</span>}</Show>
    </>
  );
}
