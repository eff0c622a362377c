// The series that changed recently, in groups that one plot can show. Pure: no DOM.

import type { JsonBranch, JsonChange, JsonEvent, JsonMeasure, JsonTestbed } from "../api.gen";
import type { PerfQuery } from "./query";

const DAY = 86_400_000;
/** Days of changes that the page offers, and days of values before the first one. */
export const MOVED_DAYS = 30;

/** Maximum number of benchmarks of a group. */
const MOST_BENCHMARKS = 24;

/** The changed series of a branch and measure, on one or more testbeds. */
export interface MovedGroup {
  branch: JsonBranch;
  measure: JsonMeasure;
  /** The changes, largest first. */
  changes: JsonChange[];
  testbeds: JsonTestbed[];
  /** The UUIDs of the benchmarks, largest change first. */
  benchmarks: string[];
}

const sizeOf = ({ effect }: JsonChange) => Math.abs(effect ?? Infinity);

/** Groups the changes of events. Open changes come first, then the largest. Omits false alarms. */
export function movedGroups(events: readonly JsonEvent[], now: number): MovedGroup[] {
  const changes = events
    .filter(({ status, start_time }) => status !== "false_alarm" && Date.parse(start_time) >= now - MOVED_DAYS * DAY)
    .flatMap((event) => event.changes)
    .sort((a, b) => Number(b.status === "open") - Number(a.status === "open") || sizeOf(b) - sizeOf(a));
  const groups = split(changes, ({ branch, measure }) => `${branch.head.uuid} ${measure.uuid}`).flatMap((part) =>
    // A plot shows all benchmarks on all testbeds: separate the testbeds if most of these lines did not change.
    isDense(part) ? [part] : split(part, ({ testbed }) => testbed.uuid),
  );
  return groups.flatMap((changes): MovedGroup[] => {
    const [first] = changes;
    if (!first) return [];
    const testbeds = new Map(changes.map(({ testbed }) => [testbed.uuid, testbed]));
    return [
      {
        branch: first.branch,
        measure: first.measure,
        changes,
        testbeds: [...testbeds.values()],
        benchmarks: [...new Set(changes.map(({ benchmark }) => benchmark.uuid))].slice(0, MOST_BENCHMARKS),
      },
    ];
  });
}

function split(changes: readonly JsonChange[], keyOf: (change: JsonChange) => string): JsonChange[][] {
  const parts = new Map<string, JsonChange[]>();
  for (const change of changes) parts.set(keyOf(change), [...(parts.get(keyOf(change)) ?? []), change]);
  return [...parts.values()];
}

function isDense(changes: readonly JsonChange[]): boolean {
  const count = (of: (change: JsonChange) => string) => new Set(changes.map(of)).size;
  const lines = count(({ testbed }) => testbed.uuid) * count(({ benchmark }) => benchmark.uuid);
  return lines <= 2 * seriesOf(changes);
}

/** Number of series with a change. */
export function seriesOf(changes: readonly JsonChange[]): number {
  const key = ({ testbed, benchmark, variant }: JsonChange) => [testbed.uuid, benchmark.uuid, variant?.uuid].join();
  return new Set(changes.map(key)).size;
}

/** The query of a group. Several series are in percent of their baseline, so that their changes are comparable. */
export function ofGroup({ branch, testbeds, benchmarks, measure, changes }: MovedGroup): Partial<PerfQuery> {
  return {
    branches: [branch.uuid],
    // Name the head only if it is not the current one.
    heads: [branch.head.replaced ? branch.head.uuid : ""],
    testbeds: testbeds.map(({ uuid }) => uuid),
    specs: testbeds.map(() => ""),
    benchmarks,
    measures: [measure.uuid],
    start_time: Math.min(...changes.map(({ at }) => Date.parse(at.start_time))) - MOVED_DAYS * DAY,
    end_time: undefined,
    zoom: undefined,
    hidden: [],
    isolated: undefined,
    plot: undefined,
    clear: false,
    relative: benchmarks.length * testbeds.length > 1 ? "baseline" : undefined,
  };
}

/** Whether a query selects the series of a group. */
export function isGroup({ branch, testbeds, benchmarks, measure }: MovedGroup, query: PerfQuery): boolean {
  return (
    query.branches.join() === branch.uuid &&
    query.testbeds.join() === testbeds.map(({ uuid }) => uuid).join() &&
    query.measures.join() === measure.uuid &&
    query.benchmarks.join() === benchmarks.join()
  );
}
