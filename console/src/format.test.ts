import assert from "node:assert/strict";
import { test } from "node:test";
import {
  binarySize,
  change,
  duration,
  exactMoment,
  moment,
  plural,
  ratio,
  relative,
  scaled,
  scaleOf,
  share,
  significant,
  value,
} from "./format";

/** Compares texts; a no-break space in the actual text counts as a space. */
function equal(actual: string, expected: string): void {
  assert.equal(actual.replaceAll("\u00a0", " "), expected);
}

test("a time is said in the unit that people would choose", () => {
  const ns = "nanoseconds (ns)";
  equal(value(0.25, ns), "0.25 ns");
  equal(value(999, ns), "999 ns");
  equal(value(999.9, ns), "999.9 ns");
  equal(value(999.97, ns), "1 µs");
  equal(value(1234.5, ns), "1.235 µs");
  equal(value(12_345_678, ns), "12.35 ms");
  equal(value(1.5e9, ns), "1.5 s");
  equal(value(90e9, ns), "1.5 min");
  equal(value(2.5, "seconds (s)"), "2.5 s");
  equal(value(0.0004, "s"), "400 µs");
  equal(value(0, ns), "0 ns");
  equal(value(-1234, ns), "−1.234 µs");
});

test("a binary size has binary units", () => {
  assert.equal(binarySize(0), "0 B");
  assert.equal(binarySize(64 * 1024 ** 2), "64 MiB");
  assert.equal(binarySize(1.5 * 1024 ** 3), "1.5 GiB");
});

test("bytes, rates and counts have their own steps", () => {
  equal(value(1_048_576, "bytes (B)"), "1.049 MB");
  equal(value(2, "KiB"), "2.048 kB");
  equal(value(3e9, "bytes/second"), "3 GB/s");
  equal(value(12_345, "instructions"), "12.35 k instructions");
  equal(value(950, "operations / second (ops/s)"), "950 ops/s");
  equal(value(12_345, "operations / second (ops/s)"), "12.35 k ops/s");
  equal(value(12_345, "requests / second"), "12.35 k requests/s");
  equal(value(3e9, "bytes / second (B/s)"), "3 GB/s");
  equal(value(5_000_000, "units"), "5 M");
  equal(value(7, "units"), "7");
});

test("a number and its unit stay on one line", () => {
  assert.equal(value(1500, "ns"), "1.5\u00a0µs");
  assert.equal(value(12_345, "instructions"), "12.35\u00a0k\u00a0instructions");
  assert.equal(ratio(0.1), "+10\u00a0%");
  assert.equal(ratio(0), "±0\u00a0%");
});

test("values beside each other share a scale", () => {
  const scale = scaleOf(1_500, "ns");
  assert.deepEqual(scaled(1_500, "ns", scale), ["1.5", "µs"]);
  assert.deepEqual(scaled(2_000_000, "ns", scale), ["2,000", "µs"]);
});

test("a number keeps its whole part and four digits at least", () => {
  equal(significant(0.00123456), "0.001235");
  equal(significant(123_456), "123,456");
  equal(significant(0), "0");
  equal(significant(1.23e-9), "1.230e−9");
  equal(significant(Number.NaN), "–");
  equal(significant(Number.NEGATIVE_INFINITY), "−∞");
});

test("a change has a sign and no more digits than it is worth", () => {
  equal(change(100, 103.2), "+3.2 %");
  equal(change(100, 99.6), "−0.4 %");
  equal(change(100, 100), "±0 %");
  equal(change(100, 100.0001), "±0 %");
  equal(change(100, 112.345), "+12.3 %");
  equal(change(100, 250), "+150 %");
  equal(change(100, 1200), "×12");
  equal(change(-100, -50), "+50 %");
  equal(change(0, 5), "–");
  equal(ratio(0.1), "+10 %");
  equal(share(0.032), "3.2 %");
  equal(share(0), "0 %");
});

test("times are shown relative to now and in the reader's zone", () => {
  const now = Date.parse("2026-01-31T12:00:00Z");
  equal(relative("2026-01-31T11:59:50Z", now), "just now");
  equal(relative("2026-01-31T11:59:10Z", now), "1 minute ago");
  equal(relative("2026-01-31T09:00:00Z", now), "3 hours ago");
  equal(relative("2026-01-30T11:00:00Z", now), "yesterday");
  equal(relative("2026-01-20T12:00:00Z", now), "11 days ago");
  equal(relative("2026-01-17T12:00:00Z", now), "2 weeks ago");
  equal(relative("2026-01-01T12:00:00Z", now, "UTC"), "1 Jan 2026");
  equal(relative("2026-02-02T13:00:00Z", now), "in 2 days");
  equal(relative("2026-02-07T11:59:50Z", now), "in 7 days");
  equal(relative("2026-01-31T13:59:50Z", now), "in 2 hours");
  equal(relative("2026-01-31T12:00:50Z", now), "in 1 minute");
  equal(moment("2026-01-31T12:05:00Z", "Europe/Berlin"), "31 Jan 2026, 13:05");
  assert.match(exactMoment("2026-07-31T12:05:09Z", "Europe/Berlin"), /^31 Jul 2026, 14:05:09/);
});

test("things and lengths of time are counted in words", () => {
  equal(plural(1, "benchmark"), "1 benchmark");
  equal(plural(2000, "branch"), "2,000 branches");
  equal(plural(2, "key"), "2 keys");
  equal(plural(2, "entry"), "2 entries");
  equal(duration(4 * 7 * 86400), "4 weeks");
  equal(duration(90 * 86400), "90 days");
  equal(duration(90), "90 seconds");
});
