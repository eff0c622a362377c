// The worse direction of a measure: known for built-in measures, derived from the units for others.

/** The worse direction; undefined if unknown. */
export type Worse = "up" | "down" | undefined;

const DOWN = new Set(["throughput", "bandwidth", "l1-hits", "l2-hits", "ll-hits", "l1-hit-rate", "ll-hit-rate"]);
const EITHER = new Set(["total-operations", "total-units", "total-lifetimes"]);
/** Units, or their beginnings, of measures whose values are costs. */
const COST_UNITS = [
  "(nano|micro|milli)?seconds?",
  "minutes?",
  "(kilo|mega|giga)?bytes",
  "instructions",
  "cycles",
  "alloc",
  "misses",
  "errors",
  "accesses",
  "collects",
  "blocks",
  "syscalls",
  "percentage",
  "decibels",
  "contexts",
];
const COSTS = new RegExp(`^(${COST_UNITS.join("|")})|^([nuµm]?s(ec)?|[kmgt]?i?b)\\b`);

/** The worse direction of a measure. */
export function worseOf(measure: { slug: string; units: string }): Worse {
  if (DOWN.has(measure.slug)) return "down";
  if (EITHER.has(measure.slug)) return undefined;
  const units = measure.units.trim().toLowerCase();
  if (/\/\s*(s|sec|second)\b|\bper second\b/.test(units)) return "down";
  return COSTS.test(units) || /^latency|-(time|size|jitter)$/.test(measure.slug) ? "up" : undefined;
}
