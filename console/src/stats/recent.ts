// Loads and analyzes the recent series of a project, for the home page.

import {
  call,
  type JsonBenchmark,
  type JsonBranch,
  type JsonMeasure,
  type JsonReport,
  type JsonTestbed,
  type JsonVersion,
  list,
} from "../api";
import { type Health, health } from "./series";
import { type Worse, worseOf } from "./worse";

/** One point of a series. */
export interface Point {
  time: string;
  value: number;
  version: JsonVersion;
  report: string;
}

/** One series: branch, testbed, benchmark, variant and measure. */
export interface Series {
  branch: JsonBranch;
  testbed: JsonTestbed;
  benchmark: JsonBenchmark;
  /** The parameters of the variant. */
  variant: string;
  measure: JsonMeasure;
  worse: Worse;
  points: Point[];
  health: Health;
}

export interface Recent {
  branch: JsonBranch;
  testbeds: JsonTestbed[];
  series: Series[];
  /** Number of series; the page analyzes only the first ones. */
  all: number;
}

/** Number of reports per testbed. */
export const REPORTS = 40;
/** Maximum number of series, to limit the requests of this frequently opened page. */
export const MOST = 600;
const TESTBEDS = 4;
/** Benchmarks per request: the URL must stay below 8 KB, the limit of some proxies. */
const CHUNK = 120;

/** The default branch: main, or the branch with the most reports. */
export function mainBranch(reports: readonly JsonReport[]): JsonBranch | undefined {
  const counts = new Map<string, { branch: JsonBranch; count: number }>();
  for (const { branch } of reports) {
    const known = counts.get(branch.uuid);
    if (known) known.count++;
    else counts.set(branch.uuid, { branch, count: 1 });
  }
  const all = [...counts.values()];
  const named = ["main", "master", "trunk", "develop"]
    .map((name) => all.find(({ branch }) => branch.name === name))
    .find(Boolean);
  return (named ?? all.sort((left, right) => right.count - left.count)[0])?.branch;
}

/** Loads and analyzes the recent series of a branch. `onProgress` receives the completed share. */
export async function recent(
  project: string,
  branch: JsonBranch,
  signal: AbortSignal,
  onProgress: (share: number) => void,
): Promise<Recent> {
  const { rows: reports } = await list("/v0/projects/{project}/reports", {
    path: { project },
    query: { branch: branch.uuid, per_page: 255 },
    signal,
  });
  const byTestbed = new Map<string, JsonReport[]>();
  for (const report of reports)
    byTestbed.set(report.testbed.uuid, [...(byTestbed.get(report.testbed.uuid) ?? []), report]);
  const requests: { testbed: JsonTestbed; measure: JsonMeasure; benchmarks: string[]; start: number }[] = [];
  let [all, left] = [0, MOST];
  for (const own of [...byTestbed.values()].slice(0, TESTBEDS)) {
    const newest = own[0] as JsonReport;
    const start = new Date((own[Math.min(REPORTS, own.length) - 1] as JsonReport).start_time).getTime();
    const { results } = await call("get", "/v0/projects/{project}/reports/{report}", {
      path: { project, report: newest.uuid },
      signal,
    });
    const byMeasure = new Map<string, { measure: JsonMeasure; benchmarks: Set<string> }>();
    for (const { benchmark, measures } of (results ?? []).flat()) {
      for (const { measure } of measures) {
        const known = byMeasure.get(measure.uuid) ?? { measure, benchmarks: new Set<string>() };
        byMeasure.set(measure.uuid, known);
        known.benchmarks.add(benchmark.uuid);
      }
    }
    for (const { measure, benchmarks } of byMeasure.values()) {
      all += benchmarks.size;
      const wanted = [...benchmarks].slice(0, left);
      left -= wanted.length;
      for (let at = 0; at < wanted.length; at += CHUNK)
        requests.push({ testbed: newest.testbed, measure, benchmarks: wanted.slice(at, at + CHUNK), start });
    }
  }
  const series: Series[] = [];
  for (const [place, { testbed, measure, benchmarks, start }] of requests.entries()) {
    onProgress(place / requests.length);
    const query = {
      branches: branch.uuid,
      testbeds: testbed.uuid,
      benchmarks: benchmarks.join(","),
      measures: measure.uuid,
      start_time: start,
    };
    const { results } = await call("get", "/v0/projects/{project}/perf", { path: { project }, query, signal });
    for (const found of results) {
      const points = found.metrics.map(({ start_time, metric, version, report }) => ({
        time: start_time,
        value: metric.value,
        version,
        report,
      }));
      if (!points.length) continue;
      const variant = Object.entries(found.variant?.parameters ?? {})
        .map(([name, value]) => `${name}=${String(value)}`)
        .join(", ");
      series.push({
        branch,
        testbed,
        benchmark: found.benchmark,
        variant,
        measure,
        worse: worseOf(measure),
        points,
        health: health(points.map(({ value }) => value)),
      });
    }
  }
  return { branch, testbeds: [...byTestbed.values()].map(([report]) => (report as JsonReport).testbed), series, all };
}
