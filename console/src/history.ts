// One series of metrics as a line of a plot, with the alerts along it.

import type { JsonPerfMetric, JsonPerfMetrics } from "./api";
import type { Line, Mark } from "./plot/Plot";

/** The parameters that a benchmark ran with: `size: 10`. */
export function parametersOf(variant: JsonPerfMetrics["variant"]): string {
  return Object.entries(variant?.parameters ?? {})
    .map(([name, value]) => `${name}: ${String(value)}`)
    .join(", ");
}

/** A benchmark with its parameters, if it has any: `sort (size: 10)`. */
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

/** The metrics in order of time, as a plot wants them. */
export function inTime(metrics: readonly JsonPerfMetric[]): JsonPerfMetric[] {
  return metrics
    .map((metric, place) => ({ metric, place, time: new Date(metric.start_time).getTime() }))
    .sort((a, b) => a.time - b.time || a.place - b.place)
    .map(({ metric }) => metric);
}

/** A line of metrics that are in order of time. `isActive` tells the alerts that stand out. */
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
