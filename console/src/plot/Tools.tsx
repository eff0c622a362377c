// View options of a plot: time range, axes, relative values, layout and additional lines.

import { For, type JSX, Show } from "solid-js";
import type { PerfQuery } from "./query";
import { REFERENCES } from "./scale";

const DAY = 86_400_000;
const SPANS = [
  { days: 7, label: "7 days" },
  { days: 30, label: "30 days" },
  { days: 90, label: "90 days" },
  { days: 365, label: "1 year" },
] as const;

const EDGES = [
  { name: "lower_value", label: "Lower values", text: "Value ↓" },
  { name: "upper_value", label: "Upper values", text: "Value ↑" },
  { name: "lower_boundary", label: "Lower limits", text: "Limit ↓" },
  { name: "upper_boundary", label: "Upper limits", text: "Limit ↑" },
] as const;

const REFERENCE_NAMES = ["first", "median", "baseline"] as const;

export function Tools(props: { query: PerfQuery; change: (part: Partial<PerfQuery>) => void }): JSX.Element {
  const span = () => {
    const { start_time: start, end_time: end } = props.query;
    if (start === undefined && end === undefined) return "all";
    if (start === undefined || end !== undefined) return "own";
    // The newest report may be some days old; its range still has thirty days.
    const days = (Date.now() - start) / DAY;
    return String(SPANS.find((span) => Math.abs(span.days - days) <= Math.max(span.days * 0.1, 1.5))?.days ?? "own");
  };
  const time = (part: { start_time?: number | undefined; end_time?: number | undefined }) =>
    props.change({ ...part, zoom: undefined });
  return (
    <div class="perf-tools" role="group" aria-label="View options">
      <label class="perf-tool">
        <span class="small muted">Time</span>
        <select
          onChange={({ currentTarget: { value } }) => {
            if (value !== "own")
              time({ start_time: value === "all" ? undefined : Date.now() - Number(value) * DAY, end_time: undefined });
          }}
        >
          <For each={SPANS}>
            {(each) => (
              <option value={each.days} selected={span() === String(each.days)}>
                {each.label}
              </option>
            )}
          </For>
          <option value="all" selected={span() === "all"}>
            All
          </option>
          <option value="own" selected={span() === "own"} disabled>
            Custom
          </option>
        </select>
      </label>
      <label class="perf-tool">
        <span class="small muted">From</span>
        <input
          type="date"
          value={date(props.query.start_time)}
          max={date(props.query.end_time)}
          onChange={({ currentTarget: { value } }) => time({ start_time: midnight(value) })}
        />
      </label>
      <label class="perf-tool">
        <span class="small muted">To</span>
        <input
          type="date"
          value={date(props.query.end_time)}
          min={date(props.query.start_time)}
          onChange={({ currentTarget: { value } }) => time({ end_time: midnight(value, 1) })}
        />
      </label>
      <Choice
        label="X axis"
        value={props.query.x_axis}
        options={[
          ["date_time", "Date"],
          ["version", "Version"],
        ]}
        onChange={(x_axis) => props.change({ x_axis, zoom: undefined })}
      />
      <Choice
        label="Scale"
        value={props.query.y_axis}
        options={[
          ["auto", "Auto"],
          ["linear", "Linear"],
          ["log", "Log"],
        ]}
        onChange={(y_axis) => props.change({ y_axis })}
      />
      <label class="perf-tool">
        <span class="small muted">Values</span>
        <select
          title={
            "Percent shows lines of different sizes and units on one axis. The baseline is the level before the newest " +
            "change of the series. Without a change, it is the newest baseline of a threshold, or else the first value."
          }
          onChange={({ currentTarget: { value } }) =>
            props.change({ relative: REFERENCE_NAMES.find((name) => name === value) })
          }
        >
          <option value="" selected={!props.query.relative}>
            Absolute
          </option>
          <For each={REFERENCE_NAMES}>
            {(name) => (
              <option value={name} selected={props.query.relative === name}>
                % of {REFERENCES[name]}
              </option>
            )}
          </For>
        </select>
      </label>
      <Choice
        label="Layout"
        value={props.query.layout}
        options={[
          ["overlay", "Overlay"],
          ["multiples", "Small multiples"],
        ]}
        onChange={(layout) => props.change({ layout, isolated: undefined })}
      />
      <Show when={props.query.layout === "multiples"}>
        <Choice
          label="Y axis"
          value={props.query.shared_y ? "shared" : "own"}
          options={[
            ["own", "Per plot"],
            ["shared", "Shared"],
          ]}
          onChange={(axis) => props.change({ shared_y: axis === "shared" })}
        />
      </Show>
      <div class="perf-tool" role="group" aria-label="Additional lines">
        <span class="small muted" aria-hidden="true">
          Also show
        </span>
        <span class="perf-segments">
          <For each={EDGES}>
            {(edge) => (
              <button
                type="button"
                aria-pressed={props.query[edge.name]}
                aria-label={edge.label}
                title={edge.label}
                onClick={() => props.change({ [edge.name]: !props.query[edge.name] })}
              >
                {edge.text}
              </button>
            )}
          </For>
        </span>
      </div>
    </div>
  );
}

function Choice<T extends string>(props: {
  label: string;
  value: T;
  options: readonly (readonly [T, string])[];
  onChange: (value: T) => void;
}): JSX.Element {
  return (
    <div class="perf-tool" role="group" aria-label={props.label}>
      <span class="small muted" aria-hidden="true">
        {props.label}
      </span>
      <span class="perf-segments">
        <For each={props.options}>
          {([value, label]) => (
            <button type="button" aria-pressed={props.value === value} onClick={() => props.onChange(value)}>
              {label}
            </button>
          )}
        </For>
      </span>
    </div>
  );
}

/** A date in the format of a date field, in the local time zone. */
function date(time: number | undefined): string {
  if (time === undefined) return "";
  const at = new Date(time);
  return [at.getFullYear(), at.getMonth() + 1, at.getDate()].map((part) => String(part).padStart(2, "0")).join("-");
}

/** The start of a date in the local time zone, or its last millisecond. */
function midnight(day: string, after: 0 | 1 = 0): number | undefined {
  const [year, month, dayOfMonth] = day.split("-").map(Number);
  if (!year || !month || !dayOfMonth) return undefined;
  return new Date(year, month - 1, dayOfMonth + after).getTime() - after;
}
