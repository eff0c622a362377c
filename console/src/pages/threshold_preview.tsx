// Preview of a model on the real history: the boundary over one series, and the number of alerts over all series. The
// page computes everything, so that the preview follows the sliders.

import { createEffect, createMemo, createSignal, For, type JSX, on, onCleanup, Show } from "solid-js";
import { type BoundaryLimit, call, type JsonPerfMetric, list } from "../api";
import { count, plural, value } from "../format";
import { parametersOf } from "../history";
import { load } from "../load";
import type { Line, Mark } from "../plot/line";
import { Plot } from "../plot/Plot";
import { useProject } from "../project";
import type { Model } from "../stats/limits";
import { replay, type Verdict } from "../stats/replay";
import { Empty, Failure, Notice, Skeleton } from "../ui/State";
import { Name } from "../ui/Value";
import "./threshold.css";

/** The dimensions of a threshold, by UUID. */
export interface Watched {
  branch: string;
  testbed: string;
  measure: string;
}

interface Point {
  time: number;
  value: number;
  raised: BoundaryLimit | undefined;
}

/** One series, ordered from the oldest to the newest version. */
interface Series {
  /** Index of the first shown point. Earlier points are only part of the sample. */
  from: number;
  id: string;
  name: string;
  units: string;
  points: Point[];
}

/** The number of alerts of a model, and the status of the existing alerts. */
interface Tally {
  would: number;
  kept: number;
  raised: number;
}

/** Maximum number of benchmarks; number in the first request; number in each following request. */
const MOST = 255;
const FEW = 4;
const CHUNK = 20;
/** Days before the shown range: the sample of the first values. */
const BEFORE = 180;
/** Maximum time of one slice of work before the page yields, in milliseconds. */
const BUSY = 12;

const SPANS = [
  { days: 90, label: "90 days" },
  { days: 365, label: "A year" },
  { days: 0, label: "Everything" },
] as const;

