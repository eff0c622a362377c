// The recently changed series, above the plot: the page opens with the first group, and offers the others.

import { createMemo, For, type JSX, Show } from "solid-js";
import { plural } from "../format";
import { isGroup, MOVED_DAYS, type MovedGroup, ofGroup, seriesOf } from "../plot/moved";
import type { PerfQuery } from "../plot/query";

/** Maximum number of offered groups. */
const MOST_GROUPS = 6;

export function Moved(props: {
  groups: readonly MovedGroup[];
  query: PerfQuery;
  change: (part: Partial<PerfQuery>) => void;
}): JSX.Element {
  const shown = createMemo(() => props.groups.find((group) => isGroup(group, props.query)));
  const names = ({ measure, branch, testbeds }: MovedGroup) =>
    [measure.name, branch.name, ...(testbeds.length > 1 ? [] : testbeds.map(({ name }) => name))].join(" · ");
  const omitted = ({ changes, benchmarks }: MovedGroup) =>
    new Set(changes.map(({ benchmark }) => benchmark.uuid)).size - benchmarks.length;
  return (
    <section class="perf-moved" aria-label="Changed series">
      <Show
        when={props.groups.length}
        fallback={<p class="small muted">No series changed in the last {MOVED_DAYS} days.</p>}
      >
        <Show when={shown()} fallback={<h2 class="small muted">Changed in the last {MOVED_DAYS} days</h2>}>
          {(group) => (
            <div>
              <h2>Series that changed in the last {MOVED_DAYS} days</h2>
              <Show when={omitted(group())}>
                {(count) => (
                  <p class="small muted">
                    The plot shows the largest changes. {plural(count(), "more benchmark")} changed.
                  </p>
                )}
              </Show>
            </div>
          )}
        </Show>
        <div class="row perf-groups" role="group" aria-label="Changed series">
          <For each={props.groups.slice(0, MOST_GROUPS)}>
            {(group) => (
              <button
                type="button"
                class="perf-tab"
                aria-pressed={shown() === group}
                title="Plot these series"
                onClick={() => props.change(ofGroup(group))}
              >
                {names(group)}
                <span class="number muted">{seriesOf(group.changes)}</span>
              </button>
            )}
          </For>
        </div>
      </Show>
    </section>
  );
}
