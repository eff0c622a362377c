// Small multiples: one small plot per line with the same time axis, the largest change first. A canvas is drawn when it
// becomes visible.

import { createEffect, createMemo, createSignal, For, type JSX, onCleanup, onMount, Show } from "solid-js";
import { Share } from "../change";
import { day, plural, value } from "../format";
import { Name } from "../ui/Value";
import { type ValueAxis, valueAxis, valueLabels } from "./axes";
import { palette } from "./colors";
import { drawLines } from "./draw";
import { extentY, lowerBound, type Range, type Shown, type XAxis, type YAxis } from "./line";
import { byChange, mainChange, type PerfLine } from "./lines";
import { isOpen } from "./marks";
import type { Place } from "./sheet";
import { createZoom } from "./zoom";
import "./multiples.css";

/** Height of a plot, and its margins for marks, in CSS pixels. */
const [HEIGHT, TOP, BOTTOM] = [84, 10, 4];

export function Multiples(props: {
  lines: readonly PerfLine[];
  /** The accessible name. */
  label: string;
  x: XAxis;
  y: YAxis;
  shown: Shown;
  zoom: Range | undefined;
  /** Whether all plots have the same value axis. */
  sharedY: boolean;
  /** Shows a line alone in one plot. */
  onIsolate: (id: string) => void;
}): JSX.Element {
  const sorted = createMemo(() => byChange(props.lines));
  // Rows are identified by the line, so that a loading plot keeps its canvases.
  const ids = createMemo(() => sorted().map(({ id }) => id));
  const known = createMemo(() => new Map(sorted().map((line) => [line.id, line])));
  const whole = createZoom({
    get lines() {
      return props.lines;
    },
    get x() {
      return props.x;
    },
  }).whole;
  const range = () => props.zoom ?? whole();
  const axisOf = (lines: readonly PerfLine[]) =>
    valueAxis(extentY(lines, props.shown, range()), lines[0]?.units ?? "", props.y);
  // Lines with different units have separate axes.
  const sharedAxes = createMemo(() => {
    if (!props.sharedY) return undefined;
    const units = new Set(props.lines.map((line) => line.units));
    return new Map([...units].map((each) => [each, axisOf(props.lines.filter((line) => line.units === each))]));
  });
  const edge = (x: number) => (props.x === "version" ? `#${Math.round(x)}` : day(x));
  /** The position of the pointer, as a part of the time axis. */
  const [part, setPart] = createSignal<number>();
  return (
    <section class="multiples" aria-label={props.label}>
      <p class="small muted">
        {plural(props.lines.length, "plot")}, largest change first, from {edge(range()[0])} to {edge(range()[1])}
        {props.lines[0]?.reference ? `, in ${props.lines[0].units}` : ""}
      </p>
      <ul style={{ "--multiples-x": `${(part() ?? -1) * 100}%` }} onPointerLeave={() => setPart(undefined)}>
        <For each={ids()}>
          {(id) => (
            <Show when={known().get(id)}>
              {(line) => (
                <Small
                  line={line()}
                  axis={sharedAxes()?.get(line().units) ?? axisOf([line()])}
                  range={range()}
                  shown={props.shown}
                  part={part()}
                  xAxis={props.x}
                  onPart={setPart}
                  onIsolate={() => props.onIsolate(id)}
                />
              )}
            </Show>
          )}
        </For>
      </ul>
    </section>
  );
}

function Small(props: {
  line: PerfLine;
  axis: ValueAxis | undefined;
  range: Range;
  shown: Shown;
  part: number | undefined;
  xAxis: XAxis;
  onPart: (part: number | undefined) => void;
  onIsolate: () => void;
}): JSX.Element {
  let canvas: HTMLCanvasElement | undefined;
  const [size, setSize] = createSignal<{ width: number; density: number }>();
  const [isHovered, setHovered] = createSignal(false);
  const change = () => mainChange(props.line);
  /** The point at the pointer, or the newest one. */
  const at = () => {
    const { x } = props.line;
    const [from, to] = props.range;
    const place = isHovered() && props.part !== undefined ? from + props.part * (to - from) : to;
    const next = lowerBound(x, place);
    const isBefore = next > 0 && (next >= x.length || place - (x[next - 1] as number) < (x[next] as number) - place);
    return isBefore ? next - 1 : next;
  };
  const reading = () => {
    const x = props.line.x[at()] ?? NaN;
    // The caption names the reference value of a relative scale.
    const text = value(props.line.y[at()] ?? NaN, props.line.reference ? "%" : props.line.units);
    return isHovered() ? `${text}, ${props.xAxis === "version" ? `#${x}` : day(x)}` : text;
  };
  onMount(() => {
    const target = canvas;
    if (!target) return;
    const measure = () => setSize({ width: target.clientWidth, density: devicePixelRatio });
    const seen = new IntersectionObserver(
      (entries) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        seen.disconnect();
        resized.observe(target);
      },
      { rootMargin: "200px" },
    );
    const resized = new ResizeObserver(measure);
    seen.observe(target);
    onCleanup(() => {
      seen.disconnect();
      resized.disconnect();
    });
  });
  createEffect(() => {
    const known = size();
    const context = canvas?.getContext("2d");
    if (!known?.width || !canvas || !context) return;
    const { width, density } = known;
    const colors = palette();
    [canvas.width, canvas.height] = [width * density, HEIGHT * density];
    const y: Place = {
      range: props.axis?.range ?? [0, 1],
      log: props.axis?.log ?? false,
      start: (HEIGHT - BOTTOM) * density,
      length: -(HEIGHT - TOP - BOTTOM) * density,
    };
    drawLines(
      {
        context,
        x: { range: props.range, log: false, start: 0, length: canvas.width },
        y: [y, y],
        density,
        shown: props.shown,
        colors: colors.lines,
        alert: colors.alert,
        good: colors.good,
        muted: colors.muted,
        text: colors.text,
        background: colors.background,
        focus: [],
        isIsolated: false,
        named: undefined,
        isMoving: false,
      },
      [{ ...props.line, color: 0, quiet: false }],
    );
  });
  const bounds = () => {
    const { range, scale } = props.axis ?? { range: [NaN, NaN], scale: { factor: 1, unit: "" } };
    return `${valueLabels(range, scale).join(" – ")} ${props.line.reference ? "%" : scale.unit}`;
  };
  return (
    <li>
      <button type="button" class="multiple" title="Show this line alone" onClick={() => props.onIsolate()}>
        <span class="row between">
          <strong class="break small">
            <Name of={props.line.label} />
          </strong>
          <Show when={change()}>
            {(change) => <Share of={change().effect} direction={isOpen(change()) ? change().direction : "unknown"} />}
          </Show>
        </span>
        <span
          class="multiple-plot"
          onPointerMove={(event) => {
            const box = event.currentTarget.getBoundingClientRect();
            setHovered(true);
            props.onPart((event.clientX - box.left) / box.width);
          }}
          onPointerLeave={() => setHovered(false)}
        >
          <canvas ref={canvas} aria-hidden="true" />
        </span>
        <span class="row between small muted">
          <span class="number">{reading()}</span>
          <span class="number" aria-hidden="true">
            {bounds()}
          </span>
        </span>
      </button>
    </li>
  );
}
