// The history of a benchmark on a branch: its newest values with their verdicts, a plot, and its events.

import { useSearchParams } from "@solidjs/router";
import { createMemo, type JSX, Show } from "solid-js";
import { type JsonBenchmark, type JsonMeasure, type JsonVerdictComparison, list } from "../api";
import { AnswerBadge } from "../comparison";
import { fetchVerdict } from "../fetch_verdict";
import { parametersOf } from "../history";
import { load } from "../load";
import { NewestPickers, newestReports, type TestbedReports } from "../newest";
import { Chart } from "../plot/Chart";
import { fetchSeries } from "../plot/fetch";
import { type PerfQuery, parse, search } from "../plot/query";
import { useProject } from "../project";
import { LinkButton } from "../ui/Button";
import { Select, toOption } from "../ui/Select";
import { Failure, Skeleton } from "../ui/State";
import { Table } from "../ui/Table";
import { Time, Value } from "../ui/Value";
import { BenchmarkEvents } from "./home_cards";
import { ChangeFromBaseline, Detectable, Noise } from "./series_table";
import "./lists.css";

/** Maximum number of testbeds at a time. */
const MOST = 8;

/** A series of the benchmark in the newest report of a testbed. */
interface Newest extends TestbedReports {
  comparison: JsonVerdictComparison;
}

export function BenchmarkHistory(props: { benchmark: JsonBenchmark }): JSX.Element {
  const project = useProject();
  const [params, setParams] = useSearchParams<{ measure?: string }>();
  const newest = newestReports();
  const testbeds = () => {
    const chosen = newest.testbed();
    return chosen ? [chosen] : newest.testbeds()?.slice(0, MOST);
  };
  const compared = load(
    () => {
      const shown = testbeds();
      return (
        shown && {
          project: project.slug(),
          benchmark: props.benchmark.uuid,
          reports: shown.map(({ newest }) => newest.uuid),
        }
      );
    },
    async ({ project, benchmark, reports }, signal) => {
      const verdicts = await Promise.all(reports.map((report) => fetchVerdict(project, report, { benchmark }, signal)));
      return new Map(verdicts.map(({ report, comparisons }) => [report, comparisons]));
    },
  );
  const all = createMemo((): Newest[] | undefined => {
    const known = compared();
    const shown = testbeds();
    if (!known || !shown?.every(({ newest }) => known.has(newest.uuid))) return undefined;
    return shown.flatMap((one) => (known.get(one.newest.uuid) ?? []).map((comparison) => ({ ...one, comparison })));
  });
  // The newest reports may not contain the benchmark.
  const measuresOfProject = load(
    () => all()?.length === 0 && { project: project.slug() },
    (path, signal) => list("/v0/projects/{project}/measures", { path, query: { per_page: 255 }, signal }),
  );
  const measures = createMemo((): JsonMeasure[] => {
    const found = (all() ?? []).map(({ comparison }) => comparison.measure);
    const unique = [...new Map(found.map((measure) => [measure.uuid, measure])).values()];
    return unique.length ? unique : (measuresOfProject()?.rows ?? []);
  });
  const measure = () => measures().find(({ slug }) => slug === params.measure) ?? measures()[0];
  const shown = () => all()?.filter(({ comparison }) => comparison.measure.uuid === measure()?.uuid);
  const query = createMemo((): PerfQuery | undefined => {
    const [branch, chosen, own] = [newest.branch(), measure(), testbeds()];
    if (!branch || !chosen || !own?.length) return undefined;
    const starts = own.map(({ reports, newest }) => Date.parse((reports.at(-1) ?? newest).start_time));
    return {
      ...parse({}),
      branches: [branch.uuid],
      heads: [""],
      testbeds: own.map(({ testbed }) => testbed.uuid),
      specs: own.map(() => ""),
      benchmarks: [props.benchmark.uuid],
      measures: [chosen.uuid],
      start_time: Math.min(...starts),
    };
  });
  const series = fetchSeries(project.slug, query);
  const isEmpty = () => newest.all()?.total === 0;
  return (
    <Show when={!isEmpty()} fallback={<p class="muted">The project has no runs yet.</p>}>
      <section class="stack" aria-labelledby="benchmark-newest">
        <header class="row between">
          <h2 id="benchmark-newest">Newest values</h2>
          <NewestPickers of={newest} all="All testbeds">
            <Show when={measures().length > 1}>
              <Select
                short
                label="Measure"
                value={measure()?.slug ?? ""}
                options={[...measures()].sort((a, b) => a.name.localeCompare(b.name)).map(toOption)}
                onChange={(slug) => setParams({ measure: slug }, { replace: true, scroll: false })}
              />
            </Show>
          </NewestPickers>
        </header>
        <Show when={newest.error() ?? compared.error()}>
          {(error) => <Failure error={error()} retry={() => Promise.all([newest.refresh(), compared.refresh()])} />}
        </Show>
        <Show
          when={shown()}
          fallback={
            <Show when={!newest.error() && !compared.error()}>
              <Skeleton lines={3} />
            </Show>
          }
        >
          {(rows) => (
            <Show
              when={rows().length}
              fallback={<p class="muted">The newest runs of this branch do not contain this benchmark.</p>}
            >
              <NewestValues rows={rows()} />
            </Show>
          )}
        </Show>
      </section>
      <section class="stack tight" aria-labelledby="benchmark-plot">
        <header class="row between">
          <h2 id="benchmark-plot">{measure()?.name ?? "Plot"}</h2>
          <Show when={query()}>
            {(query) => (
              <LinkButton icon="chart" href={`${project.perfPath()}?${search(query())}`}>
                Explore
              </LinkButton>
            )}
          </Show>
        </header>
        <Show when={query()} fallback={<Skeleton lines={12} />}>
          {(query) => (
            <Chart
              query={query()}
              series={series}
              links={{ path: project.path, url: project().url }}
              label={`${measure()?.name ?? ""} of ${props.benchmark.name}`}
              height={300}
              empty={<p class="muted">No values of this measure on this branch.</p>}
            />
          )}
        </Show>
      </section>
      <BenchmarkEvents benchmark={props.benchmark} />
    </Show>
  );
}

