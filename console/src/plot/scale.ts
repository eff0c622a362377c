// The relative scale of a plot: each value in percent of one reference value of its line. Pure: no DOM.

import { quartiles } from "../stats/moments";
import type { PerfLine } from "./lines";

export type Relative = "first" | "median" | "baseline";

/** The name of the reference value. */
export const REFERENCES: Readonly<Record<Relative, string>> = {
  first: "first value",
  median: "median",
  baseline: "baseline",
};

/** The value that is 100 %. */
export interface Reference {
  value: number;
  /** The source of the value. */
  about: string;
}

/** The reference value of a line; undefined if the line has none, or if it is zero. */
export function referenceOf(line: PerfLine, relative: Relative): Reference | undefined {
  const found = { first: firstValue, median, baseline }[relative](line);
  return found.value !== 0 && Number.isFinite(found.value) ? found : undefined;
}

function firstValue({ y }: PerfLine): Reference {
  return { value: y.find(Number.isFinite) ?? NaN, about: "first value in the time range" };
}

function median({ y }: PerfLine): Reference {
  return { value: quartiles(y.filter(Number.isFinite)).median, about: "median of the time range" };
}

/** The level before the newest change; without a change, the newest baseline of a threshold; otherwise the first value. */
function baseline(line: PerfLine): Reference {
  const last = line.x.at(-1) ?? -Infinity;
  const newest = (line.changes ?? [])
    .filter(({ x, change }) => x <= last && change.status !== "false_alarm")
    .reduce((a, b) => (a && a.x >= b.x ? a : b), undefined as NonNullable<PerfLine["changes"]>[number] | undefined);
  if (newest)
    return { value: newest.change.before, about: `level before the change at #${newest.change.at.version.number}` };
  const threshold = line.series.baseline?.findLast(Number.isFinite);
  if (threshold !== undefined) return { value: threshold, about: "baseline of the threshold at the newest value" };
  return { ...firstValue(line), about: "first value in the time range: no change and no threshold" };
}

/** The line in percent of its reference value, on the left axis; undefined without a reference value. */
export function relativeLine(line: PerfLine, relative: Relative): PerfLine | undefined {
  const reference = referenceOf(line, relative);
  if (!reference) return undefined;
  const percent = (numbers: Float64Array) => numbers.map((number) => (number / reference.value) * 100);
  return {
    ...line,
    y: percent(line.y),
    lower: line.lower && percent(line.lower),
    upper: line.upper && percent(line.upper),
    lowerLimit: line.lowerLimit && percent(line.lowerLimit),
    upperLimit: line.upperLimit && percent(line.upperLimit),
    units: `% of ${REFERENCES[relative]}`,
    right: false,
    reference,
  };
}
