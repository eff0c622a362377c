// What several pages show of a change: its size, its levels, and what seems to be behind it.

import { type JSX, Show } from "solid-js";
import type { ChangeCause, ChangeDirection, JsonChange } from "./api";
import { ratio, scaled, scaleOf } from "./format";
import { Badge, type Tone, Value } from "./ui/parts";

export const DIRECTIONS: Readonly<Record<ChangeDirection, { word: string; tone: Tone; delta: string }>> = {
  regression: { word: "regression", tone: "alert", delta: "worse" },
  improvement: { word: "improvement", tone: "good", delta: "better" },
  // Of a measure that does not say which way is worse.
  unknown: { word: "change", tone: "neutral", delta: "" },
};

/** The code is what one expects, and needs no word. */
const CAUSES: Readonly<Record<ChangeCause, { word: string; about: string } | undefined>> = {
  code: undefined,
  host: { word: "machine", about: "Most benchmarks moved together: look at the machine first" },
  noise: { word: "noise", about: "The same was measured before and after" },
};

/** By which share something differs, colored by whether that is for the worse. */
export function Share(props: { of: number | null | undefined; direction: ChangeDirection }): JSX.Element {
  return (
    <span class={`delta number nowrap ${DIRECTIONS[props.direction].delta}`}>
      {typeof props.of === "number" ? ratio(props.of) : "–"}
    </span>
  );
}

export function Effect(props: { change: JsonChange }): JSX.Element {
  const direction = () => DIRECTIONS[props.change.direction];
  return (
    <>
      <Share of={props.change.effect} direction={props.change.direction} />
      <span class="below">
        <Badge tone={direction().tone}>{direction().word}</Badge>
        <Show when={CAUSES[props.change.cause]}>
          {(cause) => (
            <>
              {" "}
              <span title={cause().about}>
                <Badge>{cause().word}</Badge>
              </span>
            </>
          )}
        </Show>
      </span>
    </>
  );
}

/** From one level to another. */
export function Levels(props: { before: number | null | undefined; after: number; units: string }): JSX.Element {
  // At one scale, so that they can be compared at a glance and the unit is said once.
  const scale = () => scaleOf(Math.max(Math.abs(props.before ?? 0), Math.abs(props.after)), props.units);
  return (
    <span class="number">
      {typeof props.before === "number" ? scaled(props.before, props.units, scale())[0] : "–"} →{" "}
      <Value value={props.after} units={props.units} scale={scale()} />
    </span>
  );
}
