// Shared elements of jobs: status and progress.

import { type JSX, Show } from "solid-js";
import type { JobStatus, JsonJob, JsonJobNoise } from "./api";
import { ratio } from "./format";
import { Badge, type Tone } from "./ui/Badge";
import { Notice } from "./ui/State";

interface Words {
  word: string;
  tone: Tone;
  /** The explanation for the user. */
  about: string;
  /** The step of the job: queued, preparing, running, reading results, done. */
  step: 0 | 1 | 2 | 3 | 4;
}

export const STATUSES: Readonly<Record<JobStatus, Words>> = {
  pending: { word: "queued", tone: "neutral", about: "Waiting for a free runner of its spec.", step: 0 },
  claimed: { word: "preparing", tone: "brand", about: "A runner has claimed it and is pulling the image.", step: 1 },
  running: { word: "running", tone: "brand", about: "The benchmarks are running.", step: 2 },
  completed: {
    word: "reading results",
    tone: "brand",
    about: "The benchmarks have finished. The server is reading their results.",
    step: 3,
  },
  processed: { word: "done", tone: "good", about: "The results are in the report.", step: 4 },
  failed: { word: "failed", tone: "alert", about: "The job failed. It is not retried automatically.", step: 4 },
  canceled: { word: "canceled", tone: "warn", about: "The job was canceled.", step: 4 },
  unknown: {
    word: "lost",
    tone: "warn",
    about: "The runner is disconnected. The job continues if it reconnects.",
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
    <span title="The spread of a fixed workload that the runner timed repeatedly, before and after the run.">
      {percent(props.of.before)} before, {percent(props.of.after)} after
    </span>
  );
}

/** The progress of a job, and the reason if it failed. Empty for a successful job. */
export function JobProgress(props: { of: JsonJob; children?: JSX.Element }): JSX.Element {
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
                <strong class="number">Position {place()} in the queue.</strong>{" "}
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
