// The home page of a project: open regressions, recent changes, pinned plots, noise of each series, latest reports.

import { A, useSearchParams } from "@solidjs/router";
import { createEffect, createMemo, createSignal, For, type JSX, Show } from "solid-js";
import { type JsonBranch, type JsonReport, list } from "../api";
import { FalseAlarms } from "../detection";
import { count, plural, share, shortHash } from "../format";
import { webAddress } from "../links";
import { load, refreshWhile } from "../load";
import { useProject } from "../project";
import { rememberProject } from "../start";
import { mainBranch, REPORTS, type Recent, recent } from "../stats/recent";
import { Badge } from "../ui/Badge";
import { LinkButton } from "../ui/Button";
import { Page } from "../ui/Page";
import { Select, toOption } from "../ui/Select";
import { Empty, Failure, Skeleton } from "../ui/State";
import { Time } from "../ui/Value";
import { OpenRegressions, RecentChanges } from "./home_cards";
import { NoiseBySeries } from "./home_noise";
import { Pins } from "./home_plots";
import "./home.css";

/** The polling interval until the first report, in milliseconds. */
const FIRST_REPORT = 5_000;

export function Home(): JSX.Element {
  const project = useProject();
  const [params, setParams] = useSearchParams<{ branch?: string }>();
  createEffect(() => {
    if (!project.isPublic) rememberProject(project.slug());
  });
  const path = () => ({ project: project.slug() });
  const reports = load(path, (path, signal) =>
    list("/v0/projects/{project}/reports", { path, query: { per_page: 255 }, signal }),
  );
  // The page shows the first report without a reload.
  refreshWhile(() => reports()?.total === 0, reports.refresh, FIRST_REPORT);
  const branches = createMemo(() => {
    const found = new Map((reports()?.rows ?? []).map(({ branch }) => [branch.uuid, branch]));
    return [...found.values()].sort((left, right) => left.name.localeCompare(right.name));
  });
  const branch = createMemo<JsonBranch | undefined>(
    () => branches().find(({ slug }) => slug === params.branch) ?? mainBranch(reports()?.rows ?? []),
  );
  const [progress, setProgress] = createSignal(0);
  const recentSeries = load(
    () => {
      const chosen = branch();
      return chosen && { project: project.slug(), branch: chosen, newest: reports()?.rows[0]?.uuid };
    },
    ({ project, branch }, signal) => recent(project, branch, signal, setProgress),
  );
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
      <Show when={reports.error()}>{(error) => <Failure error={error()} retry={reports.refresh} />}</Show>
      <Show when={!isEmpty()} fallback={<NoReports />}>
        <KeyFigures reports={reports()?.total} newest={reports()?.rows[0]} recent={recentSeries()} />
        <FalseAlarms />
        <div class="home-columns">
          <OpenRegressions />
          <RecentChanges />
        </div>
        <Pins />
        <section class="stack" aria-labelledby="home-noise">
          <header class="row between">
            <h2 id="home-noise">Noise by series</h2>
            <Show when={branches().length > 1}>
              <label class="row small">
                <span class="muted">on</span>
                <Select
                  short
                  label="Branch"
                  value={branch()?.slug ?? ""}
                  options={branches().map(toOption)}
                  onChange={(slug) => setParams({ branch: slug }, { replace: true, scroll: false })}
                />
              </label>
            </Show>
          </header>
          <Show when={recentSeries.error()}>{(error) => <Failure error={error()} retry={recentSeries.refresh} />}</Show>
          <Show
            when={recentSeries()}
            fallback={
              <Show when={!recentSeries.error()}>
                <p class="small muted" role="status">
                  Analyzing the last {REPORTS} runs of each testbed… {Math.round(progress() * 100)} %
                </p>
                <Skeleton lines={12} />
              </Show>
            }
          >
            {(recent) => <NoiseBySeries recent={recent()} />}
          </Show>
        </section>
        <section class="stack tight" aria-labelledby="home-reports">
          <header class="row between">
            <h2 id="home-reports">Latest runs</h2>
            <A class="small" href={project.path("reports")}>
              All runs
            </A>
          </header>
          <Show when={reports()} fallback={<Skeleton lines={8} />}>
            {(reports) => <Reports reports={reports().rows.slice(0, 8)} />}
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
  recent: Recent | undefined;
}): JSX.Element {
  const project = useProject();
  const typical = () => {
    const all = (props.recent?.series ?? [])
      .flatMap(({ health }) => health.smallest ?? [])
      .sort((left, right) => left - right);
    return all[all.length >> 1];
  };
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
        <dd class="number">{props.recent ? count(props.recent.all) : "…"}</dd>
        <dd class="small muted ellipsis">
          {props.recent ? `on ${plural(props.recent.testbeds.length, "testbed")}` : "\u00a0"}
        </dd>
      </div>
      <div>
        <dt>Smallest detectable change</dt>
        <dd class="number">{typical() === undefined ? (props.recent ? "–" : "…") : share(typical() ?? 0)}</dd>
        <dd class="small muted">{props.recent ? "median of the series" : "\u00a0"}</dd>
      </div>
    </dl>
  );
}

function Reports(props: { reports: readonly JsonReport[] }): JSX.Element {
  const project = useProject();
  return (
    <div class="table-wrap" tabindex="0" role="region" aria-label="List of latest runs">
      <table class="rows">
        <thead>
          <tr>
            <th scope="col">Run</th>
            <th scope="col" class="wide">
              Testbed
            </th>
            <th scope="col" class="end wide">
              Benchmarks
            </th>
            <th scope="col" class="end">
              Alerts
            </th>
          </tr>
        </thead>
        <tbody>
          <For each={props.reports}>
            {(report) => (
              <tr>
                <td class="first">
                  <A class="row-link break" href={project.path("reports", report.uuid)}>
                    {report.branch.name}{" "}
                    <span class="mono muted">
                      {report.branch.head.version?.hash
                        ? shortHash(report.branch.head.version.hash)
                        : `#${report.branch.head.version?.number ?? ""}`}
                    </span>
                  </A>
                  <div class="small muted">
                    <Time at={report.start_time} />
                  </div>
                </td>
                <td class="wide">{report.testbed.name}</td>
                <td class="end wide number">
                  {count(Math.max(0, ...report.counts.results.map(({ benchmarks }) => benchmarks)))}
                </td>
                <td class="end">
                  <Show when={report.counts.alerts.total} fallback={<span class="muted">–</span>}>
                    <Badge tone={report.counts.alerts.active ? "alert" : "neutral"}>{report.counts.alerts.total}</Badge>
                  </Show>
                </td>
              </tr>
            )}
          </For>
        </tbody>
      </table>
    </div>
  );
}
