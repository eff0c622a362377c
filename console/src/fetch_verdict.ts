// Requests verdicts of reports: at most two at a time, because a verdict occupies a processor of the server. Requests for
// the same verdict share one response for a minute.

import { call, type JsonVerdict } from "./api";

/** Maximum number of parallel requests. */
const AT_ONCE = 2;
/** How long a response is reused, in milliseconds: a review of an event can change the verdict. */
const MAX_AGE = 60_000;

export interface VerdictQuery {
  /** Only the comparisons of this benchmark. */
  benchmark?: string;
  /** Maximum number of comparisons; 0 requests only the counts. */
  limit?: number;
}

interface Entry {
  answer: Promise<JsonVerdict>;
  at: number;
  isDone: boolean;
  /** The signals of the components that wait for the answer. If all are aborted, the request is not sent. */
  signals: AbortSignal[];
}

function isAbandoned({ isDone, signals }: Entry): boolean {
  return !isDone && signals.every(({ aborted }) => aborted);
}

const cache = new Map<string, Entry>();
let free = AT_ONCE;
const waiting: (() => void)[] = [];

/** Requests the verdict of a report, or returns the recent response. */
export function fetchVerdict(
  project: string,
  report: string,
  query: VerdictQuery,
  signal: AbortSignal,
): Promise<JsonVerdict> {
  const now = Date.now();
  for (const [key, { at }] of cache) if (now - at > MAX_AGE) cache.delete(key);
  const key = JSON.stringify([project, report, query]);
  // The complete verdict contains the counts.
  const known = cache.get(key) ?? (query.limit === 0 ? cache.get(JSON.stringify([project, report, {}])) : undefined);
  if (known && !isAbandoned(known)) {
    known.signals.push(signal);
    return known.answer;
  }
  const entry = { at: now, isDone: false, signals: [signal] } as Omit<Entry, "answer"> as Entry;
  const forget = () => cache.get(key) === entry && cache.delete(key);
  entry.answer = inTurn(async () => {
    try {
      if (isAbandoned(entry)) throw new DOMException("The page no longer needs the verdict.", "AbortError");
      const path = { project, report };
      const verdict = await call("get", "/v0/projects/{project}/reports/{report}/verdict", { path, query });
      entry.isDone = true;
      // Detection has not analyzed the report yet.
      if (!verdict.settled) forget();
      return verdict;
    } catch (error) {
      forget();
      throw error;
    }
  });
  cache.set(key, entry);
  return entry.answer;
}

async function inTurn<T>(request: () => Promise<T>): Promise<T> {
  if (free) free--;
  else await new Promise<void>((resolve) => waiting.push(resolve));
  try {
    return await request();
  } finally {
    const next = waiting.shift();
    if (next) next();
    else free++;
  }
}
