// The home page of a project: recent changes, active alerts, pinned plots, noise of each series, latest reports. Also
// the page of one pinned plot.

import { A, useSearchParams } from "@solidjs/router";
import { createEffect, createMemo, createSignal, For, type JSX, Show } from "solid-js";
import { type JsonAlert, type JsonBranch, type JsonReport, list } from "../api";
import { FalseAlarms } from "../detection";
import { count, plural, share, shortHash } from "../format";
import { perfPath, webAddress } from "../links";
import { load } from "../load";
import { type ProjectHere, useProject } from "../project";
import { rememberProject } from "../start";
import { mainBranch, REPORTS, type Recent, recent, type Series } from "../stats/recent";
import { badness } from "../stats/worse";
import { Page } from "../ui/Page";
import { Badge, Delta, Empty, Failure, LinkButton, Name, Skeleton, Sparkline, Time, Value } from "../ui/parts";
import { SearchField } from "../ui/SearchField";
import { Select, toOption } from "../ui/Select";
import { Pins } from "./home_plots";
import "./home.css";

export { PlotView as View } from "./home_plots";

const SHOWN = 6;
/** Maximum age of a recent change, in days. */
const LATELY = 30;

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
  const alerts = load(path, (path, signal) =>
    list("/v0/projects/{project}/alerts", { path, query: { status: "active", per_page: 100 }, signal }),
  );
  const branches = createMemo(() => {
    const found = new Map((reports()?.rows ?? []).map(({ branch }) => [branch.uuid, branch]));
    return [...found.values()].sort((left, right) => left.name.localeCompare(right.name));
  });
  const branch = createMemo<JsonBranch | undefined>(
    () => branches().find(({ slug }) => slug === params.branch) ?? mainBranch(reports()?.rows ?? []),
  );
  const [progress, setProgress] = createSignal(0);
  const looked = load(
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
          <Show when={!isEmpty() && !project.isPublic}>
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
        <Numbers reports={reports()?.total} newest={reports()?.rows[0]} alerts={alerts()?.total} looked={looked()} />
        <FalseAlarms />
        <div class="home-columns">
          <section class="card home-card" aria-labelledby="home-changes">
            <header class="row between">
              <h2 id="home-changes">Recent changes</h2>
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
            <Show when={looked.error()}>{(error) => <Failure error={error()} retry={looked.refresh} />}</Show>
            <Show
              when={looked()}
              fallback={
                <Show when={!looked.error()}>
                  <Progress share={progress()} />
                </Show>
              }
            >
              {(looked) => <Changes recent={looked()} />}
            </Show>
          </section>
          <section class="card home-card" aria-labelledby="home-alerts">
            <header class="row between">
              <h2 id="home-alerts">Active alerts</h2>
              <Show when={!project.isPublic && alerts()?.total}>
                {(total) => (
                  <A class="small" href={`${project.path("alerts")}?status=active`}>
                    All {count(total())}
                  </A>
                )}
              </Show>
            </header>
            <Show when={alerts.error()}>{(error) => <Failure error={error()} retry={alerts.refresh} />}</Show>
            <Show when={alerts()} fallback={<Skeleton lines={SHOWN} />}>
              {(alerts) => <Alerts alerts={alerts().rows} />}
            </Show>
          </section>
        </div>
        <Pins />
        <section class="stack" aria-labelledby="home-health">
          <h2 id="home-health">Noise by series</h2>
          <Show when={looked()} fallback={<Skeleton lines={12} />}>
            {(looked) => <NoiseBySeries recent={looked()} />}
          </Show>
        </section>
        <section class="stack tight" aria-labelledby="home-reports">
          <header class="row between">
            <h2 id="home-reports">Latest reports</h2>
            <Show when={!project.isPublic}>
              <A class="small" href={project.path("reports")}>
                All reports
              </A>
            </Show>
          </header>
          <Show when={reports()} fallback={<Skeleton lines={8} />}>
            {(reports) => <Reports reports={reports().rows.slice(0, 8)} />}
          </Show>
        </section>
      </Show>
    </Page>
  );
}

/** The plot of a series, from its oldest analyzed report. */
function perfOf(project: ProjectHere, { branch, testbed, benchmark, measure, points }: Series): string {
  const first = points[0];
  return perfPath(
    project,
    { branch: branch.uuid, testbed: testbed.uuid, benchmark: benchmark.uuid, measure: measure.uuid },
    first ? { start_time: String(new Date(first.time).getTime()) } : {},
  );
}

function NoReports(): JSX.Element {
  const project = useProject();
  return (
    <Empty
      title="No reports yet"
      action={
        <Show when={!project.isPublic}>
          <LinkButton href="/console/onboard/run" primary>
            Send the first report
          </LinkButton>
        </Show>
      }
    >
      After the first report, this page shows recent changes, alerts and the noise of each benchmark. Run your
      benchmarks with <code>tidemark run</code>.
    </Empty>
  );
}

