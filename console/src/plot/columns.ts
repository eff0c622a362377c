// Responses of the perf API in columns: half a million points in a few typed arrays instead of objects. Pure: runs in
// the worker that fetches.

import type {
  JsonBenchmark,
  JsonBranch,
  JsonMeasure,
  JsonPerfAlert,
  JsonPerfMetric,
  JsonPerfMetrics,
  JsonTestbed,
  JsonVariant,
} from "../api.gen";

/** The reports of the points, each once. */
export interface Runs {
  uuid: string[];
  start: Float64Array;
  number: Float64Array;
  hash: (string | undefined)[];
}

/** An alert, by the index of its point. */
export interface SeriesAlert extends JsonPerfAlert {
  at: number;
}

/** One series in columns, ordered by time. NaN marks a missing number. */
export interface Series {
  branch: JsonBranch;
  testbed: JsonTestbed;
  benchmark: JsonBenchmark;
  measure: JsonMeasure;
  variant: JsonVariant | undefined;
  runs: Runs;
  /** The index of the report of each point. */
  run: Uint32Array;
  iteration: Uint32Array;
  value: Float64Array;
  lower: Float64Array | undefined;
  upper: Float64Array | undefined;
  baseline: Float64Array | undefined;
  lowerLimit: Float64Array | undefined;
  upperLimit: Float64Array | undefined;
  /** The UUID of each metric: 16 bytes per point. */
  metric: Uint8Array;
  alerts: SeriesAlert[];
}

export function columns(results: readonly JsonPerfMetrics[]): Series[] {
  const places = new Map<string, number>();
  const times: number[] = [];
  const runs: Runs = { uuid: [], start: new Float64Array(), number: new Float64Array(), hash: [] };
  const numbers: number[] = [];
  const placeOf = (metric: JsonPerfMetric): number => {
    const known = places.get(metric.report);
    if (known !== undefined) return known;
    const place = runs.uuid.push(metric.report) - 1;
    places.set(metric.report, place);
    times.push(Date.parse(metric.start_time));
    numbers.push(metric.version.number);
    runs.hash.push(metric.version.hash ?? undefined);
    return place;
  };
  const series = results.map((result): Series => {
    const run = Uint32Array.from(result.metrics, placeOf);
    // The response is ordered by version, which can differ from the order of time.
    const order = sortedBy(run.length, (at) => times[run[at] as number] as number);
    const metrics = order ? Array.from(order, (at) => result.metrics[at] as JsonPerfMetric) : result.metrics;
    const column = (of: (metric: JsonPerfMetric) => number | null | undefined): Float64Array | undefined => {
      let isAny = false;
      const made = new Float64Array(metrics.length);
      for (let at = 0; at < metrics.length; at++) {
        const number = of(metrics[at] as JsonPerfMetric);
        isAny ||= number !== undefined && number !== null;
        made[at] = number ?? NaN;
      }
      return isAny ? made : undefined;
    };
    const metric = new Uint8Array(16 * metrics.length);
    const alerts: SeriesAlert[] = [];
    metrics.forEach((point, at) => {
      packUuid(point.metric.uuid, metric, 16 * at);
      if (point.alert) alerts.push({ ...point.alert, at });
    });
    return {
      branch: result.branch,
      testbed: result.testbed,
      benchmark: result.benchmark,
      measure: result.measure,
      variant: result.variant ?? undefined,
      runs,
      run: order ? Uint32Array.from(order, (at) => run[at] as number) : run,
      iteration: Uint32Array.from(metrics, (point) => point.iteration),
      value: Float64Array.from(metrics, (point) => point.metric.value),
      lower: column((point) => point.metric.lower_value),
      upper: column((point) => point.metric.upper_value),
      baseline: column((point) => point.boundary?.baseline),
      lowerLimit: column((point) => point.boundary?.lower_limit),
      upperLimit: column((point) => point.boundary?.upper_limit),
      metric,
      alerts,
    };
  });
  runs.start = Float64Array.from(times);
  runs.number = Float64Array.from(numbers);
  return series;
}

/** The indexes in ascending order of a number, or undefined if already sorted. */
export function sortedBy(length: number, number: (at: number) => number): Uint32Array | undefined {
  let isSorted = true;
  for (let at = 1; at < length && isSorted; at++) isSorted = number(at - 1) <= number(at);
  if (isSorted) return undefined;
  return Uint32Array.from({ length }, (_, at) => at).sort((a, b) => number(a) - number(b) || a - b);
}

function packUuid(uuid: string, into: Uint8Array, from: number): void {
  for (let read = 0, write = from; read < uuid.length; read += 2) {
    if (uuid[read] === "-") read++;
    into[write++] = Number.parseInt(uuid.slice(read, read + 2), 16);
  }
}

/** The UUID of the metric of a point. */
export function metricUuid(series: Series, at: number): string {
  const digits = Array.from(series.metric.subarray(16 * at, 16 * at + 16), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** The buffers of series, to transfer from the worker instead of copying. */
export function buffers(all: readonly Series[]): ArrayBuffer[] {
  const found = new Set<ArrayBufferLike>();
  for (const { runs, run, iteration, value, lower, upper, baseline, lowerLimit, upperLimit, metric } of all) {
    for (const array of [
      runs.start,
      runs.number,
      run,
      iteration,
      value,
      lower,
      upper,
      baseline,
      lowerLimit,
      upperLimit,
      metric,
    ])
      if (array) found.add(array.buffer);
  }
  return [...found] as ArrayBuffer[];
}
