// Shared elements of events: status, title, alerts and possible commits.

import { type JSX, Show } from "solid-js";
import {
  type ConfirmationState,
  call,
  type EventStatus,
  type JsonChange,
  type JsonConfirmation,
  type JsonEvent,
  type JsonEventAlert,
  type JsonUpdateEvent,
} from "./api";
import { count, plural } from "./format";
import { nameOf } from "./history";
import { Badge, type Tone } from "./ui/Badge";
import { toast, toastFailure } from "./ui/Toast";
import { Version } from "./ui/Version";

export const STATUSES: Readonly<Record<EventStatus, { word: string; tone: Tone }>> = {
  open: { word: "open", tone: "alert" },
  expected: { word: "expected", tone: "neutral" },
  fixed: { word: "fixed", tone: "good" },
  false_alarm: { word: "false alarm", tone: "neutral" },
  dismissed: { word: "dismissed", tone: "neutral" },
  recovered: { word: "recovered", tone: "good" },
};

/** The actions of a user, with their shortcuts. */
export const ACTIONS = [
  { status: "expected", label: "Expected", about: "The change is intended", key: "e" },
  { status: "fixed", label: "Fixed", about: "The cause was fixed", key: "f" },
  { status: "false_alarm", label: "False alarm", about: "Nothing has changed", key: "x" },
] as const;

/** The status of an event or a change; without a color if it is muted. */
export function StatusBadge(props: { of: Pick<JsonEvent, "status" | "muted"> }): JSX.Element {
  const status = () => STATUSES[props.of.status];
  return <Badge tone={props.of.muted ? "neutral" : status().tone}>{status().word}</Badge>;
}

export const CONFIRMATIONS: Readonly<Record<ConfirmationState, { word: string; tone: Tone; about: string }>> = {
  suspected: { word: "suspected", tone: "neutral", about: "The server has not measured the event again." },
  confirming: { word: "confirming", tone: "neutral", about: "A job measures the commits before and after the event." },
  confirmed: { word: "confirmed", tone: "alert", about: "A second measurement found the change, too." },
  refuted: { word: "refuted", tone: "good", about: "A second measurement found no change." },
};

/** The state of the second measurement of an event, if there is one. */
export function ConfirmationBadge(props: { of: JsonConfirmation | undefined }): JSX.Element {
  return (
    <Show when={props.of}>
      {(known) => <Badge tone={CONFIRMATIONS[known().state].tone}>{CONFIRMATIONS[known().state].word}</Badge>}
    </Show>
  );
}

/** Whether an event has alerts, but its changes are only improvements: the alerts are the bad news. */
function isOnlyAlerts({ total, improvements, total_alerts }: JsonEvent): boolean {
  return total_alerts > 0 && total === improvements;
}

/** The counts of an event: `3 regressions, 1 improvement`; without regressions, `2 alerts, 1 improvement`. */
export function eventTitle(event: JsonEvent): string {
  const { regressions, improvements, total, total_alerts, cause } = event;
  const others = total - regressions - improvements;
  const counts = [
    regressions && plural(regressions, "regression"),
    isOnlyAlerts(event) && plural(total_alerts, "alert"),
    improvements && plural(improvements, "improvement"),
    others && plural(others, "other change"),
  ].filter(Boolean);
  const title = counts.join(", ") || "Withdrawn event";
  return cause === "host" ? `Machine: ${title}` : title;
}

/** The change or the alert that a list shows: the worst one, or one of the benchmark whose UUID is given. */
export function leadOf(event: JsonEvent, uuid?: string): JsonChange | JsonEventAlert | undefined {
  const { changes, alerts } = event;
  const own = ({ benchmark }: { benchmark: { uuid: string } }) => benchmark.uuid === uuid;
  return (
    changes.find(own) ??
    alerts.find(own) ??
    (isOnlyAlerts(event) ? (worstOf(alerts) ?? changes[0]) : (changes[0] ?? worstOf(alerts)))
  );
}

/** The alert whose value differs most. */
function worstOf(alerts: readonly JsonEventAlert[]): JsonEventAlert | undefined {
  const size = (alert: JsonEventAlert) => Math.abs(alertShare(alert) ?? 0);
  return alerts.toSorted((a, b) => size(b) - size(a))[0];
}

/** Identifies the series of a change or an alert. */
const seriesKey = (one: JsonChange | JsonEventAlert) => [one.testbed.uuid, nameOf(one), one.measure.uuid].join(" ");

/** Whether two alerts of an event have the same series. */
export function isSameSeries(one: JsonEventAlert, other: JsonEventAlert): boolean {
  return seriesKey(one) === seriesKey(other);
}

/** The name of the benchmark in front, and the number of the other series: ` and 2 more`. */
export function eventSeries(event: JsonEvent, uuid?: string): { name: string; more: string } {
  const lead = leadOf(event, uuid);
  const alerting = [...event.alerts, ...(isOnlyAlerts(event) ? event.changes : [])];
  const isAllChanges = event.total > 0 && !isOnlyAlerts(event);
  const others = (isAllChanges ? event.total : Math.max(new Set(alerting.map(seriesKey)).size, event.total)) - 1;
  // The response contains only the newest alerts.
  const isLeast = !isAllChanges && event.alerts.length < event.total_alerts;
  const more = others > 0 ? ` and ${isLeast ? "at least " : ""}${count(others)} more` : "";
  return { name: lead ? nameOf(lead) : "", more };
}

/** The heading of the page of an event: `3 regressions in parser::toml::large and 2 more`. */
export function eventHeading(event: JsonEvent): string {
  const { name, more } = eventSeries(event);
  return name ? `${eventTitle(event)} in ${name}${more}` : eventTitle(event);
}

/** By how much an alert differs from its baseline, or from its limit without a baseline. */
export function alertShare({ value, boundary, limit }: JsonEventAlert): number | null {
  const reference = boundary.baseline ?? limitOf({ boundary, limit });
  return reference ? (value - reference) / Math.abs(reference) : null;
}

/** The limit that the value of an alert crossed. */
export function limitOf({ boundary, limit }: Pick<JsonEventAlert, "boundary" | "limit">): number | null | undefined {
  return limit === "upper" ? boundary.upper_limit : boundary.lower_limit;
}

/** The commit at which an event began, or the first and the last possible commit. */
export function Commits(props: { event: JsonEvent }): JSX.Element {
  const first = () => props.event.candidates[0];
  const last = () => props.event.candidates.at(-1);
  return (
    <Show when={props.event.candidates.length > 1} fallback={<Version version={first()} />}>
      <Version version={first()} /> … <Version version={last()} />
    </Show>
  );
}

/** Sets the status or the note of an event, with an undo. Returns the event. */
export async function updateEvent(
  project: string,
  event: JsonEvent,
  body: JsonUpdateEvent,
  onDone: (event: JsonEvent) => void,
): Promise<void> {
  const patch = (body: JsonUpdateEvent) =>
    call("patch", "/v0/projects/{project}/events/{event}", { path: { project, event: event.uuid }, body });
  onDone(await patch(body));
  const undo: JsonUpdateEvent = {
    // Only the server sets the other statuses.
    ...(body.status
      ? { status: event.status === "recovered" || event.status === "dismissed" ? "open" : event.status }
      : {}),
    ...(body.note === undefined ? {} : { note: event.note ?? null }),
  };
  const text = body.status ? `Marked as ${STATUSES[body.status].word}.` : "Saved the note.";
  toast(text, () => patch(undo).then(onDone, toastFailure));
}
