// The result of the comparison of one series: its word, its color and the counts. A muted result has no color.

import type { ChangeDirection, JsonMuted, JsonVerdictComparison, JsonVerdictCounts } from "./api";
import type { Tone } from "./ui/Badge";

type Compared = Pick<JsonVerdictComparison, "answer" | "direction" | "muted">;

/** The words of a changed series, as in comments and in the command line. */
const CHANGED: Readonly<Record<ChangeDirection, { word: string; tone: Tone }>> = {
  regression: { word: "regressed", tone: "alert" },
  improvement: { word: "improved", tone: "good" },
  unknown: { word: "changed", tone: "neutral" },
};

/** The direction that determines the color of a change: `unknown` if it is muted. */
export function colorDirection({
  direction,
  muted,
}: {
  direction: ChangeDirection;
  muted?: JsonMuted | undefined;
}): ChangeDirection {
  return muted ? "unknown" : direction;
}

/** The word and the tone of a result: `regressed`, `improved`, `changed`, `unchanged` or `inconclusive`. */
export function answerOf(one: Compared): { word: string; tone: Tone } {
  if (one.answer !== "changed") return { word: one.answer, tone: "neutral" };
  return { word: CHANGED[one.direction].word, tone: CHANGED[colorDirection(one)].tone };
}

/** Whether a series changed and is not muted. */
export function isChanged({ answer, muted }: Compared): boolean {
  return answer === "changed" && !muted;
}

/** Counts results as the server does: a changed series that is muted counts only as muted. */
export function countAnswers(comparisons: readonly Compared[]): JsonVerdictCounts {
  const counts = { regressions: 0, improvements: 0, differences: 0, unchanged: 0, inconclusive: 0, muted: 0 };
  const changed = { regression: "regressions", improvement: "improvements", unknown: "differences" } as const;
  for (const { answer, direction, muted } of comparisons)
    counts[answer !== "changed" ? answer : muted ? "muted" : changed[direction]]++;
  return counts;
}
