// The seven models of thresholds: compute limits for the next value from earlier values. The same arithmetic as
// crates/stats, which documents the reasons; docs/statistics.md explains the models.

import type { ModelTest } from "../api.gen";
import { deviation, mean, quartiles } from "./moments";
import { normal, student } from "./quantile";

/** A test and its settings. An undefined or null boundary sets no limit. */
export interface Model {
  test: ModelTest;
  min_sample_size?: number | null;
  max_sample_size?: number | null;
  /** In seconds. */
  window?: number | null;
  lower_boundary?: number | null;
  upper_boundary?: number | null;
}

/** The limits and the baseline of a new value. */
export interface Limits {
  baseline: number | undefined;
  lower: number | undefined;
  upper: number | undefined;
}

export type Side = "lower" | "upper";

/** The meaning of a boundary: the limit itself, a factor, or a one-sided probability. */
export type Range = "finite" | "factor" | "probability";

/** The properties of a test. */
export interface Facts {
  range: Range;
  /** Minimum sample size; undefined if the test uses no sample. */
  smallestSample: number | undefined;
}

export const FACTS: Readonly<Record<ModelTest, Facts>> = {
  static: { range: "finite", smallestSample: undefined },
  percentage: { range: "factor", smallestSample: 1 },
  z_score: { range: "probability", smallestSample: 2 },
  t_test: { range: "probability", smallestSample: 2 },
  log_normal: { range: "probability", smallestSample: 2 },
  iqr: { range: "factor", smallestSample: 2 },
  delta_iqr: { range: "factor", smallestSample: 2 },
};

/** Maximum sample size. */
export const MAX_SAMPLE = 4096;

/** Whether a boundary is valid for a test. */
export function isBoundary(test: ModelTest, boundary: number): boolean {
  if (!Number.isFinite(boundary)) return false;
  const { range } = FACTS[test];
  return range === "finite" || (range === "factor" ? boundary >= 0 : boundary >= 0.5 && boundary < 1);
}

/** Returns the limit that the value crosses, if any. A value equal to the limit does not cross it. */
export function crossedLimit(value: number, { lower, upper }: Limits): Side | undefined {
  if (lower !== undefined && value < lower) return "lower";
  return upper !== undefined && value > upper ? "upper" : undefined;
}

/** A model prepared for many samples. */
export interface Prepared {
  /** Maximum number of values of a sample. */
  most: number;
  /**
   * The limits for the value after the sample, which is ordered from newest to oldest; undefined if the sample is too
   * small.
   */
  limits: (sample: Float64Array) => Limits | undefined;
}

interface Bounds {
  lower: number | undefined;
  upper: number | undefined;
}

export function prepare(model: Model): Prepared {
  const { test } = model;
  const valid = (boundary: number | null | undefined) =>
    boundary !== null && boundary !== undefined && isBoundary(test, boundary) ? boundary : undefined;
  const bounds: Bounds = { lower: valid(model.lower_boundary), upper: valid(model.upper_boundary) };
  const fewest = Math.min(Math.max(model.min_sample_size ?? 1, 1), MAX_SAMPLE);
  const most = Math.min(model.max_sample_size ?? MAX_SAMPLE, MAX_SAMPLE);
  const known = new Map<number, Bounds>();
  const quantiles = (freedom: number): Bounds => {
    let found = known.get(freedom);
    if (!found) {
      found = map(bounds, (p) => student(p, freedom));
      known.set(freedom, found);
    }
    return found;
  };
  const limits = (values: Float64Array): Limits | undefined => {
    if (bounds.lower === undefined && bounds.upper === undefined) return undefined;
    if (test === "static") return { baseline: undefined, ...bounds };
    const sample = values.length > most ? values.subarray(0, most) : values;
    if (sample.length < fewest) return undefined;
    return MODELS[test](bounds, sample, quantiles);
  };
  return { most: test === "static" ? 0 : most, limits };
}

type Compute = (bounds: Bounds, sample: Float64Array, quantiles: (freedom: number) => Bounds) => Limits | undefined;

const MODELS: Readonly<Record<Exclude<ModelTest, "static">, Compute>> = {
  percentage: (bounds, sample) => {
    const middle = mean(sample);
    return around(
      middle,
      map(bounds, (share) => Math.abs(middle) * share),
    );
  },
  z_score: (bounds, sample) => {
    if (sample.length < 2) return undefined;
    const middle = mean(sample);
    const spread = deviation(sample, middle);
    return around(
      middle,
      map(bounds, (p) => spread * normal(p)),
    );
  },
  t_test: (_, sample, quantiles) => {
    if (sample.length < 2) return undefined;
    const middle = mean(sample);
    const spread = deviation(sample, middle) * Math.sqrt(1 + 1 / sample.length);
    return around(
      middle,
      map(quantiles(sample.length - 1), (t) => spread * t),
    );
  },
  log_normal: (bounds, sample) => {
    if (sample.length < 2 || sample.some((value) => value <= 0)) return undefined;
    const unit = sample[0] ?? NaN;
    const logs = sample.map((value) => Math.log(value / unit));
    const middle = mean(logs);
    const spread = deviation(logs, middle);
    const baseline = unit * Math.exp(middle);
    const distance = map(bounds, (p) => spread * normal(p));
    return ifFinite({
      baseline,
      lower: distance.lower === undefined ? undefined : baseline * Math.exp(-distance.lower),
      upper: distance.upper === undefined ? undefined : baseline * Math.exp(distance.upper),
    });
  },
  iqr: (bounds, sample) => {
    const { first, median, third } = quartiles(sample.slice());
    return around(
      median,
      map(bounds, (factor) => (third - first) * factor),
    );
  },
  delta_iqr: (bounds, sample) => {
    if (sample.length < 2) return undefined;
    const { median } = quartiles(sample.slice());
    const changes = new Float64Array(sample.length - 1);
    for (let place = 0; place < changes.length; place++) {
      const newer = sample[place] ?? NaN;
      changes[place] = Math.abs(((sample[place + 1] ?? NaN) - newer) / newer);
    }
    const { first, third } = quartiles(changes);
    return around(
      median,
      map(bounds, (factor) => Math.abs(median) * (third - first) * factor),
    );
  },
};

function map(bounds: Bounds, change: (boundary: number) => number): Bounds {
  return {
    lower: bounds.lower === undefined ? undefined : change(bounds.lower),
    upper: bounds.upper === undefined ? undefined : change(bounds.upper),
  };
}

function around(baseline: number, distance: Bounds): Limits | undefined {
  return ifFinite({
    baseline,
    lower: distance.lower === undefined ? undefined : baseline - distance.lower,
    upper: distance.upper === undefined ? undefined : baseline + distance.upper,
  });
}

/** Removes limits with an infinite or undefined number. */
function ifFinite(limits: Limits): Limits | undefined {
  const fine = (number: number | undefined) => number === undefined || Number.isFinite(number);
  return fine(limits.baseline) && fine(limits.lower) && fine(limits.upper) ? limits : undefined;
}
