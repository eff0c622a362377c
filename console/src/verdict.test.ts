import assert from "node:assert/strict";
import { test } from "node:test";
import type { BoundaryLimit, JsonBoundary, JsonReportMeasure, MeasureDirection } from "./api.gen";
import { elapsed } from "./format";
import { commitUrl, compareUrl, webAddress } from "./links";
import { describe } from "./model";
import { reach, resultOf } from "./verdict";

function measured(
  direction: MeasureDirection | undefined,
  value: number,
  boundary: JsonBoundary | null,
  watched = true,
): JsonReportMeasure {
  return { measure: { direction }, metric: { value }, boundary, threshold: watched ? {} : null } as JsonReportMeasure;
}

test("the distance of a value is shown in widths of its limits", () => {
  assert.equal(reach(110, { baseline: 100, upper_limit: 120 }), 0.5);
  assert.equal(reach(80, { baseline: 100, upper_limit: 120 }), -1);
  assert.equal(reach(80, { baseline: 100, lower_limit: 90, upper_limit: 120 }), -2);
  assert.equal(reach(101, { baseline: 100, upper_limit: 100 }), Infinity);
  assert.equal(reach(100, { baseline: 100, upper_limit: 100 }), 0);
  assert.equal(reach(5, { upper_limit: 4 }), undefined);
});

test("the direction decides what is a regression", () => {
  const [lower, higher] = ["lower_is_better", "higher_is_better"] as const;
  const verdict = (direction: MeasureDirection | undefined, value: number, crossed?: BoundaryLimit) =>
    resultOf(measured(direction, value, { baseline: 100, lower_limit: 90, upper_limit: 110 }), crossed).verdict;
  assert.equal(verdict(lower, 120, "upper"), "regression");
  assert.equal(verdict(lower, 80, "lower"), "improvement");
  assert.equal(verdict(higher, 80, "lower"), "regression");
  assert.equal(verdict(higher, 120, "upper"), "improvement");
  assert.equal(verdict(undefined, 120, "upper"), "regression");
  assert.equal(verdict(undefined, 80, "lower"), "regression");
  assert.equal(verdict(lower, 105), "pass");
  assert.equal(resultOf(measured(lower, 70, { baseline: 100, upper_limit: 110 }), undefined).verdict, "pass");
  assert.equal(resultOf(measured(lower, 70, {}), undefined).verdict, "no_baseline");
  assert.equal(resultOf(measured(lower, 70, null, false), undefined).verdict, "no_threshold");
  assert.equal(resultOf(measured(lower, 5, { upper_limit: 4 }), "upper").badness, 1);
});

test("commits are found at the forges", () => {
  assert.equal(commitUrl("https://github.com/a/b.git", "1f"), "https://github.com/a/b/commit/1f");
  assert.equal(
    commitUrl("https://gitlab.example.org/group/team/b/", "1f"),
    "https://gitlab.example.org/group/team/b/-/commit/1f",
  );
  assert.equal(commitUrl("https://example.org/a/b", "1f"), undefined);
  assert.equal(commitUrl("javascript:alert(1)", "1f"), undefined);
  assert.equal(commitUrl(null, "1f"), undefined);
  assert.equal(commitUrl("https://bitbucket.org/a/b", "1f"), "https://bitbucket.org/a/b/commits/1f");
  assert.equal(compareUrl("https://github.com/a/b.git", "1e", "1f"), "https://github.com/a/b/compare/1e...1f");
  assert.equal(
    compareUrl("https://gitlab.example.org/group/team/b", "1e", "1f"),
    "https://gitlab.example.org/group/team/b/-/compare/1e...1f",
  );
  assert.equal(
    compareUrl("https://bitbucket.org/a/b", "1e", "1f"),
    "https://bitbucket.org/a/b/branches/compare/1f..1e",
  );
  assert.equal(compareUrl("https://example.org/a/b", "1e", "1f"), undefined);
  assert.equal(webAddress("https://example.org/a"), "https://example.org/a");
  for (const website of [
    "javascript:alert(1)",
    "data:text/html,x",
    "ssh://git@example.org/a.git",
    "example.org",
    "",
    null,
  ]) {
    assert.equal(webAddress(website), undefined);
  }
});

test("models and times are shown in words", () => {
  const plain = (text: string) => text.replaceAll("\u00a0", " ");
  assert.equal(
    plain(describe({ test: "percentage", upper_boundary: 0.1, max_sample_size: 20, window: 1209600 })),
    "Percentage, upper limit 10 %, newest 20 values, within 2 weeks",
  );
  assert.equal(plain(describe({ test: "t_test", lower_boundary: 0.9995 })), "t-test, lower limit 99.95 %");
  assert.equal(plain(describe({ test: "iqr", upper_boundary: 3 })), "Interquartile range, upper limit 3 ×");
  assert.deepEqual([0.5, 45, 600, 610, 7500].map(elapsed).map(plain), [
    "0.5 s",
    "45 s",
    "10 min",
    "10 min 10 s",
    "2 h 5 min",
  ]);
});
