// The plot of a perf query with legend and values: on the perf page, embedded and pinned.

import { createMemo, createSignal, type JSX, Show } from "solid-js";
import type { JsonChange } from "../api";
import { plural } from "../format";
import { bindKeys } from "../keys";
import { Failure, Notice } from "../ui/State";
import type { Fetched } from "./fetch";
import { Legend } from "./Legend";
import { changesOf, type Line } from "./line";
import { labels as labelsOf, linesOf, type PerfLine } from "./lines";
import { Multiples } from "./Multiples";
import { Plot } from "./Plot";
import type { PerfQuery } from "./query";
import { type Links, Readout } from "./Readout";
import { REFERENCES, relativeLine } from "./scale";
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
  const [ownView, setOwnView] = createSignal<Partial<PerfQuery>>({});
  const [focus, setFocus] = createSignal<string>();
  const change = (part: Partial<PerfQuery>) =>
    props.change ? props.change(part) : setOwnView((old) => ({ ...old, ...part }));
  const hidden = createMemo(() => ownView().hidden ?? props.query.hidden, undefined, { equals: isSame });
  const isolated = () => ("isolated" in ownView() ? ownView().isolated : props.query.isolated);
  const isolate = (id: string | undefined) => change({ isolated: id });
  // A change of another part of the query, such as the isolated line, must not replace the lines.
  const axis = createMemo(() => props.query.x_axis);
  const measures = createMemo(() => props.query.measures, undefined, { equals: isSame });
  const relative = createMemo(() => props.query.relative);
  const absolute = createMemo(() => linesOf(props.series(), axis(), measures(), props.changes));
  const lines = createMemo(() => {
    const of = relative();
    return of ? absolute().flatMap((line) => relativeLine(line, of) ?? []) : absolute();
  });
  const labels = createMemo(() => labelsOf(props.series()));
  const isShown = ({ id }: PerfLine) => !hidden().includes(id);
  const shown = createMemo(() => lines().filter(isShown));
  const placeOf = (id: string | undefined) => {
    const place = shown().findIndex((line) => line.id === id);
    return place < 0 ? undefined : place;
  };
  const missing = () => absolute().length - lines().length;
  bindKeys([{ keys: "Escape", label: "Show all lines", run: () => isolated() !== undefined && isolate(undefined) }]);
  const isLoading = () => props.series.progress() < 1 && !props.series.error();
  const changes = () => shown().reduce((sum, line) => sum + changesOf(line).length, 0);
  const points = () => shown().reduce((sum, line) => sum + line.x.length, 0);
  const label = () => {
    const marks = changes() ? ` and ${plural(changes(), "change")} of level` : "";
    const scale = relative();
    const unit = scale ? `, in % of ${REFERENCES[scale]}` : "";
    return `${props.label}: ${plural(shown().length, "line")} with ${plural(points(), "point")}${marks}${unit}`;
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
        <Show
          when={props.query.layout === "overlay"}
          fallback={
            <Multiples
              lines={shown()}
              label={label()}
              x={axis()}
              y={props.query.y_axis}
              shown={props.query}
              zoom={props.query.zoom}
              sharedY={props.query.shared_y}
              onIsolate={(id) => change({ layout: "overlay", isolated: id })}
            />
          }
        >
          <Plot
            lines={shown()}
            label={label()}
            x={axis()}
            y={props.query.y_axis}
            shown={props.query}
            height={props.height}
            focus={placeOf(focus())}
            isolated={placeOf(isolated())}
            onIsolate={(place) => isolate(place === undefined ? undefined : shown()[place]?.id)}
            links={props.links}
            {...(props.change ? { zoom: props.query.zoom, onZoom: (zoom) => props.change?.({ zoom }) } : {})}
            readout={(line: Line, at) => <Readout line={line as PerfLine} at={at} links={props.links} />}
            picture={props.picture}
          />
        </Show>
        <Show when={!isLoading() && !props.series.error() && !absolute().length}>
          <div class="chart-empty">{props.empty ?? <p class="muted">No data in this time range.</p>}</div>
        </Show>
      </div>
      <Show when={missing()}>
        {(count) => (
          <Notice tone="warn">
            {plural(count(), "line")} cannot be shown in a relative scale: the reference value is zero or missing.
          </Notice>
        )}
      </Show>
      <Show when={props.legend !== false && props.query.layout === "overlay"}>
        <Legend
          lines={lines()}
          shared={labels().shared}
          hidden={hidden()}
          isolated={isolated()}
          open={props.query.key}
          links={props.links}
          onOpen={props.change && ((key) => props.change?.({ key }))}
          onHide={(next) => change({ hidden: next })}
          onIsolate={isolate}
          onFocus={setFocus}
        />
      </Show>
      <Show when={props.values !== false && absolute().length}>
        <Values
          lines={absolute().filter(isShown)}
          labels={labelsOf(
            absolute()
              .filter(isShown)
              .map((line) => line.series),
          )}
          zoom={props.query.zoom}
          links={props.links}
        />
      </Show>
    </div>
  );
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.join() === other.join();
}
