// Shows the observed false alarms in one line.

import { A } from "@solidjs/router";
import { type JSX, Show } from "solid-js";
import { call, type JsonDetection } from "./api";
import { count, significant } from "./format";
import { type Loaded, load } from "./load";
import { useProject } from "./project";

/** The detection settings of the project. */
export function loadDetection(): Loaded<JsonDetection> {
  const project = useProject();
  return load(
    () => ({ project: project.slug() }),
    (path, signal) => call("get", "/v0/projects/{project}/detection", { path, signal }),
  );
}

/** Formats a number per month: `0.33`, `14`. */
export function monthly(number: number): string {
  return significant(number, number < 10 ? 2 : 3);
}

/** The observed false alarms of the project against its false-alarm budget. Reserves its line while loading. */
export function FalseAlarms(): JSX.Element {
  const project = useProject();
  const detection = loadDetection();
  return (
    <p class="small muted">
      <Show when={detection()} fallback={"\u00a0"}>
        {(known) => (
          <A href={project.path("detection")}>
            {monthly(known().observed.false_alarms_per_month)} false alarms per month observed, budget{" "}
            {count(known().false_alarms_per_month)}
          </A>
        )}
      </Show>
    </p>
  );
}
