// The state of a perf plot in the URL. Existing links use these names. Pure: no DOM.

import type { JsonPlot, JsonReport } from "../api.gen";
import type { Range, Shown, XAxis, YAxis } from "./line";
import { REFERENCES, type Relative } from "./scale";

/** Maximum number of lines; the server has the same limit per request. */
export const MOST_LINES = 255;

export interface PerfQuery extends Required<Shown> {
  branches: readonly string[];
  /** The head of each branch; empty for the current head. */
  heads: readonly string[];
  testbeds: readonly string[];
  /** The spec of each testbed; empty for any. */
  specs: readonly string[];
  benchmarks: readonly string[];
  /** The measures: the first uses the left axis, the second the right axis. */
  measures: readonly string[];
  start_time: number | undefined;
  end_time: number | undefined;
  x_axis: XAxis;
  y_axis: YAxis;
  /** The reference value of a relative scale; undefined for absolute values. */
  relative: Relative | undefined;
  /** All lines in one plot, or one small plot per line. */
  layout: Layout;
  /** Whether small plots have the same value axis. */
  shared_y: boolean;
  /** The title of a shared plot. */
  title: string | undefined;
  /** The pinned plot that was opened. */
  plot: string | undefined;
  tab: string | undefined;
  /** Whether the legend is open. */
  key: boolean;
  /** Whether to stay empty instead of showing the newest report. */
  clear: boolean;
  /** The visible range of the x axis. */
  zoom: Range | undefined;
  /** The hidden lines. */
  hidden: readonly string[];
  /** The isolated line. */
  isolated: string | undefined;
}

export type Layout = "overlay" | "multiples";

/** The query parameters of a URL. */
export type Parameters = Readonly<Partial<Record<string, string | string[]>>>;
/** Changes of query parameters; undefined removes a parameter. */
export type Changes = Record<string, string | undefined>;

export function parse(parameters: Parameters): PerfQuery {
  const text = (name: string) => {
    const found = parameters[name];
    return (typeof found === "string" ? found : found?.[0]) || undefined;
  };
  const list = (name: string) => text(name)?.split(",") ?? [];
  const filled = (name: string) => list(name).filter(Boolean);
  const yes = (name: string) => text(name) === "true";
  const number = (name: string) => {
    const found = text(name);
    return found !== undefined && Number.isFinite(Number(found)) ? Number(found) : undefined;
  };
  const [branches, testbeds] = [filled("branches"), filled("testbeds")];
  const [heads, specs] = [list("heads"), list("specs")];
  const [from, to] = (text("zoom") ?? "").split("_").map(Number);
  const y = text("y_axis");
  const relative = text("relative") ?? "";
  return {
    branches,
    heads: branches.map((_, place) => heads[place] ?? ""),
    testbeds,
    specs: testbeds.map((_, place) => specs[place] ?? ""),
    benchmarks: filled("benchmarks"),
    measures: filled("measures"),
    start_time: number("start_time"),
    end_time: number("end_time"),
    x_axis: (text("x_axis") ?? text("range")) === "version" ? "version" : "date_time",
    y_axis: y === "linear" || y === "log" ? y : "auto",
    relative: Object.hasOwn(REFERENCES, relative) ? (relative as Relative) : undefined,
    layout: text("layout") === "multiples" ? "multiples" : "overlay",
    shared_y: yes("shared_y"),
    lower_value: yes("lower_value"),
    upper_value: yes("upper_value"),
    lower_boundary: yes("lower_boundary"),
    upper_boundary: yes("upper_boundary"),
    title: text("title"),
    plot: text("plot"),
    tab: text("tab"),
    key: text("key") !== "false",
    clear: yes("clear"),
    zoom: from !== undefined && to !== undefined && from < to ? [from, to] : undefined,
    hidden: filled("hidden"),
    isolated: text("isolated"),
  };
}

