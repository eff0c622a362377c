// Pull requests: the branches that start from another branch, each with the verdict against its start point.

import { A } from "@solidjs/router";
import { createSignal, type JSX, onCleanup, Show } from "solid-js";
import { isChanged } from "../answer";
import { type JsonReport, type JsonVerdict, list, sentence } from "../api";
import { Share } from "../change";
import { fetchVerdict } from "../fetch_verdict";
import { count } from "../format";
import { nameOf } from "../history";
import { comparePath } from "../links";
import { useProject } from "../project";
import { List as Rows } from "../ui/List";
import { Page } from "../ui/Page";
import { Empty, Skeleton } from "../ui/State";
import { Name, Time } from "../ui/Value";
import { Version } from "../ui/Version";
import { Answer, countsText } from "../verdict_badge";
import "./lists.css";

/** The answer to a request for a verdict. */
type Outcome = { verdict: JsonVerdict } | { error: unknown };

/** Number of requested comparisons; the first one is the worst. */
const COMPARISONS = 3;

export function List(): JSX.Element {
  const project = useProject();
  const [reports, setReports] = createSignal<readonly JsonReport[]>([]);
  const [outcomes, setOutcomes] = createSignal<ReadonlyMap<string, Outcome>>(new Map());
  const loaded = () => reports().filter(({ uuid }) => outcomes().has(uuid)).length;
  const verdictOf = (report: JsonReport) => {
    const outcome = outcomes().get(report.uuid);
    return outcome && "verdict" in outcome ? outcome.verdict : undefined;
  };
  let requests = new AbortController();
  onCleanup(() => requests.abort());
  const loadVerdicts = (reports: readonly JsonReport[]) => {
    requests.abort();
    requests = new AbortController();
    const { signal } = requests;
    setReports(reports);
    for (const { uuid } of reports) {
      const keep = (outcome: Outcome) => {
        if (!signal.aborted) setOutcomes((known) => new Map(known).set(uuid, outcome));
      };
      fetchVerdict(project.slug(), uuid, { limit: COMPARISONS }, signal).then(
        (verdict) => keep({ verdict }),
        (error) => keep({ error }),
      );
    }
  };
  return (
    <Page title="Pull requests" crumbs={project.crumbs()}>
      <Rows<JsonReport>
        noun="branch"
        load={async (query, signal) => {
          const pulls = await list("/v0/projects/{project}/pulls", {
            path: { project: project.slug() },
            query,
            signal,
          });
          const rows = pulls.rows.flatMap(({ reports }) => reports);
          loadVerdicts(rows);
          return { rows, total: pulls.total };
        }}
        order={(rows) =>
          loaded() === rows.length ? [...rows].sort((one, two) => rank(verdictOf(one)) - rank(verdictOf(two))) : rows
        }
        href={({ uuid }) => comparePath(project, uuid)}
        tools={() => (
          <Show when={loaded() < reports().length}>
            <span class="muted small number" role="status">
              {count(loaded())} of {count(reports().length)} verdicts
            </span>
          </Show>
        )}
        columns={[
          {
            title: "Branch",
            cell: (report) => (
              <>
                {report.branch.name}
                <span class="subtext">{report.testbed.name}</span>
              </>
            ),
          },
          {
            title: "Verdict",
            cell: (report) => (
              <>
                <Verdict outcome={outcomes().get(report.uuid)} />
                <span class="subtext on-phone">
                  <ReportLink report={report} />
                </span>
              </>
            ),
          },
          { title: "Commit", wide: true, cell: ({ branch }) => <Version version={branch.head.version} /> },
          {
            title: "Base",
            wide: true,
            cell: (report) => (
              <Show when={verdictOf(report)} fallback={<span class="muted">–</span>}>
                {(verdict) => (
                  <Show when={verdict().baseline} fallback={<span class="muted">none</span>}>
                    {(baseline) => (
                      <>
                        <span class="break">{baseline().branch.name}</span>{" "}
                        <Version version={baseline().branch.head.version} />
                      </>
                    )}
                  </Show>
                )}
              </Show>
            ),
          },
          {
            title: "Report",
            wide: true,
            end: true,
            cell: (report) => <ReportLink report={report} />,
          },
        ]}
        empty={
          <Empty title="No pull requests yet">
            A pull request is a branch with a start point. In CI, <code>tidemark run</code> detects the pull request and
            its base. Elsewhere, set them: <code>tidemark run --branch my-branch --start-point main "cargo bench"</code>
          </Empty>
        }
      />
    </Page>
  );
}

function ReportLink(props: { report: JsonReport }): JSX.Element {
  const project = useProject();
  return (
    <A class="above-row-link nowrap" href={project.path("reports", props.report.uuid)}>
      Report, <Time at={props.report.start_time} />
    </A>
  );
}

/** The position of a row: regressions, inconclusive verdicts, then the others, each by time. */
function rank(verdict: JsonVerdict | undefined): number {
  if (verdict?.counts.regressions) return 0;
  return !verdict || verdict.answer === "inconclusive" ? 1 : 2;
}

function Verdict(props: { outcome: Outcome | undefined }): JSX.Element {
  const verdict = () => (props.outcome && "verdict" in props.outcome ? props.outcome.verdict : undefined);
  const error = () => (props.outcome && "error" in props.outcome ? props.outcome.error : undefined);
  const worst = () => verdict()?.comparisons.find(isChanged);
  return (
    <Show
      when={verdict()}
      fallback={
        <Show when={error()} fallback={<Skeleton />}>
          {(error) => <span class="muted">{sentence(error())}</span>}
        </Show>
      }
    >
      {(verdict) => (
        <>
          <Answer of={verdict()} />
          <span class="subtext">{countsText(verdict().counts)}</span>
          <Show when={worst()}>
            {(worst) => (
              <span class="subtext break">
                <Name of={nameOf(worst())} /> <Share of={worst().change} direction={worst().direction} />
              </span>
            )}
          </Show>
        </>
      )}
    </Show>
  );
}
