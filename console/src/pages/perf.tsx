// The perf page: choose what to see, see it, and keep, share or take it along. The address holds all of it.

import { A, useSearchParams } from "@solidjs/router";
import { createEffect, createMemo, createSignal, For, on, Show, type JSX } from "solid-js";
import { call, list, url, type JsonPlot, type JsonReport } from "../api";
import { plural } from "../format";
import { bindKeys } from "../keys";
import { load } from "../load";
import { everything } from "../plot/all";
import { Chart } from "../plot/Chart";
import { csv, png, save } from "../plot/export";
import { fetchSeries, type Found } from "../plot/fetch";
import { labels, linesOf } from "../plot/lines";
import { TreePicker } from "../plot/TreePicker";
import { PinDialog } from "../plot/Pin";
import { changes, isComplete, MOST_LINES, ofPlot, parse, permutations, pictured, type PerfQuery } from "../plot/query";
import { ShareDialog } from "../plot/Share";
import { Tools } from "../plot/Tools";
import { useProject } from "../project";
import { isDark } from "../theme";
import { Icon } from "../ui/Icon";
import { Page } from "../ui/Page";
import { Badge, Button, Empty, Failure, LinkButton, Menu, Notice, Skeleton, Time } from "../ui/parts";
import { toastFailure } from "../ui/Toast";

const DAY = 86_400_000;
/** What a first visit shows of the newest report. */
const [FIRST_BENCHMARKS, FIRST_DAYS] = [10, 30];
const TABS = ["benchmarks", "branches", "testbeds", "measures", "reports", "plots"] as const;

