// Pull requests: the branches that start from another branch, each with the verdict against its start point.

import { A } from "@solidjs/router";
import { createSignal, type JSX, Show } from "solid-js";
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
import { Empty } from "../ui/State";
import { Name, Time } from "../ui/Value";
import { AlertCount } from "../ui/Verdict";
import { Version } from "../ui/Version";
import { Answer, countsText } from "../verdict_badge";
import "./lists.css";

/** A branch with its newest run of a testbed, and the verdict or the reason why there is none. */
interface Pull {
  report: JsonReport;
  verdict?: JsonVerdict;
  failure?: string;
}

/** Number of requested comparisons; the first one is the worst. */
const COMPARISONS = 3;

export function List(): JSX.Element {
  const project = useProject();
  const [progress, setProgress] = createSignal<{ known: number; all: number }>();
  /** Adds the verdicts, and sorts the rows once: no row moves after the user sees it. */
  const withVerdicts = async (reports: readonly JsonReport[], signal: AbortSignal): Promise<Pull[]> => {
    let known = 0;
    const advance = () => {
      if (!signal.aborted) setProgress({ known: known++, all: reports.length });
    };
    advance();
    const pulls = await Promise.all(
      reports.map(async (report): Promise<Pull> => {
        try {
          return { report, verdict: await fetchVerdict(project.slug(), report.uuid, { limit: COMPARISONS }, signal) };
        } catch (error) {
          return { report, failure: sentence(error) };
        } finally {
          advance();
        }
      }),
    );
    return pulls.sort((one, two) => rank(one) - rank(two));
  };
  return (
    <Page title="Pull requests" crumbs={project.crumbs()}>
      <Rows<Pull>
        noun="branch"
        load={async (query, signal) => {
          const pulls = await list("/v0/projects/{project}/pulls", {
            path: { project: project.slug() },
            query,
            signal,
          });
          const reports = pulls.rows.flatMap(({ reports }) => reports);
          return { rows: await withVerdicts(reports, signal), total: pulls.total };
        }}
        href={({ report }) => comparePath(project, report.uuid)}
        tools={(rows) => (
          <Show when={rows.pending() && progress()}>
            {(progress) => (
              <span class="muted small number" role="status">
                {count(progress().known)} of {count(progress().all)} verdicts
              </span>
            )}
          </Show>
        )}
        columns={[
          {
            title: "Branch",
            cell: ({ report }) => (
              <>
                {report.branch.name}
                <span class="subtext">{report.testbed.name}</span>
              </>
            ),
          },
          {
            title: "Verdict",
            cell: (pull) => (
              <>
                <Verdict of={pull} />
                <Show when={pull.report.counts.alerts.active}>
                  {" "}
                  <AlertCount {...pull.report.counts.alerts} named />
                </Show>
                <span class="subtext on-phone">
                  <Version version={pull.report.branch.head.version} />
                </span>
                <span class="subtext on-phone">
                  <RunLink report={pull.report} />
                </span>
              </>
            ),
          },
          { title: "Commit", wide: true, cell: ({ report }) => <Version version={report.branch.head.version} /> },
          {
            title: "Base",
            wide: true,
            cell: ({ verdict }) => (
              <Show when={verdict} fallback={<span class="muted">–</span>}>
                <Show when={verdict?.baseline} fallback={<span class="muted">none</span>}>
                  {(baseline) => (
                    <>
                      <span class="break">{baseline().branch.name}</span>{" "}
                      <Version version={baseline().branch.head.version} />
                    </>
                  )}
                </Show>
              </Show>
            ),
          },
          {
            title: "Run",
            wide: true,
            end: true,
            cell: ({ report }) => <RunLink report={report} />,
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

function RunLink(props: { report: JsonReport }): JSX.Element {
  const project = useProject();
  return (
    <A class="above-row-link nowrap" href={project.path("reports", props.report.uuid)}>
      <Time at={props.report.start_time} />
    </A>
  );
}

/** The position of a row: regressions, inconclusive verdicts, then the others, each by time. */
function rank({ verdict }: Pull): number {
  if (verdict?.counts.regressions) return 0;
  return !verdict || verdict.answer === "inconclusive" ? 1 : 2;
}

function Verdict(props: { of: Pull }): JSX.Element {
  return (
    <Show when={props.of.verdict} fallback={<span class="muted">{props.of.failure}</span>}>
      {(verdict) => (
        <>
          <Answer of={verdict()} />
          <span class="subtext">{countsText(verdict().counts)}</span>
          <Show when={verdict().comparisons.find(isChanged)}>
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