/** The newest value of each testbed and variant, and its comparison with the baseline. */
function NewestValues(props: { rows: readonly Newest[] }): JSX.Element {
  const project = useProject();
  return (
    <Table<Newest>
      label="List of newest values"
      rows={props.rows}
      first={25}
      href={({ newest }) => project.path("reports", newest.uuid)}
      columns={[
        {
          title: "Testbed",
          cell: ({ newest, testbed, comparison }) => (
            <>
              {testbed.name}
              <span class="subtext">
                <Time at={newest.start_time} />
              </span>
              <span class="subtext on-phone">
                <AnswerBadge of={comparison} />
              </span>
              <Show when={comparison.variant}>
                {(variant) => <span class="subtext">{parametersOf(variant())}</span>}
              </Show>
            </>
          ),
        },
        {
          title: "Value",
          end: true,
          cell: ({ comparison }) => (
            <>
              <Value value={comparison.head} units={comparison.measure.units} />
              <span class="subtext on-phone nowrap">
                noise <Noise of={comparison.noise} />
              </span>
            </>
          ),
        },
        {
          title: "Change",
          end: true,
          cell: ({ comparison }) => (
            <>
              <ChangeFromBaseline of={comparison} />
              <span class="subtext on-phone">
                detectable: <Detectable change={comparison.detectable} />
              </span>
            </>
          ),
        },
        { title: "Verdict", wide: true, end: true, cell: ({ comparison }) => <AnswerBadge of={comparison} /> },
        {
          title: "Noise",
          wide: true,
          end: true,
          cell: ({ comparison }) => (
            <span class="number">
              <Noise of={comparison.noise} />
            </span>
          ),
        },
        {
          title: "Smallest change detectable in one run",
          wide: true,
          end: true,
          cell: ({ comparison }) => (
            <span class="number">
              <Detectable change={comparison.detectable} />
            </span>
          ),
        },
      ]}
    />
  );
}