export function Perf(): JSX.Element {
  const project = useProject();
  const [params, setParams] = useSearchParams();
  const query = createMemo(() => parse(params));
  const change = (part: Partial<PerfQuery>) => setParams(changes(part), { replace: true, scroll: false });
  const path = () => ({ project: project.slug() });

  const plot = load(
    () => query().plot !== undefined && { ...path(), plot: query().plot ?? "" },
    (path, signal) => call("get", "/v0/projects/{project}/plots/{plot}", { path, signal }),
  );
  createEffect(() => {
    const pinned = plot();
    if (pinned && pinned.uuid === query().plot && !isStarted(query())) change(ofPlot(pinned, Date.now()));
  });

  // What the address leaves open comes from the newest report.
  const newest = load(
    () => !isComplete(query()) && !query().clear && !query().plot && path(),
    async (path, signal) => {
      const [first] = (await list("/v0/projects/{project}/reports", { path, query: { per_page: 1 }, signal })).rows;
      return first ? await call("get", "/v0/projects/{project}/reports/{report}", { path: { ...path, report: first.uuid }, signal }) : null;
    },
  );
  createEffect(
    on(newest, (report) => {
      if (report && !query().clear && !query().plot && !isComplete(query())) change({ ...fill(query(), report), tab: query().tab });
    }),
  );

  const wanted = createMemo(() => {
    const asked = query();
    // Two measures have two axes; a third would have none.
    return isComplete(asked) ? { ...asked, measures: asked.measures.slice(0, 2) } : undefined;
  });
  const series = fetchSeries(project.slug, wanted);

  const [pinning, setPinning] = createSignal(false);
  const [sharing, setSharing] = createSignal(false);
  let take: (() => HTMLCanvasElement | undefined) | undefined;
  const name = () => (plot()?.uuid === query().plot ? plot()?.title : undefined) ?? project().name;
  const shownSeries = () => series().filter(({ id }) => !query().hidden.includes(id));
  const file = (ending: string) => `${project.slug()}-perf.${ending}`;
  const savePng = async () => {
    const canvas = take?.();
    if (!canvas) return;
    const lines = linesOf(shownSeries(), query().x_axis, query().measures);
    save(file("png"), await png(canvas, name(), labels(shownSeries()).shared.join(" · "), lines));
  };
  const saveSvg = async () => {
    const [start_time, end_time] = query().x_axis === "date_time" && query().zoom ? (query().zoom ?? []) : [query().start_time, query().end_time];
    const address = url("/v0/projects/{project}/perf/img", { path: path(), query: { ...pictured({ ...query(), start_time, end_time }), title: name(), format: "svg", theme: isDark() ? "dark" : "light" } });
    const answer = await fetch(address, { headers: { "x-tidemark-console": "1" } });
    if (!answer.ok) throw new Error(((await answer.json()) as { message: string }).message);
    save(file("svg"), await answer.blob());
  };
  bindKeys([
    { keys: "r", label: "Fetch the plot again", run: series.refresh },
    { keys: "z", label: "Reset the zoom", run: () => change({ zoom: undefined }) },
  ]);

  const hasNothing = () => newest() === null && !isComplete(query());
  return (
    <Page
      title={plot()?.uuid === query().plot && plot()?.title ? (plot()?.title ?? "Perf") : "Perf"}
      crumbs={[{ href: project.path("plots"), label: project().name }]}
      actions={
        <Show when={wanted()}>
          <Show when={project.may("manage")}>
            <Button icon="check" onClick={() => setPinning(true)}>{query().plot ? "Update pin" : "Pin"}</Button>
          </Show>
          <Button icon="out" onClick={() => setSharing(true)}>Share</Button>
          <Menu
            label="Download"
            trigger={<>Download <Icon name="down" size={16} /></>}
            items={[
              { label: "Picture (PNG)", run: () => savePng().catch(toastFailure) },
              { label: "Drawing (SVG)", run: () => saveSvg().catch(toastFailure) },
              { label: "Values (CSV)", run: () => save(file("csv"), new Blob([csv(shownSeries())], { type: "text/csv" })) },
            ]}
          />
        </Show>
      }
    >
      <Show
        when={!hasNothing()}
        fallback={
          <Empty title="Nothing has been measured yet" action={<Show when={!project.isPublic}><LinkButton href="/console/onboard/run" primary>Show me how</LinkButton></Show>}>
            Plots are made of reports. Send the first one with <code>tidemark run</code>, and it is here.
          </Empty>
        }
      >
        <Show when={newest.error() ?? plot.error()}>{(error) => <Failure error={error()} retry={() => Promise.all([newest.refresh(), plot.refresh()])} />}</Show>
        <div class="perf">
          <section class="perf-plot stack" aria-label="Plot">
            <Tools query={query()} change={change} />
            <Show when={permutations(query()) > MOST_LINES}>
              <Notice tone="warn">That would be {plural(permutations(query()), "line")}. Only {MOST_LINES} are shown: choose fewer.</Notice>
            </Show>
            <Show
              when={wanted()}
              fallback={
                <div class="perf-blank">
                  <Show when={query().clear || newest() !== undefined || newest.error()} fallback={<Skeleton lines={9} />}>
                    <Checklist query={query()} change={change} />
                  </Show>
                </div>
              }
            >
              {(asked) => (
                <Chart
                  query={asked()}
                  series={series}
                  links={{ path: project.path, url: project().url }}
                  label={name()}
                  height={400}
                  change={change}
                  picture={(next) => (take = next)}
                  empty={<NoData query={asked()} change={change} />}
                />
              )}
            </Show>
          </section>
          <Choices query={query()} change={change} series={series()} />
        </div>
        <PinDialog
          project={project.slug()}
          query={query()}
          plot={query().plot === plot()?.uuid ? plot() : undefined}
          open={pinning()}
          onClose={() => setPinning(false)}
          onPinned={(pinned) => { plot.set(pinned); change({ plot: pinned.uuid }); }}
        />
        <ShareDialog project={project()} query={query()} open={sharing()} onClose={() => setSharing(false)} />
      </Show>
    </Page>
  );
}

