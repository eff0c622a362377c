// The verdict of a report: its comparison with the baseline. Loads after the report, so that it does not delay the
// report.

import { A } from "@solidjs/router";
import { createEffect, createSignal, type JSX, Show } from "solid-js";
import { colorDirection } from "../answer";
import {
  call,
  type JsonChange,
  type JsonReport,
  type JsonVerdict,
  type JsonVerdictComparison,
  type VerdictAnswer,
} from "../api";
import { Effect, Levels, Share } from "../change";
import { baselineText, Cause, interval, pollUntilSettled, smallestDetectable } from "../comparison";
import { count } from "../format";
import { nameOf } from "../history";
import { perfAround, perfUpTo } from "../links";
import { load } from "../load";
import { MutedBadge } from "../mute";
import { useProject } from "../project";
import { Failure, Skeleton } from "../ui/State";
import { Table } from "../ui/Table";
import { Name, Time, Value } from "../ui/Value";
import { Answer, countsText } from "../verdict_badge";
import "./lists.css";

/** Number of rows before "Show more". */
const [FIRST, FEW] = [100, 8];

export function ReportVerdict(props: {
  report: JsonReport;
  /** Called when the verdict or its error has its final place on the page. */
  onKnown: () => void;
}): JSX.Element {
  const project = useProject();
  const verdict = load(
    () => ({ project: project.slug(), report: props.report.uuid }),
    (path, signal) => call("get", "/v0/projects/{project}/reports/{report}/verdict", { path, signal }),
  );
  const isUnsettled = pollUntilSettled(verdict, verdict.refresh);
  // Ignore the verdict of the previous report.
  const shown = () => {
    const known = verdict();
    return known?.report === props.report.uuid ? known : undefined;
  };
  createEffect(() => {
    if (shown() || verdict.error()) props.onKnown();
  });
  return (
    <section class="stack" aria-labelledby="verdict">
      <div class="row">
        <h2 id="verdict">Comparison with the baseline</h2>
        <Show when={shown()}>{(shown) => <Answer of={shown()} />}</Show>
      </div>
      <Show when={verdict.error()}>{(error) => <Failure error={error()} retry={verdict.refresh} />}</Show>
      <Show
        when={shown()}
        fallback={
          <Show when={!verdict.error()}>
            <Skeleton lines={5} />
          </Show>
        }
      >
        {(shown) => (
          <>
            <p>
              {countsText(shown().counts)}
              <Show when={shown().baseline}>
                {(baseline) => <span class="muted"> · against {baselineText(baseline())}</span>}
              </Show>
            </p>
            <Cause verdict={shown()} />
            <Comparisons
              label="Changes"
              of={shown().comparisons.filter(({ answer }) => answer === "changed")}
              report={props.report}
            />
            <div class="stack tight">
              <ComparisonGroup answer="unchanged" verdict={shown()} report={props.report} />
              <ComparisonGroup answer="inconclusive" verdict={shown()} report={props.report} />
            </div>
            <DetectedChanges changes={shown().changes} isLooking={isUnsettled()} />
          </>
        )}
      </Show>
    </section>
  );
}

/** The comparisons with one verdict, rendered when expanded. */
function ComparisonGroup(props: { answer: VerdictAnswer; verdict: JsonVerdict; report: JsonReport }): JSX.Element {
  const [open, setOpen] = createSignal(false);
  const own = () => props.verdict.comparisons.filter(({ answer }) => answer === props.answer);
  return (
    <Show when={own().length}>
      <details class="explain" onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          {count(own().length)} {props.answer}
        </summary>
        <Show when={open()}>
          <div class="stack tight">
            <Comparisons label={props.answer} of={own()} report={props.report} withSmallest />
          </div>
        </Show>
      </details>
    </Show>
  );
}

/** A table of comparisons; with the smallest detectable change if the verdict is not a change. */
function Comparisons(props: {
  label: string;
  of: readonly JsonVerdictComparison[];
  report: JsonReport;
  withSmallest?: boolean;
}): JSX.Element {
  const project = useProject();
  return (
    <Show when={props.of.length}>
      <Table<JsonVerdictComparison>
        label={props.label}
        rows={props.of}
        first={FIRST}
        href={({ benchmark, measure }) => perfUpTo(project, props.report, benchmark, measure)}
        columns={[
          {
            title: "Benchmark",
            cell: (one) => (
              <>
                <Name of={nameOf(one)} />
                <span class="subtext">
                  {one.measure.name} <MutedBadge of={one.muted} />
                </span>
                <span class="subtext on-phone">
                  <Levels before={one.base} after={one.head} units={one.measure.units} />
                </span>
              </>
            ),
          },
          {
            title: "Level",
            wide: true,
            end: true,
            cell: (one) => (
              <Show when={typeof one.base === "number"} fallback={<span class="muted">–</span>}>
                <Value value={one.base ?? 0} units={one.measure.units} />
              </Show>
            ),
          },
          { title: "Now", wide: true, end: true, cell: (one) => <Value value={one.head} units={one.measure.units} /> },
          {
            title: "Change",
            end: true,
            cell: (one) => (
              <>
                <Share of={one.change} direction={colorDirection(one)} />
                <span class="subtext number">{interval(one.lower, one.upper)}</span>
              </>
            ),
          },
          ...(props.withSmallest
            ? [
                {
                  title: "Smallest detectable",
                  end: true,
                  cell: (one: JsonVerdictComparison) => (
                    <span class="muted number nowrap">{smallestDetectable(one.detectable)}</span>
                  ),
                },
              ]
            : []),
          {
            title: "Baseline runs",
            wide: true,
            end: true,
            cell: (one) => <span class="muted number">{count(one.base_runs)}</span>,
          },
        ]}
      />
    </Show>
  );
}

/** The changes that detection found with the report. They may have begun earlier. */
function DetectedChanges(props: { changes: readonly JsonChange[]; isLooking: boolean }): JSX.Element {
  const project = useProject();
  return (
    <>
      <Show when={props.isLooking}>
        <p class="small muted" role="status">
          Analyzing…
        </p>
      </Show>
      <Show when={props.changes.length}>
        <div class="row between">
          <h3>Changes detected with this run</h3>
          <A class="small" href={`${project.path("regressions")}?status=all`}>
            All changes
          </A>
        </div>
        <Table<JsonChange>
          label="Changes detected with this run"
          rows={props.changes}
          first={FEW}
          href={(change) => perfAround(project, change, change.at.start_time)}
          columns={[
            {
              title: "Series",
              cell: (change) => (
                <>
                  <Name of={nameOf(change)} />
                  <span class="subtext">
                    {change.measure.name} <MutedBadge of={change.muted} />
                  </span>
                  <span class="subtext on-phone">
                    since <Time at={change.at.start_time} />
                  </span>
                </>
              ),
            },
            { title: "Effect", end: true, cell: (change) => <Effect change={change} /> },
            {
              title: "Level",
              wide: true,
              end: true,
              cell: (change) => <Levels before={change.before} after={change.after} units={change.measure.units} />,
            },
            {
              title: "Began",
              wide: true,
              end: true,
              cell: (change) => (
                <span class="muted">
                  <Time at={change.at.start_time} />
                </span>
              ),
            },
          ]}
        />
      </Show>
    </>
  );
}
