// Analyzes a series: noise, smallest detectable change, and changes of the level. Pure.
//
// All estimators are robust against single outliers. Positive values are analyzed as logarithms, so that a change is a
// factor, symmetric in both directions.

/** The properties of a series. Shares are relative to the level: 0.03 is 3 %. */
export interface Health {
  /** The standard deviation between consecutive reports; undefined with too few reports. */
  noise: number | undefined;
  /** The smallest change that the next report alone can show. */
  smallest: number | undefined;
  /** The level since the last change. */
  level: number;
  /** The last change of the level, if any. */
  change: Change | undefined;
}

/** A lasting change of the level. */
export interface Change {
  /** The index of the first value at the new level. */
  at: number;
  before: number;
  after: number;
  /** The relative change. */
  share: number;
}

/** Minimum number of values to estimate the noise. */
export const FEWEST = 6;
/** The ratio of the standard deviation to the median absolute deviation of a normal distribution. */
const MAD = 1.4826;
/** The ratio of the variances of median and mean. */
const MEDIAN = Math.PI / 2;
/** False positives of 1 % (2.576) and a power of 80 % (0.842). */
const DETECTABLE = 2.576 + 0.842;
/** Minimum size of a change in standard errors: there are many series with many positions. */
const MIN_STANDARD_ERRORS = 6;
/** Minimum number of reports of a level; fewer may be outliers. */
const LASTING = 3;
/** Minimum relative change. */
const MIN_CHANGE = 0.01;

/** Analyzes the values of a series, oldest first. */
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
    smallest: sigma === undefined ? undefined : back(DETECTABLE * sigma * Math.sqrt(1 + MEDIAN / known)),
    level,
    change,
  };
}

/** Estimates the standard deviation from consecutive differences, which a change of level does not increase. */
function deviation(values: readonly number[]): number {
  const steps = values.slice(1).map((value, place) => Math.abs(value - (values[place] as number)));
  return (MAD * median(steps)) / Math.SQRT2;
}

/** The indexes of the changes of level, in order: by binary segmentation on the smallest residual. */
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
    if (Math.abs(back(step)) < MIN_CHANGE || step < MIN_STANDARD_ERRORS * error) continue;
    const left = cost(values, from, at, to);
    if (!best || left < best.left) best = { at, left };
  }
  if (!best) return [];
  return [...split(values, sigma, from, best.at, back), best.at, ...split(values, sigma, best.at, to, back)];
}

/** The sum of the absolute distances from the median. */
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