/** Whether the address says what to show, if only in part. */
function isStarted(query: PerfQuery): boolean {
  return [query.branches, query.testbeds, query.benchmarks, query.measures].some((list) => list.length > 0);
}

/** What a report adds to a query that lacks something. */
function fill(query: PerfQuery, report: JsonReport): Partial<PerfQuery> {
  const results = (report.results ?? []).flat();
  const benchmarks = [...new Set(results.map(({ benchmark }) => benchmark.uuid))].slice(0, FIRST_BENCHMARKS);
  const measure = results[0]?.measures[0]?.measure.uuid;
  const { branch, testbed } = report;
  return {
    // The head is named only when it is not the current one.
    ...(query.branches.length ? {} : { branches: [branch.uuid], heads: [branch.head.replaced ? branch.head.uuid : ""] }),
    ...(query.testbeds.length ? {} : { testbeds: [testbed.uuid], specs: [""] }),
    ...(query.benchmarks.length ? {} : { benchmarks }),
    ...(query.measures.length || !measure ? {} : { measures: [measure] }),
    ...(query.start_time === undefined && query.end_time === undefined ? { start_time: Date.parse(report.start_time) - FIRST_DAYS * DAY } : {}),
  };
}

/** What is still to be chosen. */
function Checklist(props: { query: PerfQuery; change: (part: Partial<PerfQuery>) => void }): JSX.Element {
  const steps = ["branches", "testbeds", "benchmarks", "measures"] as const;
  return (
    <section class="empty">
      <h2>Choose what to see</h2>
      <ul class="perf-checklist">
        <For each={steps}>
          {(step) => (
            <li classList={{ done: props.query[step].length > 0 }}>
              <Icon name={props.query[step].length ? "check" : "right"} />
              <button type="button" class="button quiet" onClick={() => props.change({ tab: step })}>
                {props.query[step].length ? plural(props.query[step].length, { branches: "branch", testbeds: "testbed", benchmarks: "benchmark", measures: "measure" }[step]) : `Choose ${step}`}
              </button>
            </li>
          )}
        </For>
      </ul>
      <button type="button" class="button" onClick={() => props.change({ clear: false })}>Show the newest report instead</button>
    </section>
  );
}

function NoData(props: { query: PerfQuery; change: (part: Partial<PerfQuery>) => void }): JSX.Element {
  const isBound = () => props.query.start_time !== undefined || props.query.end_time !== undefined;
  return (
    <>
      <h2>No data here</h2>
      <p class="muted">Nothing of what is chosen was measured{isBound() ? " in this time" : " together"}.</p>
      <Show when={isBound()}>
        <button type="button" class="button" onClick={() => props.change({ start_time: undefined, end_time: undefined, zoom: undefined })}>Show all time</button>
      </Show>
    </>
  );
}

