// Whether more of a measure is worse. The server knows it of the built-in measures only and does not tell; of others the
// units are asked.

import type { JsonMeasure } from "./api";

export type Worse = "up" | "down";

const DOWN = new Set(["throughput", "bandwidth", "l1-hits", "l2-hits", "ll-hits", "l1-hit-rate", "ll-hit-rate"]);
const EITHER = new Set(["total-operations", "total-units", "total-lifetimes"]);
const COSTS = /second|\b[nmµu]?s\b|minute|hour|byte|\b[kMGT]?i?B\b|instruction|cycle|miss|access|alloc|error|block|collect|percentage/i;

/** The direction in which a measure gets worse, if it can be told. */
export function worse(measure: Pick<JsonMeasure, "slug" | "units">): Worse | undefined {
  if (DOWN.has(measure.slug) || /\bper\b|\/\s*(s|sec|second|min|minute|h|hour)\b/i.test(measure.units)) return "down";
  if (EITHER.has(measure.slug)) return undefined;
  return COSTS.test(measure.units) ? "up" : undefined;
}
