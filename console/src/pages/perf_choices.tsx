// The selection tabs of the perf page. Existing links use the parameters `benchmarks_search`, `reports_page` and
// `report` for the state of a tab.

import { A, useSearchParams } from "@solidjs/router";
import { createEffect, createSignal, For, type JSX, Show } from "solid-js";
import { call, type JsonPlot, type JsonReport, list } from "../api";
import { DateRange } from "../choices";
import { plural } from "../format";
import { load } from "../load";
import { everything } from "../plot/all";
import type { Found } from "../plot/fetch";
import { completion, MOST_LINES, ofPlot, type PerfQuery, parse } from "../plot/query";
import { TreePicker } from "../plot/TreePicker";
import { useProject } from "../project";
import { Badge } from "../ui/Badge";
import { Button, IconButton } from "../ui/Button";
import { SearchField } from "../ui/SearchField";
import { Failure, Skeleton } from "../ui/State";
import { toastFailure } from "../ui/Toast";
import { Time } from "../ui/Value";
import { Version } from "../ui/Version";

const TABS = ["benchmarks", "branches", "testbeds", "measures", "reports", "plots"] as const;
type Tab = (typeof TABS)[number];

/** Default page size of a tab. */
const PER_PAGE = 8;

/** The search and the page number of a tab, from the URL. */
function useTab(tab: Tab) {
  const [params, setParams] = useSearchParams();
  const text = (name: string) => {
    const value = params[`${tab}_${name}`];
    return typeof value === "string" && value ? value : undefined;
  };
  const number = (name: string, usual: number) => Math.max(Math.floor(Number(text(name) ?? usual)) || usual, 1);
  const set = (part: Record<string, string | undefined>) =>
    setParams(Object.fromEntries(Object.entries(part).map(([name, value]) => [`${tab}_${name}`, value])), {
      replace: true,
      scroll: false,
    });
  return {
    text,
    words: () => text("search") ?? "",
    search: (words: string) => set({ search: words || undefined, page: undefined }),
    page: () => number("page", 1),
    perPage: () => Math.min(number("per_page", PER_PAGE), 255),
    turn: (page: number) => set({ page: page > 1 ? String(page) : undefined }),
  };
}

