// Texts for the models of thresholds.

import type { ModelTest } from "./api";
import { duration, significant } from "./format";
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
    about: "For timings with some history, and the one to try first: it knows how little a short history tells.",
    boundary: "The share of harmless values that stay within, such as 0.99: one in a hundred then raises an alert.",
  },
  percentage: {
    name: "Percentage",
    about: "For counts that hardly vary, such as instructions or bytes: so much away from the mean.",
    boundary: "The part of the mean that a value may be away from it: 0.1 is ten percent.",
  },
  z_score: {
    name: "z-score",
    about: "For timings with a long and steady history: so many deviations away from the mean.",
    boundary: "The share of harmless values that stay within, such as 0.99: one in a hundred then raises an alert.",
  },
  log_normal: {
    name: "Log-normal",
    about: "For values that spread over orders of magnitude or have a long tail upward: limits are factors.",
    boundary: "The share of harmless values that stay within, such as 0.99: one in a hundred then raises an alert.",
  },
  iqr: {
    name: "Interquartile range",
    about: "For timings with outliers that nobody can get rid of: they do not move the limits.",
    boundary: "How many interquartile ranges a value may be away from the median, such as 3.",
  },
  delta_iqr: {
    name: "Delta interquartile range",
    about: "For a series that drifts on purpose while its steps stay alike.",
    boundary: "How many interquartile ranges of its relative changes a value may be away from the median, such as 3.",
  },
  static: {
    name: "Static",
    about: "For a hard budget, such as a size or a deadline: the limits are what you write here, whatever came before.",
    boundary: "The limit itself, in the units of the measure.",
  },
};

/** Formats a boundary: `10 %`, `0.99`, `3 ×`. */
export function boundaryText(test: ModelTest, boundary: number): string {
  if (test === "percentage") return `${significant(boundary * 100)} %`;
  return FACTS[test].range === "factor" ? `${significant(boundary)} ×` : significant(boundary, 8);
}

/** Summarizes a model: `t-test, upper 0.99, newest 64`. */
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
    typeof lower === "number" && `lower ${boundaryText(test, lower)}`,
    typeof upper === "number" && `upper ${boundaryText(test, upper)}`,
    typeof least === "number" && `at least ${least}`,
    typeof most === "number" && `newest ${most}`,
    typeof window === "number" && `within ${duration(window)}`,
  ]
    .filter(Boolean)
    .join(", ");
}
