import assert from "node:assert/strict";
import { test } from "node:test";
import { fetchVerdict } from "./fetch_verdict";

const never = () => new AbortController().signal;

/** Replaces `fetch`; each request waits until the test answers it. */
function server(): { asked: string[]; answer: (settled?: boolean) => Promise<void> } {
  const asked: string[] = [];
  const waiting: ((response: Response) => void)[] = [];
  globalThis.fetch = (input) => {
    asked.push(String(input));
    return new Promise((resolve) => waiting.push(resolve));
  };
  return {
    asked,
    answer: async (settled = true) => {
      while (!waiting.length) await new Promise(setImmediate);
      const headers = { "content-type": "application/json" };
      waiting.shift()?.(new Response(JSON.stringify({ settled }), { headers }));
    },
  };
}

test("at most two verdicts are requested at a time, and each once", async () => {
  const { asked, answer } = server();
  const all = ["one", "two", "three", "one"].map((report) => fetchVerdict("p", report, { limit: 0 }, never()));
  assert.equal(asked.length, 2);
  await answer();
  await answer();
  await answer();
  await Promise.all(all);
  assert.equal(asked[2], "/v0/projects/p/reports/three/verdict?limit=0");
  await fetchVerdict("p", "two", { limit: 0 }, never());
  assert.equal(asked.length, 3);
});

test("a complete verdict answers a request for the counts", async () => {
  const { asked, answer } = server();
  const full = fetchVerdict("p", "full", {}, never());
  const counts = fetchVerdict("p", "full", { limit: 0 }, never());
  await answer();
  assert.equal(await full, await counts);
  assert.equal(asked.length, 1);
});

test("a verdict before detection is requested again", async () => {
  const { asked, answer } = server();
  const early = fetchVerdict("p", "early", {}, never());
  await answer(false);
  await early;
  const later = fetchVerdict("p", "early", {}, never());
  await answer();
  await later;
  assert.equal(asked.length, 2);
});

test("a queued verdict that no page needs is not requested", async () => {
  const { asked, answer } = server();
  const [first, second] = [fetchVerdict("p", "a", {}, never()), fetchVerdict("p", "b", {}, never())];
  const page = new AbortController();
  const left = fetchVerdict("p", "c", {}, page.signal);
  page.abort();
  await answer();
  await answer();
  await Promise.all([first, second]);
  await assert.rejects(left, { name: "AbortError" });
  assert.equal(asked.length, 2);
});
