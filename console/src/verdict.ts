// Compares a value with the limits of its threshold. Pure.

import type { BoundaryLimit, JsonBoundary, JsonReportMeasure } from "./api";
import { worseOf } from "./stats/worse";

export type Verdict = "regression" | "improvement" | "pass" | "no_baseline" | "no_threshold";

/** The result of a comparison; `badness` sorts the worst first. */
export interface Judged {
  verdict: Verdict;
  /** The relative change from the baseline: 0.1 is 10 % more. */
  change: number | undefined;
  /**
   * The used share of the distance from the baseline to the limit, in the worse direction; above 1, the limit is
   * crossed.
   */
  badness: number;
}

/**
 * The distance of a value from the baseline, in units of the distance to the limit; negative toward the lower limit.
 */
export function reach(
  value: number,
  { baseline, lower_limit: lower, upper_limit: upper }: JsonBoundary,
): number | undefined {
  if (typeof baseline !== "number") return undefined;
  const distance = value - baseline;
  if (distance === 0) return 0;
  // Without a limit on this side, use the limit on the other side.
  const up = typeof upper === "number" ? upper - baseline : typeof lower === "number" ? baseline - lower : undefined;
  const down = typeof lower === "number" ? baseline - lower : up;
  const width = distance > 0 ? up : down;
  if (width === undefined) return undefined;
  return width > 0 ? distance / width : distance > 0 ? Infinity : -Infinity;
}

/** Compares one value with its limits. `crossed` is the limit of its alert. */
export function resultOf(
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
    return "pass";
  };
  const kind = verdict();
  // A static limit has no baseline, but can be crossed.
  return { verdict: kind, change, badness: kind === "regression" ? Math.max(toward, 1) : toward };
}
