// How a value stands against its limits, and how far it has moved. Pure.

import type { BoundaryLimit, JsonBoundary, JsonReportMeasure } from "./api";
import { worseOf } from "./stats/worse";

export type Verdict = "regression" | "improvement" | "pass" | "no_baseline" | "no_threshold";

/** What a result says, worst first when in order of `badness`. */
export interface Judged {
  verdict: Verdict;
  /** The change from the baseline: 0.1 is ten percent more. */
  change: number | undefined;
  /** How much of the way from the baseline to the limit is used up, toward the worse; above one it is crossed. */
  badness: number;
}

/** How far a value has gone from the baseline, in widths of the limit on either side; below zero toward the lower. */
export function reach(
  value: number,
  { baseline, lower_limit: lower, upper_limit: upper }: JsonBoundary,
): number | undefined {
  if (typeof baseline !== "number") return undefined;
  const distance = value - baseline;
  if (distance === 0) return 0;
  // Where there is no limit, the one on the other side tells what is far.
  const up = typeof upper === "number" ? upper - baseline : typeof lower === "number" ? baseline - lower : undefined;
  const down = typeof lower === "number" ? baseline - lower : up;
  const width = distance > 0 ? up : down;
  if (width === undefined) return undefined;
  return width > 0 ? distance / width : distance > 0 ? Infinity : -Infinity;
}

/** Judges one measured value. `crossed` is the limit that its alert tells of. */
export function judged(
  { measure, metric, boundary, threshold }: JsonReportMeasure,
  crossed: BoundaryLimit | undefined,
): Judged {
  const direction = worseOf(measure);
  const hasLimits = typeof boundary?.lower_limit === "number" || typeof boundary?.upper_limit === "number";
  const far = boundary ? reach(metric.value, boundary) : undefined;
  const toward = far === undefined ? 0 : direction === "down" ? -far : direction === "up" ? far : Math.abs(far);
  const change =
    typeof boundary?.baseline === "number" && boundary.baseline !== 0
      ? (metric.value - boundary.baseline) / Math.abs(boundary.baseline)
      : undefined;
  const verdict = (): Verdict => {
    if (crossed)
      return (crossed === "upper" && direction === "down") || (crossed === "lower" && direction === "up")
        ? "improvement"
        : "regression";
    if (!hasLimits) return threshold ? "no_baseline" : "no_threshold";
    // Only one side is guarded as a rule: as far on the other one is as much of a change.
    return direction && toward < -1 ? "improvement" : "pass";
  };
  const kind = verdict();
  // A fixed limit has no baseline to measure from, but is crossed all the same.
  return { verdict: kind, change, badness: kind === "regression" ? Math.max(toward, 1) : toward };
}
