import assert from "node:assert/strict";
import { test } from "node:test";
import { compare, geometricMean, holm, rankSum, verdicts } from "./compare";
import { student as quantile } from "./quantile";
import { twoSided } from "./student";
import { badness, worseOf } from "./worse";

const close = (actual: number | undefined, expected: number, within = 1e-9) =>
  assert.ok(Math.abs((actual ?? Number.NaN) - expected) <= within, `${actual} instead of ${expected}`);

/** Deterministic noise: approximately normal with a standard deviation of 1. */
function noise(count: number, seed = 1): number[] {
  let state = seed;
  const next = () => {
    state = (state * 48271) % 2147483647;
    return state / 2147483647;
  };
  return Array.from(
    { length: count },
    () => Array.from({ length: 12 }, next).reduce((sum, value) => sum + value, 0) - 6,
  );
}
const side = (values: readonly number[]) => values.map((value) => ({ value }));

test("Student's t agrees with the tables", () => {
  close(quantile(0.975, 1), 12.706204736432095, 1e-8);
  close(quantile(0.975, 9), 2.2621571627409915);
  close(twoSided(2.2621571627409915, 9), 0.05);
});

test("ranks and Holm's correction agree with SciPy and R", () => {
  close(rankSum([10.2, 10.5, 9.9, 10.1, 10.4, 10], [10.9, 11.2, 10.6, 11.5, 10.8, 10.3]), 0.008658008658008658);
  close(rankSum([1, 1, 2, 2], [2, 3, 3, 3, 1]), 0.23809523809523808);
  assert.deepEqual(holm([0.25, 0.0625, 0.5, 0.03125]), [0.5, 0.1875, 0.5, 0.125]);
});

test("repeated reports give an interval and a verdict", () => {
  const base = side(noise(8, 3).map((value) => 100 + value));
  const next = side(noise(8, 5).map((value) => 110 + value));
  const found = compare(base, next);
  assert.equal(found.source, "reports");
  assert.ok(found.interval && found.interval[0] > 0.07 && found.interval[1] < 0.13);
  assert.deepEqual(
    verdicts([
      [found, "up"],
      [found, "down"],
      [found, undefined],
      [compare(base, base), "up"],
    ]),
    ["worse", "better", "different", "same"],
  );
});

test("one report on each side has the bounds of the tool, or nothing, and no verdict", () => {
  const one = (value: number) => [{ value, lower: value * 0.98, upper: value * 1.02 }];
  const found = compare(one(100), one(120));
  assert.equal(found.source, "bounds");
  close(found.interval?.[0], 0.2 - 0.034, 0.002);
  close(found.interval?.[1], 0.2 + 0.034, 0.002);
  assert.equal(compare(side([100]), side([120])).source, "none");
  assert.deepEqual(verdicts([[found, "up"]]), ["unclear"]);
  assert.equal(compare(side([0]), side([1])).change, undefined);
});

test("the geometric mean is that of the factors", () => {
  close(geometricMean([compare(side([1]), side([2])), compare(side([2]), side([1]))])?.change, 0);
  assert.equal(geometricMean([compare(side([0]), side([1]))]), undefined);
});

test("a measure gets worse in its own direction", () => {
  const measure = (slug: string, units: string) => worseOf({ slug, units });
  assert.equal(measure("latency", "nanoseconds (ns)"), "up");
  assert.equal(measure("throughput", "operations / second (ops/s)"), "down");
  assert.equal(measure("my-rate", "rows/s"), "down");
  assert.equal(measure("allocated", "bytes (B)"), "up");
  assert.equal(measure("score", "points"), undefined);
  assert.ok(badness(-0.1, "down") > 0 && badness(-0.1, "up") < 0 && badness(-0.1, undefined) > 0);
});
