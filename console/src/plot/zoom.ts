// The visible range of a plot: the whole range, the zoom of the user, or the range while the plot moves.

import { type Accessor, createMemo, createSignal } from "solid-js";
import { extentX, type Line, type Range, type XAxis } from "./line";

export interface Zoom {
  /** The full range, with a margin. */
  whole: Accessor<Range>;
  /** The range that the user zoomed to, if any. */
  chosen: Accessor<Range | undefined>;
  /** The range while the plot moves. */
  moving: Accessor<Range | undefined>;
  view: Accessor<Range>;
  /** Shows a range while the plot moves. */
  move: (range: Range) => void;
  /** Ends a movement with a range, or with the whole range. */
  commit: (range: Range | undefined) => void;
  /** Shifts a range into the whole range. */
  clamp: (range: Range) => Range;
  /** The visible range, larger by a factor around a position [default: the center]. */
  scale: (factor: number, around?: number) => Range;
}

/** Creates the range of a plot. The caller of the plot controls the zoom if it sets `onZoom`. */
export function createZoom(props: {
  lines: readonly Line[];
  x?: XAxis | undefined;
  range?: Range | undefined;
  zoom?: Range | undefined;
  onZoom?: ((range: Range | undefined) => void) | undefined;
}): Zoom {
  const [own, setOwn] = createSignal<Range>();
  const [moving, setMoving] = createSignal<Range>();
  const whole = createMemo((): Range => {
    const isVersion = props.x === "version";
    const [from, to] =
      props.range ?? extentX(props.lines) ?? (isVersion ? [0, 1] : [Date.now() - 30 * 864e5, Date.now()]);
    const room = to > from ? (to - from) * 0.015 : isVersion ? 1 : 12 * 3600e3;
    return [from - room, to + room];
  });
  const chosen = () => (props.onZoom ? props.zoom : own());
  const view = createMemo(() => moving() ?? chosen() ?? whole(), undefined, { equals: isSame });
  const clamp = (range: Range) => within(range, whole());
  return {
    whole,
    chosen,
    moving,
    view,
    move: setMoving,
    commit: (range) => {
      setMoving(undefined);
      const [from, to] = whole();
      const next = range && (range[0] > from || range[1] < to) ? range : undefined;
      if (props.onZoom) props.onZoom(next);
      else setOwn(next);
    },
    clamp,
    scale: (factor, around = (view()[0] + view()[1]) / 2) => {
      const [from, to] = view();
      return clamp([around - (around - from) * factor, around + (to - around) * factor]);
    },
  };
}

/** Shifts a range into another range, or returns the other range if it is smaller. */
function within([from, to]: Range, [least, most]: Range): Range {
  if (to - from >= most - least) return [least, most];
  if (from < least) return [least, least + to - from];
  return to > most ? [most - (to - from), most] : [from, to];
}

function isSame(one: Range, other: Range): boolean {
  return one[0] === other[0] && one[1] === other[1];
}
