// A value compared with its threshold, and its position between the limits.

import { type JSX, Show } from "solid-js";
import type { AlertStatus, JsonBoundary } from "../api";
import { count, plural, value } from "../format";
import type { Verdict } from "../verdict";
import { Badge, type Tone } from "./Badge";

export const VERDICTS: Readonly<Record<Verdict, { word: string; tone: Tone }>> = {
  regression: { word: "outside the threshold", tone: "alert" },
  improvement: { word: "improved beyond the limits", tone: "good" },
  pass: { word: "within limits", tone: "neutral" },
  no_baseline: { word: "sample too small", tone: "neutral" },
  no_threshold: { word: "no threshold", tone: "neutral" },
};

const STATUSES: Readonly<Record<AlertStatus, Tone>> = { active: "alert", dismissed: "neutral", silenced: "neutral" };

export function StatusBadge(props: { status: AlertStatus }): JSX.Element {
  return <Badge tone={STATUSES[props.status]}>{props.status}</Badge>;
}

/** The number of active alerts; if none is active, the number of inactive alerts. `named` adds the noun outside a column of alerts. */
export function AlertCount(props: { total: number; active: number; named?: boolean }): JSX.Element {
  const text = (number: number, status: string) =>
    props.named ? plural(number, `${status} alert`) : `${count(number)} ${status}`;
  return (
    <Show when={props.total} fallback={<span class="muted">–</span>}>
      <Show when={props.active} fallback={<Badge>{text(props.total, "inactive")}</Badge>}>
        <Badge tone="alert">{text(props.active, "active")}</Badge>
      </Show>
    </Show>
  );
}

/** Formats the limits: `≤ 1.2 ms`, `0.9 ms to 1.2 ms`. */
export function limitsText({ lower_limit: lower, upper_limit: upper }: JsonBoundary, units: string): string {
  if (typeof lower === "number" && typeof upper === "number") return `${value(lower, units)} to ${value(upper, units)}`;
  if (typeof upper === "number") return `≤ ${value(upper, units)}`;
  return typeof lower === "number" ? `≥ ${value(lower, units)}` : "–";
}

/** A graphic of a value: the allowed range, the baseline in the middle, and the value. */
export function Gauge(props: { value: number; boundary: JsonBoundary; units: string; bad: boolean }): JSX.Element {
  const WIDTH = 88;
  const range = () => {
    const { baseline, lower_limit: lower, upper_limit: upper } = props.boundary;
    const given = [lower, upper, baseline].filter((number) => typeof number === "number");
    const [least, most] = [Math.min(...given), Math.max(...given)];
    const room = (most - least) * 0.9 || Math.abs(most) * 0.05 || 1;
    return { from: least - room, to: most + room };
  };
  const x = (number: number) => {
    const { from, to } = range();
    return Math.min(Math.max(((number - from) / (to - from)) * WIDTH, 3), WIDTH - 3);
  };
  const band = () => {
    const { lower_limit: lower, upper_limit: upper } = props.boundary;
    return { from: typeof lower === "number" ? x(lower) : 0, to: typeof upper === "number" ? x(upper) : WIDTH };
  };
  return (
    <svg
      class="gauge"
      classList={{ bad: props.bad }}
      role="img"
      aria-label={`${value(props.value, props.units)}, limits ${limitsText(props.boundary, props.units)}`}
      width={WIDTH}
      height="16"
      viewBox={`0 0 ${WIDTH} 16`}
    >
      <line class="gauge-track" x1="0" x2={WIDTH} y1="8" y2="8" />
      <line class="gauge-band" x1={band().from} x2={band().to} y1="8" y2="8" />
      <Show when={typeof props.boundary.baseline === "number"}>
        <line
          class="gauge-base"
          x1={x(props.boundary.baseline ?? 0)}
          x2={x(props.boundary.baseline ?? 0)}
          y1="3"
          y2="13"
        />
      </Show>
      <circle class="gauge-dot" cx={x(props.value)} cy="8" r="3.5" />
    </svg>
  );
}
