// Shared elements of changes: size, levels and probable cause.

import { type JSX, Show } from "solid-js";
import { colorDirection } from "./answer";
import type { ChangeCause, ChangeDirection, JsonChange } from "./api";
import { ratio, scaled, scaleOf } from "./format";
import { Badge, type Tone } from "./ui/Badge";
import { Value } from "./ui/Value";

export const DIRECTIONS: Readonly<Record<ChangeDirection, { word: string; tone: Tone; delta: string }>> = {
  regression: { word: "regression", tone: "alert", delta: "worse" },
  improvement: { word: "improvement", tone: "good", delta: "better" },
  // The measure does not define which direction is worse.
  unknown: { word: "change", tone: "neutral", delta: "" },
};

/** `code` is the usual cause and gets no badge. */
const CAUSES: Readonly<Record<ChangeCause, { word: string; about: string } | undefined>> = {
  code: undefined,
  host: { word: "machine", about: "Most benchmarks changed together: check the machine first" },
  noise: { word: "noise", about: "The same commit or binary was measured before and after" },
};

/** A relative change, colored by direction. */
export function Share(props: { of: number | null | undefined; direction: ChangeDirection }): JSX.Element {
  return (
    <span class={`delta number nowrap ${DIRECTIONS[props.direction].delta}`}>
      {typeof props.of === "number" ? ratio(props.of) : "–"}
    </span>
  );
}

export function Effect(props: { change: JsonChange }): JSX.Element {
  return (
    <>
      <Share of={props.change.effect} direction={colorDirection(props.change)} />
      <span class="subtext">
        <Badge tone={DIRECTIONS[colorDirection(props.change)].tone}>{DIRECTIONS[props.change.direction].word}</Badge>
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

/** The levels before and after a change. */
export function Levels(props: { before: number | null | undefined; after: number; units: string }): JSX.Element {
  // Both values in one scale, with the unit shown once.
  const scale = () => scaleOf(Math.max(Math.abs(props.before ?? 0), Math.abs(props.after)), props.units);
  return (
    <span class="number">
      {typeof props.before === "number" ? scaled(props.before, props.units, scale())[0] : "–"} →{" "}
      <Value value={props.after} units={props.units} scale={scale()} />
    </span>
  );
}
