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
import { axisScale, timeLabels, valueLabels } from "./axes";
import { colorOf, palette } from "./colors";
import { drawLines, nearest, type Place, placeOf, type Sheet } from "./draw";
import {
  type Extent,
  extentX,
  extentY,
  isLog,
  type Line,
  logTicks,
  lowerBound,
  type Point,
  padded,
  type Range,
  type Shown,
  ticks,
  type XAxis,
  type YAxis,
} from "./line";
import "./plot.css";

export { type Line, line, type Mark, type Point, type Range, type Shown, type XAxis, type YAxis } from "./line";

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

  const [own, setOwn] = createSignal<Range>();
  const [live, setLive] = createSignal<Range>();
  // Draw fast while the plot moves; redraw with antialiasing when it stops.
  const [moving, setMoving] = createSignal(false);
  const [hovered, setHovered] = createSignal<Point>();
  const [picked, setPicked] = createSignal<Point>();
  const [spoken, setSpoken] = createSignal("");
  // Pixel positions change with each redraw.
  const [drawn, setDrawn] = createSignal(0);
  const point = () => picked() ?? hovered();

  const axis = () => props.x ?? "date_time";
  const whole = createMemo((): Range => {
    const [from, to] =
      props.range ?? extentX(props.lines) ?? (axis() === "version" ? [0, 1] : [Date.now() - 30 * 864e5, Date.now()]);
    const room = to > from ? (to - from) * 0.015 : axis() === "version" ? 1 : 12 * 3600e3;
    return [from - room, to + room];
  });
  const kept = () => (props.onZoom ? props.zoom : own());
  const view = createMemo(() => live() ?? kept() ?? whole(), undefined, { equals: same });
  const sides = createMemo(
    () => [props.lines.filter((line) => !line.right), props.lines.filter((line) => line.right)] as const,
  );
  const axes = createMemo(() =>
    sides().map((lines) =>
      vertical(extentY(lines, props.shown ?? {}, view()), lines[0]?.units ?? "", props.y ?? "auto"),
    ),
  );
  const hasRight = () => sides()[1].length > 0;

  const show = (range: Range) => {
    setMoving(true);
    setLive(range);
  };
  const commit = (range: Range | undefined) => {
    setMoving(false);
    setLive(undefined);
    const [from, to] = whole();
    const next = range && (range[0] > from || range[1] < to) ? range : undefined;
    if (props.onZoom) props.onZoom(next);
    else setOwn(next);
  };
  const zoomBy = (factor: number, around = (view()[0] + view()[1]) / 2): Range => {
    const [from, to] = view();
    return within([around - (around - from) * factor, around + (to - around) * factor], whole());
  };

  const sheet = (): Sheet | undefined => {
    if (!plot) return undefined;
    const { left, top, width, height } = plot.bbox;
    const [from, to] = axes();
    const place = (axis: Vertical | undefined): Place => ({
      range: axis?.range ?? [0, 1],
      log: axis?.log ?? false,
      start: top + height,
      length: -height,
    });
    return {
      context: plot.ctx,
      x: { range: view(), log: false, start: left, length: width },
      y: [place(from), place(to)],
      density: uPlot.pxRatio,
      shown: props.shown ?? {},
      colors: palette().lines,
      alert: palette().alert,
      muted: palette().muted,
      background: palette().background,
      focus: props.focus,
      isMoving: moving(),
    };
  };
  const colored = createMemo(() =>
    props.lines.map((line, place) => (line.color === undefined ? { ...line, color: place } : line)),
  );

  const build = () => {
    if (!host) return;
    plot?.destroy();
    const font = `12px ${getComputedStyle(document.body).fontFamily}`;
    const look = { font, stroke: palette().muted, grid: { stroke: palette().grid, width: 1 }, ticks: { show: false } };
    const side = (place: 0 | 1): uPlot.Axis => ({
      ...look,
      scale: place ? "right" : "left",
      side: place ? 1 : 3,
      gap: 6,
      ...(place ? { grid: { show: false } } : {}),
      size: (_, labels) => 14 + Math.max(...(labels ?? []).map((label) => label.length * 7), 14),
      splits: (self) => {
        const axis = axes()[place];
        const most = Math.max(Math.floor(self.height / 48), 2);
        return axis ? (axis.log ? logTicks : ticks)(axis.range, most, axis.scale.factor) : [];
      },
      filter: (_, splits) => splits,
      values: (_, splits) => valueLabels(splits, axes()[place]?.scale ?? { factor: 1, unit: "" }),
    });
    const isTime = axis() === "date_time";
    const scale = (place: 0 | 1): uPlot.Scale => {
      const [min, max] = axes()[place]?.range ?? [0, 1];
      return { auto: false, distr: axes()[place]?.log ? 3 : 1, min, max };
    };
    const options: uPlot.Options = {
      width: host.clientWidth,
      height: host.clientHeight,
      ms: 1,
      legend: { show: false },
      // The units of the axes have a separate line above the plot.
      padding: [22, hasRight() ? 4 : 22, 0, 0],
      scales: { x: { time: isTime, auto: false, min: view()[0], max: view()[1] }, left: scale(0), right: scale(1) },
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
        side(0),
        ...(hasRight() ? [side(1)] : []),
      ],
      series: [{}, { scale: "left", show: false }],
      cursor: {
        y: false,
        points: { show: false },
        drag: { x: true, y: false, setScale: false, dist: 6 },
        bind: {
          mousedown: (_, __, handler) => (event) => {
            if (event.button === 0 && event.shiftKey) pan(event);
            else handler(event);
            return null;
          },
          dblclick: () => () => {
            commit(undefined);
            return null;
          },
        },
      },
      hooks: {
        draw: [
          (self) => {
            const where = sheet();
            if (!where) return;
            const { ctx, bbox } = self;
            ctx.save();
            ctx.beginPath();
            ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
            ctx.clip();
            drawLines({ ...where, context: ctx }, untrack(colored));
            ctx.restore();
            setDrawn((times) => times + 1);
          },
        ],
        setCursor: [
          (self) => {
            const { left = -1, top = -1 } = self.cursor;
            const where = sheet();
            const { pxRatio } = uPlot;
            setHovered(
              left < 0 || !where
                ? undefined
                : nearest(
                    where,
                    colored(),
                    left * pxRatio + self.bbox.left,
                    top * pxRatio + self.bbox.top,
                    REACH * pxRatio,
                  ),
            );
          },
        ],
        setSelect: [
          (self) => {
            const { left, width } = self.select;
            if (width < 6) return;
            wasDragged = true;
            const [from, to] = [self.posToVal(left, "x"), self.posToVal(left + width, "x")];
            self.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            commit([from, to]);
          },
        ],
      },
    };
    plot = untrack(
      () =>
        new uPlot(
          options,
          [
            [0, 1],
            [null, null],
          ] as uPlot.AlignedData,
          host as HTMLElement,
        ),
    );
    listen(plot.over);
  };

  let wasDragged = false;
  const valueAt = (event: { clientX: number }) => {
    const box = plot?.over.getBoundingClientRect();
    const [from, to] = view();
    return box ? from + ((event.clientX - box.left) / box.width) * (to - from) : from;
  };
  const pan = (start: MouseEvent) => {
    const [from, to] = view();
    const width = plot?.over.clientWidth ?? 1;
    let now: Range = [from, to];
    const move = (event: MouseEvent) => {
      const by = ((start.clientX - event.clientX) / width) * (to - from);
      now = within([from + by, to + by], whole());
      wasDragged = true;
      show(now);
    };
    const end = () => {
      removeEventListener("mousemove", move);
      removeEventListener("mouseup", end);
      commit(now);
    };
    addEventListener("mousemove", move);
    addEventListener("mouseup", end);
  };
  let resting: ReturnType<typeof setTimeout> | undefined;
  const wheel = (event: WheelEvent) => {
    const isPan = Math.abs(event.deltaX) > Math.abs(event.deltaY) && !event.ctrlKey;
    // Otherwise the page would scroll.
    if (!event.ctrlKey && !(isPan && (kept() ?? live()))) return;
    event.preventDefault();
    const [from, to] = view();
    const by = (event.deltaX / (plot?.over.clientWidth ?? 1)) * (to - from);
    const next = isPan ? within([from + by, to + by], whole()) : zoomBy(Math.exp(event.deltaY / 200), valueAt(event));
    show(next);
    clearTimeout(resting);
    resting = setTimeout(() => commit(next), 200);
  };
  const fingers = new Map<number, number>();
  let held: readonly [number, number] | undefined;
  const onFinger = (event: PointerEvent) => {
    if (event.pointerType !== "touch") return;
    if (event.type === "pointerdown" || fingers.has(event.pointerId)) fingers.set(event.pointerId, event.clientX);
    if (event.type === "pointerdown")
      held =
        fingers.size === 2
          ? ([...fingers.values()].map((clientX) => valueAt({ clientX })) as [number, number])
          : undefined;
    else if (event.type === "pointermove" && held && fingers.size === 2) {
      // The points under the fingers stay under the fingers.
      const box = plot?.over.getBoundingClientRect();
      const [one = 0, two = 0] = [...fingers.values()].map((x) => (x - (box?.left ?? 0)) / (box?.width ?? 1));
      const scale = (held[1] - held[0]) / (two - one);
      if (!Number.isFinite(scale) || scale <= 0) return;
      const from = held[0] - one * scale;
      show(within([from, from + scale], whole()));
    } else if (event.type === "pointermove" && fingers.size === 1) {
      const box = plot?.over.getBoundingClientRect();
      if (box) plot?.setCursor({ left: event.clientX - box.left, top: event.clientY - box.top });
    }
  };
  const offFinger = (event: PointerEvent) => {
    if (!fingers.delete(event.pointerId)) return;
    if (held) commit(live() ?? kept());
    held = undefined;
  };
  const listen = (over: HTMLElement) => {
    over.addEventListener("click", () => {
      if (!wasDragged) setPicked((old) => (hovered() && !alike(old, hovered()) ? hovered() : undefined));
      wasDragged = false;
    });
    over.addEventListener("wheel", wheel, { passive: false });
    over.addEventListener("pointerdown", onFinger);
    over.addEventListener("pointermove", onFinger);
    over.addEventListener("pointerup", offFinger);
    over.addEventListener("pointercancel", offFinger);
    over.addEventListener("pointerleave", offFinger);
  };

  const speak = (at: Point | undefined) => {
    const line = at && props.lines[at.line];
    if (!line) return;
    const x = line.x[at.at] as number;
    const place = axis() === "version" ? `version ${x}` : moment(x);
    setSpoken(`${line.label}: ${value(line.y[at.at] as number, line.units)}, ${place}`);
  };
  const walk = (event: KeyboardEvent) => {
    const { lines } = props;
    const here = point() ?? { line: 0, at: lowerBound(lines[0]?.x ?? new Float64Array(), view()[0]) };
    const line = lines[here.line];
    if (!line || event.target !== figure) return;
    const to = (place: number): Point => {
      const next = (place + lines.length) % lines.length;
      const x = lines[next]?.x ?? new Float64Array();
      return { line: next, at: Math.min(lowerBound(x, line.x[here.at] ?? 0), x.length - 1) };
    };
    const along = (at: number): Point => ({ line: here.line, at: Math.min(Math.max(at, 0), line.x.length - 1) });
    const steps: Readonly<Record<string, () => Point>> = {
      ArrowRight: () => along(point() ? here.at + 1 : here.at),
      ArrowLeft: () => along(here.at - 1),
      ArrowDown: () => to(here.line + 1),
      ArrowUp: () => to(here.line - 1),
      Home: () => along(lowerBound(line.x, view()[0])),
      End: () => along(lowerBound(line.x, view()[1]) - 1),
    };
    const step = steps[event.key];
    if (step) {
      const next = step();
      setPicked(next);
      speak(next);
    } else if (event.key === "+" || event.key === "=") commit(zoomBy(0.5));
    else if (event.key === "-") commit(zoomBy(2));
    else if (event.key === "0") commit(undefined);
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
    const [min, max] = view();
    const [left, right] = axes();
    colored();
    // Track these dependencies here, because the drawing reads them.
    void [
      moving(),
      props.shown?.lower_value,
      props.shown?.upper_value,
      props.shown?.lower_boundary,
      props.shown?.upper_boundary,
      props.focus,
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
      },
      { defer: true },
    ),
  );
  onCleanup(() => plot?.destroy());
  createEffect(() => props.picture?.(() => host?.querySelector("canvas") ?? undefined));

  const spot = createMemo(() => {
    drawn();
    const at = point();
    const where = at && sheet();
    const line = at && colored()[at.line];
    if (!where || !line || !plot) return undefined;
    const { pxRatio } = uPlot;
    const [left, top] = [
      placeOf(line.x[at.at] as number, where.x) / pxRatio,
      placeOf(line.y[at.at] as number, where.y[line.right ? 1 : 0]) / pxRatio,
    ];
    const [from, to] = [plot.bbox.left / pxRatio, (plot.bbox.left + plot.bbox.width) / pxRatio];
    if (!Number.isFinite(top) || left < from - 1 || left > to + 1) return undefined;
    return {
      left,
      top,
      isRight: left > plot.width / 2,
      isLow: top > plot.height / 2,
      width: plot.width,
      height: plot.height,
      line,
      at: at.at,
      color: colorOf(line.color),
    };
  });

  return (
    <div
      class="plot"
      ref={figure}
      role="group"
      tabindex="0"
      aria-label={props.label}
      aria-describedby={`${id}-keys`}
      style={{ height: `${props.height ?? 320}px` }}
      onKeyDown={walk}
    >
      <span class="visually-hidden" id={`${id}-keys`}>
        Use the arrow keys to move along the points, plus and minus to zoom, zero to reset the zoom.
      </span>
      <div class="plot-host" ref={host} />
      <div class="plot-units small muted" aria-hidden="true">
        <span>{axes()[0]?.scale.unit}</span>
        <span>{hasRight() ? axes()[1]?.scale.unit : ""}</span>
      </div>
      <Show when={kept()}>
        <button type="button" class="button plot-reset" onClick={() => commit(undefined)}>
          Reset zoom
        </button>
      </Show>
      <Show when={spot()}>
        {(spot) => (
          <>
            <i
              class="plot-dot"
              style={{ left: `${spot().left}px`, top: `${spot().top}px`, "background-color": spot().color }}
            />
            <div
              class="readout"
              classList={{ picked: picked() !== undefined }}
              style={{
                [spot().isRight ? "right" : "left"]:
                  `${(spot().isRight ? spot().width - spot().left : spot().left) + 14}px`,
                [spot().isRight ? "left" : "right"]: "auto",
                [spot().isLow ? "bottom" : "top"]:
                  `${spot().isLow ? Math.max(spot().height - spot().top - 40, 4) : Math.max(spot().top - 40, 4)}px`,
                [spot().isLow ? "top" : "bottom"]: "auto",
              }}
            >
              {props.readout?.(spot().line, spot().at) ?? <Plain line={spot().line} at={spot().at} axis={axis()} />}
            </div>
          </>
        )}
      </Show>
      <span class="visually-hidden" aria-live="polite">
        {spoken()}
      </span>
    </div>
  );
}

