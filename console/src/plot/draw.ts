// Draws lines on a canvas. Half a million points are thinned to what a screen has columns for: of each column the lowest and
// the highest point are kept, so that no peak is lost.

import { lowerBound, type Line, type Point, type Range, type Shown } from "./line";

/** How numbers become places on the canvas, along one direction. */
export interface Place {
  range: Range;
  log: boolean;
  /** Where the range begins, and how far it goes; negative when it goes up. */
  start: number;
  length: number;
}

export function placeOf(value: number, { range: [from, to], log, start, length }: Place): number {
  const part = log ? Math.log(value / from) / Math.log(to / from) : (value - from) / (to - from);
  return start + part * length;
}

/** What is drawn on. */
export interface Sheet {
  context: CanvasRenderingContext2D;
  x: Place;
  /** The axis at the left, and the one at the right. */
  y: readonly [Place, Place];
  /** How many pixels of the canvas one of the page is. */
  density: number;
  shown: Shown;
  colors: readonly string[];
  alert: string;
  muted: string;
  background: string;
  /** The line that stands out, if one does. */
  focus: number | undefined;
}

/** Points closer than this have no dots. */
const ROOM = 9;

export function drawLines(sheet: Sheet, lines: readonly Line[]): void {
  const order = lines.map((_, place) => place);
  // What stands out is drawn last, over the others.
  if (sheet.focus !== undefined) order.push(...order.splice(sheet.focus, 1));
  for (const place of order) drawBands(sheet, lines[place] as Line, faded(sheet, place));
  for (const place of order) drawValues(sheet, lines[place] as Line, faded(sheet, place));
  for (const place of order) drawMarks(sheet, lines[place] as Line, faded(sheet, place));
  sheet.context.globalAlpha = 1;
}

function faded(sheet: Sheet, place: number): number {
  return sheet.focus === undefined || sheet.focus === place ? 1 : 0.18;
}

function axisOf(sheet: Sheet, line: Line): Place {
  return sheet.y[line.right ? 1 : 0];
}

function drawBands(sheet: Sheet, line: Line, alpha: number): void {
  const { context, density, shown } = sheet;
  const y = axisOf(sheet, line);
  const color = sheet.colors[(line.color ?? 0) % sheet.colors.length] as string;
  context.strokeStyle = color;
  context.fillStyle = color;
  context.lineJoin = "round";
  const [lower, upper] = [shown.lower_value ? line.lower : undefined, shown.upper_value ? line.upper : undefined];
  if (lower && upper) {
    context.globalAlpha = 0.14 * alpha;
    context.fill(band(sheet.x, y, line.x, lower, upper));
  }
  context.lineWidth = density;
  context.globalAlpha = 0.55 * alpha;
  context.setLineDash([2 * density, 2 * density]);
  for (const edge of [lower, upper]) if (edge) context.stroke(path(sheet.x, y, line.x, edge));
  context.lineWidth = 1.5 * density;
  context.globalAlpha = 0.75 * alpha;
  context.setLineDash([7 * density, 4 * density]);
  if (shown.lower_boundary && line.lowerLimit) context.stroke(path(sheet.x, y, line.x, line.lowerLimit));
  if (shown.upper_boundary && line.upperLimit) context.stroke(path(sheet.x, y, line.x, line.upperLimit));
  context.setLineDash([]);
}

function drawValues(sheet: Sheet, line: Line, alpha: number): void {
  const { context, density } = sheet;
  const y = axisOf(sheet, line);
  const color = sheet.colors[(line.color ?? 0) % sheet.colors.length] as string;
  const [first, end] = visible(sheet.x.range, line.x);
  context.globalAlpha = alpha;
  context.fillStyle = color;
  if (isDense(end - first, sheet.x)) {
    drawColumns(context, sheet.x, y, line.x, line.y, 1.5 * density);
    return;
  }
  context.strokeStyle = color;
  context.lineWidth = 1.75 * density;
  context.lineJoin = "round";
  context.stroke(path(sheet.x, y, line.x, line.y));
  if ((end - first) * ROOM * density > Math.abs(sheet.x.length)) return;
  const dots = new Path2D();
  for (let at = first; at < end; at++) {
    const left = placeOf(line.x[at] as number, sheet.x);
    const top = placeOf(line.y[at] as number, y);
    if (!Number.isFinite(top)) continue;
    dots.moveTo(left + 2.5 * density, top);
    dots.arc(left, top, 2.5 * density, 0, 7);
  }
  context.fill(dots);
}

