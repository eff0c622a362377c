// Addresses that several pages lead to.

import type { ProjectHere } from "./project";

/** What a line of a plot is made of: UUIDs. */
export interface Series {
  branch: string;
  head?: string | undefined;
  testbed: string;
  spec?: string | undefined;
  benchmark: string;
  measure: string;
}

/** The perf page with one line, and the limits it was held against. */
export function perfPath(project: ProjectHere, series: Series, more: Record<string, string> = {}): string {
  const query = new URLSearchParams({
    branches: series.branch,
    ...(series.head ? { heads: series.head } : {}),
    testbeds: series.testbed,
    ...(series.spec ? { specs: series.spec } : {}),
    benchmarks: series.benchmark,
    measures: series.measure,
    ...more,
  });
  return `${project.isPublic ? project.path() : project.path("perf")}?${query}`;
}
