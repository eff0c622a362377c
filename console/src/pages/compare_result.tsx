// The result of a comparison: the verdict, counts by measure, filters and the table.

import { createMemo, For, type JSX, Show } from "solid-js";
import { colorDirection, countAnswers } from "../answer";
import type { JsonMeasure, JsonReport, JsonVerdict, JsonVerdictComparison } from "../api";
import { baselineText, branchVersion, Cause, interval } from "../comparison";
import { count, plural, ratio } from "../format";
import { nameOf } from "../history";
import { SearchField } from "../ui/SearchField";
import { Select, toOption } from "../ui/Select";
import { Empty, Notice } from "../ui/State";
import { Answer, countsText } from "../verdict_badge";
import { ComparisonTable } from "./compare_table";
import "./compare.css";

/** The query parameters that filter and order the table. */
export interface ComparisonParams extends Record<string, string | undefined> {
  measure?: string;
  search?: string;
  moved?: string;
  sort?: string;
}

const SORTS = [
  // The order of the response.
  { value: "worst", label: "Regressions first" },
  { value: "best", label: "Improvements first" },
  { value: "effect", label: "Largest change first" },
  { value: "name", label: "By name" },
] as const;

/** The result of a comparison. */
export function Comparison(props: {
  verdict: JsonVerdict;
  report: JsonReport;
  stale: boolean;
  params: ComparisonParams;
  change: (next: ComparisonParams) => void;
}): JSX.Element {
  const measures = createMemo(() => [
    ...new Map(props.verdict.comparisons.map(({ measure }) => [measure.uuid, measure])).values(),
  ]);
  const rows = createMemo(() => {
    const words = (props.params.search ?? "").toLowerCase();
    const found = props.verdict.comparisons.filter(
      (one) =>
        (!props.params.measure || one.measure.slug === props.params.measure) &&
        nameOf(one).toLowerCase().includes(words) &&
        (props.params.moved !== "true" || one.answer === "changed"),
    );
    const isBetter = (one: JsonVerdictComparison) => Number(colorDirection(one) === "improvement");
    const size = ({ change }: JsonVerdictComparison) => Math.abs(Math.log1p(Math.max(change ?? 0, -0.999999)));
    type Order = (one: JsonVerdictComparison, two: JsonVerdictComparison) => number;
    const orders: Readonly<Record<string, Order>> = {
      best: (one, two) => isBetter(two) - isBetter(one),
      effect: (one, two) => size(two) - size(one),
      name: (one, two) => nameOf(one).localeCompare(nameOf(two)),
    };
    const order = orders[props.params.sort ?? ""];
    return order ? found.sort(order) : found;
  });
  const baseline = () => props.verdict.baseline ?? undefined;
  return (
    <>
      <section class="stack tight" aria-label="Verdict" classList={{ stale: props.stale }}>
        <div class="row">
          <h2 class="break">{branchVersion(props.verdict.branch)}</h2>
          <Answer of={props.verdict} />
        </div>
        <p>
          {countsText(props.verdict.counts)}
          <span class="muted">
            {" "}
            ·{" "}
            <Show when={baseline()} fallback="There is no earlier run to compare with.">
              {(baseline) => <>against {baselineText(baseline())}</>}
            </Show>
          </span>
        </p>
      </section>
      <Show when={baseline() && baseline()?.testbed.uuid !== props.verdict.testbed.uuid}>
        <Notice tone="warn">
          The runs are from different testbeds: a difference may come from the machines instead of the code. Select one
          testbed.
        </Notice>
      </Show>
      <Cause verdict={props.verdict} />
      <section class="measures" aria-label="Verdicts by measure" classList={{ stale: props.stale }}>
        <For each={measures()}>{(measure) => <OfMeasure measure={measure} verdict={props.verdict} />}</For>
      </section>
      <Explanation />
      <div class="list-tools">
        <SearchField
          label="Search benchmarks"
          value={props.params.search ?? ""}
          onInput={(words) => props.change({ search: words || undefined })}
          shortcut="Search benchmarks"
        />
        <Show when={measures().length > 1}>
          <Select
            short
            label="Measure"
            value={props.params.measure ?? ""}
            options={[{ value: "", label: "All measures" }, ...measures().map(toOption)]}
            onChange={(slug) => props.change({ measure: slug || undefined })}
          />
        </Show>
        <Select
          short
          label="Order"
          value={props.params.sort ?? "worst"}
          options={SORTS}
          onChange={(sort) => props.change({ sort: sort === "worst" ? undefined : sort })}
        />
        <label class="check small">
          <input
            type="checkbox"
            checked={props.params.moved === "true"}
            onChange={(event) => props.change({ moved: event.currentTarget.checked ? "true" : undefined })}
          />
          <span>Only changes</span>
        </label>
        <span class="grow" />
        <span class="muted small number" role="status">
          {count(rows().length)} of {count(props.verdict.comparisons.length)}
        </span>
      </div>
      <Show
        when={rows().length}
        fallback={
          <Empty
            title={props.params.moved === "true" ? "No changes" : "No matches"}
            action={
              <button
                type="button"
                class="button"
                onClick={() => props.change({ moved: undefined, search: undefined, measure: undefined })}
              >
                Show all
              </button>
            }
          >
            No benchmark matches the search and the filters.
          </Empty>
        }
      >
        <ComparisonTable rows={rows()} verdict={props.verdict} report={props.report} stale={props.stale} />
      </Show>
    </>
  );
}

/** The verdicts of one measure, and the common factor of its benchmarks. */
function OfMeasure(props: { measure: JsonMeasure; verdict: JsonVerdict }): JSX.Element {
  const counts = createMemo(() =>
    countAnswers(props.verdict.comparisons.filter(({ measure }) => measure.uuid === props.measure.uuid)),
  );
  const factor = () => props.verdict.factors.find(({ measure }) => measure.uuid === props.measure.uuid);
  return (
    <div class="card">
      <h3>{props.measure.name}</h3>
      <p>{countsText(counts())}</p>
      <Show when={factor()}>
        {(factor) => (
          <p class="small muted">
            Common factor of {plural(factor().benchmarks, "benchmark")}:{" "}
            <span class="nowrap">{ratio(factor().change)}</span>{" "}
            <span class="nowrap">({interval(factor().lower, factor().upper)})</span>
          </p>
        )}
      </Show>
    </div>
  );
}

function Explanation(): JSX.Element {
  return (
    <details class="explain">
      <summary>How the verdicts are computed</summary>
      <div class="stack tight prose">
        <p>
          The server compares the runs of one version with the runs of the baseline, with the method of the page of a
          run, the command line and the comments on pull requests. <em>Baseline</em> is the merge base of the branch if
          the branch has a start point, otherwise its earlier runs. A branch, version or run on the left selects the
          runs of its branch and testbed up to that version.
        </p>
        <p>
          <em>Regressed</em> and <em>improved</em> series have a significant change after the correction for the number
          of comparisons. <em>Unchanged</em> means that the 95 % confidence interval is close to zero.{" "}
          <em>Inconclusive</em> means that the baseline has too few runs or the noise is too large: the column{" "}
          <em>Noise</em> shows the smallest detectable change.
        </p>
        <p>
          <em>Common factor</em> is the median change of all benchmarks of a measure. If most benchmarks changed
          together, the machine is the probable cause, and the verdicts exclude the factor.
        </p>
      </div>
    </details>
  );
}
