// The newest reports of a branch by testbed, and the column of lists with the newest run. The query of the URL contains the
// branch and the testbed.

import { A, useSearchParams } from "@solidjs/router";
import { type Accessor, createMemo, type JSX, Show } from "solid-js";
import { type JsonBranch, type JsonNewestRun, type JsonReport, type JsonTestbed, list, type Page } from "./api";
import { type Loaded, load } from "./load";
import { mainBranch } from "./main_branch";
import { useProject } from "./project";
import type { Column, ListQuery } from "./ui/List";
import { Select, toOption } from "./ui/Select";
import { Time } from "./ui/Value";
import "./pages/lists.css";

/** The newest reports of a testbed, newest first. */
export interface TestbedReports {
  testbed: JsonTestbed;
  newest: JsonReport;
  reports: readonly JsonReport[];
}

export interface NewestReports {
  /** The newest reports of all branches. */
  all: Loaded<Page<JsonReport>>;
  branches: Accessor<JsonBranch[]>;
  /** The selected branch; by default the default branch. */
  branch: Accessor<JsonBranch | undefined>;
  /** The reports of the branch by testbed, the testbed of the newest report first; undefined while loading. */
  testbeds: Accessor<TestbedReports[] | undefined>;
  /** The selected testbed, if any. */
  testbed: Accessor<TestbedReports | undefined>;
  error: Accessor<unknown>;
  refresh: () => Promise<void>;
}

const MOST = 255;

/** Loads the newest reports of the selected branch. */
export function newestReports(): NewestReports {
  const project = useProject();
  const [params] = useSearchParams<{ branch?: string; testbed?: string }>();
  const all = load(
    () => ({ project: project.slug() }),
    (path, signal) => list("/v0/projects/{project}/reports", { path, query: { per_page: MOST }, signal }),
  );
  const branches = createMemo(() => {
    const found = new Map((all()?.rows ?? []).map(({ branch }) => [branch.uuid, branch]));
    return [...found.values()].sort((left, right) => left.name.localeCompare(right.name));
  });
  const branch = createMemo(
    () => branches().find(({ slug }) => slug === params.branch) ?? mainBranch(all()?.rows ?? []),
  );
  const ofBranch = load(
    () => {
      const chosen = branch();
      return chosen && { project: project.slug(), branch: chosen.uuid, newest: all()?.rows[0]?.uuid };
    },
    async ({ project, branch }, signal) => {
      const query = { branch, per_page: MOST };
      const { rows } = await list("/v0/projects/{project}/reports", { path: { project }, query, signal });
      return { branch, testbeds: byTestbed(rows) };
    },
  );
  // Ignore the reports of the previous branch.
  const testbeds = () => (ofBranch()?.branch === branch()?.uuid ? ofBranch()?.testbeds : undefined);
  return {
    all,
    branches,
    branch,
    testbeds,
    testbed: () => testbeds()?.find(({ testbed }) => testbed.slug === params.testbed),
    error: () => all.error() ?? ofBranch.error(),
    refresh: async () => {
      await Promise.all([all.refresh(), ofBranch.refresh()]);
    },
  };
}

function byTestbed(reports: readonly JsonReport[]): TestbedReports[] {
  const found = new Map<string, JsonReport[]>();
  for (const report of reports) {
    const own = found.get(report.testbed.uuid);
    if (own) own.push(report);
    else found.set(report.testbed.uuid, [report]);
  }
  return [...found.values()].flatMap((own) => {
    const [newest] = own;
    return newest ? [{ testbed: newest.testbed, newest, reports: own }] : [];
  });
}

/** The column of a list with the newest run of each item, which sorts the list. */
export function newestRunColumn(): Column<{ newest_run?: JsonNewestRun }> {
  const project = useProject();
  return {
    title: "Newest run",
    sort: "newest_run",
    descending: true,
    end: true,
    cell: ({ newest_run }) => (
      <Show when={newest_run} fallback={<span class="muted">–</span>}>
        {(run) => (
          <A class="above-row-link" href={project.path("reports", run().report)}>
            <Time at={run().start_time} />
          </A>
        )}
      </Show>
    ),
  };
}

/** The order of a list with this column. */
export function runOrder({ sort }: ListQuery): "name" | "newest_run" {
  return sort === "newest_run" ? "newest_run" : "name";
}

/** Selects the branch and the testbed. `all` is an option for all testbeds; without it, the first one is the default. */
export function NewestPickers(props: { of: NewestReports; all?: string; children?: JSX.Element }): JSX.Element {
  const [, setParams] = useSearchParams();
  const change = (next: Record<string, string | undefined>) =>
    setParams({ series_page: undefined, ...next }, { replace: true, scroll: false });
  const testbeds = () => props.of.testbeds() ?? [];
  return (
    <div class="row">
      <Show when={props.of.branches().length > 1}>
        <Select
          short
          label="Branch"
          value={props.of.branch()?.slug ?? ""}
          options={props.of.branches().map(toOption)}
          onChange={(slug) => change({ branch: slug })}
        />
      </Show>
      <Show when={testbeds().length > 1}>
        <Select
          short
          label="Testbed"
          value={props.of.testbed()?.testbed.slug ?? (props.all ? "" : (testbeds()[0]?.testbed.slug ?? ""))}
          options={[
            ...(props.all ? [{ value: "", label: props.all }] : []),
            ...testbeds().map(({ testbed }) => toOption(testbed)),
          ]}
          onChange={(slug) => change({ testbed: slug || undefined })}
        />
      </Show>
      {props.children}
    </div>
  );
}
