// Values in the text of a page: names, times, numbers, changes and sparklines.

import { createSignal, For, type JSX, Show } from "solid-js";
import { change, exactMoment, relative, type Scale, scaled } from "../format";

/** The name of a benchmark, with line breaks between its groups. */
export function Name(props: { of: string }): JSX.Element {
  return (
    <For each={props.of.split(/(?<=::|\/)/)}>
      {(part, place) => (
        <>
          {place() ? <wbr /> : ""}
          {part}
        </>
      )}
    </For>
  );
}

const [now, setNow] = createSignal(Date.now());
setInterval(() => setNow(Date.now()), 30_000);

/** A relative time with the exact local time as a tooltip. */
export function Time(props: { at: string | number }): JSX.Element {
  return (
    <time class="nowrap" datetime={new Date(props.at).toISOString()} title={exactMoment(props.at)}>
      {relative(props.at, now())}
    </time>
  );
}

/** A value in its most readable unit. */
export function Value(props: { value: number; units: string; scale?: Scale }): JSX.Element {
  const parts = () => scaled(props.value, props.units, props.scale);
  return (
    <span class="value number nowrap" title={`${props.value} ${props.units}`}>
      {parts()[0]}
      <Show when={parts()[1]}>
        {" "}
        <span class="muted">{parts()[1]}</span>
      </Show>
    </span>
  );
}

/** A relative change, colored by direction. */
export function Delta(props: { from: number; to: number; worse?: "up" | "down" }): JSX.Element {
  const text = () => change(props.from, props.to);
  const tone = () => {
    if (!props.worse || text().startsWith("±") || text() === "–") return "";
    return props.to > props.from === (props.worse === "up") ? "worse" : "better";
  };
  return <span class={`delta number nowrap ${tone()}`}>{text()}</span>;
}

/** A sparkline. The label describes it for screen readers. */
export function Sparkline(props: {
  values: readonly number[];
  label: string;
  width?: number;
  height?: number;
}): JSX.Element {
  const [width, height] = [props.width ?? 96, props.height ?? 24];
  const points = () => {
    const [low, high] = [Math.min(...props.values), Math.max(...props.values)];
    const step = width / Math.max(props.values.length - 1, 1);
    const y = (value: number) => (high === low ? height / 2 : 2 + (height - 4) * (1 - (value - low) / (high - low)));
    return props.values.map((value, place) => `${(place * step).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
  };
  return (
    <svg
      class="sparkline"
      role="img"
      aria-label={props.label}
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
    >
      <polyline points={points()} />
    </svg>
  );
}
