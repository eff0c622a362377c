// Compares two independently measured sides of a benchmark: the difference and its confidence interval. Pure.
//
// The same method as `tidemark compare`; see docs/statistics.md.

import { student as quantile } from "./quantile";
import { twoSided } from "./student";
import type { Worse } from "./worse";

/** One value of a side, with the bounds that the tool reported. */
export interface Sample {
  value: number;
  lower?: number | undefined;
  upper?: number | undefined;
}

/** The source of the confidence interval. */
export type Source = "reports" | "bounds" | "none";

export interface Comparison {
  base: number;
  next: number;
  /** The relative difference from the base; undefined if the base is zero. */
  change: number | undefined;
  interval: readonly [number, number] | undefined;
  source: Source;
  /** The p-value of the difference. */
  p: number | undefined;
  /** The p-value of the rank test. */
  ranks: number | undefined;
  /** Whether the number of values is sufficient for a verdict. */
  enough: boolean;
}

/** The verdict of a comparison. */
export type Verdict = "worse" | "different" | "better" | "unclear" | "same";

const CHANCE = 0.05;
/** Minimum relative difference of a change. */
export const SMALLEST = 0.01;
/** Maximum bound of the confidence interval for the verdict "same". */
export const SAME_WITHIN = 0.05;
/** Above this number of values, means are approximately normal. */
const RANKED = 40;
const CLOSEST = 0.9;

/** Compares two sides at a confidence of 95 %. Each value is one report. */
export function compare(base: readonly Sample[], next: readonly Sample[]): Comparison {
  const [before, after] = [base.map(({ value }) => value), next.map(({ value }) => value)];
  const isPositive = [...before, ...after].every((value) => value > 0);
  const scale = (values: readonly number[]) => values.map((value) => (isPositive ? Math.log(value) : value));
  const [left, right] = [scale(before), scale(after)];
  const [from, to] = [mean(left), mean(right)];
  const share = (step: number) =>
    isPositive ? Math.expm1(step) : from === 0 ? (step === 0 ? 0 : undefined) : step / Math.abs(from);
  const step = Math.abs(to - from) > 1e-12 ? to - from : 0;
  const result: Comparison = {
    base: isPositive ? Math.exp(from) : from,
    next: isPositive ? Math.exp(to) : to,
    change: share(step),
    interval: undefined,
    source: "none",
    p: undefined,
    ranks: undefined,
    enough: false,
  };
  const spread = spreadOf(left, right);
  if (spread) {
    const reach = quantile(1 - CHANCE / 2, spread.freedom) * spread.error;
    result.interval = both(share(step - reach), share(step + reach));
    result.source = "reports";
    result.p = step === 0 ? 1 : twoSided(step / spread.error, spread.freedom);
    result.enough = smallestRankSum(left.length, right.length) <= CHANCE;
    if (left.length + right.length <= RANKED && result.p <= CHANCE) result.ranks = rankSum(left, right);
  } else {
    // With one value per side, the bounds of the tool are a hint, not a verdict.
    result.interval = bounded(base, next, result, share);
    if (result.interval) result.source = "bounds";
  }
  return result;
}

/** Computes the verdicts of simultaneous comparisons. The family-wise error rate is 5 %. */
export function verdicts(comparisons: readonly (readonly [Comparison, Worse])[]): Verdict[] {
  const judged = comparisons.flatMap(([{ p, enough }]) => (enough && p !== undefined ? [p] : []));
  const adjusted = holm(judged);
  let place = 0;
  return comparisons.map(([comparison, worse]) => {
    const { p, enough, ranks, interval, change } = comparison;
    if (!enough || p === undefined) return "unclear";
    const real = (adjusted[place++] as number) <= CHANCE && (ranks ?? 0) <= CHANCE;
    if (!real || Math.abs(change ?? Infinity) < SMALLEST) {
      return interval && interval[0] >= -SAME_WITHIN && interval[1] <= SAME_WITHIN ? "same" : "unclear";
    }
    if (!worse) return "different";
    return comparison.next > comparison.base === (worse === "up") ? "worse" : "better";
  });
}

/** The geometric mean of relative changes and their number; skips values that are not positive. */
export function geometricMean(comparisons: readonly Comparison[]): { change: number; count: number } | undefined {
  const steps = comparisons
    .filter(({ base, next }) => base > 0 && next > 0)
    .map(({ base, next }) => Math.log(next / base));
  return steps.length ? { change: Math.expm1(mean(steps)), count: steps.length } : undefined;
}

