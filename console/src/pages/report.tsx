// Reports: the list, and one report with its results, worst first.

import { A, useNavigate, useParams, useSearchParams } from "@solidjs/router";
import { createMemo, createSignal, For, type JSX, Show } from "solid-js";
import {
  call,
  type JsonAlert,
  type JsonJob,
  type JsonReport,
  type JsonReportMeasure,
  type JsonReportResult,
  list,
} from "../api";
import { DateRange, FilterPicker } from "../choices";
import { count, elapsed, moment, plural } from "../format";
import { nameOf } from "../history";
import { hasEnded, JobProgress, Noise, Status } from "../job";
import { perfUpTo } from "../links";
import { load, refreshWhile } from "../load";
import { useProject } from "../project";
import { worseOf } from "../stats/worse";
import { Confirm } from "../ui/Dialog";
import { List as Rows } from "../ui/List";
import { LoadingPage, Page } from "../ui/Page";
import { Badge, Button, Copy, Delta, Empty, LinkButton, Time, Value } from "../ui/parts";
import { Raw } from "../ui/Raw";
import { SearchField } from "../ui/SearchField";
import { Table } from "../ui/Table";
import { toast, toastFailure } from "../ui/Toast";
import { AlertCount, Gauge, limitsText, VERDICTS } from "../ui/Verdict";
import { Version } from "../ui/Version";
import { type Judged, resultOf, type Verdict } from "../verdict";
import { ReportVerdict } from "./report_verdict";
import "./lists.css";

export function List(): JSX.Element {
  const project = useProject();
  return (
    <Page title="Reports" crumbs={project.crumbs()}>
      <Rows<JsonReport>
        noun="report"
        archived
        params={["branch", "testbed", "start_time", "end_time"]}
        load={(query, signal) =>
          list("/v0/projects/{project}/reports", {
            path: { project: project.slug() },
            query: { ...query, sort: "date_time" },
            signal,
          })
        }
        href={(report) => project.path("reports", report.uuid)}
        tools={() => (
          <>
            <FilterPicker kind="branch" />
            <FilterPicker kind="testbed" />
            <DateRange />
          </>
        )}
        columns={[
          { title: "When", sort: "date_time", falling: true, cell: (report) => <Time at={report.start_time} /> },
          { title: "Branch", cell: (report) => <span class="break">{report.branch.name}</span> },
          { title: "Version", wide: true, cell: (report) => <Version version={report.branch.head.version} /> },
          { title: "Testbed", wide: true, cell: (report) => <span class="break">{report.testbed.name}</span> },
          {
            title: "Results",
            wide: true,
            end: true,
            cell: (report) => <span class="number muted nowrap">{contents(report)}</span>,
          },
          { title: "Alerts", end: true, cell: (report) => <AlertCount {...report.counts.alerts} /> },
        ]}
        empty={
          <Empty
            title="No reports yet"
            action={
              <LinkButton href="/console/onboard/run" primary>
                Get started
              </LinkButton>
            }
          >
            A report contains the results of one run. Send the first report with <code>tidemark run</code>.
          </Empty>
        }
      />
    </Page>
  );
}

function contents({ counts: { results } }: JsonReport): string {
  const benchmarks = Math.max(...results.map((iteration) => iteration.benchmarks), 0);
  const measures = Math.max(...results.map((iteration) => iteration.measures), 0);
  const iterations = results.length > 1 ? `${results.length} × ` : "";
  return `${iterations}${plural(benchmarks, "benchmark")}, ${plural(measures, "measure")}`;
}

/** One value of a report. */
interface Row extends Judged {
  result: JsonReportResult;
  measured: JsonReportMeasure;
  alert: JsonAlert | undefined;
  /** The benchmark and its parameters. */
  name: string;
}

/** The filter of the results, by its value in the URL. */
const SHOWN: readonly { value: string; label: string; fits: (verdict: Verdict) => boolean }[] = [
  { value: "", label: "All", fits: () => true },
  {
    value: "moved",
    label: "Only changes",
    fits: (verdict) => verdict === "regression" || verdict === "improvement",
  },
  { value: "regression", label: "Outside the threshold", fits: (verdict) => verdict === "regression" },
  { value: "improvement", label: "Improved beyond the limits", fits: (verdict) => verdict === "improvement" },
  { value: "unwatched", label: "No limits", fits: (verdict) => verdict.startsWith("no_") },
];

/** Number of rows of a group before "Show more". */
const FIRST = 100;

