// The drawing target of a plot: its canvas, its axes and its colors.

import { type Line, lowerBound, type Range, type Shown } from "./line";

/** Maps numbers to canvas positions, in one dimension. */
export interface Place {
  range: Range;
  log: boolean;
  /** Start and length of the range on the canvas; negative if it goes up. */
  start: number;
  length: number;
}

export function placeOf(value: number, { range: [from, to], log, start, length }: Place): number {
  const part = log ? Math.log(value / from) / Math.log(to / from) : (value - from) / (to - from);
  return start + part * length;
}

/** The drawing target. */
export interface Sheet {
  context: CanvasRenderingContext2D;
  x: Place;
  /** The left and the right axis. */
  y: readonly [Place, Place];
  /** Canvas pixels per CSS pixel. */
  density: number;
  shown: Shown;
  colors: readonly string[];
  alert: string;
  good: string;
  muted: string;
  text: string;
  background: string;
  /** The indexes of the highlighted lines; the others are faded. */
  focus: readonly number[];
  /** Whether one line is isolated: many other lines are nearly invisible. */
  isIsolated: boolean;
  /** The index of the line whose name is drawn. */
  named: number | undefined;
  /** Whether the next frame follows immediately. */
  isMoving: boolean;
}

export function axisOf(sheet: Sheet, line: Line): Place {
  return sheet.y[line.right ? 1 : 0];
}

/** The index range of the points between two x, plus one on either side, so that lines continue to the edge. */
export function visible([from, to]: Range, x: Float64Array): [first: number, end: number] {
  return [Math.max(lowerBound(x, from) - 1, 0), Math.min(lowerBound(x, to) + 1, x.length)];
}
