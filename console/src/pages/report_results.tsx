// The results of a report compared with the limits of its thresholds, worst first.

import { A, useSearchParams } from "@solidjs/router";
import { createMemo, For, type JSX, Show } from "solid-js";
import type { JsonAlert, JsonReport, JsonReportMeasure, JsonReportResult } from "../api";
import { count } from "../format";
import { nameOf } from "../history";
import { perfUpTo } from "../links";
import { MutedBadge } from "../mute";
import { useProject } from "../project";
import { worseOf } from "../stats/worse";
import { Badge } from "../ui/Badge";
import { Button } from "../ui/Button";
import { SearchField } from "../ui/SearchField";
import { Empty } from "../ui/State";
import { Table } from "../ui/Table";
import { Delta, Name, Value } from "../ui/Value";
import { Gauge, limitsText, VERDICTS } from "../ui/Verdict";
import { type Judged, resultOf, type Verdict } from "../verdict";
import "./lists.css";

/** One value of a report. */
interface Row extends Judged {
  result: JsonReportResult;
  measured: JsonReportMeasure;
  alert: JsonAlert | undefined;
  /** The benchmark and its parameters. */
  name: string;
}

/** The filter of the results, by its value in the URL. */
const FILTERS: readonly { value: string; label: string; matches: (verdict: Verdict) => boolean }[] = [
  { value: "", label: "All", matches: () => true },
  {
    value: "moved",
    label: "With alert",
    matches: (verdict) => verdict === "regression" || verdict === "improvement",
  },
  { value: "regression", label: "Outside the threshold", matches: (verdict) => verdict === "regression" },
  { value: "improvement", label: "Improved beyond the limits", matches: (verdict) => verdict === "improvement" },
  { value: "unwatched", label: "No limits", matches: (verdict) => verdict.startsWith("no_") },
];

/** Number of rows of a group before "Show more". */
const FIRST_ROWS = 100;