export function View(): JSX.Element {
  const project = useProject();
  const params = useParams<{ report: string }>();
  const navigate = useNavigate();
  const [deleting, setDeleting] = createSignal(false);
  const path = () => ({ project: project.slug(), report: params.report });
  const report = load(path, (path, signal) => call("get", "/v0/projects/{project}/reports/{report}", { path, signal }));

  const job = load(
    () => {
      const uuid = report()?.job;
      return uuid ? { project: project.slug(), job: uuid } : undefined;
    },
    (path, signal) => call("get", "/v0/projects/{project}/jobs/{job}", { path, signal }),
  );
  const isUnderWay = () => {
    const known = job();
    return known !== undefined && !hasEnded(known);
  };
  const follow = async () => {
    await job.refresh();
    if (job()?.status === "processed") await report.refresh();
  };
  refreshWhile(isUnderWay, follow, 3_000);

  const active = () => report()?.alerts?.filter((alert) => alert.status === "active") ?? [];
  const settle = async (status: "active" | "dismissed", which: readonly JsonAlert[]): Promise<void> => {
    const uuids = new Set(which.map(({ uuid }) => uuid));
    try {
      await report.optimistic<unknown>(
        (old) => ({
          ...old,
          alerts: (old.alerts ?? []).map((alert) => (uuids.has(alert.uuid) ? { ...alert, status } : alert)),
        }),
        () =>
          status === "dismissed"
            ? call("patch", "/v0/projects/{project}/alerts", {
                path: { project: project.slug() },
                body: { status, report: params.report },
              })
            : Promise.all(
                which.map(({ uuid }) =>
                  call("patch", "/v0/projects/{project}/alerts/{alert}", {
                    path: { project: project.slug(), alert: uuid },
                    body: { status },
                  }),
                ),
              ),
      );
      void project.alerts.refresh();
      if (status === "dismissed") toast(`${plural(which.length, "alert")} dismissed.`, () => settle("active", which));
    } catch (error) {
      toastFailure(error);
    }
  };
  const remove = async () => {
    await call("delete", "/v0/projects/{project}/reports/{report}", { path: path() });
    void project.alerts.refresh();
    toast("Report deleted.");
    navigate(project.path("reports"));
  };

  return (
    <Show
      when={report()}
      fallback={<LoadingPage title="Report" crumbs={project.crumbs("reports", "Reports")} lines={12} item={report} />}
    >
      {(shown) => (
        <Page
          title={`Report of ${moment(shown().start_time)}`}
          aside={<AlertCount total={shown().alerts?.length ?? 0} active={active().length} />}
          crumbs={project.crumbs("reports", "Reports")}
          actions={
            <>
              <Show when={active().length && project.may("edit")}>
                <Button onClick={() => settle("dismissed", active())}>
                  Dismiss {plural(active().length, "alert")}
                </Button>
              </Show>
              <Raw value={shown()} />
              <Show when={project.may("delete")}>
                <Button kind="danger" onClick={() => setDeleting(true)}>
                  Delete
                </Button>
              </Show>
            </>
          }
        >
          <Show when={job()}>
            {(job) => (
              <JobProgress of={job()}>
                <p>
                  <A href={project.path("jobs", job().uuid)}>{hasEnded(job()) ? "View job output" : "View job"}</A>
                </p>
              </JobProgress>
            )}
          </Show>
          <Summary report={shown()} job={job()} />
          <Show when={!isUnderWay()}>
            <ReportVerdict report={shown()} />
            <Results report={shown()} />
          </Show>
          <Confirm
            open={deleting()}
            title="Delete report?"
            action="Delete"
            onConfirm={remove}
            onClose={() => setDeleting(false)}
          >
            <p>
              Its{" "}
              {plural(
                shown().counts.results.reduce((sum, iteration) => sum + iteration.benchmarks, 0),
                "result",
              )}{" "}
              and {plural(shown().alerts?.length ?? 0, "alert")} will be deleted permanently.
            </p>
            <p class="muted">Existing limits that used its values do not change.</p>
          </Confirm>
        </Page>
      )}
    </Show>
  );
}

