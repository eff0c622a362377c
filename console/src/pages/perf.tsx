// The page Explore: select, view, pin, share and export series. The URL contains the whole state.

import { useSearchParams } from "@solidjs/router";
import { createEffect, createMemo, createSignal, For, type JSX, on, Show } from "solid-js";
import { call, list, url } from "../api";
import { plural } from "../format";
import { bindKeys } from "../keys";
import { load } from "../load";
import { Chart } from "../plot/Chart";
import { loadChanges } from "../plot/changes";
import { csv, png, save } from "../plot/export";
import { fetchSeries } from "../plot/fetch";
import { labels, linesOf } from "../plot/lines";
import { movedGroups, ofGroup } from "../plot/moved";
import { PinDialog } from "../plot/Pin";
import {
  changes,
  completion,
  isComplete,
  MOST_LINES,
  ofPlot,
  type PerfQuery,
  parse,
  permutations,
  pictured,
} from "../plot/query";
import { ShareDialog } from "../plot/Share";
import { REFERENCES } from "../plot/scale";
import { Tools } from "../plot/Tools";
import { useProject } from "../project";
import { isDark } from "../theme";
import { Button, LinkButton } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { Menu } from "../ui/Menu";
import { Page } from "../ui/Page";
import { Empty, Failure, Notice, Skeleton } from "../ui/State";
import { toastFailure } from "../ui/Toast";
import { Choices } from "./perf_choices";
import { Moved } from "./perf_moved";

/** Number of events that the page reads to find the changed series. */
const NEWEST_EVENTS = 16;

