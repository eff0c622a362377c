// What a perf plot shows, as it stands in an address; the names are those of links that exist. Pure: no DOM.

import type { JsonPlot, JsonReport } from "../api.gen";
import type { Range, Shown, XAxis, YAxis } from "./line";

/** More lines than this are not fetched: nobody could tell them apart. The server answers no more in one go either. */
export const MOST_LINES = 255;

export interface PerfQuery extends Required<Shown> {
  branches: readonly string[];
  /** For each branch its head; empty for the current one. */
  heads: readonly string[];
  testbeds: readonly string[];
  /** For each testbed its spec; empty for any. */
  specs: readonly string[];
  benchmarks: readonly string[];
  /** The first at the left axis, the second at the right. */
  measures: readonly string[];
  start_time: number | undefined;
  end_time: number | undefined;
  x_axis: XAxis;
  y_axis: YAxis;
  /** The pinned plot that it came from. */
  plot: string | undefined;
  tab: string | undefined;
  /** Whether the legend is open. */
  key: boolean;
  /** Whether it is to stay empty instead of showing the newest report. */
  clear: boolean;
  /** The part of the horizontal axis that is shown. */
  zoom: Range | undefined;
  /** The lines that are not shown. */
  hidden: readonly string[];
}

/** The parameters of an address. */
export type Parameters = Readonly<Partial<Record<string, string | string[]>>>;
/** What changes in an address; undefined takes a parameter away. */
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
    lower_value: yes("lower_value"),
    upper_value: yes("upper_value"),
    lower_boundary: yes("lower_boundary"),
    upper_boundary: yes("upper_boundary"),
    plot: text("plot"),
    tab: text("tab"),
    key: text("key") !== "false",
    clear: yes("clear"),
    zoom: from !== undefined && to !== undefined && from < to ? [from, to] : undefined,
    hidden: filled("hidden"),
  };
}

/** How a change of what is shown stands in the address. Whatever is as usual is left out. */
export function changes(query: Partial<PerfQuery>): Changes {
  const made: Changes = {};
  for (const [name, value] of Object.entries(query)) {
    if (Array.isArray(value)) {
      if (name === "zoom") made[name] = `${Math.round(value[0] as number)}_${Math.round(value[1] as number)}`;
      // Heads and specs that are all the current ones need not be said.
      else made[name] = value.some(Boolean) ? value.join(",") : undefined;
    } else if (name === "key") made[name] = value === false ? "false" : undefined;
    else if (name === "x_axis") made[name] = value === "version" ? "version" : undefined;
    else if (name === "y_axis") made[name] = value === "auto" ? undefined : String(value);
    else made[name] = value === undefined || value === false ? undefined : String(value);
  }
  // The old name of the axis.
  if ("x_axis" in query) made.range = undefined;
  return made;
}

/** The whole of it as the part of an address after `?`. */
export function search(query: Partial<PerfQuery>): string {
  const pairs = Object.entries(changes(query)).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return new URLSearchParams(pairs).toString();
}

/** Whether something of each dimension is chosen. */
export function isComplete(query: PerfQuery): boolean {
  return [query.branches, query.testbeds, query.benchmarks, query.measures].every((list) => list.length > 0);
}

/** How many lines it asks for, if each had data. */
export function permutations({ branches, testbeds, benchmarks, measures }: PerfQuery): number {
  return branches.length * testbeds.length * benchmarks.length * measures.length;
}

/** What the API has to know to find the series. */
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

/** What the API has to know to draw a picture of it. */
export function pictured(query: PerfQuery) {
  const { x_axis, y_axis, lower_value, upper_value, lower_boundary, upper_boundary } = query;
  return { ...dimensions(query), x_axis, y_axis, lower_value, upper_value, lower_boundary, upper_boundary };
}

/** What a pinned plot shows, up to now. */
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
/** What a first visit shows of a report. */
const [FIRST_BENCHMARKS, FIRST_DAYS] = [10, 30];

/** What a report adds to a query that lacks something. */
export function lacking(query: PerfQuery, report: JsonReport): Partial<PerfQuery> {
  const results = (report.results ?? []).flat();
  const benchmarks = [...new Set(results.map(({ benchmark }) => benchmark.uuid))].slice(0, FIRST_BENCHMARKS);
  const measure = results[0]?.measures[0]?.measure.uuid;
  const { branch, testbed } = report;
  return {
    // The head is named only when it is not the current one.
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