/** Whether there are more points than columns to show them in. */
function isDense(points: number, horizontal: Place): boolean {
  return points > Math.abs(horizontal.length) * 2;
}

/** A dense line: in each column a bar over everything that is in it. Bars are drawn much faster than strokes. */
function drawColumns(context: CanvasRenderingContext2D, horizontal: Place, vertical: Place, x: Float64Array, y: Float64Array, width: number): void {
  const [first, end] = visible(horizontal.range, x);
  const { range: [fromX, toX], start: left, length } = horizontal;
  const { range: [fromY, toY], start: bottom, length: height, log } = vertical;
  const scaleX = length / (toX - fromX);
  const scaleY = log ? height / Math.log(toY / fromY) : height / (toY - fromY);
  let column = NaN;
  let low = 0;
  let high = 0;
  let last = NaN;
  for (let at = first; at < end; at++) {
    const value = y[at] as number;
    if (!(value > -Infinity && value < Infinity) || (log && value <= 0)) {
      last = NaN;
      continue;
    }
    const px = Math.round(left + ((x[at] as number) - fromX) * scaleX);
    const py = bottom + (log ? Math.log(value / fromY) : value - fromY) * scaleY;
    if (px === column) {
      if (py < low) low = py;
      if (py > high) high = py;
    } else {
      if (column === column) context.fillRect(column, low, width, high - low + width);
      // From where the last column ended, so that the line holds together.
      const isJoined = last === last && px - column <= 2;
      if (last === last && !isJoined) join(context, column, last, px, py, width);
      column = px;
      low = isJoined && last < py ? last : py;
      high = isJoined && last > py ? last : py;
    }
    last = py;
  }
  if (column === column) context.fillRect(column, low, width, high - low + width);
}

/** A stretch without points between two columns. */
function join(context: CanvasRenderingContext2D, fromX: number, fromY: number, toX: number, toY: number, width: number): void {
  context.beginPath();
  context.moveTo(fromX, fromY);
  context.lineTo(toX, toY);
  context.lineTo(toX, toY + width);
  context.lineTo(fromX, fromY + width);
  context.fill();
}

/** A triangle beside the point, on the side of the limit it crossed; a hollow one when somebody has looked at it. */
function drawMarks(sheet: Sheet, line: Line, alpha: number): void {
  const { context, density } = sheet;
  const y = axisOf(sheet, line);
  const [first, end] = visible(sheet.x.range, line.x);
  context.globalAlpha = alpha;
  for (const mark of line.marks ?? []) {
    if (mark.at < first || mark.at >= end) continue;
    const [left, top] = [placeOf(line.x[mark.at] as number, sheet.x), placeOf(line.y[mark.at] as number, y)];
    if (!Number.isFinite(top)) continue;
    const away = (mark.limit === "upper" ? -1 : 1) * density;
    const shape = new Path2D();
    shape.moveTo(left, top + 6 * away);
    shape.lineTo(left - 5 * density, top + 15 * away);
    shape.lineTo(left + 5 * density, top + 15 * away);
    shape.closePath();
    context.lineWidth = 1.5 * density;
    context.fillStyle = mark.active ? sheet.alert : sheet.background;
    context.strokeStyle = mark.active ? sheet.background : sheet.muted;
    context.stroke(shape);
    context.fill(shape);
    if (!mark.active) context.stroke(shape);
  }
}

/** The places of the points between two x, and one on either side, so that lines go on to the edge. */
function visible([from, to]: Range, x: Float64Array): [first: number, end: number] {
  return [Math.max(lowerBound(x, from) - 1, 0), Math.min(lowerBound(x, to) + 1, x.length)];
}