/** The results of a report: filters, groups and tables. */
export function Results(props: { report: JsonReport }): JSX.Element {
  const [params, setParams] = useSearchParams();
  const text = (name: string) => (typeof params[name] === "string" ? params[name] : "");
  const set = (name: string, value: string) =>
    setParams({ [name]: value || undefined }, { replace: true, scroll: false });
  const rows = createMemo(() => allRows(props.report));
  const measures = createMemo(() => [
    ...new Map(rows().map(({ measured: { measure } }) => [measure.slug, measure.name])),
  ]);
  const grouping = () => text("group") || (measures().length > 1 ? "measure" : "none");
  const words = () => text("search").toLowerCase().split(/\s+/).filter(Boolean);
  const found = createMemo(() =>
    rows().filter(
      ({ name, measured: { measure } }) =>
        (!text("measure") || measure.slug === text("measure")) &&
        words().every((word) => name.toLowerCase().includes(word)),
    ),
  );
  const shown = () => FILTERS.find(({ value }) => value === text("show")) ?? FILTERS[0];
  const visible = createMemo(() => found().filter(({ verdict }) => shown()?.matches(verdict)));
  const groups = createMemo(() => {
    const key = ({ name, measured: { measure } }: Row) =>
      grouping() === "measure" ? measure.name : grouping() === "benchmark" ? prefix(name) : "";
    const sorted = new Map<string, Row[]>();
    for (const row of visible()) {
      const group = sorted.get(key(row));
      if (group) group.push(row);
      else sorted.set(key(row), [row]);
    }
    return sorted;
  });
  // Keeps the tables of the groups, and with them the rows that still match.
  const titles = createMemo(() => [...groups().keys()]);
  return (
    <section class="stack" aria-label="Results">
      <div class="list-tools">
        <div class="segments" role="group" aria-label="Filter results">
          <For each={FILTERS}>
            {(choice) => {
              const number = () => found().filter(({ verdict }) => choice.matches(verdict)).length;
              return (
                <Show when={!choice.value || choice.value === "moved" || number() || shown() === choice}>
                  <button type="button" aria-pressed={shown() === choice} onClick={() => set("show", choice.value)}>
                    {choice.label} <span class="muted number small">{count(number())}</span>
                  </button>
                </Show>
              );
            }}
          </For>
        </div>
        <span class="grow" />
        <SearchField
          label="Search the results"
          value={text("search")}
          onInput={(words) => set("search", words)}
          shortcut="Search the results"
        />
        <Show when={measures().length > 1}>
          <label>
            <span class="visually-hidden">Measure</span>
            <select onChange={(event) => set("measure", event.currentTarget.value)}>
              <option value="">All measures</option>
              <For each={measures()}>
                {([slug, name]) => (
                  <option value={slug} selected={slug === text("measure")}>
                    {name}
                  </option>
                )}
              </For>
            </select>
          </label>
        </Show>
        <label>
          <span class="visually-hidden">Group</span>
          <select onChange={(event) => set("group", event.currentTarget.value)}>
            <For
              each={
                [
                  ["none", "No grouping"],
                  ["measure", "By measure"],
                  ["benchmark", "By group"],
                ] as const
              }
            >
              {([value, label]) => (
                <option value={value} selected={value === grouping()}>
                  {label}
                </option>
              )}
            </For>
          </select>
        </label>
      </div>
      <Show
        when={titles().length}
        fallback={
          <Show when={rows().length} fallback={<Empty title="The run has no results" />}>
            <Show
              when={text("show") === "moved" && !text("search") && !text("measure")}
              fallback={<Empty title="No matches">No result matches the search and the filters.</Empty>}
            >
              <Empty title="No alerts" action={<Button onClick={() => set("show", "")}>Show all</Button>}>
                All values with limits are within them.
              </Empty>
            </Show>
          </Show>
        }
      >
        <For each={titles()}>
          {(title) => (
            <Group
              title={title}
              rows={groups().get(title) ?? []}
              report={props.report}
              withMeasure={grouping() !== "measure" && measures().length > 1}
            />
          )}
        </For>
      </Show>
    </section>
  );
}

function Group(props: { title: string; rows: readonly Row[]; report: JsonReport; withMeasure: boolean }): JSX.Element {
  const project = useProject();
  const hasIterations = () => (props.report.results?.length ?? 0) > 1;
  return (
    <div class="group">
      <Show when={props.title}>
        <h2>
          {props.title} <span class="muted small number">{count(props.rows.length)}</span>
        </h2>
      </Show>
      <Table<Row>
        label={props.title || "Results"}
        rows={props.rows}
        first={FIRST_ROWS}
        href={({ result, measured }) => perfUpTo(project, props.report, result.benchmark, measured.measure)}
        columns={[
          {
            title: "Benchmark",
            cell: (row) => (
              <>
                <Name of={row.name} />
                <Show when={hasIterations()}>
                  {" "}
                  <span class="muted small">iteration {row.result.iteration}</span>
                </Show>
                <Show when={props.withMeasure}>
                  <span class="muted small"> · {row.measured.measure.name}</span>
                </Show>
                <Show when={row.alert || row.verdict === "improvement"}>
                  <span class="subtext on-phone">
                    <VerdictWord row={row} short />
                  </span>
                </Show>
              </>
            ),
          },
          {
            title: "Value",
            end: true,
            cell: (row) => (
              <A class="above-row-link plain-link" href={project.path("metrics", row.measured.metric.uuid)}>
                <Value value={row.measured.metric.value} units={row.measured.measure.units} />
              </A>
            ),
          },
          {
            title: "Baseline",
            end: true,
            wide: true,
            cell: (row) => (
              <Show when={typeof row.measured.boundary?.baseline === "number"} fallback={<span class="muted">–</span>}>
                <span class="muted">
                  <Value value={row.measured.boundary?.baseline ?? 0} units={row.measured.measure.units} />
                </span>
              </Show>
            ),
          },
          { title: "Δ", end: true, cell: (row) => <Change row={row} /> },
          {
            title: "Limits",
            wide: true,
            cell: (row) => (
              <Show
                when={row.measured.boundary && !row.verdict.startsWith("no_") && row.measured.boundary}
                fallback={<span class="muted">–</span>}
              >
                {(boundary) => (
                  <span class="row limits-cell">
                    <Gauge
                      value={row.measured.metric.value}
                      boundary={boundary()}
                      units={row.measured.measure.units}
                      bad={row.verdict === "regression"}
                    />
                    <span class="small muted number nowrap">{limitsText(boundary(), row.measured.measure.units)}</span>
                  </span>
                )}
              </Show>
            ),
          },
          { title: "Threshold", wide: true, end: true, cell: (row) => <ResultVerdict row={row} /> },
        ]}
      />
    </div>
  );
}