/** The bounds of the ratio, from the bounds of both sides: the root of the sum of squares. */
function bounded(
  base: readonly Sample[],
  next: readonly Sample[],
  { base: from, next: to }: Comparison,
  share: (step: number) => number | undefined,
): readonly [number, number] | undefined {
  const [one, other] = [base[0], next[0]];
  if (base.length !== 1 || next.length !== 1 || !one || !other) return undefined;
  if (one.lower === undefined || one.upper === undefined || other.lower === undefined || other.upper === undefined)
    return undefined;
  if (Math.min(one.lower, other.lower) <= 0 || from <= 0 || to <= 0) return undefined;
  const step = Math.log(to / from);
  const down = Math.hypot(Math.log(to / other.lower), Math.log(one.upper / from));
  const up = Math.hypot(Math.log(other.upper / to), Math.log(from / one.lower));
  return both(share(step - down), share(step + up));
}

function both(lower: number | undefined, upper: number | undefined): readonly [number, number] | undefined {
  return lower === undefined || upper === undefined ? undefined : [lower, upper];
}

function spreadOf(base: readonly number[], next: readonly number[]): { error: number; freedom: number } | undefined {
  if (base.length < 2 || next.length < 2) return undefined;
  let [variance, followed] = [0, 0];
  for (const side of [base, next]) {
    const center = mean(side);
    const square = side.reduce((sum, value) => sum + (value - center) ** 2, 0) / (side.length - 1);
    variance += square / side.length;
    if (square > 0)
      for (let place = 1; place < side.length; place++)
        followed += (((side[place] as number) - center) * ((side[place - 1] as number) - center)) / square;
  }
  const all = base.length + next.length;
  const r = Math.min(Math.max(all > 2 ? followed / (all - 2) + 2 / all : 0, 0), CLOSEST);
  return { error: Math.sqrt(variance * ((1 + r) / (1 - r))), freedom: Math.min(base.length, next.length) - 1 };
}

/** The two-sided p-value of Wilcoxon's rank-sum test, exact also with ties. */
export function rankSum(base: readonly number[], next: readonly number[]): number {
  const ranks = doubledRanks([...base, ...next]);
  const total = ranks.reduce((sum, rank) => sum + rank, 0);
  // The number of subsets of this size for each rank sum.
  const ways = Array.from({ length: next.length + 1 }, () => new Float64Array(total + 1));
  (ways[0] as Float64Array)[0] = 1;
  let reached = 0;
  for (const rank of ranks) {
    reached += rank;
    for (let chosen = next.length; chosen > 0; chosen--) {
      const [with_, without] = [ways[chosen] as Float64Array, ways[chosen - 1] as Float64Array];
      for (let sum = rank; sum <= reached; sum++) with_[sum] = (with_[sum] as number) + (without[sum - rank] as number);
    }
  }
  const at = ranks.slice(base.length).reduce((sum, rank) => sum + rank, 0);
  const found = ways[next.length] as Float64Array;
  const add = (part: Float64Array) => part.reduce((sum, way) => sum + way, 0);
  return Math.min((2 * Math.min(add(found.subarray(0, at + 1)), add(found.subarray(at)))) / add(found), 1);
}

function smallestRankSum(base: number, next: number): number {
  let choices = 1;
  for (let k = 1; k <= next; k++) choices *= (base + k) / k;
  return Math.min(2 / choices, 1);
}

/** The rank of each value, doubled so that the mean rank of ties is an integer. */
function doubledRanks(values: readonly number[]): number[] {
  const order = values.map((value, place) => ({ value, place })).sort((left, right) => left.value - right.value);
  const ranks = new Array<number>(values.length).fill(0);
  for (let first = 0; first < order.length; ) {
    let end = first;
    while (order[end]?.value === order[first]?.value && end < order.length) end++;
    for (let index = first; index < end; index++) ranks[(order[index] as { place: number }).place] = first + end + 1;
    first = end;
  }
  return ranks;
}

/** P-values adjusted by Holm's method, in the original order. */
export function holm(probabilities: readonly number[]): number[] {
  const order = probabilities.map((p, place) => ({ p, place })).sort((left, right) => left.p - right.p);
  const adjusted = new Array<number>(probabilities.length).fill(0);
  let highest = 0;
  order.forEach(({ p, place }, index) => {
    highest = Math.max(highest, Math.min(p * (probabilities.length - index), 1));
    adjusted[place] = highest;
  });
  return adjusted;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
