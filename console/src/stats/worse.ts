// In which direction a measure gets worse: known of the built-in ones, told by the units of some others.

/** The direction that is worse; undefined if nobody has said. */
export type Worse = "up" | "down" | undefined;

const DOWN = new Set(["throughput", "bandwidth", "l1-hits", "l2-hits", "ll-hits", "l1-hit-rate", "ll-hit-rate"]);
const EITHER = new Set(["total-operations", "total-units", "total-lifetimes"]);
const COSTS =
  /^((nano|micro|milli)?seconds?|minutes?|(kilo|mega|giga)?bytes|instructions|cycles|alloc|misses|errors|accesses|collects|blocks|syscalls|percentage|decibels|contexts)|^([nuµm]?s(ec)?|[kmgt]?i?b)\b/;

/** The direction in which a measure gets worse. */
export function worseOf(measure: { slug: string; units: string }): Worse {
  if (DOWN.has(measure.slug)) return "down";
  if (EITHER.has(measure.slug)) return undefined;
  const units = measure.units.trim().toLowerCase();
  if (/\/\s*(s|sec|second)\b|\bper second\b/.test(units)) return "down";
  return COSTS.test(units) || /^latency|-(time|size|jitter)$/.test(measure.slug) ? "up" : undefined;
}

/** A change as a badness: above zero is worse. A change that nobody has judged counts by its size. */
export function badness(share: number, worse: Worse): number {
  const step = Math.log1p(Math.max(share, -0.999999));
  return worse === "down" ? -step : worse === "up" ? step : Math.abs(step);
}