/** The key figures of the project. */
function Numbers(props: {
  reports: number | undefined;
  newest: JsonReport | undefined;
  alerts: number | undefined;
  looked: Recent | undefined;
}): JSX.Element {
  const typical = () => {
    const all = (props.looked?.series ?? [])
      .flatMap(({ health }) => health.smallest ?? [])
      .sort((left, right) => left - right);
    return all[all.length >> 1];
  };
  return (
    <dl class="numbers">
      <div>
        <dt>Reports</dt>
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
        <dt>Active alerts</dt>
        <dd class="number" classList={{ alarming: (props.alerts ?? 0) > 0 }}>
          {props.alerts === undefined ? "…" : count(props.alerts)}
        </dd>
        <dd class="small muted">
          {props.alerts === undefined ? "\u00a0" : props.alerts ? "need review" : "nothing to review"}
        </dd>
      </div>
      <div>
        <dt>Series</dt>
        <dd class="number">{props.looked ? count(props.looked.all) : "…"}</dd>
        <dd class="small muted ellipsis">
          {props.looked ? `on ${plural(props.looked.testbeds.length, "testbed")}` : "\u00a0"}
        </dd>
      </div>
      <div>
        <dt>Smallest detectable change</dt>
        <dd class="number">{typical() === undefined ? (props.looked ? "–" : "…") : share(typical() ?? 0)}</dd>
        <dd class="small muted">{props.looked ? "median of the series" : "\u00a0"}</dd>
      </div>
    </dl>
  );
}

function Progress(props: { share: number }): JSX.Element {
  return (
    <>
      <p class="small muted" role="status">
        Analyzing the last {REPORTS} reports of each testbed… {Math.round(props.share * 100)} %
      </p>
      <Skeleton lines={SHOWN} />
    </>
  );
}

function Changes(props: { recent: Recent }): JSX.Element {
  const project = useProject();
  const [all, setAll] = createSignal(false);
  const since = Date.now() - LATELY * 86_400_000;
  const changed = createMemo(() =>
    props.recent.series
      .filter(({ health, points }) => health.change && new Date(points[health.change.at]?.time ?? 0).getTime() >= since)
      .sort(
        (left, right) =>
          badness(right.health.change?.share ?? 0, right.worse) - badness(left.health.change?.share ?? 0, left.worse),
      ),
  );
  const shown = () => (all() ? changed() : changed().slice(0, SHOWN));
  return (
    <Show
      when={changed().length}
      fallback={
        <EmptySection title="No recent changes">No series changed its level in the last {LATELY} days.</EmptySection>
      }
    >
      <ul class="home-list">
        <For each={shown()}>
          {(series) => {
            const change = series.health.change as NonNullable<typeof series.health.change>;
            const point = series.points[change.at];
            return (
              <li>
                <A class="grow" href={perfOf(project, series)}>
                  <span class="break strong">
                    <Name of={series.benchmark.name} />
                  </span>
                  <span class="small muted break">
                    {[series.variant, series.measure.name, series.testbed.name].filter(Boolean).join(" · ")}
                  </span>
                </A>
                <span class="home-spark">
                  <Sparkline
                    values={series.points.map(({ value }) => value)}
                    label={`${series.benchmark.name} in its last ${series.points.length} reports`}
                  />
                </span>
                <span class="home-delta">
                  <Delta from={change.before} to={change.after} {...(series.worse ? { worse: series.worse } : {})} />
                  <span class="small muted nowrap">
                    <Show when={point?.version.hash}>{(hash) => <span class="mono">{shortHash(hash())}</span>}</Show>{" "}
                    <Time at={point?.time ?? 0} />
                  </span>
                </span>
              </li>
            );
          }}
        </For>
      </ul>
      <Show when={changed().length > SHOWN}>
        <button type="button" class="button quiet" onClick={() => setAll(!all())}>
          {all() ? "Show fewer" : `All ${count(changed().length)}`}
        </button>
      </Show>
    </Show>
  );
}

function EmptySection(props: { title: string; children: JSX.Element }): JSX.Element {
  return (
    <div class="home-quiet">
      <p class="strong">{props.title}</p>
      <p class="muted small">{props.children}</p>
    </div>
  );
}

