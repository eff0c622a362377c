// Thresholds and newest runs of a branch, a testbed or a measure.

import { A } from "@solidjs/router";
import { type JSX, Show } from "solid-js";
import { type JsonReport, type JsonThreshold, list } from "../api";
import { count, plural } from "../format";
import { load } from "../load";
import { describe } from "../model";
import { useProject } from "../project";
import { Badge } from "../ui/Badge";
import { LinkButton } from "../ui/Button";
import { Failure, Skeleton } from "../ui/State";
import { Table } from "../ui/Table";
import { Name, Time } from "../ui/Value";
import { AlertCount } from "../ui/Verdict";
import { Version } from "../ui/Version";
import "./lists.css";

const FEW = 8;

/** The first rows. One more row takes the place of the link to all. */
function firstRows<Row>(page: { rows: Row[]; total: number } | undefined): Row[] {
  return page ? page.rows.slice(0, page.total > FEW + 1 ? FEW : FEW + 1) : [];
}

/** The newest runs of a branch or a testbed. */
export function Reports(props: { branch?: string; testbed?: string }): JSX.Element {
  const project = useProject();
  const of = () => ({
    ...(props.branch ? { branch: props.branch } : {}),
    ...(props.testbed ? { testbed: props.testbed } : {}),
  });
  const reports = load(
    () => ({ project: project.slug(), ...of() }),
    ({ project, ...query }, signal) =>
      list("/v0/projects/{project}/reports", { path: { project }, query: { ...query, per_page: FEW + 1 }, signal }),
  );
  return (
    <Related
      title="Runs"
      noun="run"
      total={reports()?.total}
      error={reports.error()}
      retry={reports.refresh}
      all={`${project.path("reports")}?${new URLSearchParams(of())}`}
      none="No runs yet."
    >
      <Table<JsonReport>
        label="Runs"
        rows={firstRows(reports())}
        href={(report) => project.path("reports", report.uuid)}
        columns={[
          { title: "When", cell: (report) => <Time at={report.start_time} /> },
          {
            title: props.branch ? "Testbed" : "Branch",
            cell: (report) => (
              <span class="break">
                <Name of={props.branch ? report.testbed.name : report.branch.name} />
              </span>
            ),
          },
          { title: "Version", wide: true, cell: (report) => <Version version={report.branch.head.version} /> },
          {
            title: "Alerts",
            end: true,
            cell: (report) => <AlertCount {...report.counts.alerts} />,
          },
        ]}
      />
    </Related>
  );
}

/** The thresholds of a branch, a testbed or a measure; of the project by default. */
export function Thresholds(props: {
  branch?: string;
  testbed?: string;
  measure?: string;
  title?: string;
  about?: string;
  /** Whether to show the number of active alerts of each threshold. */
  alerts?: boolean;
  actions?: JSX.Element;
}): JSX.Element {
  const project = useProject();
  const of = () => ({
    ...(props.branch ? { branch: props.branch } : {}),
    ...(props.testbed ? { testbed: props.testbed } : {}),
    ...(props.measure ? { measure: props.measure } : {}),
  });
  const thresholds = load(
    () => ({ project: project.slug(), ...of() }),
    ({ project, ...query }, signal) =>
      list("/v0/projects/{project}/thresholds", { path: { project }, query: { ...query, per_page: FEW + 1 }, signal }),
  );
  const alerts = load(
    () =>
      props.alerts &&
      thresholds() && { project: project.slug(), uuids: firstRows(thresholds()).map(({ uuid }) => uuid) },
    async ({ project, uuids }, signal) => {
      const total = async (threshold: string): Promise<[string, number]> => [
        threshold,
        (
          await list("/v0/projects/{project}/alerts", {
            path: { project },
            query: { threshold, status: "active", per_page: 0 },
            signal,
          })
        ).total,
      ];
      return new Map(await Promise.all(uuids.map(total)));
    },
  );
  const names = ({ branch, testbed, measure }: JsonThreshold) =>
    [!props.measure && measure.name, !props.branch && branch.name, !props.testbed && testbed.name].filter(Boolean);
  return (
    <Related
      title={props.title ?? "Thresholds"}
      noun="threshold"
      total={thresholds()?.total}
      error={thresholds.error()}
      retry={thresholds.refresh}
      all={`${project.path("thresholds")}?${new URLSearchParams(of())}`}
      none="No thresholds. Values are recorded, but raise no alerts."
      {...(props.about ? { about: props.about } : {})}
      actions={props.actions}
    >
      <Table<JsonThreshold>
        label="Thresholds"
        rows={firstRows(thresholds())}
        href={(threshold) => project.path("thresholds", threshold.uuid)}
        columns={[
          {
            title: "Scope",
            cell: (threshold) => (
              <>
                {names(threshold)[0]}
                <span class="subtext">{names(threshold).slice(1).join(" · ")}</span>
              </>
            ),
          },
          {
            title: "Model",
            cell: (threshold) => (
              <Show when={threshold.model} fallback={<Badge>no model</Badge>}>
                {(model) => <span class="small">{describe(model())}</span>}
              </Show>
            ),
          },
          props.alerts
            ? {
                title: "Alerts",
                end: true,
                cell: ({ uuid }) => (
                  <A class="number above-row-link" href={`${project.path("alerts")}?threshold=${uuid}`}>
                    {alerts()?.get(uuid) ?? "…"}
                  </A>
                ),
              }
            : {
                title: "Changed",
                wide: true,
                end: true,
                cell: (threshold) => (
                  <span class="muted">
                    <Time at={threshold.modified} />
                  </span>
                ),
              },
        ]}
      />
    </Related>
  );
}

function Related(props: {
  title: string;
  noun: string;
  about?: string;
  actions?: JSX.Element;
  total: number | undefined;
  error: unknown;
  retry: () => unknown;
  all: string;
  none: string;
  children: JSX.Element;
}): JSX.Element {
  return (
    <section class="stack tight related">
      <div class="row between">
        <h2>
          {props.title}{" "}
          <Show when={props.total}>{(total) => <span class="muted small number">{count(total())}</span>}</Show>
        </h2>
        <div class="row">
          <Show when={(props.total ?? 0) > FEW + 1}>
            <LinkButton href={props.all}>All {plural(props.total ?? 0, props.noun)}</LinkButton>
          </Show>
          {props.actions}
        </div>
      </div>
      <Show when={props.about}>
        <p class="small muted prose">{props.about}</p>
      </Show>
      <Show when={props.error}>{(error) => <Failure error={error()} retry={props.retry} />}</Show>
      <Show
        when={props.total !== undefined}
        fallback={
          <Show when={!props.error}>
            <Skeleton lines={4} />
          </Show>
        }
      >
        <Show when={props.total} fallback={<p class="muted">{props.none}</p>}>
          {props.children}
        </Show>
      </Show>
    </section>
  );
}