function Plain(props: { line: Line; at: number; axis: XAxis }): JSX.Element {
  const x = () => props.line.x[props.at] as number;
  return (
    <>
      <strong class="number">{value(props.line.y[props.at] as number, props.line.units)}</strong>
      <span class="break">{props.line.label}</span>
      <span class="small muted">{props.axis === "version" ? `Version ${x()}` : moment(x())}</span>
    </>
  );
}

interface Vertical {
  range: Range;
  log: boolean;
  scale: ReturnType<typeof axisScale>;
}

function vertical(extent: Extent | undefined, units: string, asked: YAxis): Vertical | undefined {
  if (!extent) return undefined;
  const log = isLog(asked, extent);
  return { range: padded(extent, log), log, scale: axisScale(extent.low, extent.high, units) };
}

/** Shifts a range into another range, or returns the other range if it is smaller. */
function within([from, to]: Range, [least, most]: Range): Range {
  if (to - from >= most - least) return [least, most];
  if (from < least) return [least, least + to - from];
  return to > most ? [most - (to - from), most] : [from, to];
}

function same(one: Range, other: Range): boolean {
  return one[0] === other[0] && one[1] === other[1];
}

function alike(one: Point | undefined, other: Point | undefined): boolean {
  return one?.line === other?.line && one?.at === other?.at;
}
