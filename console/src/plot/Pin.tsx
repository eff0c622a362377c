// Pins the current view of the perf page to the home page of the project, and edits pinned plots.

import { createMemo, type JSX } from "solid-js";
import { call, type JsonPlot } from "../api";
import { duration } from "../format";
import { Dialog } from "../ui/Dialog";
import { Form, SelectField, TextField } from "../ui/Form";
import { toast } from "../ui/Toast";
import type { PerfQuery } from "./query";

const WEEK = 7 * 86_400;
const WINDOWS = [1, 4, 8, 12, 26, 52].map((weeks) => weeks * WEEK);

/** The part of a query that a plot stores. */
function contents(query: PerfQuery) {
  const {
    branches,
    testbeds,
    benchmarks,
    measures,
    x_axis,
    y_axis,
    lower_value,
    upper_value,
    lower_boundary,
    upper_boundary,
  } = query;
  const unique = (list: readonly string[]) => [...new Set(list)];
  return {
    branches: unique(branches),
    testbeds: unique(testbeds),
    benchmarks: unique(benchmarks),
    measures: unique(measures),
    x_axis,
    y_axis,
    lower_value,
    upper_value,
    lower_boundary,
    upper_boundary,
  };
}

/** The window closest to the shown range. */
function shownWindow(query: PerfQuery): number {
  if (query.start_time === undefined) return 52 * WEEK;
  const seconds = ((query.end_time ?? Date.now()) - query.start_time) / 1000;
  return WINDOWS.reduce(
    (best, window) => (Math.abs(window - seconds) < Math.abs(best - seconds) ? window : best),
    4 * WEEK,
  );
}

export function PinDialog(props: {
  project: string;
  query: PerfQuery;
  plot?: JsonPlot | undefined;
  open: boolean;
  onClose: () => void;
  onPinned: (plot: JsonPlot) => void;
}): JSX.Element {
  const window = createMemo(() => props.plot?.window ?? shownWindow(props.query));
  const windows = () =>
    [...new Set([...WINDOWS, window()])]
      .sort((a, b) => a - b)
      .map((seconds) => ({ value: String(seconds), label: `The last ${duration(seconds)}` }));
  const isRelative = () => props.query.relative !== undefined || props.query.layout === "multiples";
  const hasOld = () => [...props.query.heads, ...props.query.specs].some(Boolean);
  return (
    <Dialog open={props.open} title={props.plot ? "Update the pinned plot" : "Pin this plot"} onClose={props.onClose}>
      <p class="muted">
        {props.plot
          ? "The pinned plot will show the current view."
          : "All viewers of the project will see it on the overview."}{" "}
        The time range ends now{hasOld() ? ", with the current heads of its branches" : ""}.
        {isRelative() ? " The pinned plot shows absolute values of all lines in one plot." : ""}
      </p>
      <Form
        action={props.plot ? "Update plot" : "Pin plot"}
        onCancel={props.onClose}
        onSubmit={async ({ title, window, place }) => {
          const body = { ...contents(props.query), title: title ?? null, window: Number(window) };
          const { project, plot } = props;
          const index = place === undefined || place === "stay" ? {} : { index: place === "last" ? 64 : 0 };
          const made = plot
            ? await call("patch", "/v0/projects/{project}/plots/{plot}", {
                path: { project, plot: plot.uuid },
                body: { ...body, ...index },
              })
            : await call("post", "/v0/projects/{project}/plots", { path: { project }, body: { ...body, ...index } });
          toast(plot ? "Pinned plot updated." : "Plot pinned.");
          props.onPinned(made);
          props.onClose();
        }}
      >
        <TextField name="title" label="Title" maxLength={64} value={props.plot?.title ?? ""} autofocus />
        <SelectField name="window" label="Time" required value={String(window())} options={windows()} />
        <SelectField
          name="place"
          label="Position"
          required
          value={props.plot ? "stay" : "first"}
          options={[
            ...(props.plot ? [{ value: "stay", label: "Unchanged" }] : []),
            { value: "first", label: "First" },
            { value: "last", label: "Last" },
          ]}
        />
      </Form>
    </Dialog>
  );
}