export function Perf(): JSX.Element {
  const project = useProject();
  const [params, setParams] = useSearchParams();
  // Compares by content: other parameters of the URL, such as the search of a tab, do not affect the plot.
  const query = createMemo(() => parse(params), undefined, {
    equals: (one, other) => JSON.stringify(one) === JSON.stringify(other),
  });
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

  // Without a selection, the page opens with the series that changed.
  const moved = load(path, async (path, signal) => {
    const query = { per_page: NEWEST_EVENTS };
    return movedGroups((await list("/v0/projects/{project}/events", { path, query, signal })).rows, Date.now());
  });
  const isBlank = () => !isStarted(query()) && !query().clear && !query().plot;
  createEffect(
    on(moved, (groups) => {
      const [first] = groups ?? [];
      if (first && isBlank()) change({ ...ofGroup(first), tab: query().tab });
    }),
  );

  // The newest report completes a partial query, and a blank one if nothing changed.
  const newest = load(
    () =>
      !isComplete(query()) &&
      !query().clear &&
      !query().plot &&
      (isStarted(query()) || moved()?.length === 0 || moved.error() !== undefined) &&
      path(),
    async (path, signal) => {
      const [first] = (await list("/v0/projects/{project}/reports", { path, query: { per_page: 1 }, signal })).rows;
      return first
        ? await call("get", "/v0/projects/{project}/reports/{report}", {
            path: { ...path, report: first.uuid },
            signal,
          })
        : null;
    },
  );
  createEffect(
    on(newest, (report) => {
      if (report && !query().clear && !query().plot && !isComplete(query()))
        change({ ...completion(query(), report), tab: query().tab });
    }),
  );

  const wanted = createMemo(() => {
    const asked = query();
    if (!isComplete(asked)) return undefined;
    // Absolute values have two axes, and therefore at most two measures.
    return { ...asked, measures: asked.relative ? asked.measures : asked.measures.slice(0, 2) };
  });
  const series = fetchSeries(project.slug, wanted);

  const marked = loadChanges(project.slug, wanted);

  const [pinning, setPinning] = createSignal(false);
  const [sharing, setSharing] = createSignal(false);
  let take: (() => HTMLCanvasElement | undefined) | undefined;
  const name = () => (plot()?.uuid === query().plot ? plot()?.title : undefined) ?? query().title ?? project().name;
  const shownSeries = () => series().filter(({ id }) => !query().hidden.includes(id));
  const file = (ending: string) => `${project.slug()}-perf.${ending}`;
  const savePng = async () => {
    const canvas = take?.();
    if (!canvas) return;
    const { x_axis, measures, relative, hidden } = query();
    const lines = linesOf(series(), x_axis, measures, marked()).filter(({ id }) => !hidden.includes(id));
    const unit = relative ? [`% of ${REFERENCES[relative]}`] : [];
    save(file("png"), await png(canvas, name(), [...labels(shownSeries()).shared, ...unit].join(" · "), lines));
  };
  const saveSvg = async () => {
    const [start_time, end_time] =
      query().x_axis === "date_time" && query().zoom ? (query().zoom ?? []) : [query().start_time, query().end_time];
    const address = url("/v0/projects/{project}/perf/img", {
      path: path(),
      query: {
        ...pictured({ ...query(), start_time, end_time }),
        title: name(),
        format: "svg",
        theme: isDark() ? "dark" : "light",
      },
    });
    const answer = await fetch(address, { headers: { "x-tidemark-console": "1" } });
    if (!answer.ok) throw new Error(((await answer.json()) as { message: string }).message);
    save(file("svg"), await answer.blob());
  };
  bindKeys([
    { keys: "r", label: "Reload the plot", run: series.refresh },
    { keys: "z", label: "Reset the zoom", run: () => change({ zoom: undefined }) },
  ]);

  const hasNothing = () => newest() === null && !isComplete(query());
  return (
    <Page
      title={(plot()?.uuid === query().plot ? plot()?.title : undefined) ?? query().title ?? "Explore"}
      crumbs={[{ href: project.path("plots"), label: project().name }]}
      actions={
        <Show when={wanted()}>
          <Show when={project.may("manage")}>
            <Button icon="pin" onClick={() => setPinning(true)}>
              {query().plot ? "Update pin" : "Pin"}
            </Button>
          </Show>
          <Button icon="share" onClick={() => setSharing(true)}>
            Share
          </Button>
          <Menu
            label="Download"
            trigger={
              <>
                Download <Icon name="down" size={16} />
              </>
            }
            items={[
              ...(query().layout === "overlay"
                ? [{ label: "Image (PNG)", run: () => savePng().catch(toastFailure) }]
                : []),
              {
                // The server draws this image.
                label: query().relative ? "Vector image (SVG), absolute values" : "Vector image (SVG)",
                run: () => saveSvg().catch(toastFailure),
              },
              {
                label: "Values (CSV)",
                run: () => save(file("csv"), new Blob([csv(shownSeries())], { type: "text/csv" })),
              },
            ]}
          />
        </Show>
      }
    >
      <Show
        when={!hasNothing()}
        fallback={
          <Empty
            title="No data yet"
            action={
              <Show when={!project.isPublic}>
                <LinkButton href="/console/onboard/run" primary>
                  Get started
                </LinkButton>
              </Show>
            }
          >
            Plots show the data of runs. Send the first run with <code>tidemark run</code>.
          </Empty>
        }
      >
        <Show when={newest.error() ?? plot.error()}>
          {(error) => <Failure error={error()} retry={() => Promise.all([newest.refresh(), plot.refresh()])} />}
        </Show>
        <div class="perf">
          <section class="perf-plot stack" aria-label="Plot">
            <Show
              when={moved()}
              fallback={
                <Show when={!moved.error()}>
                  <div class="perf-moved loading">
                    <Skeleton lines={2} />
                  </div>
                </Show>
              }
            >
              {(groups) => <Moved groups={groups()} query={query()} change={change} />}
            </Show>
            <Tools query={query()} change={change} />
            <Show when={!query().relative && query().measures.length > 2}>
              <Notice tone="warn">
                Absolute values of at most two measures are shown. Show the values in percent to see all measures.
              </Notice>
            </Show>
            <Show when={permutations(query()) > MOST_LINES}>
              <Notice tone="warn">
                The selection has {plural(permutations(query()), "line")}. Only {MOST_LINES} are shown. Select fewer.
              </Notice>
            </Show>
            <Show
              when={wanted()}
              fallback={
                <div class="perf-empty">
                  <Show
                    when={query().clear || newest() !== undefined || newest.error()}
                    fallback={<Skeleton lines={9} />}
                  >
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
                  changes={marked()}
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
          onPinned={(pinned) => {
            plot.set(pinned);
            change({ plot: pinned.uuid });
          }}
        />
        <ShareDialog project={project()} query={query()} open={sharing()} onClose={() => setSharing(false)} />
      </Show>
    </Page>
  );
}

/** Whether the URL selects anything. */
function isStarted(query: PerfQuery): boolean {
  return [query.branches, query.testbeds, query.benchmarks, query.measures].some((list) => list.length > 0);
}

/** The dimensions without a selection. */
function Checklist(props: { query: PerfQuery; change: (part: Partial<PerfQuery>) => void }): JSX.Element {
  const steps = ["branches", "testbeds", "benchmarks", "measures"] as const;
  return (
    <section class="empty">
      <h2>Select series</h2>
      <ul class="perf-checklist">
        <For each={steps}>
          {(step) => (
            <li classList={{ done: props.query[step].length > 0 }}>
              <Icon name={props.query[step].length ? "check" : "right"} />
              <button type="button" class="button quiet" onClick={() => props.change({ tab: step })}>
                {props.query[step].length
                  ? plural(
                      props.query[step].length,
                      { branches: "branch", testbeds: "testbed", benchmarks: "benchmark", measures: "measure" }[step],
                    )
                  : `Select ${step}`}
              </button>
            </li>
          )}
        </For>
      </ul>
      <button type="button" class="button" onClick={() => props.change({ clear: false })}>
        Show the newest run
      </button>
    </section>
  );
}

function NoData(props: { query: PerfQuery; change: (part: Partial<PerfQuery>) => void }): JSX.Element {
  const isBound = () => props.query.start_time !== undefined || props.query.end_time !== undefined;
  return (
    <>
      <h2>No data</h2>
      <p class="muted">The selection has no data{isBound() ? " in this time range" : ""}.</p>
      <Show when={isBound()}>
        <button
          type="button"
          class="button"
          onClick={() => props.change({ start_time: undefined, end_time: undefined, zoom: undefined })}
        >
          Show all time
        </button>
      </Show>
    </>
  );
}
