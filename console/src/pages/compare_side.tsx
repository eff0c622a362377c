// Selects one side of a comparison.

import { createMemo, For, type JSX, Show } from "solid-js";
import type { JsonReport, JsonVerdict, JsonVerdictBaseline } from "../api";
import { baselineText, branchVersion } from "../comparison";
import { day, shortHash } from "../format";
import { type Choice, parseChoice, writeChoice } from "./compare_choice";
import "./compare.css";

const KINDS = [
  { kind: "baseline", label: "Baseline" },
  { kind: "branch", label: "Branch" },
  { kind: "version", label: "Version" },
  { kind: "report", label: "Run" },
] as const;

/** Selects one side of a comparison: the baseline, a branch, a version or a report. */
export function SidePicker(props: {
  label: string;
  /** Whether the default baseline can be selected. */
  baseline?: boolean;
  choice: Choice | undefined;
  /** The verdict or its baseline: what the server compared. */
  found: JsonVerdict | JsonVerdictBaseline | null | undefined;
  reports: readonly JsonReport[];
  onChange: (choice: Choice) => void;
}): JSX.Element {
  const branches = createMemo(() =>
    [...new Map(props.reports.map(({ branch }) => [branch.slug, branch.name])).entries()].sort(([, one], [, two]) =>
      one.localeCompare(two),
    ),
  );
  const versions = createMemo(() => {
    const found = new Map<string, { slug: string; number: number; hash: string | undefined; at: string }[]>();
    for (const { branch, start_time } of props.reports) {
      const { version } = branch.head;
      const own = found.get(branch.name) ?? [];
      found.set(branch.name, own);
      if (version && !own.some(({ number }) => number === version.number))
        own.push({ slug: branch.slug, number: version.number, hash: version.hash ?? undefined, at: start_time });
    }
    return [...found.entries()].sort(([one], [two]) => one.localeCompare(two));
  });
  const kind = () => props.choice?.kind ?? "branch";
  const setKind = (kind: Choice["kind"]) => {
    if (kind === "baseline") return props.onChange({ kind });
    const near = props.found ?? props.reports[0];
    if (!near) return;
    if (kind === "report") props.onChange({ kind, report: "report" in near ? near.report : near.uuid });
    else if (kind === "branch") props.onChange({ kind, branch: near.branch.slug });
    else props.onChange({ kind, branch: near.branch.slug, number: near.branch.head.version?.number ?? 0 });
  };
  const pick = (text: string) => {
    const choice = parseChoice(text);
    if (choice) props.onChange(choice);
  };
  const selected = () => (props.choice ? writeChoice(props.choice) : "");
  // The list may not contain an older selected side.
  const known = () => {
    const { choice } = props;
    if (!choice || choice.kind === "baseline") return true;
    if (choice.kind === "report") return props.reports.some(({ uuid }) => uuid === choice.report);
    return choice.kind === "branch"
      ? branches().some(([slug]) => slug === choice.branch)
      : versions().some(([, own]) =>
          own.some(({ slug, number }) => slug === choice.branch && number === choice.number),
        );
  };
  return (
    <fieldset class="card side-picker">
      <legend class="visually-hidden">{props.label}</legend>
      <div class="row between">
        <span class="side-label" aria-hidden="true">
          {props.label}
        </span>
        <div class="side-kinds" role="group" aria-label={`${props.label}: what to compare`}>
          <For each={props.baseline ? KINDS : KINDS.slice(1)}>
            {(one) => (
              <button type="button" aria-pressed={kind() === one.kind} onClick={() => setKind(one.kind)}>
                {one.label}
              </button>
            )}
          </For>
        </div>
      </div>
      <select aria-label={`${props.label}: which ${kind()}`} onChange={(event) => pick(event.currentTarget.value)}>
        <Show when={!known()}>
          <option value={selected()} selected>
            {props.found ? branchVersion(props.found.branch) : "…"}
          </option>
        </Show>
        <Show when={kind() === "baseline"}>
          <option value="baseline" selected>
            Merge base, or earlier runs
          </option>
        </Show>
        <Show when={kind() === "branch"}>
          <For each={branches()}>
            {([slug, name]) => (
              <option value={`branch:${slug}`} selected={selected() === `branch:${slug}`}>
                {name}
              </option>
            )}
          </For>
        </Show>
        <Show when={kind() === "version"}>
          <For each={versions()}>
            {([name, own]) => (
              <optgroup label={name}>
                <For each={own}>
                  {({ slug, number, hash, at }) => (
                    <option value={`version:${slug}@${number}`} selected={selected() === `version:${slug}@${number}`}>
                      #{number} {hash ? shortHash(hash) : ""} · {day(at)}
                    </option>
                  )}
                </For>
              </optgroup>
            )}
          </For>
        </Show>
        <Show when={kind() === "report"}>
          <For each={props.reports}>
            {(report) => (
              <option value={`report:${report.uuid}`} selected={selected() === `report:${report.uuid}`}>
                {report.branch.name}{" "}
                {report.branch.head.version?.hash ? shortHash(report.branch.head.version.hash) : ""} ·{" "}
                {report.testbed.name} · {day(report.start_time)}
              </option>
            )}
          </For>
        </Show>
      </select>
      <p class="small muted side-summary">
        <Show when={props.found} fallback={"\u00a0"}>
          {(found) => {
            const side = found();
            return "reports" in side ? baselineText(side) : `${branchVersion(side.branch)} on ${side.testbed.name}`;
          }}
        </Show>
      </p>
    </fieldset>
  );
}
