// Runs, named reports in the API and in URLs: the list, and one run with its results.

import { A, useNavigate, useParams } from "@solidjs/router";
import { createSignal, type JSX, onCleanup, Show } from "solid-js";
import { call, type JsonAlert, type JsonJob, type JsonReport, list } from "../api";
import { DateRange, FilterPicker } from "../choices";
import { count, elapsed, moment, plural } from "../format";
import { hasEnded, JobProgress, Noise, Status } from "../job";
import { load, refreshWhile } from "../load";
import { useProject } from "../project";
import { Button, Copy, LinkButton } from "../ui/Button";
import { Confirm } from "../ui/Dialog";
import { List as Rows } from "../ui/List";
import { LoadingPage, Page } from "../ui/Page";
import { Raw } from "../ui/Raw";
import { Empty, Skeleton } from "../ui/State";
import { toast, toastFailure } from "../ui/Toast";
import { Name, Time } from "../ui/Value";
import { AlertCount } from "../ui/Verdict";
import { Version } from "../ui/Version";
import { VerdictBadge } from "../verdict_badge";
import { Results } from "./report_results";
import { ReportVerdict } from "./report_verdict";
import "./lists.css";

/** How long the results wait for the verdict above them, in milliseconds. */
const MAX_WAIT = 1_500;

export function List(): JSX.Element {
  const project = useProject();
  return (
    <Page title="Runs" crumbs={project.crumbs()}>
      <Rows<JsonReport>
        noun="run"
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
          {
            title: "When",
            sort: "date_time",
            descending: true,
            cell: (report) => (
              <>
                <Time at={report.start_time} />
                <span class="subtext on-phone">
                  <Version version={report.branch.head.version} />
                </span>
              </>
            ),
          },
          {
            title: "Branch",
            cell: (report) => (
              <span class="break">
                <Name of={report.branch.name} />
                <span class="subtext on-phone">{report.testbed.name}</span>
              </span>
            ),
          },
          { title: "Commit", wide: true, cell: (report) => <Version version={report.branch.head.version} /> },
          { title: "Testbed", wide: true, cell: (report) => <span class="break">{report.testbed.name}</span> },
          {
            title: "Benchmarks",
            wide: true,
            end: true,
            cell: (report) => <span class="number muted nowrap">{contents(report)}</span>,
          },
          { title: "Alerts", wide: true, end: true, cell: (report) => <AlertCount {...report.counts.alerts} /> },
          { title: "Verdict", end: true, cell: (report) => <VerdictBadge report={report.uuid} /> },
        ]}
        empty={
          <Empty
            title="No runs yet"
            action={
              <Show when={!project.isPublic}>
                <LinkButton href="/console/onboard/run" primary>
                  Get started
                </LinkButton>
              </Show>
            }
          >
            Send the results of the first run with <code>tidemark run</code>.
          </Empty>
        }
      />
    </Page>
  );
}

/** The number of benchmarks, with the number of iterations: `56`, `3 × 56`. */
function contents({ counts: { results } }: JsonReport): string {
  const benchmarks = Math.max(...results.map((iteration) => iteration.benchmarks), 0);
  const iterations = results.length > 1 ? `${results.length} × ` : "";
  return `${iterations}${count(benchmarks)}`;
}

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
  const isRunning = () => {
    const known = job();
    return known !== undefined && !hasEnded(known);
  };
  const refreshJob = async () => {
    await job.refresh();
    if (job()?.status === "processed") await report.refresh();
  };
  refreshWhile(isRunning, refreshJob, 3_000);

  const active = () => report()?.alerts?.filter((alert) => alert.status === "active") ?? [];
  const setAlertStatus = async (status: "active" | "dismissed", which: readonly JsonAlert[]): Promise<void> => {
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
      if (status === "dismissed")
        toast(`${plural(which.length, "alert")} dismissed.`, () => setAlertStatus("active", which));
    } catch (error) {
      toastFailure(error);
    }
  };
  const remove = async () => {
    await call("delete", "/v0/projects/{project}/reports/{report}", { path: path() });
    void project.alerts.refresh();
    toast("Run deleted.");
    navigate(project.path("reports"));
  };

  return (
    <Show
      when={report()}
      fallback={<LoadingPage title="Run" crumbs={project.crumbs("reports", "Runs")} lines={12} item={report} />}
    >
      {(shown) => (
        <Page
          title={`Run of ${moment(shown().start_time)}`}
          aside={<AlertCount total={shown().alerts?.length ?? 0} active={active().length} named />}
          crumbs={project.crumbs("reports", "Runs")}
          actions={
            <>
              <Show when={active().length && project.may("edit")}>
                <Button onClick={() => setAlertStatus("dismissed", active())}>
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
          <Show when={!isRunning()}>
            <Findings report={shown()} />
          </Show>
          <Confirm
            open={deleting()}
            title="Delete run?"
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

/** The verdict and the results below it. The results wait for the verdict for a moment, so that they do not move. */
function Findings(props: { report: JsonReport }): JSX.Element {
  const [waits, setWaits] = createSignal(true);
  const timer = setTimeout(() => setWaits(false), MAX_WAIT);
  onCleanup(() => clearTimeout(timer));
  return (
    <>
      <ReportVerdict report={props.report} onKnown={() => setWaits(false)} />
      <Show when={!waits()} fallback={<Skeleton lines={12} />}>
        <Results report={props.report} />
      </Show>
    </>
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
              <A class="plain-link" href={project.path("jobs", job().uuid)}>
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
