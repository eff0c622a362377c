// Search fields for branches, testbeds, benchmarks and measures.

import { useSearchParams } from "@solidjs/router";
import type { JSX } from "solid-js";
import { call, list, type Page } from "./api";
import { load } from "./load";
import { useProject } from "./project";
import { Picker } from "./ui/Picker";

export type Kind = "branch" | "testbed" | "benchmark" | "measure";

export interface Named {
  uuid: string;
  slug: string;
  name: string;
}

type Lists = Readonly<Record<Kind, (project: string, search: string, signal: AbortSignal) => Promise<Page<Named>>>>;
type Gets = Readonly<Record<Kind, (project: string, id: string, signal: AbortSignal) => Promise<Named>>>;

/** Maximum number of options at a time; typing filters them. */
const OFFERED = 50;

const LISTS: Lists = {
  branch: (project, search, signal) =>
    list("/v0/projects/{project}/branches", { path: { project }, query: { search, per_page: OFFERED }, signal }),
  testbed: (project, search, signal) =>
    list("/v0/projects/{project}/testbeds", { path: { project }, query: { search, per_page: OFFERED }, signal }),
  benchmark: (project, search, signal) =>
    list("/v0/projects/{project}/benchmarks", { path: { project }, query: { search, per_page: OFFERED }, signal }),
  measure: (project, search, signal) =>
    list("/v0/projects/{project}/measures", { path: { project }, query: { search, per_page: OFFERED }, signal }),
};

const GETS: Gets = {
  branch: (project, branch, signal) =>
    call("get", "/v0/projects/{project}/branches/{branch}", { path: { project, branch }, signal }),
  testbed: (project, testbed, signal) =>
    call("get", "/v0/projects/{project}/testbeds/{testbed}", { path: { project, testbed }, signal }),
  benchmark: (project, benchmark, signal) =>
    call("get", "/v0/projects/{project}/benchmarks/{benchmark}", { path: { project, benchmark }, signal }),
  measure: (project, measure, signal) =>
    call("get", "/v0/projects/{project}/measures/{measure}", { path: { project, measure }, signal }),
};

/** The search function of a picker. */
export function useChoices(kind: Kind): (words: string, signal: AbortSignal) => Promise<Page<Named>> {
  const project = useProject();
  return (words, signal) => LISTS[kind](project.slug(), words, signal);
}

/** A picker that stores its selection in the query of the URL, as a slug. */
export function FilterPicker(props: { kind: Kind }): JSX.Element {
  const project = useProject();
  const [params, setParams] = useSearchParams();
  const given = () => {
    const value = params[props.kind];
    return typeof value === "string" && value ? value : undefined;
  };
  const named = load(
    () => (given() ? { project: project.slug(), id: given() ?? "" } : undefined),
    ({ project, id }, signal) => GETS[props.kind](project, id, signal),
  );
  const value = (): Named | undefined => {
    const id = given();
    if (!id) return undefined;
    const found = named();
    return found && [found.slug, found.uuid, found.name].includes(id) ? found : { uuid: id, slug: id, name: id };
  };
  return (
    <Picker
      label={props.kind.charAt(0).toUpperCase() + props.kind.slice(1)}
      quiet
      placeholder={`Any ${props.kind}`}
      value={value()}
      onPick={(choice) => setParams({ page: undefined, [props.kind]: choice?.slug }, { replace: true, scroll: false })}
      search={useChoices(props.kind)}
    />
  );
}

/** A date range, stored in the query of the URL in milliseconds. The names of the parameters can have a prefix. */
export function DateRange(props: { of?: string }): JSX.Element {
  const [params, setParams] = useSearchParams();
  const name = (end: "start_time" | "end_time" | "page") => `${props.of ?? ""}${end}`;
  const day = (end: "start_time" | "end_time") => {
    const time = Number(params[name(end)]);
    if (!params[name(end)] || !Number.isFinite(time)) return "";
    const date = new Date(time);
    const two = (number: number) => String(number).padStart(2, "0");
    return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  };
  const set = (end: "start_time" | "end_time", text: string) => {
    // In the local time zone; the range includes the last day.
    const time = text ? new Date(`${text}T${end === "end_time" ? "23:59:59.999" : "00:00"}`).getTime() : NaN;
    setParams(
      { [name("page")]: undefined, [name(end)]: Number.isFinite(time) ? String(time) : undefined },
      { replace: true, scroll: false },
    );
  };
  return (
    <div class="dates" role="group" aria-label="Date range">
      <input
        type="date"
        aria-label="From"
        value={day("start_time")}
        max={day("end_time") || undefined}
        onChange={(event) => set("start_time", event.currentTarget.value)}
      />
      <span class="muted" aria-hidden="true">
        –
      </span>
      <input
        type="date"
        aria-label="To"
        value={day("end_time")}
        min={day("start_time") || undefined}
        onChange={(event) => set("end_time", event.currentTarget.value)}
      />
    </div>
  );
}
