// The table of a comparison.

import { createMemo, type JSX, Show } from "solid-js";
import { colorDirection } from "../answer";
import type { JsonReport, JsonVerdict, JsonVerdictComparison } from "../api";
import { Levels, Share } from "../change";
import { AnswerBadge, interval, noiseText, smallestDetectable } from "../comparison";
import { nameOf } from "../history";
import { perfOfComparison } from "../links";
import { useProject } from "../project";
import { Table } from "../ui/Table";
import { Name } from "../ui/Value";
import "./compare.css";
import "./lists.css";

/** Number of rows before "Show all". */
const FIRST_ROWS = 100;

/** The compared series, with the levels, the change, its confidence interval and the verdict. */
export function ComparisonTable(props: {
  rows: readonly JsonVerdictComparison[];
  verdict: JsonVerdict;
  report: JsonReport;
  stale: boolean;
}): JSX.Element {
  const project = useProject();
  // The scale of the interval graphics: nearly all intervals of changes fit.
  const reach = createMemo(() => {
    const changes = props.verdict.comparisons.filter(({ answer }) => answer === "changed");
    const ends = (changes.length ? changes : props.verdict.comparisons)
      .flatMap(({ lower, upper, change }) => [lower ?? change ?? 0, upper ?? change ?? 0].map(Math.abs))
      .sort((one, two) => one - two);
    return Math.max(ends[Math.floor(ends.length * 0.95)] ?? 0, 0.02);
  });
  return (
    <div class="stack tight" classList={{ stale: props.stale }}>
      <Table<JsonVerdictComparison>
        label="Comparison"
        rows={props.rows}
        first={FIRST_ROWS}
        href={(one) => perfOfComparison(project, props.verdict, one, props.report.start_time)}
        columns={[
          {
            title: "Benchmark",
            cell: (one) => (
              <>
                <Name of={nameOf(one)} />
                <span class="subtext">{one.measure.name}</span>
                <span class="subtext on-phone">
                  <Levels before={one.base} after={one.head} units={one.measure.units} />
                </span>
              </>
            ),
          },
          {
            title: "Baseline → now",
            wide: true,
            end: true,
            cell: (one) => <Levels before={one.base} after={one.head} units={one.measure.units} />,
          },
          {
            title: "Change",
            end: true,
            cell: (one) => (
              <>
                <Share of={one.change} direction={colorDirection(one)} />
                <span class="subtext number nowrap">{interval(one.lower, one.upper)}</span>
                <span class="subtext on-phone">
                  <AnswerBadge of={one} />
                </span>
              </>
            ),
          },
          { title: "95 % interval", wide: true, cell: (one) => <Interval of={one} reach={reach()} /> },
          {
            title: "Noise",
            wide: true,
            end: true,
            cell: (one) => (
              <span class="muted number">
                {noiseText(one.noise)}
                <span class="subtext nowrap">detectable {smallestDetectable(one.detectable)}</span>
              </span>
            ),
          },
          { title: "Verdict", wide: true, cell: (one) => <AnswerBadge of={one} /> },
        ]}
      />
    </div>
  );
}

/** A confidence interval around its change, centered on zero. The text of the column before has its numbers. */
function Interval(props: { of: JsonVerdictComparison; reach: number }): JSX.Element {
  const WIDTH = 96;
  const x = (part: number) => Math.min(Math.max(((part / props.reach + 1) / 2) * WIDTH, 2), WIDTH - 2);
  const tone = () => (props.of.answer === "changed" ? colorDirection(props.of) : "");
  return (
    <svg class={`interval ${tone()}`} width={WIDTH} height="18" viewBox={`0 0 ${WIDTH} 18`} aria-hidden="true">
      <line class="zero" x1={WIDTH / 2} x2={WIDTH / 2} y1="1" y2="17" />
      <Show when={typeof props.of.lower === "number"}>
        <line x1={x(props.of.lower ?? 0)} x2={x(props.of.upper ?? 0)} y1="9" y2="9" />
      </Show>
      <Show when={typeof props.of.change === "number"}>
        <circle cx={x(props.of.change ?? 0)} cy="9" r="3.5" />
      </Show>
    </svg>
  );
}
