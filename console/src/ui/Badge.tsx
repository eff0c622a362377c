// A badge, and the tones of badges and notices.

import type { JSX } from "solid-js";

export type Tone = "neutral" | "brand" | "good" | "warn" | "alert";

/** A badge: a status, a kind, a count. */
export function Badge(props: { tone?: Tone; children: JSX.Element }): JSX.Element {
  return <span class={`badge ${props.tone ?? "neutral"}`}>{props.children}</span>;
}
