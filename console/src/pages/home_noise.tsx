// The noise of each series on the home page: a table with search, filters, order and pages.

import { A, useSearchParams } from "@solidjs/router";
import { createMemo, For, type JSX, Show } from "solid-js";
import { count, plural, share } from "../format";
import { perfOfSeries } from "../links";
import { useProject } from "../project";
import { REPORTS, type Recent, type Series } from "../stats/recent";
import { SearchField } from "../ui/SearchField";
import { Select, toOption } from "../ui/Select";
import { Name, Sparkline, Value } from "../ui/Value";
import "./home.css";

type Order = "smallest" | "noise" | "name";
const PAGE = 10;

/** The noise and the smallest detectable change of each series. */
export function NoiseBySeries(props: { recent: Recent }): JSX.Element {
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
            <strong>Noise</strong> is the variation between runs without a change: the median distance between
            consecutive values in the last {REPORTS} runs of a testbed, as a standard deviation. The median ignores
            outliers and changes of the level.
          </p>
          <p>
            <strong>Smallest detectable change</strong> is the change that the next run alone can show, with 1 % false
            positives and a power of 80 %. It is 3.42 times the noise, and slightly more if few runs determine the
            current level. Four runs together can show half of it.
          </p>
          <p>
            <strong>A change of the level</strong> requires medians that differ by at least six standard errors and 1 %,
            with at least three runs on either side.
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
      <div class="table-wrap home-noise" tabindex="0" role="region" aria-label="List of series">
        <table class="rows">
          <thead>
            <tr>
              <th scope="col">{head("name", "Series")}</th>
              <th scope="col" class="wide">
                Last runs
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
                    <A class="row-link break" href={perfOfSeries(project, series)}>
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
                    <DetectableChange change={series.health.smallest} />
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
function DetectableChange(props: { change: number | undefined }): JSX.Element {
  return (
    <Show
      when={props.change !== undefined}
      fallback={
        <span class="muted" title="Fewer than six runs">
          too few runs
        </span>
      }
    >
      <span class="detectable">
        <meter
          class={severity(props.change ?? 0)}
          min="0"
          max="0.5"
          value={Math.min(props.change ?? 0, 0.5)}
          aria-hidden="true"
        />
        <span class="detectable-value">{(props.change ?? 0) === 0 ? "any" : share(props.change ?? 0)}</span>
      </span>
    </Show>
  );
}

/** The class of the bar of a detectable change. */
function severity(change: number): string {
  return change > 0.25 ? "high" : change > 0.1 ? "medium" : "low";
}