/** What can be chosen, a kind on each tab. */
function Choices(props: { query: PerfQuery; change: (part: Partial<PerfQuery>) => void; series: readonly Found[] }): JSX.Element {
  const project = useProject();
  const path = () => ({ project: project.slug() });
  const tab = () => TABS.find((tab) => tab === props.query.tab) ?? "benchmarks";
  const on = <T,>(name: (typeof TABS)[number], fetch: (path: { project: string }, signal: AbortSignal) => Promise<T>) => {
    const [wanted, setWanted] = createSignal(false);
    createEffect(() => tab() === name && setWanted(true));
    return load(() => wanted() && path(), fetch);
  };
  const branches = on("branches", (path, signal) => everything((query) => list("/v0/projects/{project}/branches", { path, query: { ...query, sort: "name" }, signal })));
  const testbeds = on("testbeds", (path, signal) => everything((query) => list("/v0/projects/{project}/testbeds", { path, query: { ...query, sort: "name" }, signal })));
  const benchmarks = on("benchmarks", (path, signal) => everything((query) => list("/v0/projects/{project}/benchmarks", { path, query: { ...query, sort: "name" }, signal })));
  const measures = on("measures", (path, signal) => everything((query) => list("/v0/projects/{project}/measures", { path, query: { ...query, sort: "name" }, signal })));
  const error = () => [branches, testbeds, benchmarks, measures].find((each) => each.error())?.error();
  // What is archived is in no list, but can be shown.
  const with_ = <T extends { uuid: string; name: string }>(all: readonly T[] | undefined, shown: readonly T[]): readonly T[] | undefined => {
    if (!all) return undefined;
    const listed = new Set(all.map(({ uuid }) => uuid));
    const more = new Map(shown.filter(({ uuid }) => !listed.has(uuid)).map((item) => [item.uuid, item]));
    return more.size ? [...more.values(), ...all] : all;
  };
  /** Keeps the heads beside their branches. */
  const pairs = (chosen: readonly string[], names: readonly string[], others: readonly string[]) => chosen.map((uuid) => others[names.indexOf(uuid)] ?? "");
  const counts = () => ({ benchmarks: props.query.benchmarks.length, branches: props.query.branches.length, testbeds: props.query.testbeds.length, measures: props.query.measures.length, reports: 0, plots: 0 });
  // What is chosen by hand is not filled up again when the last of a kind goes.
  const choose = (part: Partial<PerfQuery>) => props.change({ ...part, clear: true, hidden: [] });
  const older = (uuid: string) => {
    const head = props.query.heads[props.query.branches.indexOf(uuid)];
    return head ? <Badge tone="warn">an older head</Badge> : undefined;
  };
  return (
    <aside class="perf-choices" aria-label="What to see">
      <div class="perf-tabs" role="tablist" aria-label="What to see">
        <For each={TABS}>
          {(name) => (
            <button type="button" role="tab" id={`tab-${name}`} aria-controls="tab-panel" aria-selected={tab() === name} class="perf-tab" onClick={() => props.change({ tab: name === "benchmarks" ? undefined : name })}>
              {name.replace(/^./, (letter) => letter.toUpperCase())}
              <Show when={counts()[name]}>{(count) => <span class="number muted">{count()}</span>}</Show>
            </button>
          )}
        </For>
      </div>
      <div id="tab-panel" role="tabpanel" aria-labelledby={`tab-${tab()}`}>
        <Show when={error()}>{(error) => <Failure error={error()} />}</Show>
        <Show when={tab() === "benchmarks"}>
          <TreePicker noun="benchmark" items={with_(benchmarks(), props.series.map((series) => series.benchmark))} chosen={props.query.benchmarks} most={MOST_LINES} onChoose={(chosen) => choose({ benchmarks: chosen })} />
        </Show>
        <Show when={tab() === "branches"}>
          <TreePicker noun="branch" items={with_(branches(), props.series.map((series) => series.branch))} chosen={props.query.branches} most={MOST_LINES} detail={(branch) => older(branch.uuid)} onChoose={(chosen) => choose({ branches: chosen, heads: pairs(chosen, props.query.branches, props.query.heads) })} />
          <Show when={props.query.heads.some(Boolean)}>
            <Button kind="quiet" onClick={() => props.change({ heads: props.query.branches.map(() => "") })}>Use the current heads</Button>
          </Show>
        </Show>
        <Show when={tab() === "testbeds"}>
          <TreePicker noun="testbed" items={with_(testbeds(), props.series.map((series) => series.testbed))} chosen={props.query.testbeds} most={MOST_LINES} detail={(testbed) => testbed.spec?.name} onChoose={(chosen) => choose({ testbeds: chosen, specs: pairs(chosen, props.query.testbeds, props.query.specs) })} />
          <Show when={props.query.specs.some(Boolean)}>
            <Button kind="quiet" onClick={() => props.change({ specs: props.query.testbeds.map(() => "") })}>Show any spec</Button>
          </Show>
        </Show>
        <Show when={tab() === "measures"}>
          <p class="small muted perf-hint">One, or two: the second has the axis at the right.</p>
          <TreePicker noun="measure" items={with_(measures(), props.series.map((series) => series.measure))} chosen={props.query.measures} most={2} detail={(measure) => measure.units} onChoose={(chosen) => choose({ measures: chosen })} />
        </Show>
        <Show when={tab() === "reports"}><Reports change={props.change} /></Show>
        <Show when={tab() === "plots"}><Plots query={props.query} change={props.change} /></Show>
      </div>
    </aside>
  );
}

