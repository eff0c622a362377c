// How a series behaves: its noise, the smallest change that would show, and where its level changed. Pure.
//
// Everything is robust: a single spike moves none of it. Where all values are above zero their logarithms are looked
// at, so that a change is a factor, the same upwards and downwards.

/** What a series is like. Shares are of its level: 0.03 is 3 %. */
export interface Health {
  /** The standard deviation from one report to the next; undefined if there are too few. */
  noise: number | undefined;
  /** The smallest change that the next report alone would show. */
  smallest: number | undefined;
  /** Where its level is since the last change. */
  level: number;
  /** The last change of its level, if there was one. */
  change: Change | undefined;
}

/** A change of the level that has lasted. */
export interface Change {
  /** The place of the first value at the new level. */
  at: number;
  before: number;
  after: number;
  /** The share by which it changed. */
  share: number;
}

/** With fewer values nothing is said about noise. */
export const FEWEST = 6;
/** A normal deviation is this many times the median distance from the median. */
const MAD = 1.4826;
/** The variance of a median is this many times that of a mean. */
const MEDIAN = Math.PI / 2;
/** One in a hundred times by chance (2.576), and seen four times in five (0.842). */
const SEEN = 2.576 + 0.842;
/** How many standard errors a change must have: there are many series, and many places in each. */
const CERTAIN = 6;
/** What lasted for fewer reports may be a spike. */
const LASTING = 3;
/** Changes below this share are not worth a look. */
const WORTH = 0.01;

/** Looks at the values of a series, oldest first. */
export function health(values: readonly number[]): Health {
  const isPositive = values.every((value) => value > 0);
  const center = Math.abs(median(values)) || 1;
  const scale = values.map((value) => (isPositive ? Math.log(value) : value / center));
  const back = (step: number) => (isPositive ? Math.expm1(step) : step);
  const sigma = values.length < FEWEST ? undefined : deviation(scale);
  const changes = sigma === undefined ? [] : split(scale, sigma, 0, scale.length, back);
  const last = changes.at(-1);
  const start = last ?? 0;
  const level = median(values.slice(start));
  let change: Change | undefined;
  if (last !== undefined) {
    const begin = changes.at(-2) ?? 0;
    const step = median(scale.slice(last)) - median(scale.slice(begin, last));
    change = { at: last, before: median(values.slice(begin, last)), after: level, share: back(step) };
  }
  const known = values.length - start;
  return {
    noise: sigma === undefined ? undefined : back(sigma),
    smallest: sigma === undefined ? undefined : back(SEEN * sigma * Math.sqrt(1 + MEDIAN / known)),
    level,
    change,
  };
}

/** The deviation by the steps from each value to the next, which a change of level does not widen. */
function deviation(values: readonly number[]): number {
  const steps = values.slice(1).map((value, place) => Math.abs(value - (values[place] as number)));
  return (MAD * median(steps)) / Math.SQRT2;
}

/** The places where the level changes, in order: at the one that leaves least over first, then on both sides of it. */
function split(
  values: readonly number[],
  sigma: number,
  from: number,
  to: number,
  back: (step: number) => number,
): number[] {
  let best: { at: number; left: number } | undefined;
  for (let at = from + LASTING; at <= to - LASTING; at++) {
    const step = Math.abs(median(values.slice(at, to)) - median(values.slice(from, at)));
    const error = sigma * Math.sqrt(MEDIAN * (1 / (at - from) + 1 / (to - at)));
    if (Math.abs(back(step)) < WORTH || step < CERTAIN * error) continue;
    const left = cost(values, from, at, to);
    if (!best || left < best.left) best = { at, left };
  }
  if (!best) return [];
  return [...split(values, sigma, from, best.at, back), best.at, ...split(values, sigma, best.at, to, back)];
}

/** How far the values are from the median of their side, in all. */
function cost(values: readonly number[], from: number, at: number, to: number): number {
  const side = (part: readonly number[]) => {
    const middle = median(part);
    return part.reduce((sum, value) => sum + Math.abs(value - middle), 0);
  };
  return side(values.slice(from, at)) + side(values.slice(at, to));
}

export function median(values: readonly number[]): number {
  const order = [...values].sort((left, right) => left - right);
  const half = order.length >> 1;
  if (order.length === 0) return Number.NaN;
  return order.length % 2 ? (order[half] as number) : ((order[half - 1] as number) + (order[half] as number)) / 2;
}
