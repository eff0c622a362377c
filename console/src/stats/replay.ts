// What a model would have said about a history: each value held against those before it, as the server samples them.

import { judge, type Limits, type Model, prepare, type Side } from "./limits";

/** A value in its place in time. Points are in the order of their versions, then of time, then of iterations. */
export interface Point {
  /** When the run began, in milliseconds since 1970. */
  time: number;
  value: number;
}

/** What the model would have said of one point. */
export interface Verdict {
  limits: Limits | undefined;
  side: Side | undefined;
}

/** Judges every point by the ones before it that began no later and lie within the window. */
export function replay(points: readonly Point[], model: Model): Verdict[] {
  const prepared = prepare(model);
  const sample = new Float64Array(Math.min(prepared.most, points.length));
  return points.map(({ time, value }, place) => {
    const from = typeof model.window === "number" ? time - model.window * 1000 : -Infinity;
    let size = 0;
    for (let earlier = place - 1; earlier >= 0 && size < sample.length; earlier--) {
      const point = points[earlier];
      if (point && point.time <= time && point.time >= from) sample[size++] = point.value;
    }
    const limits = prepared.limits(sample.subarray(0, size));
    return { limits, side: limits && judge(value, limits) };
  });
}
