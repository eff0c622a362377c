// The tooltip of a point of a plot, beside a dot on the point.

import { type JSX, Show } from "solid-js";
import { moment, value } from "../format";
import type { Line, XAxis } from "./line";

/** The position of a point in a plot, in CSS pixels, and the size of the plot. */
export interface Spot {
  left: number;
  top: number;
  width: number;
  height: number;
  color: string;
}

/** The tooltip is on the side of the point with more space. */
export function Tooltip(props: {
  spot: Spot;
  picked: boolean;
  /** Whether a dot marks the point [default: true]. */
  dot?: boolean;
  children: JSX.Element;
}): JSX.Element {
  const isRight = () => props.spot.left > props.spot.width / 2;
  const isLow = () => props.spot.top > props.spot.height / 2;
  const x = () => (isRight() ? props.spot.width - props.spot.left : props.spot.left) + 14;
  const y = () => Math.max((isLow() ? props.spot.height - props.spot.top : props.spot.top) - 40, 4);
  return (
    <>
      <Show when={props.dot !== false}>
        <i
          class="plot-dot"
          style={{
            left: `${props.spot.left}px`,
            top: `${props.spot.top}px`,
            "background-color": props.spot.color,
          }}
        />
      </Show>
      <div
        class="readout"
        classList={{ picked: props.picked }}
        style={{
          [isRight() ? "right" : "left"]: `${x()}px`,
          [isRight() ? "left" : "right"]: "auto",
          [isLow() ? "bottom" : "top"]: `${y()}px`,
          [isLow() ? "top" : "bottom"]: "auto",
        }}
      >
        {props.children}
      </div>
    </>
  );
}

/** The default content: value, line and time. */
export function PointSummary(props: { line: Line; at: number; axis: XAxis }): JSX.Element {
  const x = () => props.line.x[props.at] as number;
  return (
    <>
      <strong class="number">{value(props.line.y[props.at] as number, props.line.units)}</strong>
      <span class="break">{props.line.label}</span>
      <span class="small muted">{props.axis === "version" ? `Version ${x()}` : moment(x())}</span>
    </>
  );
}
