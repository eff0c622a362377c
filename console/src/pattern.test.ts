import { equal } from "node:assert/strict";
import { test } from "node:test";
import { matchesPattern, patternOf } from "./pattern";

test("a pattern matches whole names with their case", () => {
  // The same cases as in crates/api/src/notification_filter.rs.
  const cases: readonly [string, readonly string[], readonly string[]][] = [
    ["main", ["main"], ["Main", "main2", "amain", ""]],
    ["parser::*", ["parser::", "parser::json::deep"], ["lexer::parser::x", "parser:"]],
    ["*::json", ["parser::json", "::json"], ["json", "parser::json2"]],
    ["a*b*c", ["abc", "a-b-b-c", "abcbc"], ["ab", "acb", "abcd"]],
    ["a*a", ["aa", "aba"], ["a"]],
    ["*ab*ab*", ["abab", "xabyabz"], ["ab", "aab"]],
    ["*", ["", "anything"], []],
    ["a.?[b]", ["a.?[b]"], ["axb"]],
  ];
  for (const [pattern, matching, other] of cases) {
    for (const name of matching) equal(matchesPattern(pattern, name), true, `${pattern} does not match ${name}`);
    for (const name of other) equal(matchesPattern(pattern, name), false, `${pattern} matches ${name}`);
  }
});

test("the pattern of a long name ends with a wildcard", () => {
  equal(patternOf("parse"), "parse");
  equal(patternOf("ä".repeat(255)), "ä".repeat(255));
  const pattern = patternOf("ä".repeat(1024));
  equal(pattern, `${"ä".repeat(254)}*`);
  equal(matchesPattern(pattern, "ä".repeat(1024)), true);
});
