// The data of a plot: lines of numbers in typed arrays. Pure: no DOM.

import type { JsonChange } from "../api.gen";

/** An alert at a point of a line. */
export interface Mark {
  /** The index of the point in the line. */
  at: number;
  limit: "lower" | "upper";
  /** Whether the alert is active. */
  active: boolean;
}

/** A change of level of a line. */
export interface ChangeMark {
  /** The x value where the new level begins: milliseconds since 1970, or a version number. */
  x: number;
  change: JsonChange;
}

/** One line. NaN marks a missing number. */
export interface Line {
  /** A stable key while lines are added and removed. */
  id: string;
  label: string;
  units: string;
  /** The x values: milliseconds since 1970 or version numbers, ascending. */
  x: Float64Array;
  y: Float64Array;
  lower?: Float64Array | undefined;
  upper?: Float64Array | undefined;
  lowerLimit?: Float64Array | undefined;
  upperLimit?: Float64Array | undefined;
  marks?: readonly Mark[] | undefined;
  changes?: readonly ChangeMark[] | undefined;
  /** The index of its color [default: the index of the line]. */
  color?: number;
  /** Whether it uses the right axis. */
  right?: boolean;
  /** Whether it is drawn thin and gray, because other lines of the plot changed. */
  quiet?: boolean;
}

/** The additional lines to draw, named as in the API. */
export interface Shown {
  lower_value?: boolean;
  upper_value?: boolean;
  lower_boundary?: boolean;
  upper_boundary?: boolean;
}

export type XAxis = "date_time" | "version";
export type YAxis = "auto" | "linear" | "log";

/** A range. */
export type Range = readonly [from: number, to: number];

/** A point: the index of its line and its index in the line. */
export interface Point {
  line: number;
  at: number;
}

/** Creates a line from plain numbers; null is missing. The points can be in any order. */
export function line(
  of: Omit<Line, "x" | "y"> & { points: readonly (readonly [x: number, y: number | null])[] },
): Line {
  const { points, ...rest } = of;
  const sorted = [...points].sort(([a], [b]) => a - b);
  return { ...rest, x: Float64Array.from(sorted, ([x]) => x), y: Float64Array.from(sorted, ([, y]) => y ?? NaN) };
}

