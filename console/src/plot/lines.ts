// Converts series to lines and names them: common dimensions are named once. Pure: no DOM.

import type { JsonChange } from "../api.gen";
import { webAddress } from "../links";
import { sortedBy } from "./columns";
import type { Found } from "./fetch";
import { type ChangeMark, changesOf, type Line, type XAxis } from "./line";
import type { Reference } from "./scale";

/** A line with its series. */
export interface PerfLine extends Line {
  series: Found;
  /** The index in the series of each point; undefined if identical. */
  order: Uint32Array | undefined;
  changes: readonly ChangeMark[];
  /** The value that is 100 %, in a relative scale. */
  reference?: Reference;
}

/** Above this number of lines, a plot emphasizes the lines with a change; its legend has groups and a search. */
export const MOST_EQUAL = 12;

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
  const marks = new Map<string, ChangeMark[]>();
  for (const change of changes) {
    const key = keyOf(change);
    marks.set(key, [...(marks.get(key) ?? []), changeMark(change, axis)]);
  }
  return emphasized(
    all.map((series, place) => ({
      ...geometry(series, axis),
      id: series.id,
      label: names[place] ?? "",
      units: series.measure.units,
      color: series.permutation,
      right: series.measure.uuid !== measures[0],
      changes: marks.get(keyOf(series)) ?? [],
      series,
    })),
  );
}

/** Identifies the series of a change. */
function keyOf({ branch, testbed, benchmark, variant, measure }: Found | JsonChange): string {
  return [branch.head.uuid, testbed.uuid, benchmark.uuid, variant?.uuid, measure.uuid].join();
}

export function changeMark(change: JsonChange, axis: XAxis): ChangeMark {
  const { version, start_time } = change.at;
  return { x: axis === "version" ? version.number : Date.parse(start_time), change };
}

/** The size of a change, for sorting. */
const sizeOf = ({ effect }: JsonChange) => Math.abs(effect ?? Infinity);

/** Open changes before others, then the largest first. */
function compare(one: JsonChange, other: JsonChange): number {
  return Number(other.status === "open") - Number(one.status === "open") || sizeOf(other) - sizeOf(one);
}

/** The main change of a line in its time range, without false alarms. */
export function mainChange(line: PerfLine): JsonChange | undefined {
  return changesOf(line)
    .map(({ change }) => change)
    .filter(({ status }) => status !== "false_alarm")
    .sort(compare)[0];
}

/** The lines with a change first, the largest change first; the others in their order. */
export function byChange<T extends PerfLine>(lines: readonly T[]): T[] {
  return lines
    .map((line) => ({ line, change: mainChange(line) }))
    .sort(({ change: one }, { change: other }) => (one && other ? compare(one, other) : Number(!one) - Number(!other)))
    .map(({ line }) => line);
}

/** Maximum number of emphasized lines: each has its own color. */
const MOST_EMPHASIZED = 10;

/** Among many lines, those with the largest changes have distinct colors, and the others are quiet. */
function emphasized(lines: PerfLine[]): PerfLine[] {
  if (lines.length <= MOST_EQUAL) return lines;
  const changed = byChange(lines.filter(mainChange)).slice(0, MOST_EMPHASIZED);
  if (!changed.length) return lines;
  const ranks = new Map(changed.map(({ id }, rank) => [id, rank]));
  return lines.map((line) => {
    const rank = ranks.get(line.id);
    return rank === undefined ? { ...line, quiet: true } : { ...line, color: rank };
  });
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
