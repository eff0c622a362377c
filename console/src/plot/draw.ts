// Draws lines on a canvas: with antialiased strokes if time permits, or pixel by pixel (raster.ts) with tens of
// thousands of points, reduced to one entry per screen column (thin.ts).

import { type Line, lowerBound, type Point, type Range, type Shown } from "./line";
import { drawOnto, type Pen, pixel, raster, trace } from "./raster";
import { pointwise, thinned } from "./thin";

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
  muted: string;
  background: string;
  /** The highlighted line, if any. */
  focus: number | undefined;
  /** Whether the next frame follows immediately. */
  isMoving: boolean;
}

/** Minimum distance of points with dots. */
const ROOM = 9;

/** Maximum number of antialiased points: while moving, and at rest. */
const MOST = { moving: 5_000, resting: 20_000 };

export function drawLines(sheet: Sheet, lines: readonly Line[]): void {
  const order = lines.map((_, place) => place);
  // Draw the highlighted line last, on top.
  if (sheet.focus !== undefined) order.push(...order.splice(sheet.focus, 1));
  const points = lines.reduce(
    (sum, { x }) => sum + lowerBound(x, sheet.x.range[1]) - lowerBound(x, sheet.x.range[0]),
    0,
  );
  for (const place of order) drawSteps(sheet, lines[place] as Line, faded(sheet, place));
  for (const place of order) drawBand(sheet, lines[place] as Line, faded(sheet, place));
  if (points > (sheet.isMoving ? MOST.moving : MOST.resting)) drawDense(sheet, lines, order);
  else {
    for (const place of order) drawEdges(sheet, lines[place] as Line, faded(sheet, place));
    for (const place of order) drawValues(sheet, lines[place] as Line, faded(sheet, place));
  }
  for (const place of order) drawMarks(sheet, lines[place] as Line, faded(sheet, place));
  sheet.context.globalAlpha = 1;
}

/** Draws all lines pixel by pixel: the bands first, so that the values are on top. */
function drawDense(sheet: Sheet, lines: readonly Line[], places: readonly number[]): void {
  const { context, density, shown, x } = sheet;
  const y = sheet.y[0];
  const [width, height] = [Math.round(x.length), Math.round(-y.length)];
  if (width < 1 || height < 1) return;
  const on = raster(width, height);
  const draw = (line: Line, values: Float64Array | undefined, pen: Pen) => {
    if (!values) return;
    const { range, log } = axisOf(sheet, line);
    const column = (x.range[1] - x.range[0]) / width;
    // Reducing costs time without benefit if each point has its own column.
    const isThin =
      line.x.length > 1 &&
      ((line.x[line.x.length - 1] as number) - (line.x[0] as number)) / (line.x.length - 1) < column;
    trace(on, isThin ? thinned(line.x, values, column) : pointwise(line.x, values), x.range, range, log, pen);
  };
  for (const place of places) {
    const line = lines[place] as Line;
    const alpha = faded(sheet, place);
    const pen = (part: number, width: number, on: number, off: number): Pen => ({
      color: pixel(colorOf(sheet, line), part * alpha),
      width: width * density,
      dash: [on * density, off * density],
    });
    if (shown.lower_value) draw(line, line.lower, pen(0.55, 1, 2, 2));
    if (shown.upper_value) draw(line, line.upper, pen(0.55, 1, 2, 2));
    if (shown.lower_boundary) draw(line, line.lowerLimit, pen(0.75, 1.5, 7, 4));
    if (shown.upper_boundary) draw(line, line.upperLimit, pen(0.75, 1.5, 7, 4));
  }
  for (const place of places) {
    const line = lines[place] as Line;
    draw(line, line.y, { color: pixel(colorOf(sheet, line), faded(sheet, place)), width: 1.5 * density });
  }
  drawOnto(on, context, x.start, y.start - height);
}

function colorOf(sheet: Sheet, line: Line): string {
  return sheet.colors[(line.color ?? 0) % sheet.colors.length] as string;
}

function faded(sheet: Sheet, place: number): number {
  return sheet.focus === undefined || sheet.focus === place ? 1 : 0.18;
}

function axisOf(sheet: Sheet, line: Line): Place {
  return sheet.y[line.right ? 1 : 0];
}

/** A vertical line at the start of a new level. */
function drawSteps(sheet: Sheet, line: Line, alpha: number): void {
  const { context, density } = sheet;
  const { start: bottom, length } = axisOf(sheet, line);
  const [from, to] = sheet.x.range;
  context.globalAlpha = 0.8 * alpha;
  context.lineWidth = 1.5 * density;
  context.setLineDash([4 * density, 3 * density]);
  for (const { x, worse } of line.steps ?? []) {
    if (x < from || x > to) continue;
    const left = placeOf(x, sheet.x);
    context.strokeStyle = worse ? sheet.alert : sheet.muted;
    context.beginPath();
    context.moveTo(left, bottom);
    context.lineTo(left, bottom + length);
    context.stroke();
  }
  context.setLineDash([]);
}

