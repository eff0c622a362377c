// The plot of a series around one of its points, with a switch to the whole history: for an alert or a change.

import { createMemo, createSignal, For, type JSX, Show } from "solid-js";
import type { JsonPerfMetric } from "../api";
import type { Loaded } from "../load";
import { Failure } from "../ui/State";
import { colorOf } from "./colors";
import type { Line, Range, Shown } from "./line";
import { Plot } from "./Plot";
import "./legend.css";

/** Number of points shown before and after the point. */
const SHOWN_POINTS = { before: 40, after: 40 };

export function HistoryPlot(props: {
  /** The heading. */
  title: string;
  /** The event at the point: `alert`. */
  noun: string;
  /** The accessible name. */
  label: string;
  /** The metrics of the series, ordered by time. */
  metrics: Loaded<JsonPerfMetric[]>;
  /** The index of the point in the metrics; negative if they do not contain it. */
  place: number;
  lines: readonly Line[] | undefined;
  shown?: Shown;
  readout: (line: Line, at: number) => JSX.Element;
  /** Content between the heading and the plot. */
  children?: JSX.Element;
}): JSX.Element {
  const [whole, setWhole] = createSignal(false);
  const time = (at: number) => Date.parse(props.metrics()?.at(at)?.start_time ?? "");
  const around = createMemo((): Range | undefined => {
    const length = props.metrics()?.length ?? 0;
    if (props.place < 0 || length <= SHOWN_POINTS.before + SHOWN_POINTS.after) return undefined;
    const from = Math.max(props.place - SHOWN_POINTS.before, 0);
    const to = Math.min(props.place + SHOWN_POINTS.after, length - 1);
    const room = (time(to) - time(from)) * 0.02;
    return [time(from) - room, time(to) + room];
  });
  return (
    <>
      <div class="row between">
        <h2 class="break">{props.title}</h2>
        <Show when={around()}>
          <div class="segments" role="group" aria-label="Range">
            <button type="button" aria-pressed={!whole()} onClick={() => setWhole(false)}>
              Around the {props.noun}
            </button>
            <button type="button" aria-pressed={whole()} onClick={() => setWhole(true)}>
              Whole history
            </button>
          </div>
        </Show>
      </div>
      {props.children}
      <p class="row small muted">
        <For each={(props.lines?.length ?? 0) > 1 ? props.lines : []}>
          {(line) => (
            <span class="history-line">
              <i class="plot-swatch" style={{ "background-color": colorOf(line.color) }} /> {line.label}
            </span>
          )}
        </For>
        <Show when={props.shown?.lower_boundary || props.shown?.upper_boundary}>Dashed: limits</Show>
      </p>
      <Show when={props.metrics.error()}>{(error) => <Failure error={error()} retry={props.metrics.refresh} />}</Show>
      <div class="history-plot">
        <Show when={props.lines}>
          {(lines) => (
            <Plot
              label={props.label}
              lines={lines()}
              shown={props.shown ?? {}}
              height={300}
              range={whole() ? undefined : around()}
              readout={props.readout}
            />
          )}
        </Show>
      </div>
    </>
  );
}
