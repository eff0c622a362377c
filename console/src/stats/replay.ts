// Replays a model on a history: compares each value with the earlier values, with the sampling of the server.

import { crossedLimit, type Limits, type Model, prepare, type Side } from "./limits";

/** A value with its time. Points are ordered by version, time and iteration. */
export interface Point {
  /** Start time of the run, in milliseconds since 1970. */
  time: number;
  value: number;
}

/** The result of the model for one point. */
export interface Verdict {
  limits: Limits | undefined;
  side: Side | undefined;
}

/** Compares each point with the earlier points that started no later and are within the window. */
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
    return { limits, side: limits && crossedLimit(value, limits) };
  });
}