/** The area between the lower and upper values. */
function drawBand(sheet: Sheet, line: Line, alpha: number): void {
  const { context, shown } = sheet;
  if (!shown.lower_value || !shown.upper_value || !line.lower || !line.upper) return;
  context.fillStyle = colorOf(sheet, line);
  context.globalAlpha = 0.14 * alpha;
  context.fill(band(sheet.x, axisOf(sheet, line), line.x, line.lower, line.upper));
}

function drawEdges(sheet: Sheet, line: Line, alpha: number): void {
  const { context, density, shown } = sheet;
  const stroke = (values: Float64Array | undefined) =>
    values && context.stroke(path(sheet.x, axisOf(sheet, line), line.x, values));
  context.strokeStyle = colorOf(sheet, line);
  context.lineJoin = "round";
  context.lineWidth = density;
  context.globalAlpha = 0.55 * alpha;
  context.setLineDash([2 * density, 2 * density]);
  if (shown.lower_value) stroke(line.lower);
  if (shown.upper_value) stroke(line.upper);
  context.lineWidth = 1.5 * density;
  context.globalAlpha = 0.75 * alpha;
  context.setLineDash([7 * density, 4 * density]);
  if (shown.lower_boundary) stroke(line.lowerLimit);
  if (shown.upper_boundary) stroke(line.upperLimit);
  context.setLineDash([]);
}

function drawValues(sheet: Sheet, line: Line, alpha: number): void {
  const { context, density } = sheet;
  const y = axisOf(sheet, line);
  const [first, end] = visible(sheet.x.range, line.x);
  context.globalAlpha = alpha;
  context.fillStyle = context.strokeStyle = colorOf(sheet, line);
  context.lineWidth = 1.75 * density;
  context.lineJoin = "round";
  context.stroke(path(sheet.x, y, line.x, line.y));
  if ((end - first) * ROOM * density > sheet.x.length) return;
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

/** A triangle beside the point, on the side of the crossed limit; hollow if the alert is dismissed. */
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

/** The index range of the points between two x, plus one on either side, so that lines continue to the edge. */
function visible([from, to]: Range, x: Float64Array): [first: number, end: number] {
  return [Math.max(lowerBound(x, from) - 1, 0), Math.min(lowerBound(x, to) + 1, x.length)];
}

/** A line through the points, with gaps at missing numbers. */
function path(horizontal: Place, vertical: Place, x: Float64Array, y: Float64Array): Path2D {
  const made = new Path2D();
  const [first, end] = visible(horizontal.range, x);
  // Like placeOf, with the constants moved out of the loop.
  const {
    range: [fromX, toX],
    start: left,
    length: width,
  } = horizontal;
  const {
    range: [fromY, toY],
    start: bottom,
    length: height,
    log,
  } = vertical;
  const scaleX = width / (toX - fromX);
  const scaleY = log ? height / Math.log(toY / fromY) : height / (toY - fromY);
  let isOpen = false;
  for (let at = first; at < end; at++) {
    const value = y[at] as number;
    // NaN, or not positive on a logarithmic axis.
    if (!(value > -Infinity && value < Infinity) || (log && value <= 0)) {
      isOpen = false;
      continue;
    }
    const px = left + ((x[at] as number) - fromX) * scaleX;
    const py = bottom + (log ? Math.log(value / fromY) : value - fromY) * scaleY;
    if (isOpen) made.lineTo(px, py);
    else {
      made.moveTo(px, py);
      // A single point between two gaps is drawn as a point.
      made.lineTo(px + 0.01, py);
    }
    isOpen = true;
  }
  return made;
}

/** The area between two lines; ends where either is missing. */
function band(horizontal: Place, vertical: Place, x: Float64Array, lower: Float64Array, upper: Float64Array): Path2D {
  const made = new Path2D();
  const [first, end] = visible(horizontal.range, x);
  // A reduced column covers the union of its points.
  const step = Math.max(Math.floor((end - first) / Math.max(Math.abs(horizontal.length), 1)), 1);
  let tops: number[] = [];
  const close = () => {
    if (!tops.length) return;
    for (let place = tops.length - 3; place >= 0; place -= 3)
      made.lineTo(tops[place] as number, tops[place + 2] as number);
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

/** The point nearest to a canvas position, within the maximum distance. */
export function nearest(
  sheet: Pick<Sheet, "x" | "y">,
  lines: readonly Line[],
  left: number,
  top: number,
  reach: number,
): Point | undefined {
  let found: Point | undefined;
  let best = reach * reach;
  const {
    range: [from, to],
    start,
    length,
  } = sheet.x;
  const at = from + ((left - start) / length) * (to - from);
  const room = (reach / Math.abs(length)) * (to - from);
  for (let place = 0; place < lines.length; place++) {
    const line = lines[place] as Line;
    const vertical = sheet.y[line.right ? 1 : 0];
    for (
      let index = lowerBound(line.x, at - room);
      index < line.x.length && (line.x[index] as number) <= at + room;
      index++
    ) {
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