function Alerts(props: { alerts: readonly JsonAlert[] }): JSX.Element {
  const project = useProject();
  const excess = ({ metric, boundary, limit }: JsonAlert) => {
    const baseline =
      boundary.baseline ?? (limit === "upper" ? boundary.upper_limit : boundary.lower_limit) ?? metric.value;
    return badness(baseline ? metric.value / baseline - 1 : 0, limit === "upper" ? "up" : "down");
  };
  // One row per series: a change raises an alert in each report until a user dismisses it.
  const worst = createMemo(() => {
    const series = new Map<string, { alert: JsonAlert; count: number }>();
    for (const alert of props.alerts) {
      const { benchmark, threshold, limit } = alert;
      const key = [benchmark.uuid, threshold.uuid, limit].join();
      const known = series.get(key);
      series.set(key, {
        alert: known && excess(known.alert) > excess(alert) ? known.alert : alert,
        count: (known?.count ?? 0) + 1,
      });
    }
    return [...series.values()].sort((left, right) => excess(right.alert) - excess(left.alert)).slice(0, SHOWN);
  });
  return (
    <Show when={worst().length} fallback={<EmptySection title="No active alerts">No alert needs review.</EmptySection>}>
      <ul class="home-list">
        <For each={worst()}>
          {({ alert, count }) => (
            <li>
              <A class="grow" href={project.path("alerts", alert.uuid)}>
                <span class="break strong">
                  <Name of={alert.benchmark.name} />
                </span>
                <span class="small muted break">
                  {[alert.threshold.measure.name, alert.threshold.branch.name, alert.threshold.testbed.name].join(
                    " · ",
                  )}
                </span>
              </A>
              <span class="home-delta">
                <Show
                  when={alert.boundary.baseline}
                  fallback={<Value value={alert.metric.value} units={alert.threshold.measure.units} />}
                >
                  {(baseline) => (
                    <Delta from={baseline()} to={alert.metric.value} worse={alert.limit === "upper" ? "up" : "down"} />
                  )}
                </Show>
                <span class="small muted nowrap">
                  <Show when={count > 1}>{count}× · </Show>
                  <Time at={alert.created} />
                </span>
              </span>
            </li>
          )}
        </For>
      </ul>
    </Show>
  );
}

type Order = "smallest" | "noise" | "name";
const PAGE = 10;

