// Loads series in batches, so that the page draws the first ones early.

import { type Accessor, createEffect, createSignal, on, onCleanup } from "solid-js";
import { ApiError, url } from "../api";
import type { Series } from "./columns";
import { dimensions, MOST_LINES, type PerfQuery } from "./query";
import type { Question, Reply } from "./worker";

/** A series and its identification in the query. */
export interface Found extends Series {
  /**
   * The index among all permutations of the query, and of the variant: determines its color and its name in the URL.
   */
  id: string;
  permutation: number;
}

/** Permutations per request, and parallel requests. */
const PART = 6;
const AT_ONCE = 3;
/** How long the previous lines stay visible while loading, in milliseconds. */
const KEEP_PREVIOUS = 1000;

let worker: Worker | undefined;
let asked = 0;
const waiting = new Map<number, (reply: Reply) => void>();

async function ask(address: string): Promise<Series[]> {
  if (!worker) {
    worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
    worker.addEventListener("message", ({ data }: MessageEvent<Reply>) => {
      waiting.get(data.id)?.(data);
      waiting.delete(data.id);
    });
  }
  const id = asked++;
  const reply = await new Promise<Reply>((resolve) => {
    waiting.set(id, resolve);
    worker?.postMessage({ id, url: address } satisfies Question);
  });
  if ("series" in reply) return reply.series;
  const { message, error_code, request_id } = reply.body;
  if (reply.status === 0)
    throw new ApiError("The server is unreachable. Check the connection and try again.", 0, "offline", undefined);
  throw new ApiError(message ?? `The server responded with ${reply.status}.`, reply.status, error_code, request_id);
}

/** Number of lines per benchmark. */
function each({ branches, testbeds, measures }: PerfQuery): number {
  return Math.max(branches.length * testbeds.length * measures.length, 1);
}

/** Splits a query into batches of benchmarks. */
function parts(query: PerfQuery, benchmarks: readonly string[]): PerfQuery[] {
  const size = Math.max(Math.floor(PART / each(query)), 1);
  const made: PerfQuery[] = [];
  for (let from = 0; from < benchmarks.length; from += size)
    made.push({ ...query, benchmarks: benchmarks.slice(from, from + size) });
  return made;
}

export interface Fetched {
  /** The loaded series, in the order of the query. */
  (): readonly Found[];
  error: Accessor<unknown>;
  /** Progress from 0 to 1; 1 when complete. */
  progress: Accessor<number>;
  refresh: () => void;
}

/** Loads the series of a query whenever it changes. The series of the previous query stay until the first response. */
export function fetchSeries(project: Accessor<string>, query: Accessor<PerfQuery | undefined>): Fetched {
  const [series, setSeries] = createSignal<readonly Found[]>([]);
  const [error, setError] = createSignal<unknown>();
  const [progress, setProgress] = createSignal(0);
  let current = 0;
  // Cached series per benchmark, valid while only the selection of benchmarks changes.
  let known = new Map<string, Series[]>();
  let knownOf = "";

  async function run(slug: string, wanted: PerfQuery): Promise<void> {
    const own = ++current;
    const of = JSON.stringify([slug, dimensions({ ...wanted, benchmarks: [] })]);
    if (of !== knownOf) known = new Map();
    knownOf = of;
    const kept = known;
    // Do not request lines above the limit.
    const benchmarks = wanted.benchmarks.slice(0, Math.max(Math.floor(MOST_LINES / each(wanted)), 1));
    const queue = parts(
      wanted,
      benchmarks.filter((benchmark) => !kept.has(benchmark)),
    );
    const all = queue.length;
    const isFirst = series().length === 0;
    const begun = performance.now();
    let done = 0;
    const show = () => {
      const found = benchmarks
        .flatMap((benchmark) => kept.get(benchmark) ?? [])
        .map((series) => placed(series, wanted));
      setSeries(found.sort((a, b) => a.permutation - b.permutation || (a.id < b.id ? -1 : 1)));
    };
    const work = async () => {
      for (let part = queue.shift(); part && own === current; part = queue.shift()) {
        const got = await ask(url("/v0/projects/{project}/perf", { path: { project: slug }, query: dimensions(part) }));
        for (const benchmark of part.benchmarks)
          kept.set(
            benchmark,
            got.filter((series) => series.benchmark.uuid === benchmark),
          );
        if (own !== current) return;
        done++;
        // Shows a fast change at once; a slow one step by step.
        if (isFirst || performance.now() - begun > KEEP_PREVIOUS) show();
        setProgress(done / all);
      }
    };
    setError(undefined);
    if (all) setProgress(0);
    try {
      await Promise.all(Array.from({ length: Math.min(AT_ONCE, all) }, work));
      if (own !== current) return;
      show();
    } catch (failure) {
      if (own !== current) return;
      // Cancel the other requests of this query.
      current++;
      setError(failure);
    }
    setProgress(1);
  }

  let key: string | undefined;
  createEffect(
    on([project, query], ([slug, wanted]) => {
      if (!wanted) {
        current++;
        key = undefined;
        setSeries([]);
        return;
      }
      const next = JSON.stringify([slug, dimensions(wanted)]);
      if (next === key) return;
      key = next;
      void run(slug, wanted);
    }),
  );
  onCleanup(() => current++);

  const fetched = (() => series()) as Fetched;
  fetched.error = error;
  fetched.progress = progress;
  fetched.refresh = () => {
    const wanted = query();
    knownOf = "";
    if (wanted) void run(project(), wanted);
  };
  return fetched;
}

function placed(series: Series, { branches, heads, testbeds, specs, benchmarks, measures }: PerfQuery): Found {
  // The query can contain a branch with two heads.
  const pair = (names: readonly string[], more: readonly string[], name: string, other: string | undefined) => {
    const exact = names.findIndex((each, place) => each === name && more[place] === other);
    return Math.max(exact >= 0 ? exact : names.indexOf(name), 0);
  };
  const branch = pair(branches, heads, series.branch.uuid, series.branch.head.uuid);
  const testbed = pair(testbeds, specs, series.testbed.uuid, series.testbed.spec?.uuid);
  const benchmark = Math.max(benchmarks.indexOf(series.benchmark.uuid), 0);
  const measure = Math.max(measures.indexOf(series.measure.uuid), 0);
  const permutation =
    ((branch * testbeds.length + testbed) * benchmarks.length + benchmark) * measures.length + measure;
  return { ...series, permutation, id: `${permutation}${series.variant ? `.${series.variant.uuid.slice(-8)}` : ""}` };
}