const REPORTS = 8;

/** Reports, to see what one of them measured. */
function Reports(props: { change: (part: Partial<PerfQuery>) => void }): JSX.Element {
  const project = useProject();
  const [params, setParams] = useSearchParams<{ reports_page?: string }>();
  const page = () => Math.max(Number(params.reports_page ?? 1) || 1, 1);
  const reports = load(
    () => ({ path: { project: project.slug() }, query: { page: page(), per_page: REPORTS } }),
    (request, signal) => list("/v0/projects/{project}/reports", { ...request, signal }),
  );
  const show = async (report: JsonReport) => {
    const whole = await call("get", "/v0/projects/{project}/reports/{report}", { path: { project: project.slug(), report: report.uuid } });
    props.change({ ...fill(parse({}), whole), plot: undefined, zoom: undefined, hidden: [], clear: false });
  };
  return (
    <div class="stack tight">
      <Show when={reports.error()}>{(error) => <Failure error={error()} retry={reports.refresh} />}</Show>
      <Show when={reports()} fallback={<Skeleton lines={REPORTS} />}>
        {(shown) => (
          <ul class="perf-list">
            <For each={shown().rows} fallback={<li class="muted">There is no report yet.</li>}>
              {(report) => (
                <li>
                  <div class="grow">
                    <A href={project.path("reports", report.uuid)}><Time at={report.start_time} /></A>{" "}
                    <Show when={report.counts.alerts.active}>{(count) => <Badge tone="alert">{plural(count(), "alert")}</Badge>}</Show>
                    <div class="small muted ellipsis">{report.branch.name} · {report.testbed.name}</div>
                  </div>
                  <Button onClick={() => show(report).catch(toastFailure)}>Plot</Button>
                </li>
              )}
            </For>
          </ul>
        )}
      </Show>
      <div class="row between">
        <button type="button" class="button" disabled={page() <= 1} onClick={() => setParams({ reports_page: page() > 2 ? String(page() - 1) : undefined }, { replace: true, scroll: false })}>Newer</button>
        <button type="button" class="button" disabled={page() * REPORTS >= (reports()?.total ?? 0)} onClick={() => setParams({ reports_page: String(page() + 1) }, { replace: true, scroll: false })}>Older</button>
      </div>
    </div>
  );
}

/** The pinned plots, to look at one of them here. */
function Plots(props: { query: PerfQuery; change: (part: Partial<PerfQuery>) => void }): JSX.Element {
  const project = useProject();
  const plots = load(
    () => ({ project: project.slug() }),
    (path, signal) => list("/v0/projects/{project}/plots", { path, query: { per_page: 64 }, signal }),
  );
  const show = (plot: JsonPlot) => props.change({ ...ofPlot(plot, Date.now()), tab: "plots" });
  return (
    <>
      <Show when={plots.error()}>{(error) => <Failure error={error()} retry={plots.refresh} />}</Show>
      <Show when={plots()} fallback={<Skeleton lines={5} />}>
        {(shown) => (
          <ul class="perf-list">
            <For each={shown().rows} fallback={<li class="muted">No plot is pinned yet. Pin what you see with the button above.</li>}>
              {(plot) => (
                <li>
                  <button type="button" class="perf-plot-link grow" aria-current={plot.uuid === props.query.plot} onClick={() => show(plot)}>{plot.title ?? "Without a title"}</button>
                </li>
              )}
            </For>
          </ul>
        )}
      </Show>
    </>
  );
}
