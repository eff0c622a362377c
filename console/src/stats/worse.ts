// The worse direction of a measure.

import type { JsonMeasure } from "../api";

/** The worse direction; undefined if unknown. */
export type Worse = "up" | "down" | undefined;

/** The worse direction of a measure. */
export function worseOf(measure: Pick<JsonMeasure, "direction">): Worse {
  if (!measure.direction) return undefined;
  return measure.direction === "lower_is_better" ? "up" : "down";
}
