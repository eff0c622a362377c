// The axes of a plot: their ranges and labels. Times are in the local time zone, values in one unit.

import { type Scale, scaleOf, significant } from "../format";
import { type Extent, isLog, padded, type Range, type YAxis } from "./line";

const HOUR = 3600e3;
const DAY = 24 * HOUR;

const format = (options: Intl.DateTimeFormatOptions) => {
  const formatter = new Intl.DateTimeFormat("en-GB", options);
  return (time: number) => formatter.format(time);
};
const year = format({ year: "numeric" });
const month = format({ month: "short" });
const dayOfMonth = format({ day: "numeric", month: "short" });
const clock = format({ hour: "2-digit", minute: "2-digit" });
const exactClock = format({ hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** Labels of time ticks with this distance; a second line shows what changed since the previous tick. */
export function timeLabels(ticks: readonly number[], step: number): string[] {
  const [small, large] =
    step >= 360 * DAY
      ? [year, () => ""]
      : step >= 27 * DAY
        ? [month, year]
        : step >= DAY
          ? [dayOfMonth, year]
          : [step >= 60e3 ? clock : exactClock, dayOfMonth];
  let before = "";
  return ticks.map((tick) => {
    const more = large(tick);
    const isNew = more !== before;
    before = more;
    return isNew && more ? `${small(tick)}\n${more}` : small(tick);
  });
}

/** Labels of value ticks: numbers in one scale, without unnecessary digits. */
export function valueLabels(ticks: readonly number[], scale: Scale): string[] {
  return ticks.map((tick) => significant(tick / scale.factor));
}

/** The scale of an axis: that of its smaller values, ignoring a single zero. */
function axisScale(low: number, high: number, units: string): Scale {
  const small = Math.abs(low) > 0 && Math.abs(low) >= Math.abs(high) / 1000 ? low : high / 10 || low;
  return scaleOf(small, units);
}

/** A value axis. */
export interface ValueAxis {
  range: Range;
  log: boolean;
  scale: Scale;
}

/** The axis of values with an extent, linear or logarithmic as requested. */
export function valueAxis(extent: Extent | undefined, units: string, requested: YAxis): ValueAxis | undefined {
  if (!extent) return undefined;
  const log = isLog(requested, extent);
  return { range: padded(extent, log), log, scale: axisScale(extent.low, extent.high, units) };
}
