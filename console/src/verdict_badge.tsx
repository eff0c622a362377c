// The verdict of a report as a badge, the same on every page. Only the verdict determines the color.

import { type JSX, Show } from "solid-js";
import { type JsonVerdict, type JsonVerdictCounts, sentence } from "./api";
import { fetchVerdict } from "./fetch_verdict";
import { count, plural } from "./format";
import { load } from "./load";
import { useProject } from "./project";
import { Badge, type Tone } from "./ui/Badge";
import { createNear } from "./ui/near";
import { Skeleton } from "./ui/State";

/** The changes of a verdict: `3 regressions`, `1 improvement`. */
function changesOf({ regressions, improvements, differences }: JsonVerdictCounts): string[] {
  const kinds = [
    [regressions, "regression"],
    [improvements, "improvement"],
    [differences, "difference"],
  ] as const;
  return kinds.flatMap(([number, noun]) => (number ? [plural(number, noun)] : []));
}

/** Counts all comparisons: `2 regressions, 67 unchanged, 14 inconclusive`. */
export function countsText(counts: JsonVerdictCounts): string {
  const { muted, unchanged, inconclusive } = counts;
  const parts = [
    ...changesOf(counts),
    ...(muted ? [`${count(muted)} muted`] : []),
    ...(unchanged ? [`${count(unchanged)} unchanged`] : []),
    ...(inconclusive ? [`${count(inconclusive)} inconclusive`] : []),
  ];
  return parts.length ? parts.join(", ") : "Nothing to compare.";
}

function toneOf({ regressions, improvements, differences }: JsonVerdictCounts): Tone {
  return regressions ? "alert" : differences ? "warn" : improvements ? "good" : "neutral";
}

/** The badge of a loaded verdict: `3 regressions · 1 improvement`, `unchanged` or `inconclusive`. */
export function Answer(props: { of: Pick<JsonVerdict, "answer" | "counts" | "cause"> }): JSX.Element {
  const title = () => {
    const machine = props.of.cause === "host" ? ". Most benchmarks changed together: check the machine first" : "";
    return countsText(props.of.counts) + machine;
  };
  return (
    <span title={title()}>
      <Badge tone={toneOf(props.of.counts)}>{changesOf(props.of.counts).join(" · ") || props.of.answer}</Badge>
    </span>
  );
}

/** The badge of the verdict of a report. Requests the verdict itself when the user scrolls to it. */
export function VerdictBadge(props: { report: string }): JSX.Element {
  const project = useProject();
  let place: HTMLSpanElement | undefined;
  const near = createNear(() => place);
  const verdict = load(
    () => near() && { project: project.slug(), report: props.report },
    ({ project, report }, signal) => fetchVerdict(project, report, { limit: 0 }, signal),
  );
  return (
    <span ref={place} class="verdict-badge">
      <Show
        when={verdict()}
        fallback={
          <Show when={verdict.error()} fallback={<Skeleton />}>
            {(error) => (
              <span class="muted" title={sentence(error())}>
                –
              </span>
            )}
          </Show>
        }
      >
        {(verdict) => <Answer of={verdict()} />}
      </Show>
    </span>
  );
}