/** The first index whose number is not below a value. */
export function lowerBound(numbers: Float64Array, value: number): number {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((numbers[middle] as number) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The first index whose number is above a value. */
export function upperBound(numbers: Float64Array, value: number): number {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((numbers[middle] as number) <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The index of the point where a change begins; undefined if the change is outside the values of the line. */
export function pointOf({ x }: Line, mark: ChangeMark): number | undefined {
  const at = lowerBound(x, mark.x);
  return at < x.length && mark.x >= (x[0] as number) ? at : undefined;
}

/** The changes between the first and the last value of a line. */
export function changesOf(line: Line): readonly ChangeMark[] {
  return (line.changes ?? []).filter((mark) => pointOf(line, mark) !== undefined);
}

/** The point that a key moves to from a point, or from the start of the visible range; undefined for other keys. */
export function pointAfterKey(
  key: string,
  lines: readonly Line[],
  from: Point | undefined,
  [start, end]: Range,
): Point | undefined {
  const here = from ?? { line: 0, at: lowerBound(lines[0]?.x ?? new Float64Array(), start) };
  const line = lines[here.line];
  if (!line) return undefined;
  const along = (at: number): Point => ({ line: here.line, at: Math.min(Math.max(at, 0), line.x.length - 1) });
  const onLine = (place: number): Point => {
    const next = (place + lines.length) % lines.length;
    const x = lines[next]?.x ?? new Float64Array();
    return { line: next, at: Math.min(lowerBound(x, line.x[here.at] ?? 0), x.length - 1) };
  };
  switch (key) {
    case "ArrowRight":
      return along(from ? here.at + 1 : here.at);
    case "ArrowLeft":
      return along(here.at - 1);
    case "ArrowDown":
      return onLine(here.line + 1);
    case "ArrowUp":
      return onLine(here.line - 1);
    case "Home":
      return along(lowerBound(line.x, start));
    case "End":
      return along(lowerBound(line.x, end) - 1);
    default:
      return undefined;
  }
}

/** The minimum and maximum x of all lines. */
export function extentX(lines: readonly Line[]): Range | undefined {
  let [low, high] = [Infinity, -Infinity];
  for (const { x } of lines) {
    if (!x.length) continue;
    low = Math.min(low, x[0] as number);
    high = Math.max(high, x[x.length - 1] as number);
  }
  return low <= high ? [low, high] : undefined;
}

/** The extent of an axis: the values between two x and the additional lines. */
export interface Extent {
  low: number;
  high: number;
  /** The smallest positive value, for a logarithmic axis. */
  positive: number;
}

export function extentY(lines: readonly Line[], shown: Shown, [from, to]: Range): Extent | undefined {
  const extent: Extent = { low: Infinity, high: -Infinity, positive: Infinity };
  for (const line of lines) {
    const [first, last] = [lowerBound(line.x, from), upperBound(line.x, to)];
    widen(extent, line.y, first, last);
    if (shown.lower_value) widen(extent, line.lower, first, last);
    if (shown.upper_value) widen(extent, line.upper, first, last);
    if (shown.lower_boundary) widen(extent, line.lowerLimit, first, last);
    if (shown.upper_boundary) widen(extent, line.upperLimit, first, last);
  }
  return extent.low <= extent.high ? extent : undefined;
}

/** Block size of the cached extents. */
const BLOCK = 64;
const blocks = new WeakMap<Float64Array, readonly Extent[]>();

/** The cached extents of blocks of numbers: a moving plot needs them in each frame. */
function blocksOf(numbers: Float64Array): readonly Extent[] {
  const known = blocks.get(numbers);
  if (known) return known;
  const made: Extent[] = [];
  for (let at = 0; at + BLOCK <= numbers.length; at += BLOCK) {
    const extent: Extent = { low: Infinity, high: -Infinity, positive: Infinity };
    widenBy(extent, numbers, at, at + BLOCK);
    made.push(extent);
  }
  blocks.set(numbers, made);
  return made;
}

function widen(extent: Extent, numbers: Float64Array | undefined, first: number, end: number): void {
  if (!numbers) return;
  const [from, to] = [Math.ceil(first / BLOCK), Math.floor(end / BLOCK)];
  if (to <= from) {
    widenBy(extent, numbers, first, end);
    return;
  }
  widenBy(extent, numbers, first, from * BLOCK);
  const known = blocksOf(numbers);
  for (let block = from; block < to; block++) {
    const { low, high, positive } = known[block] as Extent;
    if (low < extent.low) extent.low = low;
    if (high > extent.high) extent.high = high;
    if (positive < extent.positive) extent.positive = positive;
  }
  widenBy(extent, numbers, to * BLOCK, end);
}

function widenBy(extent: Extent, numbers: Float64Array, first: number, end: number): void {
  let { low, high, positive } = extent;
  for (let at = first; at < end; at++) {
    const value = numbers[at] as number;
    // Skip NaN and infinite values.
    if (value < low && value > -Infinity) low = value;
    if (value > high && value < Infinity) high = value;
    if (value > 0 && value < positive) positive = value;
  }
  extent.low = low;
  extent.high = high;
  extent.positive = positive;
}

/** Maximum ratio of a linear axis by default; the plots of the server use the same. */
const MAX_LINEAR_RATIO = 10;

/** Whether an axis is logarithmic: as requested, but only if all values are positive. */
export function isLog(axis: YAxis, extent: Extent): boolean {
  if (extent.low <= 0 || axis === "linear") return false;
  return axis === "log" || extent.high / extent.low >= MAX_LINEAR_RATIO;
}

/** The range of an axis, with a margin at both ends. */
export function padded({ low, high }: Extent, log: boolean): Range {
  if (log) {
    const room = Math.max(Math.log10(high / low) * 0.06, 0.02);
    return [low / 10 ** room, high * 10 ** room];
  }
  const room = high > low ? (high - low) * 0.08 : Math.abs(high) * 0.05 || 1;
  // Do not extend below zero if all values are positive.
  return [low >= 0 && low - room < 0 ? 0 : low - room, high + room];
}

const STEPS = [1, 2, 5, 10] as const;

/** Linear ticks between two numbers, limited in number, at round multiples of a unit. */
export function ticks([from, to]: Range, most: number, unit = 1): number[] {
  const rough = (to - from) / unit / Math.max(most, 1);
  if (!(rough > 0) || !Number.isFinite(rough)) return [];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = (STEPS.find((step) => step * power >= rough) ?? 10) * power;
  const found: number[] = [];
  const end = to / unit / step;
  // Count in whole steps to avoid accumulating rounding errors.
  for (let place = Math.ceil(from / unit / step - 1e-9); place <= end + 1e-9; place++) {
    // Avoid negative zero.
    found.push(place * step * unit + 0);
  }
  return found;
}

/** Logarithmic ticks: powers of ten, with 2 and 5 in between if there is space. */
export function logTicks([from, to]: Range, most: number, unit = 1): number[] {
  const decades = Math.log10(to / from);
  if (decades < 1) return ticks([from, to], most, unit).filter((tick) => tick > 0);
  const between = decades * 3 <= most ? [1, 2, 5] : [1];
  const every = between.length > 1 ? 1 : Math.max(Math.ceil(decades / Math.max(most, 1)), 1);
  const found: number[] = [];
  const first = Math.floor(Math.log10(from / unit));
  const last = Math.ceil(Math.log10(to / unit));
  for (let power = first; power <= last; power += every) {
    for (const digit of between) {
      const tick = digit * 10 ** power * unit;
      if (tick >= from && tick <= to) found.push(tick);
    }
  }
  return found;
}
