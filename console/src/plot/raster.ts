// Draws lines pixel by pixel. With tens of thousands of points this is many times faster than antialiased canvas
// strokes; the difference is invisible in dense or moving lines.

import { lowerBound, type Range } from "./line";
import type { Columns } from "./thin";

/** An image in memory with the size of the drawing target. */
export interface Raster {
  canvas: OffscreenCanvas;
  image: ImageData;
  /** The image as one number per pixel. */
  pixels: Uint32Array;
}

let kept: Raster | undefined;

/** Returns an empty raster; one instance is reused. */
export function raster(width: number, height: number): Raster {
  if (kept?.image.width === width && kept.image.height === height) {
    kept.pixels.fill(0);
    return kept;
  }
  const image = new ImageData(width, height);
  kept = { canvas: new OffscreenCanvas(width, height), image, pixels: new Uint32Array(image.data.buffer) };
  return kept;
}

/** Draws the raster onto the canvas. */
export function drawOnto({ canvas, image }: Raster, on: CanvasRenderingContext2D, left: number, top: number): void {
  canvas.getContext("2d")?.putImageData(image, 0, 0);
  on.drawImage(canvas, left, top);
}

const colors = new Map<string, number>();

/** Converts a color to a pixel value. */
export function pixel(color: string, alpha: number): number {
  let rgb = colors.get(color);
  if (rgb === undefined) {
    const context = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    if (!context) return 0;
    context.fillStyle = color;
    context.fillRect(0, 0, 1, 1);
    const [red = 0, green = 0, blue = 0] = context.getImageData(0, 0, 1, 1).data;
    rgb = red | (green << 8) | (blue << 16);
    colors.set(color, rgb);
  }
  return (rgb | (Math.round(alpha * 255) << 24)) >>> 0;
}

/** The style of a line. */
export interface Pen {
  /** A color from `pixel`. */
  color: number;
  /** Width in pixels. */
  width: number;
  /** Dash pattern: columns on and off. */
  dash?: readonly [on: number, off: number];
}

/** Draws a line onto the raster, which covers these ranges. */
export function trace(
  on: Raster,
  line: Columns,
  [fromX, toX]: Range,
  [fromY, toY]: Range,
  log: boolean,
  pen: Pen,
): void {
  const { width, height } = on.image;
  const scaleX = width / (toX - fromX);
  const scaleY = height / (log ? Math.log(toY / fromY) : toY - fromY);
  const across = (value: number) => height - (log ? Math.log(value / fromY) : value - fromY) * scaleY;
  const end = Math.min(lowerBound(line.x, toX) + 1, line.x.length);
  const half = pen.width / 2;
  // The dash pattern moves with the line.
  const dash = pen.dash && { on: pen.dash[0], all: pen.dash[0] + pen.dash[1], from: Math.round(fromX * scaleX) };
  const bar = (column: number, top: number, bottom: number) => {
    if (column < 0 || column >= width || (dash && (column + dash.from) % dash.all >= dash.on)) return;
    const first = Math.max(Math.round(top - half), 0);
    const last = Math.min(Math.max(Math.round(bottom + half), first + 1), height);
    for (let at = first * width + column, stop = last * width; at < stop; at += width) on.pixels[at] = pen.color;
  };
  let column = NaN;
  let level = NaN;
  for (let place = Math.max(lowerBound(line.x, fromX) - 1, 0); place < end; place++) {
    const open = across(line.open[place] as number);
    // A gap, or a value that is not positive on a logarithmic axis.
    if (!(open > -Infinity && open < Infinity)) {
      column = NaN;
      continue;
    }
    const own = Math.round(((line.x[place] as number) - fromX) * scaleX);
    const isOne = line.low[place] === line.high[place];
    let top = isOne ? open : across(line.high[place] as number);
    let bottom = isOne ? open : across(line.low[place] as number);
    if (own - column > 1) slope(column, level, own, open, width, bar);
    else if (!Number.isNaN(column)) {
      // Start at the end of the previous column, so that the line is connected.
      if (level < top) top = level;
      if (level > bottom) bottom = level;
    }
    bar(own, top, bottom);
    column = own;
    level = isOne ? open : across(line.close[place] as number);
  }
}

/** Draws the columns between two points. */
function slope(
  fromX: number,
  fromY: number,
  toX: number,
  toY: number,
  width: number,
  bar: (column: number, top: number, bottom: number) => void,
): void {
  const rise = (toY - fromY) / (toX - fromX);
  for (let column = Math.max(fromX + 1, 0), stop = Math.min(toX, width); column < stop; column++) {
    const [one, other] = [fromY + (column - fromX - 0.5) * rise, fromY + (column - fromX + 0.5) * rise];
    bar(column, one < other ? one : other, one < other ? other : one);
  }
}