export function Choices(props: {
  query: PerfQuery;
  change: (part: Partial<PerfQuery>) => void;
  series: readonly Found[];
}): JSX.Element {
  const project = useProject();
  const path = () => ({ project: project.slug() });
  const tab = () => TABS.find((tab) => tab === props.query.tab) ?? "benchmarks";
  const on = <T,>(name: Tab, fetch: (path: { project: string }, signal: AbortSignal) => Promise<T>) => {
    const [wanted, setWanted] = createSignal(false);
    createEffect(() => tab() === name && setWanted(true));
    return load(() => wanted() && path(), fetch);
  };
  const branches = on("branches", (path, signal) =>
    everything((query) => list("/v0/projects/{project}/branches", { path, query: { ...query, sort: "name" }, signal })),
  );
  const testbeds = on("testbeds", (path, signal) =>
    everything((query) => list("/v0/projects/{project}/testbeds", { path, query: { ...query, sort: "name" }, signal })),
  );
  const benchmarks = on("benchmarks", (path, signal) =>
    everything((query) =>
      list("/v0/projects/{project}/benchmarks", { path, query: { ...query, sort: "name" }, signal }),
    ),
  );
  const measures = on("measures", (path, signal) =>
    everything((query) => list("/v0/projects/{project}/measures", { path, query: { ...query, sort: "name" }, signal })),
  );
  const error = () => [branches, testbeds, benchmarks, measures].find((each) => each.error())?.error();
  // Archived items are in no list, but a plot can show them.
  const with_ = <T extends { uuid: string; name: string }>(
    all: readonly T[] | undefined,
    shown: readonly T[],
  ): readonly T[] | undefined => {
    if (!all) return undefined;
    const listed = new Set(all.map(({ uuid }) => uuid));
    const more = new Map(shown.filter(({ uuid }) => !listed.has(uuid)).map((item) => [item.uuid, item]));
    return more.size ? [...more.values(), ...all] : all;
  };
  /** Keeps the list of heads parallel to the list of branches. */
  const pairs = (chosen: readonly string[], names: readonly string[], others: readonly string[]) =>
    chosen.map((uuid) => others[names.indexOf(uuid)] ?? "");
  const counts = () => ({
    benchmarks: props.query.benchmarks.length,
    branches: props.query.branches.length,
    testbeds: props.query.testbeds.length,
    measures: props.query.measures.length,
    reports: 0,
    plots: 0,
  });
  // Do not complete the query again after the user removed the last item of a dimension.
  const choose = (part: Partial<PerfQuery>) => props.change({ ...part, clear: true, hidden: [], isolated: undefined });
  const older = (uuid: string) => {
    const head = props.query.heads[props.query.branches.indexOf(uuid)];
    return head ? <Badge tone="warn">an older head</Badge> : undefined;
  };
  const trees = {
    benchmarks: useTab("benchmarks"),
    branches: useTab("branches"),
    testbeds: useTab("testbeds"),
    measures: useTab("measures"),
  };
  /** The search of a tree. A tree has one page, so the page number is the scroll position. */
  const tree = (name: keyof typeof trees) => {
    const { words, search, page, perPage } = trees[name];
    return { words: words(), onWords: search, first: (page() - 1) * perPage() };
  };
  return (
    <aside class="perf-choices" aria-label="Selection">
      <div class="perf-tabs" role="tablist" aria-label="Selection">
        <For each={TABS}>
          {(name) => (
            <button
              type="button"
              role="tab"
              id={`tab-${name}`}
              aria-controls="tab-panel"
              aria-selected={tab() === name}
              class="perf-tab"
              onClick={() => props.change({ tab: name === "benchmarks" ? undefined : name })}
            >
              {(name === "reports" ? "runs" : name).replace(/^./, (letter) => letter.toUpperCase())}
              <Show when={counts()[name]}>{(count) => <span class="number muted">{count()}</span>}</Show>
            </button>
          )}
        </For>
      </div>
      <div id="tab-panel" role="tabpanel" aria-labelledby={`tab-${tab()}`}>
        <Show when={error()}>{(error) => <Failure error={error()} />}</Show>
        <Show when={tab() === "benchmarks"}>
          <TreePicker
            noun="benchmark"
            {...tree("benchmarks")}
            items={with_(
              benchmarks(),
              props.series.map((series) => series.benchmark),
            )}
            chosen={props.query.benchmarks}
            most={MOST_LINES}
            onChoose={(chosen) => choose({ benchmarks: chosen })}
          />
        </Show>
        <Show when={tab() === "branches"}>
          <TreePicker
            noun="branch"
            {...tree("branches")}
            items={with_(
              branches(),
              props.series.map((series) => series.branch),
            )}
            chosen={props.query.branches}
            most={MOST_LINES}
            detail={(branch) => older(branch.uuid)}
            onChoose={(chosen) =>
              choose({ branches: chosen, heads: pairs(chosen, props.query.branches, props.query.heads) })
            }
          />
          <Show when={props.query.heads.some(Boolean)}>
            <Button kind="quiet" onClick={() => props.change({ heads: props.query.branches.map(() => "") })}>
              Use current heads
            </Button>
          </Show>
        </Show>
        <Show when={tab() === "testbeds"}>
          <TreePicker
            noun="testbed"
            {...tree("testbeds")}
            items={with_(
              testbeds(),
              props.series.map((series) => series.testbed),
            )}
            chosen={props.query.testbeds}
            most={MOST_LINES}
            detail={(testbed) => testbed.spec?.name}
            onChoose={(chosen) =>
              choose({ testbeds: chosen, specs: pairs(chosen, props.query.testbeds, props.query.specs) })
            }
          />
          <Show when={props.query.specs.some(Boolean)}>
            <Button kind="quiet" onClick={() => props.change({ specs: props.query.testbeds.map(() => "") })}>
              Show any spec
            </Button>
          </Show>
        </Show>
        <Show when={tab() === "measures"}>
          <p class="small muted perf-hint">
            {props.query.relative
              ? "All measures share one axis in percent."
              : "One or two measures. The second uses the right axis."}
          </p>
          <TreePicker
            noun="measure"
            {...tree("measures")}
            items={with_(
              measures(),
              props.series.map((series) => series.measure),
            )}
            chosen={props.query.measures}
            most={props.query.relative ? MOST_LINES : 2}
            detail={(measure) => measure.units}
            onChoose={(chosen) => choose({ measures: chosen })}
          />
        </Show>
        <Show when={tab() === "reports"}>
          <Reports change={props.change} />
        </Show>
        <Show when={tab() === "plots"}>
          <Plots query={props.query} change={props.change} />
        </Show>
      </div>
    </aside>
  );
}

