// The two sides of a comparison: their reports and their common values.

import { call, type JsonBenchmark, type JsonMeasure, type JsonReport, type JsonTestbed, list } from "../api";
import { shortHash } from "../format";
import { type Comparison, compare, type Sample, SMALLEST, type Verdict, verdicts } from "./compare";
import { type Worse, worseOf } from "./worse";

/** A side: `report:UUID`, `branch:SLUG` or `version:SLUG@NUMBER`. */
export type Choice =
  | { kind: "report"; report: string }
  | { kind: "branch"; branch: string }
  | { kind: "version"; branch: string; number: number };

export function parseChoice(text: string | undefined): Choice | undefined {
  const [, kind, rest = ""] = /^(report|branch|version):(.+)$/.exec(text ?? "") ?? [];
  if (kind === "report") return { kind, report: rest };
  if (kind === "branch") return { kind, branch: rest };
  const [, branch, number] = /^(.+)@(\d+)$/.exec(rest) ?? [];
  return kind === "version" && branch ? { kind, branch, number: Number(number) } : undefined;
}

export function writeChoice(choice: Choice): string {
  if (choice.kind === "report") return `report:${choice.report}`;
  return choice.kind === "branch" ? `branch:${choice.branch}` : `version:${choice.branch}@${choice.number}`;
}

/** The reports of a side, newest first. */
export interface Side {
  label: string;
  reports: JsonReport[];
  testbeds: JsonTestbed[];
  versions: number;
}

/** Maximum number of loaded reports of a version. */
const REPEATS = 20;

/** Loads a side. A branch has its last `last` reports, a version all its reports. */
export async function fetchSide(
  project: string,
  choice: Choice,
  testbed: string | undefined,
  last: number,
  signal: AbortSignal,
): Promise<Side> {
  const one = (report: string) =>
    call("get", "/v0/projects/{project}/reports/{report}", { path: { project, report }, signal });
  let reports: JsonReport[];
  if (choice.kind === "report") {
    reports = [await one(choice.report)];
  } else {
    const query = { branch: choice.branch, ...(testbed ? { testbed } : {}) };
    const isBranch = choice.kind === "branch";
    const { rows } = await list("/v0/projects/{project}/reports", {
      path: { project },
      query: { ...query, per_page: isBranch ? last : 255, expand: isBranch },
      signal,
    });
    if (isBranch) {
      reports = rows;
    } else {
      const own = rows.filter(({ branch }) => branch.head.version?.number === choice.number).slice(0, REPEATS);
      reports = await Promise.all(own.map(({ uuid }) => one(uuid)));
    }
  }
  const testbeds = [...new Map(reports.map(({ testbed }) => [testbed.uuid, testbed])).values()];
  const versions = new Set(reports.map(({ branch }) => branch.head.version?.number)).size;
  return { label: label(choice, reports[0]), reports, testbeds, versions };
}

function label(choice: Choice, report: JsonReport | undefined): string {
  const version = report?.branch.head.version;
  const commit = version ? (version.hash ? shortHash(version.hash) : `#${version.number}`) : "";
  const branch = report?.branch.name ?? ("branch" in choice ? choice.branch : "");
  return choice.kind === "branch" ? branch : `${branch} ${commit}`.trim();
}

/** One benchmark and measure on both sides. */
export interface Row {
  benchmark: JsonBenchmark;
  variant: string;
  measure: JsonMeasure;
  worse: Worse;
  comparison: Comparison;
  verdict: Verdict;
}

export interface Compared {
  rows: Row[];
  /** The rows that exist on one side only. */
  onlyFrom: number;
  onlyTo: number;
}

interface Cell {
  benchmark: JsonBenchmark;
  variant: string;
  measure: JsonMeasure;
  samples: Sample[];
}

/** Matches the values of two sides. Each iteration of a report is one value, oldest first. */
export function compareSides(from: Side, to: Side): Compared {
  const [base, next] = [cells(from), cells(to)];
  const pairs = [...base].flatMap(([key, cell]) => {
    const other = next.get(key);
    return other ? [{ cell, worse: worseOf(cell.measure), comparison: compare(cell.samples, other.samples) }] : [];
  });
  const found = verdicts(pairs.map(({ comparison, worse }) => [comparison, worse] as const));
  const rows = pairs.map(
    ({ cell, worse, comparison }, place): Row => ({
      benchmark: cell.benchmark,
      variant: cell.variant,
      measure: cell.measure,
      worse,
      comparison,
      verdict: found[place] as Verdict,
    }),
  );
  return { rows, onlyFrom: base.size - rows.length, onlyTo: next.size - rows.length };
}

function cells(side: Side): Map<string, Cell> {
  const found = new Map<string, Cell>();
  for (const report of [...side.reports].reverse()) {
    for (const { benchmark, variant, measures } of (report.results ?? []).flat()) {
      for (const { measure, metric } of measures) {
        const key = [benchmark.uuid, variant?.uuid, measure.uuid].join();
        const cell = found.get(key) ?? {
          benchmark,
          variant: Object.entries(variant?.parameters ?? {})
            .map(([name, value]) => `${name}=${String(value)}`)
            .join(", "),
          measure,
          samples: [],
        };
        found.set(key, cell);
        cell.samples.push({
          value: metric.value,
          lower: metric.lower_value ?? undefined,
          upper: metric.upper_value ?? undefined,
        });
      }
    }
  }
  return found;
}

/** Whether a row is significant: its interval excludes zero, or without an interval its change is large. */
export function moved({ comparison: { source, interval, change } }: Row): boolean {
  const size = Math.abs(change ?? Infinity);
  if (source === "none" || !interval) return size >= 0.05;
  return size >= SMALLEST && (interval[0] > 0 || interval[1] < 0);
}
