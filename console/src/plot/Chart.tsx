// The plot of a perf query with legend and values: on the perf page, embedded and pinned.

import { createMemo, createSignal, type JSX, Show } from "solid-js";
import type { JsonChange } from "../api";
import { plural } from "../format";
import { Failure } from "../ui/State";
import type { Fetched } from "./fetch";
import { Legend } from "./Legend";
import type { Line } from "./line";
import { labels as labelsOf, linesOf, type PerfLine } from "./lines";
import { Plot } from "./Plot";
import type { PerfQuery } from "./query";
import { type Links, Readout } from "./Readout";
import { Values } from "./Values";

export function Chart(props: {
  query: PerfQuery;
  series: Fetched;
  links: Links;
  label: string;
  /** Marks of changes on the shown lines. */
  changes?: readonly JsonChange[] | undefined;
  height?: number;
  /** Whether to show the legend. */
  legend?: boolean;
  /** Whether to show the tables. */
  values?: boolean;
  /** Stores changes of the view; without it, changes are not stored. */
  change?: (part: Partial<PerfQuery>) => void;
  picture?: (take: () => HTMLCanvasElement | undefined) => void;
  empty?: JSX.Element;
}): JSX.Element {
  const [ownHidden, setOwnHidden] = createSignal<readonly string[]>([]);
  const [focus, setFocus] = createSignal<string>();
  const hidden = () => (props.change ? props.query.hidden : ownHidden());
  const hide = (next: readonly string[]) => (props.change ? props.change({ hidden: next }) : setOwnHidden(next));
  const lines = createMemo(() => linesOf(props.series(), props.query.x_axis, props.query.measures, props.changes));
  const labels = createMemo(() => labelsOf(props.series()));
  const shown = createMemo(() => lines().filter(({ id }) => !hidden().includes(id)));
  const focused = () => {
    const place = shown().findIndex(({ id }) => id === focus());
    return place < 0 ? undefined : place;
  };
  const isLoading = () => props.series.progress() < 1 && !props.series.error();
  const steps = () => shown().reduce((sum, line) => sum + (line.steps?.length ?? 0), 0);
  const points = () => shown().reduce((sum, line) => sum + line.x.length, 0);
  const label = () => {
    const changes = steps() ? ` and ${plural(steps(), "change")} of level` : "";
    return `${props.label}: ${plural(shown().length, "line")} with ${plural(points(), "point")}${changes}`;
  };
  return (
    <div class="chart" aria-busy={isLoading()}>
      <Show when={props.series.error()}>{(error) => <Failure error={error()} retry={props.series.refresh} />}</Show>
      <div class="chart-frame">
        <Show when={isLoading()}>
          <progress
            class="chart-progress"
            max="1"
            value={Math.max(props.series.progress(), 0.05)}
            aria-label="Loading"
          />
        </Show>
        <Plot
          lines={shown()}
          label={label()}
          x={props.query.x_axis}
          y={props.query.y_axis}
          shown={props.query}
          height={props.height}
          focus={focused()}
          {...(props.change ? { zoom: props.query.zoom, onZoom: (zoom) => props.change?.({ zoom }) } : {})}
          readout={(line: Line, at) => <Readout line={line as PerfLine} at={at} links={props.links} />}
          picture={props.picture}
        />
        <Show when={!isLoading() && !props.series.error() && !lines().length}>
          <div class="chart-empty">{props.empty ?? <p class="muted">No data in this time range.</p>}</div>
        </Show>
      </div>
      <Show when={props.legend !== false}>
        <Legend
          lines={lines()}
          labels={labels()}
          hidden={hidden()}
          open={props.query.key}
          onOpen={props.change && ((key) => props.change?.({ key }))}
          onHide={hide}
          onFocus={setFocus}
        />
      </Show>
      <Show when={props.values !== false && lines().length}>
        <Values
          lines={shown()}
          labels={labelsOf(shown().map((line) => line.series))}
          zoom={props.query.zoom}
          links={props.links}
        />
      </Show>
    </div>
  );
}
