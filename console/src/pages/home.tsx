// The home page of a project: open regressions, recent changes, newest reports with verdicts, pinned plots and data
// health. The server computes all verdicts, noise and detectable changes.

import { A } from "@solidjs/router";
import { createEffect, type JSX, Show } from "solid-js";
import type { JsonReport } from "../api";
import { FalseAlarms } from "../detection";
import { fetchVerdict } from "../fetch_verdict";
import { count, plural, shortHash } from "../format";
import { webAddress } from "../links";
import { load, refreshWhile } from "../load";
import { NewestPickers, newestReports, type TestbedReports } from "../newest";
import { useProject } from "../project";
import { rememberProject } from "../start";
import { Badge } from "../ui/Badge";
import { LinkButton } from "../ui/Button";
import { createNear } from "../ui/near";
import { Page } from "../ui/Page";
import { Empty, Failure, Skeleton } from "../ui/State";
import { Table } from "../ui/Table";
import { Time } from "../ui/Value";
import { AlertCount } from "../ui/Verdict";
import { Version } from "../ui/Version";
import { VerdictBadge } from "../verdict_badge";
import { OpenRegressions, RecentChanges } from "./home_cards";
import { Pins } from "./home_plots";
import { SeriesTable } from "./series_table";
import "./home.css";

/** The polling interval until the first report, in milliseconds. */
const FIRST_REPORT = 5_000;
/** Number of reports and testbeds before "All". */
const [REPORTS, TESTBEDS] = [8, 8];

export function Home(): JSX.Element {
  const project = useProject();
  createEffect(() => {
    if (!project.isPublic) rememberProject(project.slug());
  });
  const newest = newestReports();
  const reports = newest.all;
  // The page shows the first report without a reload.
  refreshWhile(() => reports()?.total === 0, reports.refresh, FIRST_REPORT);
  /** The testbed of the table of series. */
  const testbed = () => newest.testbed() ?? newest.testbeds()?.[0];
  const isEmpty = () => reports()?.total === 0;
  return (
    <Page
      title={project().name}
      aside={
        <Show when={project().visibility === "private"}>
          <Badge>private</Badge>
        </Show>
      }
      actions={
        <>
          <Show when={webAddress(project().url)}>
            {(url) => (
              <a class="button quiet" href={url()} rel="noreferrer">
                Website
              </a>
            )}
          </Show>
          <Show when={!isEmpty()}>
            <LinkButton icon="compare" href={project.path("compare")}>
              Compare
            </LinkButton>
          </Show>
          <Show when={!isEmpty()}>
            <LinkButton icon="chart" primary href={project.perfPath()}>
              Explore
            </LinkButton>
          </Show>
        </>
      }
    >
      <Show when={newest.error()}>{(error) => <Failure error={error()} retry={newest.refresh} />}</Show>
      <Show when={!isEmpty()} fallback={<NoReports />}>
        <KeyFigures reports={reports()?.total} newest={reports()?.rows[0]} testbed={testbed()} />
        <FalseAlarms />
        <div class="home-columns">
          <OpenRegressions />
          <RecentChanges />
        </div>
        <section class="stack tight" aria-labelledby="home-reports">
          <header class="row between">
            <h2 id="home-reports">Newest runs</h2>
            <A class="small" href={project.path("reports")}>
              All runs
            </A>
          </header>
          <Show when={reports()} fallback={<Skeleton lines={REPORTS} />}>
            {(reports) => <Reports reports={reports().rows.slice(0, REPORTS)} />}
          </Show>
        </section>
        <Pins />
        <section class="stack" aria-labelledby="home-health">
          <header class="row between">
            <h2 id="home-health">Data health</h2>
            <NewestPickers of={newest} />
          </header>
          <Show when={newest.testbeds()} fallback={<Skeleton lines={4} />}>
            {(testbeds) => <Testbeds of={testbeds()} />}
          </Show>
          <p class="muted prose">
            Tidemark needs several runs to detect a change smaller than the{" "}
            <em>smallest change detectable in one run</em>. <em>Noise</em> is the variation of a run around its level.
            Use a quieter testbed or more runs for the series with the most noise.
          </p>
          <Show when={testbed()} fallback={<Skeleton lines={12} />}>
            {(testbed) => <HealthTable of={testbed()} />}
          </Show>
        </section>
      </Show>
    </Page>
  );
}

function NoReports(): JSX.Element {
  const project = useProject();
  return (
    <Empty
      title="No runs yet"
      action={
        <Show when={!project.isPublic}>
          <LinkButton href="/console/onboard/run" primary>
            Send the first run
          </LinkButton>
        </Show>
      }
    >
      After the first run, this page shows regressions, recent changes and the noise of each benchmark. Run your
      benchmarks with <code>tidemark run</code>.
    </Empty>
  );
}

