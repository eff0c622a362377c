// Pinned plots: all on the home page of a project, and each on its own page.

import { A, useNavigate, useParams } from "@solidjs/router";
import { createMemo, createSignal, For, type JSX, lazy, Show, Suspense } from "solid-js";
import { call, type JsonPerf, type JsonPlot, list } from "../api";
import { duration, plural } from "../format";
import { type Loaded, load } from "../load";
import type { Line } from "../plot/line";
import { type ProjectHere, useProject } from "../project";
import { Button, LinkButton } from "../ui/Button";
import { Confirm, Dialog } from "../ui/Dialog";
import { EditableFact, Fact, Facts } from "../ui/Facts";
import { Form, SelectField, TextField } from "../ui/Form";
import { Menu, type MenuItem } from "../ui/Menu";
import { createNear } from "../ui/near";
import { LoadingPage, Page } from "../ui/Page";
import { Empty, Failure, Skeleton } from "../ui/State";
import { toast, toastFailure } from "../ui/Toast";
import { Time } from "../ui/Value";
import "./home.css";

// uPlot loads with the first visible plot.
const Plot = lazy(async () => ({ default: (await import("../plot/Plot")).Plot }));

const MOST = 64;
const WINDOWS = [7, 28, 56, 84, 182, 365];

/** The pinned plots of the project. */
export function Pins(): JSX.Element {
  const project = useProject();
  const plots = load(
    () => ({ project: project.slug() }),
    (path, signal) => list("/v0/projects/{project}/plots", { path, query: { per_page: MOST, sort: "index" }, signal }),
  );
  return (
    <section class="stack tight" aria-labelledby="home-pins">
      <h2 id="home-pins">Pinned plots</h2>
      <Show when={plots.error()}>{(error) => <Failure error={error()} retry={plots.refresh} />}</Show>
      <Show
        when={plots()}
        fallback={
          <Show when={!plots.error()}>
            <div class="pins">
              <div class="card pin">
                <Skeleton lines={7} />
              </div>
              <div class="card pin">
                <Skeleton lines={7} />
              </div>
            </div>
          </Show>
        }
      >
        {(plots_) => (
          <Show
            when={plots_().rows.length}
            fallback={
              <Empty
                title="No pinned plots"
                action={
                  <LinkButton href={project.perfPath()} icon="chart">
                    Pin a plot
                  </LinkButton>
                }
              >
                Pin plots in Explore. All members of the project see them.
              </Empty>
            }
          >
            <div class="pins">
              <For each={plots_().rows}>{(plot, place) => <Pin plot={plot} place={place()} plots={plots} />}</For>
            </div>
          </Show>
        )}
      </Show>
    </section>
  );
}

/** The perf page with the content of a plot. */
function perfOf(project: ProjectHere, plot: JsonPlot): string {
  const query = new URLSearchParams({
    branches: plot.branches.join(),
    testbeds: plot.testbeds.join(),
    benchmarks: plot.benchmarks.join(),
    measures: plot.measures.join(),
    start_time: String(Date.now() - plot.window * 1000),
    x_axis: plot.x_axis,
    y_axis: plot.y_axis,
    plot: plot.uuid,
  });
  for (const name of ["lower_value", "upper_value", "lower_boundary", "upper_boundary"] as const)
    if (plot[name]) query.set(name, "true");
  return `${project.perfPath()}?${query}`;
}

