import assert from "node:assert/strict";
import { test } from "node:test";
import { answerOf, colorDirection, countAnswers, isChanged } from "./answer";
import type { JsonVerdictComparison } from "./api.gen";

type Compared = Pick<JsonVerdictComparison, "answer" | "direction" | "muted">;

const MUTE = { mute: "0190a000-0000-7000-8000-000000000000", reason: "flaky" } as NonNullable<
  JsonVerdictComparison["muted"]
>;
const regressed: Compared = { answer: "changed", direction: "regression" };
const improved: Compared = { answer: "changed", direction: "improvement" };
const unchanged: Compared = { answer: "unchanged", direction: "unknown" };

test("a muted result keeps its word and loses its color", () => {
  assert.deepEqual(answerOf(regressed), { word: "regressed", tone: "alert" });
  assert.deepEqual(answerOf(improved), { word: "improved", tone: "good" });
  assert.deepEqual(answerOf({ ...regressed, muted: MUTE }), { word: "regressed", tone: "neutral" });
  assert.deepEqual(answerOf({ ...unchanged, muted: MUTE }), { word: "unchanged", tone: "neutral" });
  assert.equal(colorDirection(regressed), "regression");
  assert.equal(colorDirection({ ...regressed, muted: MUTE }), "unknown");
});

test("a changed series that is muted counts only as muted", () => {
  const all = [regressed, { ...regressed, muted: MUTE }, { ...improved, muted: MUTE }, { ...unchanged, muted: MUTE }];
  assert.deepEqual(countAnswers(all), {
    regressions: 1,
    improvements: 0,
    differences: 0,
    unchanged: 1,
    inconclusive: 0,
    muted: 2,
  });
  assert.deepEqual(all.map(isChanged), [true, false, false, false]);
});