/** The key figures of the project. */
function KeyFigures(props: {
  reports: number | undefined;
  newest: JsonReport | undefined;
  testbed: TestbedReports | undefined;
}): JSX.Element {
  const project = useProject();
  const verdict = load(
    () => props.testbed && { project: project.slug(), report: props.testbed.newest.uuid },
    ({ project, report }, signal) => fetchVerdict(project, report, { limit: 0 }, signal),
  );
  const counts = () => verdict()?.counts;
  const series = () => Object.values(counts() ?? {}).reduce((sum, number) => sum + number, 0);
  return (
    <dl class="key-figures">
      <div>
        <dt>Runs</dt>
        <dd class="number">{props.reports === undefined ? "…" : count(props.reports)}</dd>
        <dd class="small muted">
          <Show when={props.newest} fallback={"\u00a0"}>
            {(newest) => (
              <>
                newest <Time at={newest().start_time} />
              </>
            )}
          </Show>
        </dd>
      </div>
      <div>
        <dt>Open regressions</dt>
        <dd class="number" classList={{ critical: (project.regressions() ?? 0) > 0 }}>
          {project.regressions() === undefined ? "…" : count(project.regressions() ?? 0)}
        </dd>
        <dd class="small muted">
          <Show when={project.alerts() !== undefined} fallback={"\u00a0"}>
            {plural(project.alerts() ?? 0, "active alert")}
          </Show>
        </dd>
      </div>
      <div>
        <dt>Series</dt>
        <dd class="number">{counts() ? count(series()) : "…"}</dd>
        <dd class="small muted ellipsis">{props.testbed ? `on ${props.testbed.testbed.name}` : "\u00a0"}</dd>
      </div>
      <div>
        <dt>Inconclusive</dt>
        <dd class="number">{counts() ? count(counts()?.inconclusive ?? 0) : "…"}</dd>
        <dd class="small muted">{counts() ? "too few runs or too much noise" : "\u00a0"}</dd>
      </div>
    </dl>
  );
}

function versionText({ branch }: JsonReport): string {
  const version = branch.head.version;
  return version?.hash ? shortHash(version.hash) : `#${version?.number ?? ""}`;
}

/** The newest reports of all branches with their verdicts. */
function Reports(props: { reports: readonly JsonReport[] }): JSX.Element {
  const project = useProject();
  return (
    <Table<JsonReport>
      label="List of newest runs"
      rows={props.reports}
      href={(report) => project.path("reports", report.uuid)}
      columns={[
        {
          title: "Run",
          cell: (report) => (
            <>
              {report.branch.name} <span class="mono muted">{versionText(report)}</span>
              <span class="subtext">
                <Time at={report.start_time} />
                <span class="on-phone"> {report.testbed.name}</span>
              </span>
            </>
          ),
        },
        { title: "Testbed", wide: true, cell: (report) => <span class="break">{report.testbed.name}</span> },
        {
          title: "Benchmarks",
          wide: true,
          end: true,
          cell: (report) => (
            <span class="number">
              {count(Math.max(0, ...report.counts.results.map(({ benchmarks }) => benchmarks)))}
            </span>
          ),
        },
        { title: "Alerts", wide: true, end: true, cell: (report) => <AlertCount {...report.counts.alerts} /> },
        { title: "Verdict", end: true, cell: (report) => <VerdictBadge report={report.uuid} /> },
      ]}
    />
  );
}

/** All series of a testbed. Their verdict is large in a project with thousands of series, and the table is below. */
function HealthTable(props: { of: TestbedReports }): JSX.Element {
  let place: HTMLDivElement | undefined;
  const near = createNear(() => place);
  return (
    <div ref={place} class="stack">
      <Show when={near()} fallback={<Skeleton lines={12} />}>
        <SeriesTable of={props.of} order="noise" />
      </Show>
    </div>
  );
}

/** The last report of each testbed of a branch: its age and its verdict. */
function Testbeds(props: { of: readonly TestbedReports[] }): JSX.Element {
  const project = useProject();
  return (
    <Table<TestbedReports>
      label="Last run of each testbed"
      rows={props.of}
      first={TESTBEDS}
      href={({ testbed }) => project.path("testbeds", testbed.slug)}
      columns={[
        { title: "Testbed", cell: ({ testbed }) => testbed.name },
        {
          title: "Last run",
          cell: ({ newest }) => (
            <A class="above-row-link" href={project.path("reports", newest.uuid)}>
              <Time at={newest.start_time} />
            </A>
          ),
        },
        {
          title: "Version",
          wide: true,
          cell: ({ newest }) => <Version version={newest.branch.head.version} />,
        },
        { title: "Verdict", end: true, cell: ({ newest }) => <VerdictBadge report={newest.uuid} /> },
      ]}
    />
  );
}