export function Preview(props: {
  watched: Watched;
  model: Model;
  onValues?: (values: { least: number; most: number } | undefined) => void;
}): JSX.Element {
  const project = useProject();
  const [days, setDays] = createSignal<number>(365);
  const [series, setSeries] = createSignal<readonly Series[]>([]);
  const [left, setLeft] = createSignal<number>();
  const history = load(
    () => ({ project: project.slug(), ...props.watched, days: days() }),
    async ({ project, branch, testbed, measure, days }, signal) => {
      setSeries([]);
      setLeft(undefined);
      const benchmarks = await list("/v0/projects/{project}/benchmarks", {
        path: { project },
        query: { per_page: MOST },
        signal,
      });
      setLeft(benchmarks.rows.length);
      const uuids = benchmarks.rows.map(({ uuid }) => uuid);
      for (let from = 0, end = FEW; from < uuids.length; from = end, end += CHUNK) {
        const query = {
          branches: branch,
          testbeds: testbed,
          measures: measure,
          benchmarks: uuids.slice(from, end).join(","),
          ...(days ? { start_time: Date.now() - (days + BEFORE) * 864e5 } : {}),
        };
        const { results } = await call("get", "/v0/projects/{project}/perf", { path: { project }, query, signal });
        const found = results.map(({ benchmark, variant, measure, metrics }): Series => {
          const parameters = parametersOf(variant);
          const from = days ? Date.now() - days * 864e5 : -Infinity;
          return {
            from,
            id: `${benchmark.uuid} ${variant?.uuid ?? ""}`,
            name: parameters ? `${benchmark.name} (${parameters})` : benchmark.name,
            units: measure.units,
            points: metrics.map(point),
          };
        });
        setSeries((old) => [...old, ...found]);
        setLeft(Math.max(uuids.length - end, 0));
      }
      return { total: benchmarks.total };
    },
  );

  const tallies = useTallies(series, () => props.model);
  const [picked, setPicked] = createSignal<string>();
  // Default series: the one with the most existing alerts. The number of preview alerts would change with the slider.
  const shown = createMemo(
    () =>
      series().find(({ id }) => id === picked()) ??
      series().reduce<Series | undefined>(
        (most, one) => (most && raisedIn(most) >= raisedIn(one) ? most : one),
        undefined,
      ),
  );
  const chosen = () => shown()?.id;
  const rows = createMemo(() => {
    const known = tallies();
    return series()
      .map((one) => ({ series: one, tally: known.get(one.id) }))
      .sort(
        (a, b) =>
          (b.tally?.would ?? -1) - (a.tally?.would ?? -1) ||
          (b.tally?.raised ?? 0) - (a.tally?.raised ?? 0) ||
          a.series.name.localeCompare(b.series.name),
      );
  });
  createEffect(
    on(shown, (one) => {
      const values = one?.points.map(({ value }) => value) ?? [];
      props.onValues?.(values.length ? { least: Math.min(...values), most: Math.max(...values) } : undefined);
    }),
  );
  const sum = createMemo(() => {
    const all: Tally = { would: 0, kept: 0, raised: 0 };
    for (const { tally } of rows()) {
      all.would += tally?.would ?? 0;
      all.kept += tally?.kept ?? 0;
      all.raised += tally?.raised ?? 0;
    }
    return all;
  });
  const runs = createMemo(() =>
    Math.max(...series().map(({ points, from }) => points.filter(({ time }) => time >= from).length), 0),
  );
  const [all, setAll] = createSignal(false);

  return (
    <section class="preview stack" aria-label="Preview" aria-busy={left() !== 0}>
      <div class="row between">
        <h2>Preview on the real history</h2>
        <div class="segments" role="group" aria-label="How much history">
          <For each={SPANS}>
            {(span) => (
              <button type="button" aria-pressed={days() === span.days} onClick={() => setDays(span.days)}>
                {span.label}
              </button>
            )}
          </For>
        </div>
      </div>
      <Show when={history.error()}>{(error) => <Failure error={error()} retry={history.refresh} />}</Show>
      <Show
        when={series().length}
        fallback={
          <Show
            when={history() && !history.pending()}
            fallback={
              <Show when={!history.error()}>
                <Skeleton lines={12} />
              </Show>
            }
          >
            <Empty title="No history yet">
              This branch and testbed have no values of this measure. The threshold will check new values.
            </Empty>
          </Show>
        }
      >
        <Show when={(history()?.total ?? 0) > MOST}>
          <Notice tone="neutral">
            The preview covers the first {count(MOST)} of {count(history()?.total ?? 0)} benchmarks.
          </Notice>
        </Show>
        <div role="status">
          <dl class="alert-tally card">
            <div>
              <dt>Preview alerts</dt>
              <dd class="main-figure number">{count(sum().would)}</dd>
              <dd class="small muted number">{rate(sum().would, runs())}</dd>
            </div>
            <div>
              <dt>Existing alerts</dt>
              <dd class="main-figure number">
                {count(sum().kept)} <span class="muted">of {count(sum().raised)}</span>
              </dd>
              <dd class="small muted">would be raised again</dd>
            </div>
            <div>
              <dt>New</dt>
              <dd class="main-figure number">{count(sum().would - sum().kept)}</dd>
              <dd class="small muted">not raised before</dd>
            </div>
          </dl>
        </div>
        <div class="preview-plot">
          <Show when={shown()}>{(one) => <SeriesPlot series={one()} model={props.model} />}</Show>
        </div>
        <div class="table-wrap" tabindex="0" role="region" aria-label="Alerts by benchmark">
          <table class="rows">
            <thead>
              <tr>
                <th scope="col">Benchmark</th>
                <th scope="col" class="end">
                  Preview
                </th>
                <th scope="col" class="end">
                  Existing
                </th>
                <th scope="col" class="end wide">
                  Both
                </th>
              </tr>
            </thead>
            <tbody>
              <For each={all() ? rows() : rows().slice(0, 8)}>
                {({ series: one, tally }) => (
                  <tr classList={{ chosen: one.id === chosen() }}>
                    <td class="first">
                      <button
                        type="button"
                        class="row-link row-button break"
                        aria-pressed={one.id === chosen()}
                        onClick={() => setPicked(one.id)}
                      >
                        <Name of={one.name} />
                      </button>
                    </td>
                    <td class="end number">{tally ? count(tally.would) : "…"}</td>
                    <td class="end number muted">{tally ? count(tally.raised) : "…"}</td>
                    <td class="end number muted wide">{tally ? count(tally.kept) : "…"}</td>
                  </tr>
                )}
              </For>
            </tbody>
          </table>
        </div>
        <div class="row between">
          <Show when={rows().length > 8} fallback={<span />}>
            <button type="button" class="button" onClick={() => setAll(!all())}>
              {all() ? "Show fewer" : `Show all ${count(rows().length)}`}
            </button>
          </Show>
          <span class="small muted number">
            {left() ? `${plural(left() ?? 0, "benchmark")} remaining…` : `${count(rows().length)} series`}
          </span>
        </div>
      </Show>
    </section>
  );
}

function point({ start_time, metric, alert }: JsonPerfMetric): Point {
  return { time: new Date(start_time).getTime(), value: metric.value, raised: alert?.limit };
}