function Summary(props: { report: JsonReport; job: JsonJob | undefined }): JSX.Element {
  const project = useProject();
  const version = () => props.report.branch.head.version;
  const seconds = () =>
    Math.round((new Date(props.report.end_time).getTime() - new Date(props.report.start_time).getTime()) / 1000);
  return (
    <dl class="summary card">
      <div>
        <dt>Branch</dt>
        <dd>
          <A
            class="break"
            href={`${project.path("branches", props.report.branch.slug)}?head=${props.report.branch.head.uuid}`}
          >
            {props.report.branch.name}
          </A>
        </dd>
      </div>
      <div>
        <dt>Version</dt>
        <dd>
          <Version version={version()} />
          <Show when={version()?.hash}>{(hash) => <Copy text={hash()} label="Copy the hash" />}</Show>
        </dd>
      </div>
      <div>
        <dt>Testbed</dt>
        <dd>
          <A class="break" href={project.path("testbeds", props.report.testbed.slug)}>
            {props.report.testbed.name}
          </A>
        </dd>
      </div>
      <Show when={props.report.testbed.spec}>
        {(spec) => (
          <div>
            <dt>Spec</dt>
            <dd>{spec().name}</dd>
          </div>
        )}
      </Show>
      <div>
        <dt>Started</dt>
        <dd>
          <Time at={props.report.start_time} />
        </dd>
      </div>
      <div>
        <dt>Duration</dt>
        <dd>{elapsed(Math.max(seconds(), 0))}</dd>
      </div>
      <div>
        <dt>Adapter</dt>
        <dd>
          <code>{props.report.adapter}</code>
        </dd>
      </div>
      <Show when={props.job}>
        {(job) => (
          <div>
            <dt>Job</dt>
            <dd>
              <A class="plain" href={project.path("jobs", job().uuid)}>
                <Status of={job().status} />
              </A>
            </dd>
          </div>
        )}
      </Show>
      <Show when={props.report.noise}>
        {(noise) => (
          <div>
            <dt>Noise</dt>
            <dd>
              <Noise of={noise()} />
            </dd>
          </div>
        )}
      </Show>
      <Show when={props.report.user}>
        {(user) => (
          <div>
            <dt>Sent by</dt>
            <dd>{user().name}</dd>
          </div>
        )}
      </Show>
      <div>
        <dt>UUID</dt>
        <dd>
          <code class="muted">{props.report.uuid.slice(0, 8)}</code>
          <Copy text={props.report.uuid} label="Copy the UUID" />
        </dd>
      </div>
    </dl>
  );
}

function Results(props: { report: JsonReport }): JSX.Element {
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
  const shown = () => SHOWN.find(({ value }) => value === text("show")) ?? SHOWN[0];
  const visible = createMemo(() => found().filter(({ verdict }) => shown()?.fits(verdict)));
  const groups = createMemo(() => {
    const key = ({ name, measured: { measure } }: Row) =>
      grouping() === "measure" ? measure.name : grouping() === "benchmark" ? prefix(name) : "";
    const sorted = new Map<string, Row[]>();
    for (const row of visible()) sorted.set(key(row), [...(sorted.get(key(row)) ?? []), row]);
    return [...sorted];
  });
  return (
    <section class="stack" aria-label="Results">
      <div class="list-tools">
        <div class="segments" role="group" aria-label="Filter results">
          <For each={SHOWN}>
            {(choice) => {
              const number = () => found().filter(({ verdict }) => choice.fits(verdict)).length;
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
        <SearchField label="Search the results" value={text("search")} onInput={(words) => set("search", words)} />
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
        when={groups().length}
        fallback={
          <Show when={rows().length} fallback={<Empty title="The report has no results" />}>
            <Show
              when={text("show") === "moved" && !text("search") && !text("measure")}
              fallback={<Empty title="No matches">No result matches the search and the filters.</Empty>}
            >
              <Empty title="No changes" action={<Button onClick={() => set("show", "")}>Show all</Button>}>
                All values with limits are within them.
              </Empty>
            </Show>
          </Show>
        }
      >
        <For each={groups()}>
          {([title, rows]) => (
            <Group
              title={title}
              rows={rows}
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
  const several = () => (props.report.results?.length ?? 0) > 1;
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
        first={FIRST}
        href={({ result, measured }) => perfUpTo(project, props.report, result.benchmark, measured.measure)}
        columns={[
          {
            title: "Benchmark",
            cell: (row) => (
              <>
                {row.name}
                <Show when={several()}>
                  {" "}
                  <span class="muted small">iteration {row.result.iteration}</span>
                </Show>
                <Show when={props.withMeasure}>
                  <span class="muted small"> · {row.measured.measure.name}</span>
                </Show>
              </>
            ),
          },
          {
            title: "Value",
            end: true,
            cell: (row) => (
              <A class="above plain" href={project.path("metrics", row.measured.metric.uuid)}>
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
          { title: "Verdict", end: true, cell: (row) => <ResultVerdict row={row} /> },
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
          <Badge tone="good">{word().word}</Badge>
        </Show>
      }
    >
      {(alert) => (
        <A class="above plain nowrap" href={project.path("alerts", alert().uuid)}>
          <Badge tone={alert().status === "active" ? word().tone : "neutral"}>
            {alert().status === "active" ? word().word : `${word().word}, ${alert().status}`}
          </Badge>
        </A>
      )}
    </Show>
  );
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
