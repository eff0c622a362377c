// The options of uPlot for a plot: scales, axes, the cursor and its events.

import type uPlot from "uplot";
import { timeLabels, type ValueAxis, valueLabels } from "./axes";
import { palette } from "./colors";
import { logTicks, type Range, ticks } from "./line";

/** The state of a plot that its axes show. */
export interface AxisState {
  isTime: boolean;
  view: () => Range;
  /** The left and the right axis. */
  axes: () => readonly (ValueAxis | undefined)[];
  hasRight: boolean;
}

/** The events of uPlot that a plot handles. */
export interface PlotEvents {
  draw: (plot: uPlot) => void;
  /** The cursor moved. */
  cursor: (plot: uPlot) => void;
  /** A range was selected by dragging. */
  select: (range: Range) => void;
  /** A drag with Shift began. */
  pan: (event: MouseEvent) => void;
  /** A double click. */
  reset: () => void;
}

export function plotOptions(
  size: { width: number; height: number },
  { isTime, view, axes, hasRight }: AxisState,
  on: PlotEvents,
): uPlot.Options {
  const font = `12px ${getComputedStyle(document.body).fontFamily}`;
  const look = { font, stroke: palette().muted, grid: { stroke: palette().grid, width: 1 }, ticks: { show: false } };
  const valueAxis = (side: 0 | 1): uPlot.Axis => ({
    ...look,
    scale: side ? "right" : "left",
    side: side ? 1 : 3,
    gap: 6,
    ...(side ? { grid: { show: false } } : {}),
    size: (_, labels) => 14 + Math.max(...(labels ?? []).map((label) => label.length * 7), 14),
    splits: (self) => {
      const axis = axes()[side];
      const most = Math.max(Math.floor(self.height / 48), 2);
      return axis ? (axis.log ? logTicks : ticks)(axis.range, most, axis.scale.factor) : [];
    },
    filter: (_, splits) => splits,
    values: (_, splits) => valueLabels(splits, axes()[side]?.scale ?? { factor: 1, unit: "" }),
  });
  const valueScale = (side: 0 | 1): uPlot.Scale => {
    const [min, max] = axes()[side]?.range ?? [0, 1];
    return { auto: false, distr: axes()[side]?.log ? 3 : 1, min, max };
  };
  return {
    ...size,
    ms: 1,
    legend: { show: false },
    // The units of the axes have a separate line above the plot.
    padding: [22, hasRight ? 4 : 22, 0, 0],
    scales: {
      x: { time: isTime, auto: false, min: view()[0], max: view()[1] },
      left: valueScale(0),
      right: valueScale(1),
    },
    axes: [
      {
        ...look,
        size: isTime ? 42 : 28,
        space: 72,
        gap: 6,
        grid: { show: false },
        ticks: { show: true, stroke: palette().axis, size: 4, width: 1 },
        ...(isTime
          ? {
              values: (_: uPlot, splits: number[], __: number, ___: number, step: number) => timeLabels(splits, step),
            }
          : {
              splits: (self: uPlot) => ticks(view(), Math.max(self.width / 72, 2)).filter(Number.isInteger),
              values: (_: uPlot, splits: number[]) => splits.map((tick) => `#${tick}`),
            }),
      },
      valueAxis(0),
      ...(hasRight ? [valueAxis(1)] : []),
    ],
    series: [{}, { scale: "left", show: false }],
    cursor: {
      y: false,
      points: { show: false },
      drag: { x: true, y: false, setScale: false, dist: 6 },
      bind: {
        mousedown: (_, __, handler) => (event) => {
          if (event.button === 0 && event.shiftKey) on.pan(event);
          else handler(event);
          return null;
        },
        dblclick: () => () => {
          on.reset();
          return null;
        },
      },
    },
    hooks: {
      draw: [on.draw],
      setCursor: [on.cursor],
      setSelect: [
        (self) => {
          const { left, width } = self.select;
          if (width < 6) return;
          const range: Range = [self.posToVal(left, "x"), self.posToVal(left + width, "x")];
          self.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          on.select(range);
        },
      ],
    },
  };
}
