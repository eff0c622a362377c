// Draws lines on a canvas: with antialiased strokes if time permits, or pixel by pixel (raster.ts) with tens of
// thousands of points, reduced to one entry per screen column (thin.ts).

import { type Line, lowerBound, type Point } from "./line";
import { drawAlerts, drawChanges, drawGuides, drawName } from "./marks";
import { drawOnto, type Pen, pixel, raster, trace } from "./raster";
import { axisOf, type Place, placeOf, type Sheet, visible } from "./sheet";
import { pointwise, thinned } from "./thin";

/** Minimum distance of points with dots. */
const ROOM = 9;

/** Maximum number of antialiased points: while moving, and at rest. */
const MOST = { moving: 5_000, resting: 20_000 };

/** Maximum number of lines with a vertical line at each change; a highlighted line always has them. */
const MOST_GUIDED = 4;

export function drawLines(sheet: Sheet, lines: readonly Line[]): void {
  // The highlighted lines are on top, the quiet ones below all others.
  const rank = (place: number) => (sheet.focus.includes(place) ? 2 : lines[place]?.quiet ? 0 : 1);
  const order = lines.map((_, place) => place).sort((a, b) => rank(a) - rank(b) || a - b);
  const each = (draw: (sheet: Sheet, line: Line, place: number, alpha: number) => void) => {
    for (const place of order) {
      const line = lines[place] as Line;
      draw(sheet, line, place, faded(sheet, lines, place));
    }
  };
  const points = lines.reduce(
    (sum, { x }) => sum + lowerBound(x, sheet.x.range[1]) - lowerBound(x, sheet.x.range[0]),
    0,
  );
  each((sheet, line, place, alpha) => {
    if (lines.length <= MOST_GUIDED || sheet.focus.includes(place)) drawGuides(sheet, line, alpha);
  });
  each(drawBand);
  if (points > (sheet.isMoving ? MOST.moving : MOST.resting)) drawDense(sheet, lines, order);
  else {
    each(drawEdges);
    each(drawValues);
  }
  each((sheet, line, _, alpha) => drawAlerts(sheet, line, alpha));
  each((sheet, line, _, alpha) => drawChanges(sheet, line, alpha));
  sheet.context.globalAlpha = 1;
  const named = lines[sheet.named ?? -1];
  if (named) drawName(sheet, named);
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
    const alpha = faded(sheet, lines, place);
    const pen = (part: number, width: number, on: number, off: number): Pen => ({
      color: pixel(colorOf(sheet, line, place), part * alpha),
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
    draw(line, line.y, {
      color: pixel(colorOf(sheet, line, place), faded(sheet, lines, place)),
      width: (widthOf(sheet, line, place) - 0.25) * density,
    });
  }
  drawOnto(on, context, x.start, y.start - height);
}

/** The color of a line: a quiet line is gray unless it is highlighted. */
function colorOf(sheet: Sheet, line: Line, place: number): string {
  if (line.quiet && !sheet.focus.includes(place)) return sheet.muted;
  return sheet.colors[(line.color ?? 0) % sheet.colors.length] as string;
}

function faded(sheet: Sheet, lines: readonly Line[], place: number): number {
  if (sheet.focus.includes(place)) return 1;
  const others = sheet.isIsolated ? Math.min(2 / lines.length, 0.18) : sheet.focus.length ? 0.18 : 1;
  return others * (lines[place]?.quiet ? 0.45 : 1);
}

/** The width of a line, in CSS pixels. */
function widthOf(sheet: Sheet, line: Line, place: number): number {
  if (sheet.focus.includes(place)) return 2.25;
  return line.quiet ? 1 : 1.75;
}

/** The area between the lower and upper values. */
function drawBand(sheet: Sheet, line: Line, place: number, alpha: number): void {
  const { context, shown } = sheet;
  if (!shown.lower_value || !shown.upper_value || !line.lower || !line.upper) return;
  context.fillStyle = colorOf(sheet, line, place);
  context.globalAlpha = 0.14 * alpha;
  context.fill(band(sheet.x, axisOf(sheet, line), line.x, line.lower, line.upper));
}

function drawEdges(sheet: Sheet, line: Line, place: number, alpha: number): void {
  const { context, density, shown } = sheet;
  const stroke = (values: Float64Array | undefined) =>
    values && context.stroke(path(sheet.x, axisOf(sheet, line), line.x, values));
  context.strokeStyle = colorOf(sheet, line, place);
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

function drawValues(sheet: Sheet, line: Line, place: number, alpha: number): void {
  const { context, density } = sheet;
  const y = axisOf(sheet, line);
  const [first, end] = visible(sheet.x.range, line.x);
  context.globalAlpha = alpha;
  context.fillStyle = context.strokeStyle = colorOf(sheet, line, place);
  context.lineWidth = widthOf(sheet, line, place) * density;
  context.lineJoin = "round";
  context.stroke(path(sheet.x, y, line.x, line.y));
  if (line.quiet || (end - first) * ROOM * density > sheet.x.length) return;
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
