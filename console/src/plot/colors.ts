// The colors of plots, cached per theme: reading them forces a style recalculation.

import { color, isDark, lineColor } from "../theme";

export interface Palette {
  lines: readonly string[];
  alert: string;
  good: string;
  text: string;
  muted: string;
  axis: string;
  grid: string;
  background: string;
}

const read = new Map<boolean, Palette>();

/** The colors of the current theme. */
export function palette(): Palette {
  const found = read.get(isDark());
  if (found) return found;
  const made: Palette = {
    lines: Array.from({ length: 10 }, (_, place) => lineColor(place)),
    alert: color("alert"),
    good: color("good-text"),
    text: color("text"),
    muted: color("muted"),
    axis: color("axis"),
    grid: color("grid"),
    background: color("bg"),
  };
  read.set(isDark(), made);
  return made;
}

/** The color of a line by its index. */
export function colorOf(place: number | undefined): string {
  const { lines } = palette();
  return lines[(place ?? 0) % lines.length] as string;
}
