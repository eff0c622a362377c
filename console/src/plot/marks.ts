// Draws the marks of a plot: a diamond where a change begins, or a square if the machine is the probable cause, and a
// triangle at an alert. Legend.tsx explains the shapes.

import { colorDirection } from "../answer";
import type { ChangeDirection, JsonChange } from "../api.gen";
import { type Line, lowerBound, pointOf } from "./line";
import { axisOf, placeOf, type Sheet, visible } from "./sheet";

/** Half the size of the mark of a change, in CSS pixels. */
const SIZE = 6;

/** Whether a change needs review. Its mark is filled. */
export function isOpen({ status, muted }: JsonChange): boolean {
  return status === "open" && !muted;
}

function colorOf(sheet: Sheet, direction: ChangeDirection): string {
  return { regression: sheet.alert, improvement: sheet.good, unknown: sheet.muted }[direction];
}

/** A vertical line at each change. */
export function drawGuides(sheet: Sheet, line: Line, alpha: number): void {
  const { context, density } = sheet;
  const { start: bottom, length } = axisOf(sheet, line);
  const [from, to] = sheet.x.range;
  context.lineWidth = density;
  context.setLineDash([4 * density, 3 * density]);
  for (const { x, change } of line.changes ?? []) {
    if (x < from || x > to) continue;
    const left = placeOf(x, sheet.x);
    context.globalAlpha = (isOpen(change) ? 0.8 : 0.4) * alpha;
    context.strokeStyle = colorOf(sheet, colorDirection(change));
    context.beginPath();
    context.moveTo(left, bottom);
    context.lineTo(left, bottom + length);
    context.stroke();
  }
  context.setLineDash([]);
}

/** The marks of the changes: filled while open, otherwise hollow and faded. */
export function drawChanges(sheet: Sheet, line: Line, alpha: number): void {
  const { context, density } = sheet;
  const [first, end] = visible(sheet.x.range, line.x);
  for (const mark of line.changes ?? []) {
    const at = pointOf(line, mark);
    if (at === undefined || at < first || at >= end) continue;
    const [left, top] = [placeOf(line.x[at] as number, sheet.x), placeOf(line.y[at] as number, axisOf(sheet, line))];
    if (!Number.isFinite(top)) continue;
    const size = SIZE * density;
    const shape = new Path2D();
    if (mark.change.cause === "host") shape.rect(left - 0.8 * size, top - 0.8 * size, 1.6 * size, 1.6 * size);
    else {
      shape.moveTo(left, top - size);
      shape.lineTo(left + size, top);
      shape.lineTo(left, top + size);
      shape.lineTo(left - size, top);
      shape.closePath();
    }
    const color = colorOf(sheet, colorDirection(mark.change));
    context.globalAlpha = alpha;
    context.lineWidth = 1.5 * density;
    context.fillStyle = isOpen(mark.change) ? color : sheet.background;
    context.strokeStyle = sheet.background;
    context.fill(shape);
    context.stroke(shape);
    if (isOpen(mark.change)) continue;
    context.globalAlpha = 0.6 * alpha;
    context.strokeStyle = color;
    context.stroke(shape);
  }
}

/** A triangle beside the point, on the side of the crossed limit; hollow if the alert is dismissed. */
export function drawAlerts(sheet: Sheet, line: Line, alpha: number): void {
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

/** The name of a highlighted line, at its newest visible point. */
export function drawName(sheet: Sheet, line: Line): void {
  const { context, density } = sheet;
  const y = axisOf(sheet, line);
  const at = Math.min(lowerBound(line.x, sheet.x.range[1]), line.x.length) - 1;
  const top = placeOf(line.y[at] as number, y);
  if (!Number.isFinite(top)) return;
  const right = sheet.x.start + sheet.x.length - 4 * density;
  context.font = `600 ${12 * density}px ${getComputedStyle(document.body).fontFamily}`;
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.lineJoin = "round";
  context.lineWidth = 4 * density;
  context.strokeStyle = sheet.background;
  context.fillStyle = sheet.text;
  // Above the line; below it at the upper edge.
  const [upper, lower] = [y.start + y.length, y.start];
  const above = top - 16 * density;
  const beside = above > upper + 8 * density ? above : Math.min(top + 16 * density, lower - 8 * density);
  context.strokeText(line.label, right, beside, sheet.x.length);
  context.fillText(line.label, right, beside, sheet.x.length);
}
