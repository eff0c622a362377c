// Converts a series of metrics and its alerts to a line of a plot.

import type { JsonPerfMetric, JsonPerfMetrics } from "./api";
import type { Line, Mark } from "./plot/line";

/** Formats the parameters of a variant: `size: 10`. */
export function parametersOf(variant: JsonPerfMetrics["variant"]): string {
  return Object.entries(variant?.parameters ?? {})
    .map(([name, value]) => `${name}: ${String(value)}`)
    .join(", ");
}

/** Formats a benchmark with its parameters, if any: `sort (size: 10)`. */
export function nameOf({
  benchmark,
  variant,
}: {
  benchmark: { name: string };
  variant?: JsonPerfMetrics["variant"];
}): string {
  const parameters = parametersOf(variant);
  return parameters ? `${benchmark.name} (${parameters})` : benchmark.name;
}

/** The metrics ordered by time. */
export function inTime(metrics: readonly JsonPerfMetric[]): JsonPerfMetric[] {
  return metrics
    .map((metric, place) => ({ metric, place, time: new Date(metric.start_time).getTime() }))
    .sort((a, b) => a.time - b.time || a.place - b.place)
    .map(({ metric }) => metric);
}

/** Creates a line from metrics ordered by time. `isActive` selects the alerts to highlight. */
export function historyLine(
  of: Pick<Line, "id" | "label" | "units">,
  metrics: readonly JsonPerfMetric[],
  isActive: (metric: JsonPerfMetric) => boolean = ({ alert }) => alert?.status === "active",
): Line {
  const numbers = (read: (metric: JsonPerfMetric) => number | null | undefined) =>
    Float64Array.from(metrics, (metric) => read(metric) ?? NaN);
  return {
    ...of,
    x: Float64Array.from(metrics, ({ start_time }) => new Date(start_time).getTime()),
    y: numbers(({ metric }) => metric.value),
    lower: numbers(({ metric }) => metric.lower_value),
    upper: numbers(({ metric }) => metric.upper_value),
    lowerLimit: numbers(({ boundary }) => boundary?.lower_limit),
    upperLimit: numbers(({ boundary }) => boundary?.upper_limit),
    marks: metrics.flatMap((metric, at): Mark[] =>
      metric.alert ? [{ at, limit: metric.alert.limit, active: isActive(metric) }] : [],
    ),
  };
}
