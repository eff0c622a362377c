// Converts series to lines and names them: common dimensions are named once. Pure: no DOM.

import type { JsonChange } from "../api.gen";
import { webAddress } from "../links";
import { sortedBy } from "./columns";
import type { Found } from "./fetch";
import type { Line, Step, XAxis } from "./line";

/** A line with its series. */
export interface PerfLine extends Line {
  series: Found;
  /** The index in the series of each point; undefined if identical. */
  order: Uint32Array | undefined;
}

/** The index in the series of a point of the line. */
export function placeIn(line: PerfLine, at: number): number {
  return line.order ? (line.order[at] as number) : at;
}

/** Converts series to lines over time or versions, with their changes. The second measure uses the right axis. */
export function linesOf(
  all: readonly Found[],
  axis: XAxis,
  measures: readonly string[],
  changes: readonly JsonChange[] = [],
): PerfLine[] {
  const names = labels(all).each;
  return all.map((series, place) => ({
    ...geometry(series, axis),
    id: series.id,
    label: names[place] ?? "",
    units: series.measure.units,
    color: series.permutation,
    right: series.measure.uuid !== measures[0],
    steps: stepsOf(series, axis, changes),
    series,
  }));
}

function stepsOf(series: Found, axis: XAxis, changes: readonly JsonChange[]): Step[] {
  return changes
    .filter(
      ({ branch, testbed, benchmark, variant, measure }) =>
        branch.head.uuid === series.branch.head.uuid &&
        testbed.uuid === series.testbed.uuid &&
        benchmark.uuid === series.benchmark.uuid &&
        variant?.uuid === series.variant?.uuid &&
        measure.uuid === series.measure.uuid,
    )
    .map(({ at, direction }) => ({
      x: axis === "version" ? at.version.number : Date.parse(at.start_time),
      worse: direction === "regression",
    }));
}

type Geometry = Pick<PerfLine, "x" | "y" | "lower" | "upper" | "lowerLimit" | "upperLimit" | "marks" | "order">;
const known: Readonly<Record<XAxis, WeakMap<Float64Array, Geometry>>> = {
  date_time: new WeakMap(),
  version: new WeakMap(),
};

/** The numbers of a line, cached per series. */
function geometry(series: Found, axis: XAxis): Geometry {
  const made = known[axis].get(series.value) ?? numbers(series, axis);
  known[axis].set(series.value, made);
  return made;
}

function numbers(series: Found, axis: XAxis): Geometry {
  const { runs, run, value, alerts } = series;
  const of = axis === "version" ? runs.number : runs.start;
  const x = new Float64Array(run.length);
  for (let at = 0; at < run.length; at++) x[at] = of[run[at] as number] as number;
  const order = sortedBy(run.length, (at) => x[at] as number);
  const pick = (column: Float64Array) => (order ? Float64Array.from(order, (at) => column[at] as number) : column);
  const back = order && new Map(Array.from(order, (from, to) => [from, to]));
  return {
    x: pick(x),
    y: pick(value),
    lower: series.lower && pick(series.lower),
    upper: series.upper && pick(series.upper),
    lowerLimit: series.lowerLimit && pick(series.lowerLimit),
    upperLimit: series.upperLimit && pick(series.upperLimit),
    marks: alerts.map((alert) => ({
      at: back?.get(alert.at) ?? alert.at,
      limit: alert.limit,
      active: alert.status === "active",
    })),
    order,
  };
}

export interface Labels {
  /** The common part of the names. */
  shared: string[];
  /** The distinct part of each name; the benchmark if nothing differs. */
  each: string[];
}

/** Names of series in one plot. */
export function labels(all: readonly Found[]): Labels {
  if (!all.length) return { shared: [], each: [] };
  const parts: ((series: Found) => string)[] = [
    ({ benchmark, variant }) => (variant ? `${benchmark.name} ${parameters(variant.parameters)}` : benchmark.name),
    ({ measure }) => measure.name,
    ({ branch }) =>
      branch.name +
      (all.some((other) => other.branch.uuid === branch.uuid && other.branch.head.uuid !== branch.head.uuid)
        ? ` @${branch.head.uuid.slice(-6)}`
        : ""),
    ({ testbed }) =>
      testbed.name +
      (all.some((other) => other.testbed.uuid === testbed.uuid && other.testbed.spec?.uuid !== testbed.spec?.uuid)
        ? ` (${testbed.spec?.name ?? "no spec"})`
        : ""),
  ];
  const texts = parts.map((part) => all.map(part));
  const isShared = texts.map((column) => column.every((text) => text === column[0]));
  const shared = texts.filter((_, place) => isShared[place]).map((column) => column[0] ?? "");
  const own = texts.filter((_, place) => !isShared[place]);
  // A single line has the name of its benchmark.
  if (!own.length) return { shared: shared.slice(1), each: all.map((_, place) => texts[0]?.[place] ?? "") };
  return { shared, each: all.map((_, place) => own.map((column) => column[place]).join(" · ")) };
}

function parameters(of: Readonly<Record<string, string>>): string {
  return `(${Object.entries(of)
    .map(([name, value]) => `${name}=${value}`)
    .join(", ")})`;
}

/** The URL of a commit at most code hosts. */
export function commitUrl(project: string | null | undefined, hash: string | undefined): string | undefined {
  const website = webAddress(project);
  if (!website || !hash) return undefined;
  const base = website.replace(/\/+$/, "").replace(/\.git$/, "");
  return `${base}/${/\bbitbucket\./.test(base) ? "commits" : "commit"}/${hash}`;
}