function Pin(props: {
  plot: JsonPlot;
  place: number;
  plots: Loaded<{ rows: JsonPlot[]; total: number }>;
}): JSX.Element {
  const project = useProject();
  const [editing, setEditing] = createSignal(false);
  const [deleting, setDeleting] = createSignal(false);
  const path = () => ({ project: project.slug(), plot: props.plot.uuid });
  const title = () => props.plot.title ?? "Untitled plot";
  const all = () => props.plots()?.rows.length ?? 0;
  const move = (to: number) =>
    props.plots
      .optimistic(
        (old) => {
          const rows = old.rows.filter(({ uuid }) => uuid !== props.plot.uuid);
          return { ...old, rows: [...rows.slice(0, to), props.plot, ...rows.slice(to)] };
        },
        () => call("patch", "/v0/projects/{project}/plots/{plot}", { path: path(), body: { index: to } }),
      )
      .catch(toastFailure);
  const remove = async () => {
    await call("delete", "/v0/projects/{project}/plots/{plot}", { path: path() });
    toast("The plot was unpinned.");
    await props.plots.refresh();
  };
  const items = (): MenuItem[] => [
    { label: "Open in Explore", icon: "chart", href: perfOf(project, props.plot) },
    ...(project.may("edit")
      ? ([
          { label: "Title and window", icon: "edit", run: () => setEditing(true) },
          ...(props.place > 0 ? [{ label: "Move forward", icon: "left", run: () => move(props.place - 1) }] : []),
          ...(props.place < all() - 1 ? [{ label: "Move back", icon: "right", run: () => move(props.place + 1) }] : []),
        ] as MenuItem[])
      : []),
    ...(project.may("delete")
      ? ([{ label: "Unpin", icon: "close", danger: true, run: () => setDeleting(true) }] as MenuItem[])
      : []),
  ];
  return (
    <article class="card pin" aria-label={title()}>
      <header class="row between">
        <h3 class="ellipsis grow">
          <A href={project.path("plots", props.plot.uuid)}>{title()}</A>
        </h3>
        <span class="small muted nowrap">{windowText(props.plot.window)}</span>
        <Menu label={`Plot: ${title()}`} items={items()} />
      </header>
      <PlotContent plot={props.plot} height={280} />
      <Dialog open={editing()} title="Title and window" onClose={() => setEditing(false)}>
        <Form
          action="Save"
          onSubmit={async ({ title, window }) => {
            const changed = await call("patch", "/v0/projects/{project}/plots/{plot}", {
              path: path(),
              body: { title: title ?? null, window: Number(window) },
            });
            props.plots.set({
              rows: (props.plots()?.rows ?? []).map((plot) => (plot.uuid === changed.uuid ? changed : plot)),
              total: all(),
            });
            setEditing(false);
          }}
        >
          <TextField name="title" label="Title" value={props.plot.title ?? ""} maxLength={64} />
          <WindowField window={props.plot.window} />
        </Form>
      </Dialog>
      <Confirm
        open={deleting()}
        title="Unpin plot?"
        action="Unpin"
        onConfirm={remove}
        onClose={() => setDeleting(false)}
      >
        <p>
          <strong class="break">{title()}</strong> will be removed for all members of the project. The data is kept.
        </p>
      </Confirm>
    </article>
  );
}

function windowText(window: number): string {
  const days = Math.round(window / 86_400);
  return days >= 360
    ? `last ${plural(Math.round(days / 365), "year").replace(/^1 /, "")}`
    : days >= 1
      ? `last ${plural(days % 7 ? days : days / 7, days % 7 ? "day" : "week")}`
      : `last ${duration(window)}`;
}

function WindowField(props: { window: number }): JSX.Element {
  const choices = () =>
    [...new Set([...WINDOWS.map((days) => days * 86_400), props.window])].sort((left, right) => left - right);
  return (
    <SelectField
      name="window"
      label="Window"
      required
      value={String(props.window)}
      options={choices().map((seconds) => ({ value: String(seconds), label: windowText(seconds) }))}
      hint="The time range up to now."
    />
  );
}

/** The content of a pinned plot; loads when it approaches the viewport. */
function PlotContent(props: { plot: JsonPlot; height: number }): JSX.Element {
  const project = useProject();
  let place: HTMLDivElement | undefined;
  const near = createNear(() => place);
  const now = Date.now();
  const perf = load(
    () => {
      const { branches, testbeds, benchmarks, measures, window } = props.plot;
      return (
        near() && {
          branches: branches.join(),
          testbeds: testbeds.join(),
          benchmarks: benchmarks.join(),
          measures: measures.join(),
          start_time: now - window * 1000,
        }
      );
    },
    (query, signal) => call("get", "/v0/projects/{project}/perf", { path: { project: project.slug() }, query, signal }),
  );
  const lines = createMemo(() => linesOf(perf(), props.plot));
  return (
    <>
      <div ref={place} class="pin-plot" style={{ "min-height": `${props.height}px` }}>
        <Show when={perf.error()}>{(error) => <Failure error={error()} retry={perf.refresh} />}</Show>
        <Show
          when={perf()}
          fallback={
            <Show when={!perf.error()}>
              <Skeleton lines={6} />
            </Show>
          }
        >
          <Show when={lines().length} fallback={<p class="home-empty muted small">No data in this window.</p>}>
            <Suspense fallback={<Skeleton lines={6} />}>
              <Plot
                lines={lines()}
                label={props.plot.title ?? "Pinned plot"}
                x={props.plot.x_axis}
                y={props.plot.y_axis}
                height={props.height}
                shown={{
                  lower_value: props.plot.lower_value,
                  upper_value: props.plot.upper_value,
                  lower_boundary: props.plot.lower_boundary,
                  upper_boundary: props.plot.upper_boundary,
                }}
                {...(props.plot.x_axis === "date_time"
                  ? { range: [now - props.plot.window * 1000, now] as const }
                  : {})}
              />
            </Suspense>
          </Show>
        </Show>
      </div>
      <ul class="legend">
        <For each={lines()}>
          {(line, place) => (
            <li>
              <span class={`swatch line-${(place() % 10) + 1}`} aria-hidden="true" />
              <span class="break">{line.label}</span>
            </li>
          )}
        </For>
      </ul>
    </>
  );
}

