// How often people were told of a change that was none, in a line.

import { A } from "@solidjs/router";
import { type JSX, Show } from "solid-js";
import { call, type JsonDetection } from "./api";
import { count, significant } from "./format";
import { type Loaded, load } from "./load";
import { useProject } from "./project";

/** How the project is watched. */
export function loadDetection(): Loaded<JsonDetection> {
  const project = useProject();
  return load(
    () => ({ project: project.slug() }),
    (path, signal) => call("get", "/v0/projects/{project}/detection", { path, signal }),
  );
}

/** A number of things in a month: `0.33`, `14`. */
export function monthly(number: number): string {
  return significant(number, number < 10 ? 2 : 3);
}

/** The false alarms of the project against those that it takes. Its line is there before the figures are. */
export function FalseAlarms(): JSX.Element {
  const project = useProject();
  const detection = loadDetection();
  return (
    <p class="small muted">
      <Show when={detection()} fallback={"\u00a0"}>
        {(known) => (
          <A href={project.path("detection")}>
            {monthly(known().observed.false_alarms_per_month)} false alarms a month observed, at most{" "}
            {count(known().false_alarms_per_month)} wanted
          </A>
        )}
      </Show>
    </p>
  );
}