/** The noise and the smallest detectable change of each series. */
function NoiseBySeries(props: { recent: Recent }): JSX.Element {
  const project = useProject();
  const [params, setParams] = useSearchParams<{
    testbed?: string;
    measure?: string;
    series_search?: string;
    series_sort?: string;
    series_page?: string;
  }>();
  const measures = createMemo(() => [
    ...new Map(props.recent.series.map(({ measure }) => [measure.uuid, measure])).values(),
  ]);
  const testbeds = createMemo(() => [
    ...new Map(props.recent.series.map(({ testbed }) => [testbed.uuid, testbed])).values(),
  ]);
  const order = (): Order =>
    params.series_sort === "noise" || params.series_sort === "name" ? params.series_sort : "smallest";
  const rows = createMemo(() => {
    const words = (params.series_search ?? "").toLowerCase();
    const found = props.recent.series.filter(
      ({ testbed, measure, benchmark }) =>
        (!params.testbed || testbed.slug === params.testbed) &&
        (!params.measure || measure.slug === params.measure) &&
        benchmark.name.toLowerCase().includes(words),
    );
    const by = order();
    const size = ({ health }: Series) => (by === "noise" ? health.noise : health.smallest) ?? -1;
    return found.sort((left, right) =>
      by === "name" ? left.benchmark.name.localeCompare(right.benchmark.name) : size(right) - size(left),
    );
  });
  const page = () =>
    Math.min(Math.max(Number(params.series_page ?? 1) || 1, 1), Math.max(Math.ceil(rows().length / PAGE), 1));
  const shown = () => rows().slice((page() - 1) * PAGE, page() * PAGE);
  const change = (next: Record<string, string | undefined>) =>
    setParams({ series_page: undefined, ...next }, { replace: true, scroll: false });
  const head = (name: Order, label: string) => (
    <button
      type="button"
      class="sort"
      aria-pressed={order() === name}
      onClick={() => change({ series_sort: name === "smallest" ? undefined : name })}
    >
      {label}
    </button>
  );
  return (
    <>
      <p class="muted prose">
        A change smaller than the noise of a series cannot be detected, with or without a threshold. The noisiest series
        come first: use a quieter testbed or more iterations.
      </p>
      <details class="explain">
        <summary>How this is computed</summary>
        <div class="stack tight prose">
          <p>
            <strong>Noise</strong> is the variation between reports without a change: the median distance between
            consecutive values in the last {REPORTS} reports of a testbed, as a standard deviation. The median ignores
            outliers and changes of the level.
          </p>
          <p>
            <strong>Smallest detectable change</strong> is the change that the next report alone can show, with 1 %
            false positives and a power of 80 %. It is 3.42 times the noise, and slightly more if few reports determine
            the current level. Four reports together can show half of it.
          </p>
          <p>
            <strong>A change of the level</strong> requires medians that differ by at least six standard errors and 1 %,
            with at least three reports on either side.
          </p>
        </div>
      </details>
      <div class="list-tools">
        <SearchField
          label="Search series"
          value={params.series_search ?? ""}
          onInput={(words) => change({ series_search: words || undefined })}
        />
        <Show when={testbeds().length > 1}>
          <Select
            short
            label="Testbed"
            value={params.testbed ?? ""}
            options={[{ value: "", label: "All testbeds" }, ...testbeds().map(toOption)]}
            onChange={(slug) => change({ testbed: slug || undefined })}
          />
        </Show>
        <Show when={measures().length > 1}>
          <Select
            short
            label="Measure"
            value={params.measure ?? ""}
            options={[{ value: "", label: "All measures" }, ...measures().map(toOption)]}
            onChange={(slug) => change({ measure: slug || undefined })}
          />
        </Show>
        <span class="grow" />
        <span class="muted small number" role="status">
          {plural(rows().length, "series").replace("serieses", "series")}
          <Show when={props.recent.all > props.recent.series.length}> of {count(props.recent.all)}</Show>
        </span>
      </div>
      <div class="table-wrap home-health" tabindex="0" role="region" aria-label="List of series">
        <table class="rows">
          <thead>
            <tr>
              <th scope="col">{head("name", "Series")}</th>
              <th scope="col" class="wide">
                Last reports
              </th>
              <th scope="col" class="end wide">
                Level
              </th>
              <th scope="col" class="end wide">
                {head("noise", "Noise")}
              </th>
              <th scope="col" class="end">
                {head("smallest", "Smallest detectable change")}
              </th>
            </tr>
          </thead>
          <tbody>
            <For
              each={shown()}
              fallback={
                <tr>
                  <td colspan="5" class="muted">
                    No series matches.
                  </td>
                </tr>
              }
            >
              {(series) => (
                <tr>
                  <td class="first">
                    <A class="row-link break" href={perfOf(project, series)}>
                      <Name of={series.benchmark.name} />
                    </A>
                    <div class="small muted break">
                      {[series.variant, series.measure.name, series.testbed.name].filter(Boolean).join(" · ")}
                    </div>
                  </td>
                  <td class="wide">
                    <Sparkline
                      values={series.points.map(({ value }) => value)}
                      label={`Last ${plural(series.points.length, "value")}`}
                      width={120}
                    />
                  </td>
                  <td class="end wide">
                    <Value value={series.health.level} units={series.measure.units} />
                  </td>
                  <td class="end wide number nowrap">
                    {series.health.noise === undefined ? (
                      <span class="muted">–</span>
                    ) : series.health.noise === 0 ? (
                      "none"
                    ) : (
                      share(series.health.noise)
                    )}
                  </td>
                  <td class="end number nowrap">
                    <DetectableChange part={series.health.smallest} />
                  </td>
                </tr>
              )}
            </For>
          </tbody>
        </table>
      </div>
      <Show when={rows().length > PAGE}>
        <nav class="pager" aria-label="Pages of series">
          <button
            type="button"
            class="button"
            disabled={page() === 1}
            onClick={() => setParams({ series_page: String(page() - 1) }, { replace: true, scroll: false })}
          >
            Previous
          </button>
          <span class="small muted number">
            Page {page()} of {Math.ceil(rows().length / PAGE)}
          </span>
          <button
            type="button"
            class="button"
            disabled={page() * PAGE >= rows().length}
            onClick={() => setParams({ series_page: String(page() + 1) }, { replace: true, scroll: false })}
          >
            Next
          </button>
        </nav>
      </Show>
    </>
  );
}

/** A detectable change with a bar, which is full at 50 %. */
function DetectableChange(props: { part: number | undefined }): JSX.Element {
  return (
    <Show
      when={props.part !== undefined}
      fallback={
        <span class="muted" title="Fewer than six reports">
          too few reports
        </span>
      }
    >
      <span class="seen">
        <meter
          class={level(props.part ?? 0)}
          min="0"
          max="0.5"
          value={Math.min(props.part ?? 0, 0.5)}
          aria-hidden="true"
        />
        <span class="seen-number">{(props.part ?? 0) === 0 ? "any" : share(props.part ?? 0)}</span>
      </span>
    </Show>
  );
}

function level(part: number): string {
  return part > 0.25 ? "blunt" : part > 0.1 ? "fair" : "sharp";
}

function Reports(props: { reports: readonly JsonReport[] }): JSX.Element {
  const project = useProject();
  return (
    <div class="table-wrap" tabindex="0" role="region" aria-label="List of latest reports">
      <table class="rows">
        <thead>
          <tr>
            <th scope="col">Report</th>
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