/** One line per series, named by what differs. */
function linesOf(perf: JsonPerf | undefined, plot: JsonPlot): Line[] {
  const results = (perf?.results ?? []).filter(({ metrics }) => metrics.length);
  return results.map((found) => {
    const { branch, testbed, benchmark, measure, variant } = found;
    const parts = [
      benchmark.name,
      Object.entries(variant?.parameters ?? {})
        .map(([name, value]) => `${name}=${String(value)}`)
        .join(", "),
      plot.branches.length > 1 ? branch.name : "",
      plot.testbeds.length > 1 ? testbed.name : "",
      plot.measures.length > 1 ? measure.name : "",
    ];
    const x = ({ start_time, version }: (typeof found.metrics)[number]) =>
      plot.x_axis === "version" ? version.number : new Date(start_time).getTime();
    const metrics = [...found.metrics].sort((left, right) => x(left) - x(right));
    const numbers = (of: (metric: (typeof metrics)[number]) => number | null | undefined) =>
      Float64Array.from(metrics, (metric) => of(metric) ?? NaN);
    return {
      id: [branch.uuid, testbed.uuid, benchmark.uuid, measure.uuid, variant?.uuid].join(),
      label: parts.filter(Boolean).join(" · "),
      units: measure.units,
      x: numbers(x),
      y: numbers(({ metric }) => metric.value),
      lower: numbers(({ metric }) => metric.lower_value),
      upper: numbers(({ metric }) => metric.upper_value),
      lowerLimit: numbers(({ boundary }) => boundary?.lower_limit),
      upperLimit: numbers(({ boundary }) => boundary?.upper_limit),
      marks: metrics.flatMap(({ alert }, at) =>
        alert ? [{ at, limit: alert.limit, active: alert.status === "active" }] : [],
      ),
      right: plot.measures.length > 1 && measure.uuid === plot.measures[1],
    };
  });
}

/** The page of one pinned plot. */
export function PlotView(): JSX.Element {
  const project = useProject();
  const params = useParams<{ plot: string }>();
  const navigate = useNavigate();
  const [deleting, setDeleting] = createSignal(false);
  const path = () => ({ project: project.slug(), plot: params.plot });
  const plot = load(path, (path, signal) => call("get", "/v0/projects/{project}/plots/{plot}", { path, signal }));
  const crumbs = () => [{ href: project.path("plots"), label: project().name }];
  const change = async (body: { title?: string | null; window?: number }) =>
    plot.set(await call("patch", "/v0/projects/{project}/plots/{plot}", { path: path(), body }));
  const remove = async () => {
    await call("delete", "/v0/projects/{project}/plots/{plot}", { path: path() });
    toast("The plot was unpinned.");
    navigate(project.path("plots"));
  };
  return (
    <Show when={plot()} fallback={<LoadingPage title="Plot" crumbs={crumbs()} lines={10} item={plot} />}>
      {(shown) => (
        <Page
          title={shown().title ?? "Untitled plot"}
          crumbs={crumbs()}
          actions={
            <>
              <LinkButton href={perfOf(project, shown())} icon="chart">
                Open in Explore
              </LinkButton>
              <Show when={project.may("delete")}>
                <Button kind="danger" onClick={() => setDeleting(true)}>
                  Unpin
                </Button>
              </Show>
            </>
          }
        >
          <div class="card pin">
            <PlotContent plot={shown()} height={420} />
          </div>
          <Facts>
            <EditableFact
              label="Title"
              value={shown().title ?? ""}
              optional
              maxLength={64}
              editable={project.may("edit")}
              save={(title) => change({ title: title || null })}
            />
            <Fact label="Window">{windowText(shown().window)}</Fact>
            <Fact label="UUID" copy={shown().uuid}>
              <span class="mono">{shown().uuid}</span>
            </Fact>
            <Fact label="Pinned">
              <Time at={shown().created} />
            </Fact>
            <Fact label="Changed">
              <Time at={shown().modified} />
            </Fact>
          </Facts>
          <Confirm
            open={deleting()}
            title="Unpin plot?"
            action="Unpin"
            onConfirm={remove}
            onClose={() => setDeleting(false)}
          >
            <p>It will be removed for all members of the project. The data is kept.</p>
          </Confirm>
        </Page>
      )}
    </Show>
  );
}