/** A line through the points, with a gap where a number is missing. */
function path(horizontal: Place, vertical: Place, x: Float64Array, y: Float64Array): Path2D {
  const made = new Path2D();
  const [first, end] = visible(horizontal.range, x);
  // The same as placeOf, with what stays the same taken out of the loop.
  const { range: [fromX, toX], start: left, length: width } = horizontal;
  const { range: [fromY, toY], start: bottom, length: height, log } = vertical;
  const scaleX = width / (toX - fromX);
  const scaleY = log ? height / Math.log(toY / fromY) : height / (toY - fromY);
  const isThin = isDense(end - first, horizontal);
  let isOpen = false;
  let column = NaN;
  let low = 0;
  let high = 0;
  let last = 0;
  for (let at = first; at < end; at++) {
    const value = y[at] as number;
    // Not a number, or nothing that a logarithm knows.
    if (!(value > -Infinity && value < Infinity) || (log && value <= 0)) {
      if (isThin && isOpen) flush(made, column, low, high, last);
      isOpen = false;
      continue;
    }
    const px = left + ((x[at] as number) - fromX) * scaleX;
    const py = bottom + (log ? Math.log(value / fromY) : value - fromY) * scaleY;
    if (!isThin) {
      if (isOpen) made.lineTo(px, py);
      else {
        made.moveTo(px, py);
        // A point alone between two gaps is still a point.
        made.lineTo(px + 0.01, py);
      }
      isOpen = true;
      continue;
    }
    const own = Math.round(px);
    if (isOpen && own === column) {
      if (py < low) low = py;
      if (py > high) high = py;
      last = py;
      continue;
    }
    if (isOpen) {
      flush(made, column, low, high, last);
      made.lineTo(own, py);
    } else made.moveTo(own, py);
    isOpen = true;
    column = own;
    low = high = last = py;
  }
  if (isThin && isOpen) flush(made, column, low, high, last);
  return made;
}

function flush(made: Path2D, column: number, low: number, high: number, last: number): void {
  if (low !== high) {
    made.lineTo(column, low);
    made.lineTo(column, high);
  }
  made.lineTo(column, last);
}

/** The area between two lines; it ends where either is missing. */
function band(horizontal: Place, vertical: Place, x: Float64Array, lower: Float64Array, upper: Float64Array): Path2D {
  const made = new Path2D();
  const [first, end] = visible(horizontal.range, x);
  // In thin lines one column stands for many points: what it covers is what all of them cover.
  const step = Math.max(Math.floor((end - first) / Math.max(Math.abs(horizontal.length), 1)), 1);
  let tops: number[] = [];
  const close = () => {
    if (!tops.length) return;
    for (let place = tops.length - 3; place >= 0; place -= 3) made.lineTo(tops[place] as number, tops[place + 2] as number);
    made.closePath();
    tops = [];
  };
  for (let at = first; at < end; at += step) {
    let low = Infinity;
    let high = -Infinity;
    for (let inner = at; inner < at + step && inner < end; inner++) {
      low = Math.min(low, lower[inner] as number);
      high = Math.max(high, upper[inner] as number);
    }
    const left = placeOf(x[at] as number, horizontal);
    const top = placeOf(high, vertical);
    const bottom = placeOf(low, vertical);
    if (!Number.isFinite(top) || !Number.isFinite(bottom)) {
      close();
      continue;
    }
    if (tops.length) made.lineTo(left, top);
    else made.moveTo(left, top);
    tops.push(left, top, bottom);
  }
  close();
  return made;
}

/** The point nearest to a place on the canvas, if one is near enough. */
export function nearest(sheet: Pick<Sheet, "x" | "y">, lines: readonly Line[], left: number, top: number, reach: number): Point | undefined {
  let found: Point | undefined;
  let best = reach * reach;
  const { range: [from, to], start, length } = sheet.x;
  const at = from + ((left - start) / length) * (to - from);
  const room = (reach / Math.abs(length)) * (to - from);
  for (let place = 0; place < lines.length; place++) {
    const line = lines[place] as Line;
    const vertical = sheet.y[line.right ? 1 : 0];
    for (let index = lowerBound(line.x, at - room); index < line.x.length && (line.x[index] as number) <= at + room; index++) {
      const x = line.x[index] as number;
      if (x < from || x > to) continue;
      const across = placeOf(line.y[index] as number, vertical) - top;
      const along = placeOf(x, sheet.x) - left;
      const far = across * across + along * along;
      if (far < best) {
        best = far;
        found = { line: place, at: index };
      }
    }
  }
  return found;
}
