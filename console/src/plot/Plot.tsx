// A plot of lines: `<Plot label="Latency of main" lines={lines} />`. Drag to zoom, drag with Shift to pan, use two
// fingers for both; the arrow keys move along the points. uPlot draws the axes and handles the pointer, draw.ts draws
// the lines.

import {
  createEffect,
  createMemo,
  createSignal,
  createUniqueId,
  type JSX,
  on,
  onCleanup,
  onMount,
  Show,
  untrack,
} from "solid-js";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { moment, value } from "../format";
import { isDark } from "../theme";
import { type ValueAxis, valueAxis } from "./axes";
import { ChangeLinks } from "./ChangeLinks";
import { colorOf, palette } from "./colors";
import { drawLines, nearest } from "./draw";
import { createGestures } from "./gestures";
import { extentY, type Line, type Point, pointAfterKey, type Range, type Shown, type XAxis, type YAxis } from "./line";
import { plotOptions } from "./options";
import type { Links } from "./Readout";
import { type Place, placeOf, type Sheet } from "./sheet";
import { PointSummary, Tooltip } from "./Tooltip";
import { createZoom } from "./zoom";
import "./plot.css";

/** Maximum distance of the pointer to a point, in CSS pixels. */
const REACH = 28;

export interface PlotProps {
  lines: readonly Line[];
  /** The accessible name. */
  label: string;
  x?: XAxis | undefined;
  y?: YAxis | undefined;
  shown?: Shown | undefined;
  /** Height in pixels [default: 320]. */
  height?: number | undefined;
  /** The full range [default: the extent of the lines]. */
  range?: Range | undefined;
  /** The visible range, if the caller controls it. */
  zoom?: Range | undefined;
  onZoom?: ((range: Range | undefined) => void) | undefined;
  /** The index of the highlighted line. */
  focus?: number | undefined;
  /** The index of the isolated line: the value axis fits it, and the other lines are faded. */
  isolated?: number | undefined;
  /** Isolates a line after a click or Enter; undefined shows all lines again. */
  onIsolate?: ((line: number | undefined) => void) | undefined;
  /** Links the marks of changes to the pages of their events [default: no links]. */
  links?: Links | undefined;
  /** The tooltip of a point [default: value and time]. */
  readout?: ((line: Line, at: number) => JSX.Element) | undefined;
  /** Receives a function that renders the current plot as an image. */
  picture?: ((take: () => HTMLCanvasElement | undefined) => void) | undefined;
}