/** Converts a change of the state to query parameters. Omits defaults. */
export function changes(query: Partial<PerfQuery>): Changes {
  const made: Changes = {};
  for (const [name, value] of Object.entries(query)) {
    if (Array.isArray(value)) {
      if (name === "zoom") made[name] = `${Math.round(value[0] as number)}_${Math.round(value[1] as number)}`;
      // Omit heads and specs if all are the current ones.
      else made[name] = value.some(Boolean) ? value.join(",") : undefined;
    } else if (name === "key") made[name] = value === false ? "false" : undefined;
    else if (name === "x_axis") made[name] = value === "version" ? "version" : undefined;
    else if (name === "y_axis") made[name] = value === "auto" ? undefined : String(value);
    else if (name === "layout") made[name] = value === "overlay" ? undefined : String(value);
    else made[name] = value === undefined || value === false ? undefined : String(value);
  }
  // The former name of the parameter.
  if ("x_axis" in query) made.range = undefined;
  return made;
}

/** The complete query string. */
export function search(query: Partial<PerfQuery>): string {
  const pairs = Object.entries(changes(query)).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return new URLSearchParams(pairs).toString();
}

/** Whether each dimension has a selection. */
export function isComplete(query: PerfQuery): boolean {
  return [query.branches, query.testbeds, query.benchmarks, query.measures].every((list) => list.length > 0);
}

/** Number of permutations of the query. */
export function permutations({ branches, testbeds, benchmarks, measures }: PerfQuery): number {
  return branches.length * testbeds.length * benchmarks.length * measures.length;
}

/** The query of the perf API. */
export function dimensions(query: PerfQuery) {
  const list = (values: readonly string[]) => (values.some(Boolean) ? values.join(",") : "");
  return {
    branches: list(query.branches),
    heads: list(query.heads),
    testbeds: list(query.testbeds),
    specs: list(query.specs),
    benchmarks: list(query.benchmarks),
    measures: list(query.measures),
    ...(query.start_time === undefined ? {} : { start_time: query.start_time }),
    ...(query.end_time === undefined ? {} : { end_time: query.end_time }),
  };
}

/** The query of the image API. */
export function pictured(query: PerfQuery) {
  const { x_axis, y_axis, lower_value, upper_value, lower_boundary, upper_boundary } = query;
  return { ...dimensions(query), x_axis, y_axis, lower_value, upper_value, lower_boundary, upper_boundary };
}

/** The query of a pinned plot, up to now. */
export function ofPlot(plot: JsonPlot, now: number): PerfQuery {
  const {
    branches,
    testbeds,
    benchmarks,
    measures,
    x_axis,
    y_axis,
    lower_value,
    upper_value,
    lower_boundary,
    upper_boundary,
  } = plot;
  return {
    ...parse({}),
    branches,
    heads: branches.map(() => ""),
    testbeds,
    specs: testbeds.map(() => ""),
    benchmarks,
    measures,
    x_axis,
    y_axis,
    lower_value,
    upper_value,
    lower_boundary,
    upper_boundary,
    start_time: now - plot.window * 1000,
    plot: plot.uuid,
  };
}

const DAY = 86_400_000;
/** The initial query for a report. */
const [FIRST_BENCHMARKS, FIRST_DAYS] = [10, 30];

/** Completes a query with the dimensions of a report. */
export function completion(query: PerfQuery, report: JsonReport): Partial<PerfQuery> {
  const results = (report.results ?? []).flat();
  const benchmarks = [...new Set(results.map(({ benchmark }) => benchmark.uuid))].slice(0, FIRST_BENCHMARKS);
  const measure = results[0]?.measures[0]?.measure.uuid;
  const { branch, testbed } = report;
  return {
    // Name the head only if it is not the current one.
    ...(query.branches.length
      ? {}
      : { branches: [branch.uuid], heads: [branch.head.replaced ? branch.head.uuid : ""] }),
    ...(query.testbeds.length ? {} : { testbeds: [testbed.uuid], specs: [""] }),
    ...(query.benchmarks.length ? {} : { benchmarks }),
    ...(query.measures.length || !measure ? {} : { measures: [measure] }),
    ...(query.start_time === undefined && query.end_time === undefined
      ? { start_time: Date.parse(report.start_time) - FIRST_DAYS * DAY }
      : {}),
  };
}