/** Lists reports, to plot the series of one. */
function Reports(props: { change: (part: Partial<PerfQuery>) => void }): JSX.Element {
  const project = useProject();
  const tab = useTab("reports");
  const [params, setParams] = useSearchParams<{ report?: string }>();
  const time = (name: string) =>
    Number.isFinite(Number(tab.text(name) ?? NaN)) ? { [name]: Number(tab.text(name)) } : {};
  const reports = load(
    () => ({
      path: { project: project.slug() },
      query: { page: tab.page(), per_page: tab.perPage(), ...time("start_time"), ...time("end_time") },
    }),
    (request, signal) => list("/v0/projects/{project}/reports", { ...request, signal }),
  );
  // The selected report may be on another page.
  const open = load(
    () => (params.report ? { project: project.slug(), report: params.report } : undefined),
    (path, signal) => call("get", "/v0/projects/{project}/reports/{report}", { path, signal }),
  );
  const turn = (uuid: string) =>
    setParams({ report: params.report === uuid ? undefined : uuid }, { replace: true, scroll: false });
  const show = async (report: JsonReport) => {
    const whole = await call("get", "/v0/projects/{project}/reports/{report}", {
      path: { project: project.slug(), report: report.uuid },
    });
    props.change({
      ...completion(parse({}), whole),
      plot: undefined,
      zoom: undefined,
      hidden: [],
      isolated: undefined,
      clear: false,
    });
  };
  const rows = () => {
    const listed = reports()?.rows ?? [];
    const elsewhere = open();
    return elsewhere && elsewhere.uuid === params.report && !listed.some(({ uuid }) => uuid === elsewhere.uuid)
      ? [elsewhere, ...listed]
      : listed;
  };
  return (
    <div class="stack tight">
      <DateRange of="reports_" />
      <Show when={reports.error() ?? open.error()}>
        {(error) => <Failure error={error()} retry={reports.refresh} />}
      </Show>
      <Show when={reports()} fallback={<Skeleton lines={PER_PAGE} />}>
        <ul class="perf-list">
          <For
            each={rows()}
            fallback={
              <li class="muted">
                No runs{tab.text("start_time") || tab.text("end_time") ? " between these days" : " yet"}.
              </li>
            }
          >
            {(report) => (
              <li>
                <IconButton
                  icon="right"
                  label={`Contents of the report of ${report.branch.name}`}
                  expanded={params.report === report.uuid}
                  onClick={() => turn(report.uuid)}
                />
                <div class="grow">
                  <A href={project.path("reports", report.uuid)}>
                    <Time at={report.start_time} />
                  </A>{" "}
                  <Show when={report.counts.alerts.active}>
                    {(count) => <Badge tone="alert">{plural(count(), "alert")}</Badge>}
                  </Show>
                  <div class="small muted ellipsis">
                    {report.branch.name} · {report.testbed.name}
                  </div>
                  <Show when={params.report === report.uuid}>
                    <div class="small muted">
                      <Version version={report.branch.head.version} /> · {contents(report)}
                    </div>
                  </Show>
                </div>
                <Button onClick={() => show(report).catch(toastFailure)}>Plot</Button>
              </li>
            )}
          </For>
        </ul>
      </Show>
      <Pager tab={tab} total={reports()?.total ?? 0} before="Newer" after="Older" />
    </div>
  );
}

function contents({ counts: { results } }: JsonReport): string {
  const most = (kind: "benchmarks" | "measures") => Math.max(...results.map((iteration) => iteration[kind]), 0);
  return `${plural(most("benchmarks"), "benchmark")}, ${plural(most("measures"), "measure")}`;
}

function Pager(props: { tab: ReturnType<typeof useTab>; total: number; before: string; after: string }): JSX.Element {
  const page = () => props.tab.page();
  return (
    <Show when={page() > 1 || props.total > props.tab.perPage()}>
      <div class="row between">
        <button type="button" class="button" disabled={page() <= 1} onClick={() => props.tab.turn(page() - 1)}>
          {props.before}
        </button>
        <button
          type="button"
          class="button"
          disabled={page() * props.tab.perPage() >= props.total}
          onClick={() => props.tab.turn(page() + 1)}
        >
          {props.after}
        </button>
      </div>
    </Show>
  );
}

/** Lists the pinned plots, to open one. */
function Plots(props: { query: PerfQuery; change: (part: Partial<PerfQuery>) => void }): JSX.Element {
  const project = useProject();
  const tab = useTab("plots");
  const plots = load(
    () => ({
      path: { project: project.slug() },
      query: { page: tab.page(), per_page: tab.perPage(), ...(tab.words() ? { search: tab.words() } : {}) },
    }),
    (request, signal) => list("/v0/projects/{project}/plots", { ...request, signal }),
  );
  const show = (plot: JsonPlot) => props.change({ ...ofPlot(plot, Date.now()), tab: "plots" });
  return (
    <div class="stack tight">
      <SearchField label="Search plots" value={tab.words()} onInput={tab.search} />
      <Show when={plots.error()}>{(error) => <Failure error={error()} retry={plots.refresh} />}</Show>
      <Show when={plots()} fallback={<Skeleton lines={5} />}>
        {(shown) => (
          <ul class="perf-list">
            <For
              each={shown().rows}
              fallback={
                <li class="muted">
                  {tab.words() ? "No plot matches." : "No pinned plots. Pin the current plot with the button above."}
                </li>
              }
            >
              {(plot) => (
                <li>
                  <button
                    type="button"
                    class="perf-plot-link grow"
                    aria-current={plot.uuid === props.query.plot}
                    onClick={() => show(plot)}
                  >
                    {plot.title ?? "Untitled"}
                  </button>
                </li>
              )}
            </For>
          </ul>
        )}
      </Show>
      <Pager tab={tab} total={plots()?.total ?? 0} before="Previous" after="Next" />
    </div>
  );
}