function Change(props: { row: Row }): JSX.Element {
  const direction = () => (props.row.verdict === "pass" ? undefined : worseOf(props.row.measured.measure));
  return (
    <Show when={typeof props.row.measured.boundary?.baseline === "number"} fallback={<span class="muted">–</span>}>
      <Delta
        from={props.row.measured.boundary?.baseline ?? 0}
        to={props.row.measured.metric.value}
        {...(direction() ? { worse: direction() as "up" | "down" } : {})}
      />
    </Show>
  );
}

function ResultVerdict(props: { row: Row }): JSX.Element {
  const project = useProject();
  const word = () => VERDICTS[props.row.verdict];
  return (
    <Show
      when={props.row.alert}
      fallback={
        <Show
          when={props.row.verdict === "improvement"}
          fallback={<span class="small muted nowrap">{word().word}</span>}
        >
          <VerdictWord row={props.row} />
        </Show>
      }
    >
      {(alert) => (
        <A class="above-row-link plain-link nowrap" href={project.path("alerts", alert().uuid)}>
          <VerdictWord row={props.row} /> <MutedBadge of={alert().muted} />
        </A>
      )}
    </Show>
  );
}

/** The badge of a value with an alert or an improvement; the short one of a dismissed alert has only its status. */
function VerdictWord(props: { row: Row; short?: boolean }): JSX.Element {
  const word = () => VERDICTS[props.row.verdict];
  const alert = () => props.row.alert;
  const isOpen = () => alert()?.status === "active" && !alert()?.muted;
  const text = () => {
    const status = alert()?.status ?? "active";
    return status === "active" ? word().word : props.short ? status : `${word().word}, ${status}`;
  };
  return <Badge tone={alert() ? (isOpen() ? word().tone : "neutral") : "good"}>{text()}</Badge>;
}

/** All values of a report, worst first. */
function allRows(report: JsonReport): Row[] {
  const alerts = new Map((report.alerts ?? []).map((alert) => [alert.metric.uuid, alert]));
  const rows = (report.results ?? []).flat().flatMap((result) =>
    result.measures.map((measured): Row => {
      const alert = alerts.get(measured.metric.uuid);
      return { ...resultOf(measured, alert?.limit), result, measured, alert, name: nameOf(result) };
    }),
  );
  const order: readonly Verdict[] = ["regression", "pass", "improvement", "no_baseline", "no_threshold"];
  const rank = ({ verdict }: Row) => (verdict === "improvement" ? order.indexOf("pass") : order.indexOf(verdict));
  return rows.sort((a, b) => rank(a) - rank(b) || b.badness - a.badness || a.name.localeCompare(b.name));
}

/** The prefix before the last `::` or `/`. */
function prefix(name: string): string {
  const plain = name.replace(/ \(.*\)$/, "");
  const end = Math.max(plain.lastIndexOf("::"), plain.lastIndexOf("/"));
  return end > 0 ? plain.slice(0, end) : "Others";
}
