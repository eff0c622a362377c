// Selects one side of a comparison.

import { createMemo, For, type JSX, Show } from "solid-js";
import type { JsonReport } from "../api";
import { day, plural, shortHash } from "../format";
import { type Choice, parseChoice, type Side, writeChoice } from "../stats/sides";
import "./compare.css";

const KINDS = [
  { kind: "branch", label: "Branch" },
  { kind: "version", label: "Version" },
  { kind: "report", label: "Run" },
] as const;

/** Selects one side of a comparison: a branch, a version or a report. */
export function SidePicker(props: {
  label: string;
  choice: Choice | undefined;
  side: Side | undefined;
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
    const near = props.side?.reports[0] ?? props.reports[0];
    if (!near) return;
    if (kind === "report") props.onChange({ kind, report: near.uuid });
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
    if (!choice) return true;
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
          <For each={KINDS}>
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
            {props.side?.label ?? "…"}
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
        <Show when={props.side} fallback={"\u00a0"}>
          {(side) => (
            <>
              {plural(side().reports.length, "run")}
              <Show when={side().versions > 1}> of {plural(side().versions, "version")}</Show>
              <Show when={side().testbeds.length}>
                {" "}
                on{" "}
                {side()
                  .testbeds.map(({ name }) => name)
                  .join(", ")}
              </Show>
            </>
          )}
        </Show>
      </p>
    </fieldset>
  );
}