function raisedIn({ points, from }: Series): number {
  return points.reduce((sum, { raised, time }) => sum + (raised && time >= from ? 1 : 0), 0);
}

/** The frequency of the alerts. */
function rate(alerts: number, runs: number): string {
  if (!alerts) return `in ${plural(runs, "run")}`;
  const each = runs / alerts;
  return each >= 1.5 ? `one in ${count(Math.round(each))} runs` : `${(alerts / Math.max(runs, 1)).toFixed(1)} a run`;
}

/** Counts the alerts of all series in slices, and again when the model changes. */
function useTallies(series: () => readonly Series[], model: () => Model): () => ReadonlyMap<string, Tally> {
  const [tallies, setTallies] = createSignal<ReadonlyMap<string, Tally>>(new Map());
  let round = 0;
  createEffect(
    on([series, model], async ([all, model]) => {
      const own = ++round;
      const found = new Map<string, Tally>();
      let since = performance.now();
      for (const one of all) {
        if (performance.now() - since > BUSY) {
          await new Promise((resolve) => setTimeout(resolve));
          if (own !== round) return;
          since = performance.now();
        }
        found.set(one.id, tally(one, replay(one.points, model)));
      }
      setTallies(found);
    }),
  );
  onCleanup(() => round++);
  return tallies;
}

function tally({ points, from }: Series, verdicts: readonly Verdict[]): Tally {
  const sum: Tally = { would: 0, kept: 0, raised: 0 };
  points.forEach(({ raised, time }, place) => {
    if (time < from) return;
    const would = verdicts[place]?.side !== undefined;
    if (would) sum.would++;
    if (raised) sum.raised++;
    if (would && raised) sum.kept++;
  });
  return sum;
}

function SeriesPlot(props: { series: Series; model: Model }): JSX.Element {
  const judged = createMemo(() => {
    const verdicts = replay(props.series.points, props.model);
    return props.series.points
      .map((point, place) => ({ ...point, verdict: verdicts[place] as Verdict }))
      .filter(({ time }) => time >= props.series.from)
      .sort((a, b) => a.time - b.time);
  });
  const lines = createMemo((): Line[] => {
    const points = judged();
    const numbers = (read: (point: (typeof points)[number]) => number | undefined) =>
      Float64Array.from(points, (point) => read(point) ?? NaN);
    return [
      {
        id: props.series.id,
        label: props.series.name,
        units: props.series.units,
        x: numbers(({ time }) => time),
        y: numbers(({ value }) => value),
        lowerLimit: numbers(({ verdict }) => verdict.limits?.lower),
        upperLimit: numbers(({ verdict }) => verdict.limits?.upper),
        marks: points.flatMap(({ verdict, raised }, at): Mark[] => {
          const limit = verdict.side ?? raised;
          return limit ? [{ at, limit, active: verdict.side !== undefined }] : [];
        }),
      },
    ];
  });
  const has = (side: "lower_boundary" | "upper_boundary") => typeof props.model[side] === "number";
  return (
    <figure class="figure">
      <figcaption class="small">
        <strong class="break">{props.series.name}</strong> <span class="key">would be raised</span>{" "}
        <span class="key obsolete">was raised, would not be</span>
      </figcaption>
      <Plot
        label={`The history of ${props.series.name} with the limits of this model`}
        lines={lines()}
        height={280}
        shown={{ lower_boundary: has("lower_boundary"), upper_boundary: has("upper_boundary") }}
        readout={(_, at) => (
          <Show when={judged()[at]}>{(point) => <PointTooltip point={point()} units={props.series.units} />}</Show>
        )}
      />
    </figure>
  );
}

function PointTooltip(props: { point: Point & { verdict: Verdict }; units: string }): JSX.Element {
  const limits = () => props.point.verdict.limits;
  return (
    <>
      <strong class="number">{value(props.point.value, props.units)}</strong>
      <span class="small">
        {props.point.verdict.side ? "An alert would be raised" : limits() ? "Within the limits" : "Sample too small"}
        {props.point.raised ? "; one was." : "."}
      </span>
      <Show when={limits()?.baseline !== undefined}>
        <span class="small muted">Baseline {value(limits()?.baseline ?? 0, props.units)}</span>
      </Show>
      <Show when={limits()?.upper !== undefined}>
        <span class="small muted">Upper limit {value(limits()?.upper ?? 0, props.units)}</span>
      </Show>
      <Show when={limits()?.lower !== undefined}>
        <span class="small muted">Lower limit {value(limits()?.lower ?? 0, props.units)}</span>
      </Show>
    </>
  );
}
