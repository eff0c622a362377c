// Shared elements of jobs: status and progress.

import { type JSX, Show } from "solid-js";
import type { JobStatus, JsonJob, JsonJobNoise } from "./api";
import { ratio } from "./format";
import { Badge, Notice, type Tone } from "./ui/parts";

interface Words {
  word: string;
  tone: Tone;
  /** The explanation for the user. */
  about: string;
  /** The step of the job: queued, preparing, running, reading results, done. */
  step: 0 | 1 | 2 | 3 | 4;
}

export const STATUSES: Readonly<Record<JobStatus, Words>> = {
  pending: { word: "in the queue", tone: "neutral", about: "It waits until a runner for its spec is free.", step: 0 },
  claimed: { word: "being prepared", tone: "brand", about: "A runner has taken it, and fetches the image.", step: 1 },
  running: { word: "running", tone: "brand", about: "The benchmarks run.", step: 2 },
  completed: {
    word: "being read",
    tone: "brand",
    about: "The benchmarks have run, and their results are being read.",
    step: 3,
  },
  processed: { word: "done", tone: "good", about: "Its results are in the report.", step: 4 },
  failed: { word: "failed", tone: "alert", about: "It failed, and is not tried again by itself.", step: 4 },
  canceled: { word: "canceled", tone: "warn", about: "It was canceled.", step: 4 },
  unknown: {
    word: "lost",
    tone: "warn",
    about: "Nothing is heard of its runner. Should it come back, the job goes on.",
    step: 2,
  },
};

/** Whether the status is final. */
export function hasEnded({ status }: Pick<JsonJob, "status">): boolean {
  return STATUSES[status].step === 4;
}

export function Status(props: { of: JobStatus }): JSX.Element {
  return <Badge tone={STATUSES[props.of].tone}>{STATUSES[props.of].word}</Badge>;
}

/** The noise of the machine around a run, or the maximum of several runs. */
export function Noise(props: { of: JsonJobNoise }): JSX.Element {
  const percent = (part: number) => ratio(part).replace(/^[+±]/, "");
  return (
    <span title="The spread of a fixed piece of work that the runner timed again and again, before and after.">
      {percent(props.of.before)} before, {percent(props.of.after)} after
    </span>
  );
}

/** The progress of a job, and the reason if it failed. Empty for a successful job. */
export function Standing(props: { of: JsonJob; children?: JSX.Element }): JSX.Element {
  const words = () => STATUSES[props.of.status];
  const isWaiting = () => props.of.status === "pending";
  const reason = () => props.of.error ?? props.of.output?.error;
  return (
    <Show when={props.of.status !== "processed"}>
      <Notice tone={words().tone === "brand" ? "neutral" : words().tone}>
        <p role="status">
          <Show when={isWaiting() && props.of.position}>
            {(place) => (
              <>
                <strong class="number">Place {place()} in the queue.</strong>{" "}
              </>
            )}
          </Show>
          <Show when={hasEnded(props.of) && reason()} fallback={words().about}>
            {(reason) => <span class="break">{reason()}</span>}
          </Show>
        </p>
        {props.children}
      </Notice>
    </Show>
  );
}
