// Shared elements of verdicts: the baseline, the probable cause, intervals, and polling until detection is done.

import { type Accessor, createSignal, type JSX, Show } from "solid-js";
import { answerOf } from "./answer";
import type { JsonBranch, JsonVerdict, JsonVerdictBaseline, JsonVerdictComparison } from "./api";
import { plural, ratio, share, shortHash } from "./format";
import { refreshWhile } from "./load";
import { MutedBadge } from "./mute";
import { Badge } from "./ui/Badge";
import { Notice } from "./ui/State";

/** Delay in milliseconds and maximum number of polls until detection has analyzed a report. */
const [PAUSE, TIMES] = [2_000, 5];

/** Polls a verdict until it is settled. Returns whether it will poll again. */
export function pollUntilSettled(
  verdict: Accessor<JsonVerdict | undefined>,
  refresh: () => Promise<void>,
): Accessor<boolean> {
  const [polls, setPolls] = createSignal(0);
  const isUnsettled = () => verdict()?.settled === false && polls() < TIMES;
  refreshWhile(
    isUnsettled,
    () => {
      setPolls((times) => times + 1);
      return refresh();
    },
    PAUSE,
  );
  return isUnsettled;
}

/** The result of one comparison. Only a change that is not muted has a color. */
export function AnswerBadge(props: { of: Pick<JsonVerdictComparison, "answer" | "direction" | "muted"> }): JSX.Element {
  return (
    <>
      <Show when={props.of.answer === "changed"} fallback={<span class="muted nowrap">{props.of.answer}</span>}>
        <Badge tone={answerOf(props.of).tone}>{answerOf(props.of).word}</Badge>
      </Show>{" "}
      <MutedBadge of={props.of.muted} />
    </>
  );
}

/** Formats a branch with its commit, or its version without a commit: `main@1a2b3c4d`, `main #12`. */
export function branchVersion({ name, head: { version } }: JsonBranch): string {
  if (!version) return name;
  return version.hash ? `${name}@${shortHash(version.hash)}` : `${name} #${version.number}`;
}

/** Formats a baseline: `main@1a2b3c4d, 60 runs on ci`. */
export function baselineText({ branch, reports, testbed }: JsonVerdictBaseline): string {
  return `${branchVersion(branch)}, ${plural(reports, "run")} on ${testbed.name}`;
}

/** Formats a confidence interval: `+1.2 % to +3.4 %`. */
export function interval(lower: number | null | undefined, upper: number | null | undefined): string {
  return typeof lower === "number" && typeof upper === "number" ? `${ratio(lower)} to ${ratio(upper)}` : "";
}

/** Formats the noise of a series: a share of its level. */
export function noiseText(part: number | null | undefined): string {
  if (typeof part !== "number") return "–";
  return part === 0 ? "none" : share(part);
}

/** Formats the smallest detectable change. Above 100 % only the fact that there is too much noise counts. */
export function smallestDetectable(part: number | null | undefined): string {
  if (typeof part !== "number") return "–";
  if (part === 0) return "any";
  return part > 1 ? `over ${share(1)}` : share(part);
}

/** A warning if the cause is probably not the code. */
export function Cause(props: { verdict: JsonVerdict }): JSX.Element {
  const together = () =>
    props.verdict.factors
      .filter(({ is_host }) => is_host)
      .map(({ measure, change, lower, upper }) => `${measure.name} ${ratio(change)} (${interval(lower, upper)})`)
      .join(", ");
  return (
    <>
      <Show when={props.verdict.cause !== "noise" && together()}>
        <Notice tone="warn">
          Most benchmarks changed together: {together()}. Check the machine first. The verdicts exclude this common
          factor.
        </Notice>
      </Show>
      <Show when={props.verdict.cause === "noise"}>
        <Notice tone="neutral">The same commit or binary was measured before, so all differences are noise.</Notice>
      </Show>
    </>
  );
}
