// Gestures on a plot: drag with Shift to pan, turn the wheel with Ctrl or move two fingers to zoom and pan, click.

import type { Range } from "./line";
import type { Zoom } from "./zoom";

export interface Gestures {
  /** Pans while the mouse is down. */
  pan: (start: MouseEvent) => void;
  /** Ignores the click at the end of a drag. */
  ignoreClick: () => void;
  /** Adds the listeners to the drawing area. */
  bind: (area: HTMLElement) => void;
}

export function createGestures(
  zoom: Zoom,
  on: { click: () => void; touch: (left: number, top: number) => void },
): Gestures {
  let area: HTMLElement | undefined;
  let wasDragged = false;
  const valueAt = (clientX: number) => {
    const box = area?.getBoundingClientRect();
    const [from, to] = zoom.view();
    return box ? from + ((clientX - box.left) / box.width) * (to - from) : from;
  };
  const pan = (start: MouseEvent) => {
    const [from, to] = zoom.view();
    const width = area?.clientWidth ?? 1;
    let now: Range = [from, to];
    const move = (event: MouseEvent) => {
      const by = ((start.clientX - event.clientX) / width) * (to - from);
      now = zoom.clamp([from + by, to + by]);
      wasDragged = true;
      zoom.move(now);
    };
    const end = () => {
      removeEventListener("mousemove", move);
      removeEventListener("mouseup", end);
      zoom.commit(now);
    };
    addEventListener("mousemove", move);
    addEventListener("mouseup", end);
  };
  let wheelEnd: ReturnType<typeof setTimeout> | undefined;
  const onWheel = (event: WheelEvent) => {
    const isPan = Math.abs(event.deltaX) > Math.abs(event.deltaY) && !event.ctrlKey;
    // Otherwise the page would scroll.
    if (!event.ctrlKey && !(isPan && (zoom.chosen() ?? zoom.moving()))) return;
    event.preventDefault();
    const [from, to] = zoom.view();
    const by = (event.deltaX / (area?.clientWidth ?? 1)) * (to - from);
    const next = isPan
      ? zoom.clamp([from + by, to + by])
      : zoom.scale(Math.exp(event.deltaY / 200), valueAt(event.clientX));
    zoom.move(next);
    clearTimeout(wheelEnd);
    wheelEnd = setTimeout(() => zoom.commit(next), 200);
  };
  /** The position of each finger, and the values under two fingers when the second one touched. */
  const fingers = new Map<number, number>();
  let held: readonly [number, number] | undefined;
  const onPointer = (event: PointerEvent) => {
    if (event.pointerType !== "touch") return;
    if (event.type === "pointerdown" || fingers.has(event.pointerId)) fingers.set(event.pointerId, event.clientX);
    if (event.type === "pointerdown")
      held = fingers.size === 2 ? ([...fingers.values()].map(valueAt) as [number, number]) : undefined;
    else if (event.type === "pointermove" && held && fingers.size === 2) {
      // The points under the fingers stay under the fingers.
      const box = area?.getBoundingClientRect();
      const [one = 0, two = 0] = [...fingers.values()].map((x) => (x - (box?.left ?? 0)) / (box?.width ?? 1));
      const scale = (held[1] - held[0]) / (two - one);
      if (!Number.isFinite(scale) || scale <= 0) return;
      const from = held[0] - one * scale;
      zoom.move(zoom.clamp([from, from + scale]));
    } else if (event.type === "pointermove" && fingers.size === 1) {
      const box = area?.getBoundingClientRect();
      if (box) on.touch(event.clientX - box.left, event.clientY - box.top);
    }
  };
  const onPointerEnd = (event: PointerEvent) => {
    if (!fingers.delete(event.pointerId)) return;
    if (held) zoom.commit(zoom.moving() ?? zoom.chosen());
    held = undefined;
  };
  return {
    pan,
    ignoreClick: () => {
      wasDragged = true;
    },
    bind: (element) => {
      area = element;
      element.addEventListener("click", () => {
        if (!wasDragged) on.click();
        wasDragged = false;
      });
      element.addEventListener("wheel", onWheel, { passive: false });
      element.addEventListener("pointerdown", onPointer);
      element.addEventListener("pointermove", onPointer);
      for (const end of ["pointerup", "pointercancel", "pointerleave"] as const)
        element.addEventListener(end, onPointerEnd);
    },
  };
}
