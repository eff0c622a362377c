// Texts and request bodies for thresholds and their models.

import type { JsonThreshold, ModelTest } from "./api";
import { duration, plural, significant } from "./format";
import { FACTS, type Model } from "./stats/limits";

/** The name of a test, its use and the meaning of its boundary. */
export interface Words {
  name: string;
  about: string;
  boundary: string;
}

export const TESTS: Readonly<Record<ModelTest, Words>> = {
  t_test: {
    name: "t-test",
    about: "For timings with some history. Try it first: it accounts for a small sample.",
    boundary:
      "The share of unchanged values within the limit, as a decimal: 0.99 is 99 %, so 1 in 100 raises an alert.",
  },
  percentage: {
    name: "Percentage",
    about: "For counts with little variation, such as instructions or bytes: the distance from the mean.",
    boundary: "The allowed distance from the mean, as a decimal: 0.1 is 10 % of the mean.",
  },
  z_score: {
    name: "z-score",
    about: "For timings with a long and steady history: the number of standard deviations from the mean.",
    boundary:
      "The share of unchanged values within the limit, as a decimal: 0.99 is 99 %, so 1 in 100 raises an alert.",
  },
  log_normal: {
    name: "Log-normal",
    about: "For values over several orders of magnitude or with a long upper tail: the limits are factors.",
    boundary:
      "The share of unchanged values within the limit, as a decimal: 0.99 is 99 %, so 1 in 100 raises an alert.",
  },
  iqr: {
    name: "Interquartile range",
    about: "For timings with unavoidable outliers: they do not affect the limits.",
    boundary: "The allowed distance from the median, in interquartile ranges, such as 3.",
  },
  delta_iqr: {
    name: "Delta interquartile range",
    about: "For a series with an intended trend and steps of similar size.",
    boundary: "The allowed distance from the median, in interquartile ranges of the relative changes, such as 3.",
  },
  static: {
    name: "Static",
    about: "For a fixed budget, such as a size or a deadline: the limits do not depend on earlier values.",
    boundary: "The limit itself, in the units of the measure.",
  },
};

/** Whether a boundary is a share: users enter 0.1 for 10 %. */
export function isShare(test: ModelTest): boolean {
  return test === "percentage" || FACTS[test].range === "probability";
}

/** Formats a boundary: `10 %`, `99.9 %`, `3 ×`. */
export function boundaryText(test: ModelTest, boundary: number): string {
  if (isShare(test)) return `${significant(boundary * 100, test === "percentage" ? 4 : 9)}\u00a0%`;
  return FACTS[test].range === "factor" ? `${significant(boundary)}\u00a0×` : significant(boundary, 8);
}

/** Summarizes a model: `t-test, upper limit 99 %, at least 12 values, newest 64 values`. */
export function describe(model: Model): string {
  const {
    test,
    lower_boundary: lower,
    upper_boundary: upper,
    min_sample_size: least,
    max_sample_size: most,
    window,
  } = model;
  return [
    TESTS[test].name,
    typeof lower === "number" && `lower limit ${boundaryText(test, lower)}`,
    typeof upper === "number" && `upper limit ${boundaryText(test, upper)}`,
    typeof least === "number" && `at least ${plural(least, "value")}`,
    typeof most === "number" && `newest ${plural(most, "value")}`,
    typeof window === "number" && `within ${duration(window)}`,
  ]
    .filter(Boolean)
    .join(", ");
}

/** The title of a threshold: its measure, branch and testbed. */
export function thresholdTitle({ measure, branch, testbed }: JsonThreshold): string {
  return `${measure.name} · ${branch.name} · ${testbed.name}`;
}

/** A model in the format of the API: unset values are null. */
export function modelBody(model: Model) {
  const {
    test,
    lower_boundary = null,
    upper_boundary = null,
    min_sample_size = null,
    max_sample_size = null,
    window = null,
  } = model;
  return { test, lower_boundary, upper_boundary, min_sample_size, max_sample_size, window };
}
