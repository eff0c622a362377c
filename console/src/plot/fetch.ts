// Fetches series a few at a time, so that the first are drawn while the others are on their way.

import { createEffect, createSignal, on, onCleanup, type Accessor } from "solid-js";
import { ApiError, url } from "../api";
import type { Series } from "./columns";
import { dimensions, MOST_LINES, type PerfQuery } from "./query";
import type { Question, Reply } from "./worker";

/** A series, and what it is known by among those of its query. */
export interface Found extends Series {
  /** The place among all permutations of the query, and of the variant: its color, and its name in the address. */
  id: string;
  permutation: number;
}

/** How many permutations one request asks for, and how many requests are under way. */
const PART = 6;
const AT_ONCE = 3;

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
  if (reply.status === 0) throw new ApiError("The server cannot be reached; check the connection and try again.", 0, "offline", undefined);
  throw new ApiError(message ?? `The server answered ${reply.status}.`, reply.status, error_code, request_id);
}

/** The queries that together ask for everything, a part of the benchmarks in each. */
export function parts(query: PerfQuery): PerfQuery[] {
  const { branches, testbeds, benchmarks, measures } = query;
  const each = Math.max(branches.length * testbeds.length * measures.length, 1);
  // What is beyond the limit is not asked for.
  const most = Math.max(Math.floor(MOST_LINES / each), 1);
  const size = Math.max(Math.floor(PART / each), 1);
  const made: PerfQuery[] = [];
  for (let from = 0; from < Math.min(benchmarks.length, most); from += size) made.push({ ...query, benchmarks: benchmarks.slice(from, Math.min(from + size, most)) });
  return made;
}

export interface Fetched {
  /** What has come so far, in the order of the query. */
  (): readonly Found[];
  error: Accessor<unknown>;
  /** From 0 to 1; 1 when all is there. */
  progress: Accessor<number>;
  refresh: () => void;
}

/** Fetches the series of a query whenever it changes; what another query brought stays until the first answer. */
export function fetchSeries(project: Accessor<string>, query: Accessor<PerfQuery | undefined>): Fetched {
  const [series, setSeries] = createSignal<readonly Found[]>([]);
  const [error, setError] = createSignal<unknown>();
  const [progress, setProgress] = createSignal(0);
  let current = 0;

  async function run(slug: string, wanted: PerfQuery): Promise<void> {
    const own = ++current;
    const queue = parts(wanted);
    const all = queue.length;
    let found: Found[] = [];
    let done = 0;
    setProgress(0);
    setError(undefined);
    const work = async () => {
      for (let part = queue.shift(); part && own === current; part = queue.shift()) {
        const got = await ask(url("/v0/projects/{project}/perf", { path: { project: slug }, query: dimensions(part) }));
        if (own !== current) return;
        found = [...found, ...got.map((series) => known(series, wanted))].sort((a, b) => a.permutation - b.permutation || (a.id < b.id ? -1 : 1));
        done++;
        setSeries(found);
        setProgress(done / all);
      }
    };
    try {
      await Promise.all(Array.from({ length: Math.min(AT_ONCE, all) }, work));
      if (own === current && !found.length) setSeries([]);
    } catch (failure) {
      if (own !== current) return;
      current++;
      setError(failure);
    }
    if (own === current) setProgress(1);
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
    if (wanted) void run(project(), wanted);
  };
  return fetched;
}

function known(series: Series, { branches, heads, testbeds, specs, benchmarks, measures }: PerfQuery): Found {
  // The same branch can be asked for with two heads.
  const pair = (names: readonly string[], more: readonly string[], name: string, other: string | undefined) => {
    const exact = names.findIndex((each, place) => each === name && more[place] === other);
    return Math.max(exact >= 0 ? exact : names.indexOf(name), 0);
  };
  const branch = pair(branches, heads, series.branch.uuid, series.branch.head.uuid);
  const testbed = pair(testbeds, specs, series.testbed.uuid, series.testbed.spec?.uuid);
  const benchmark = Math.max(benchmarks.indexOf(series.benchmark.uuid), 0);
  const measure = Math.max(measures.indexOf(series.measure.uuid), 0);
  const permutation = ((branch * testbeds.length + testbed) * benchmarks.length + benchmark) * measures.length + measure;
  return { ...series, permutation, id: `${permutation}${series.variant ? `.${series.variant.uuid.slice(-8)}` : ""}` };
}