export function Plot(props: PlotProps): JSX.Element {
  const id = createUniqueId();
  let figure: HTMLDivElement | undefined;
  let host: HTMLDivElement | undefined;
  let plot: uPlot | undefined;

  const zoom = createZoom(props);
  // Draw fast while the plot moves; redraw with antialiasing when it stops.
  const isMoving = createMemo(() => zoom.moving() !== undefined);
  const [hovered, setHovered] = createSignal<Point>();
  const [picked, setPicked] = createSignal<Point>();
  const [announcement, setAnnouncement] = createSignal("");
  // Pixel positions change with each redraw.
  const [drawn, setDrawn] = createSignal(0);
  /** The line of the change under the pointer. */
  const [over, setOver] = createSignal<number>();
  const point = () => picked() ?? hovered();

  const axis = () => props.x ?? "date_time";
  const sides = createMemo(
    () => [props.lines.filter((line) => !line.right), props.lines.filter((line) => line.right)] as const,
  );
  const axes = createMemo(() =>
    sides().map((lines) => {
      const only = props.lines[props.isolated ?? -1];
      const fitted = only && lines.includes(only) ? [only] : lines;
      return valueAxis(extentY(fitted, props.shown ?? {}, zoom.view()), lines[0]?.units ?? "", props.y ?? "auto");
    }),
  );
  // The line under the pointer is highlighted, too.
  const focus = createMemo(
    () => {
      if (props.lines.length < 2 || !props.onIsolate) return [];
      const found = [props.isolated, props.focus ?? over() ?? point()?.line].filter((place) => place !== undefined);
      return [...new Set(found)];
    },
    undefined,
    { equals: (one, other) => one.join() === other.join() },
  );
  const hasRight = () => sides()[1].length > 0;
  const colored = createMemo(() =>
    props.lines.map((line, place) => (line.color === undefined ? { ...line, color: place } : line)),
  );

  const sheet = (): Sheet | undefined => {
    if (!plot) return undefined;
    const { left, top, width, height } = plot.bbox;
    const place = (axis: ValueAxis | undefined): Place => ({
      range: axis?.range ?? [0, 1],
      log: axis?.log ?? false,
      start: top + height,
      length: -height,
    });
    return {
      context: plot.ctx,
      x: { range: zoom.view(), log: false, start: left, length: width },
      y: [place(axes()[0]), place(axes()[1])],
      density: uPlot.pxRatio,
      shown: props.shown ?? {},
      colors: palette().lines,
      alert: palette().alert,
      good: palette().good,
      muted: palette().muted,
      text: palette().text,
      background: palette().background,
      focus: focus(),
      isIsolated: props.isolated !== undefined,
      // The tooltip names the line of a point, and a heading the isolated line.
      named: props.focus === props.isolated || !focus().length ? undefined : props.focus,
      isMoving: isMoving(),
    };
  };

  const draw = ({ ctx, bbox }: uPlot) => {
    const target = sheet();
    if (!target) return;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    drawLines({ ...target, context: ctx }, untrack(colored));
    ctx.restore();
    setDrawn((times) => times + 1);
  };
  const hover = ({ cursor: { left = -1, top = -1 }, bbox }: uPlot) => {
    const target = sheet();
    const { pxRatio } = uPlot;
    const [x, y] = [left * pxRatio + bbox.left, top * pxRatio + bbox.top];
    setHovered(left < 0 || !target ? undefined : nearest(target, colored(), x, y, REACH * pxRatio));
  };
  /** Keeps the tooltip of a point open and isolates its line; a second click on the point restores the plot. */
  const pick = (at: Point | undefined) => {
    if (!at) return setPicked(undefined);
    const isAgain = isSamePoint(picked(), at);
    setPicked(isAgain ? undefined : at);
    if (props.lines.length > 1) props.onIsolate?.(isAgain ? undefined : at.line);
  };
  const gestures = createGestures(zoom, {
    click: () => pick(hovered()),
    touch: (left, top) => plot?.setCursor({ left, top }),
  });
  const build = () => {
    const parent = host;
    if (!parent) return;
    plot?.destroy();
    const options = plotOptions(
      { width: parent.clientWidth, height: parent.clientHeight },
      { isTime: axis() === "date_time", view: zoom.view, axes, hasRight: hasRight() },
      {
        draw,
        cursor: hover,
        select: (range) => {
          gestures.ignoreClick();
          zoom.commit(range);
        },
        pan: gestures.pan,
        reset: () => zoom.commit(undefined),
      },
    );
    // uPlot requires data, but draw.ts draws the lines.
    const data: uPlot.AlignedData = [
      [0, 1],
      [null, null],
    ];
    plot = untrack(() => new uPlot(options, data, parent));
    gestures.bind(plot.over);
  };

  const announce = (at: Point) => {
    const line = props.lines[at.line];
    if (!line) return;
    const x = line.x[at.at] as number;
    const place = axis() === "version" ? `version ${x}` : moment(x);
    setAnnouncement(`${line.label}: ${value(line.y[at.at] as number, line.units)}, ${place}`);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.target !== figure || !props.lines[point()?.line ?? 0]) return;
    const next = pointAfterKey(event.key, props.lines, point(), zoom.view());
    if (next) {
      setPicked(next);
      announce(next);
    } else if (event.key === "+" || event.key === "=") zoom.commit(zoom.scale(0.5));
    else if (event.key === "-") zoom.commit(zoom.scale(2));
    else if (event.key === "0") zoom.commit(undefined);
    else if (event.key === "Enter" && point() && props.onIsolate && props.lines.length > 1)
      props.onIsolate(point()?.line === props.isolated ? undefined : point()?.line);
    else if (event.key === "Escape" && picked()) setPicked(undefined);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  onMount(() => {
    const size = new ResizeObserver(() => {
      if (!host?.clientWidth) return;
      if (!plot) build();
      else plot.setSize({ width: host.clientWidth, height: host.clientHeight });
    });
    if (host) size.observe(host);
    onCleanup(() => size.disconnect());
  });
  // Options that uPlot accepts only at creation.
  createEffect(
    on(
      createMemo(() => `${axis()} ${axes().map((axis) => axis?.log)} ${hasRight()} ${isDark()}`),
      () => plot && build(),
      { defer: true },
    ),
  );
  createEffect(() => {
    const [min, max] = zoom.view();
    const [left, right] = axes();
    colored();
    // Track these dependencies here, because the drawing reads them.
    void [
      isMoving(),
      props.shown?.lower_value,
      props.shown?.upper_value,
      props.shown?.lower_boundary,
      props.shown?.upper_boundary,
      focus(),
    ];
    // At most once per frame.
    const frame = requestAnimationFrame(() =>
      plot?.batch(() => {
        plot?.setScale("x", { min, max });
        if (left) plot?.setScale("left", { min: left.range[0], max: left.range[1] });
        if (right) plot?.setScale("right", { min: right.range[0], max: right.range[1] });
        plot?.redraw(false, true);
      }),
    );
    onCleanup(() => cancelAnimationFrame(frame));
  });
  // Deselect a point whose line no longer exists.
  createEffect(
    on(
      () => props.lines,
      () => {
        setPicked(undefined);
        setHovered(undefined);
        setOver(undefined);
      },
      { defer: true },
    ),
  );
  onCleanup(() => plot?.destroy());
  createEffect(() => props.picture?.(() => host?.querySelector("canvas") ?? undefined));

  /** The position of a point in the plot; undefined outside. */
  const spotOf = (at: Point | undefined) => {
    drawn();
    const target = at && sheet();
    const line = at && colored()[at.line];
    if (!target || !line || !plot) return undefined;
    const { pxRatio } = uPlot;
    const [left, top] = [
      placeOf(line.x[at.at] as number, target.x) / pxRatio,
      placeOf(line.y[at.at] as number, target.y[line.right ? 1 : 0]) / pxRatio,
    ];
    const [from, to] = [plot.bbox.left / pxRatio, (plot.bbox.left + plot.bbox.width) / pxRatio];
    if (!Number.isFinite(top) || left < from - 1 || left > to + 1) return undefined;
    const { width, height } = plot;
    return { left, top, width, height, color: colorOf(line.color), line, at: at.at };
  };
  const spot = createMemo(() => spotOf(point()));

  return (
    <div
      class="plot"
      ref={figure}
      role="group"
      tabindex="0"
      aria-label={props.label}
      aria-describedby={`${id}-keys`}
      style={{ height: `${props.height ?? 320}px` }}
      onKeyDown={onKey}
    >
      <span class="visually-hidden" id={`${id}-keys`}>
        Use the arrow keys to move along the points, plus and minus to zoom, zero to reset the zoom
        {props.onIsolate && props.lines.length > 1 ? ", Enter to isolate a line, Escape to show all lines" : ""}.
      </span>
      <div class="plot-host" ref={host} />
      <div class="plot-units small muted" aria-hidden="true">
        <span>{axes()[0]?.scale.unit}</span>
        <strong class="ellipsis">{props.lines[props.isolated ?? -1]?.label}</strong>
        <span>{hasRight() ? axes()[1]?.scale.unit : ""}</span>
      </div>
      <Show when={zoom.chosen()}>
        <button type="button" class="button plot-reset" onClick={() => zoom.commit(undefined)}>
          Reset zoom
        </button>
      </Show>
      <Show when={props.links}>
        {(links) => (
          <ChangeLinks
            lines={props.lines}
            isolated={props.isolated}
            spotOf={spotOf}
            links={links()}
            onFocus={setOver}
          />
        )}
      </Show>
      <Show when={over() === undefined && spot()}>
        {(spot) => (
          <Tooltip spot={spot()} picked={picked() !== undefined}>
            {props.readout?.(spot().line, spot().at) ?? (
              <PointSummary line={spot().line} at={spot().at} axis={axis()} />
            )}
          </Tooltip>
        )}
      </Show>
      <span class="visually-hidden" aria-live="polite">
        {announcement()}
      </span>
    </div>
  );
}

function isSamePoint(one: Point | undefined, other: Point | undefined): boolean {
  return one?.line === other?.line && one?.at === other?.at;
}
