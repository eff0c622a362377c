// Branches: heads, start points and versions.

import { A, useNavigate, useParams, useSearchParams } from "@solidjs/router";
import { createMemo, createSignal, type JSX, Show } from "solid-js";
import {
  call,
  type JsonBranch,
  type JsonHead,
  type JsonListedBranch,
  type JsonReport,
  type JsonStartPoint,
  type JsonUpdateBranch,
  list,
} from "../api";
import { type Named, useChoices } from "../choices";
import { count, plural } from "../format";
import { load } from "../load";
import { newestRunColumn, runOrder } from "../newest";
import { useProject } from "../project";
import { Badge } from "../ui/Badge";
import { Button, LinkButton } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { Fact } from "../ui/Facts";
import { CheckField, Form, TextField } from "../ui/Form";
import { type ItemContext, ItemPage, inProject } from "../ui/ItemPage";
import { List as Rows } from "../ui/List";
import { Page } from "../ui/Page";
import { Picker } from "../ui/Picker";
import { Empty, Failure, Notice, Skeleton } from "../ui/State";
import { Table } from "../ui/Table";
import { toast } from "../ui/Toast";
import { Time } from "../ui/Value";
import { Version } from "../ui/Version";
import "./lists.css";
import { Thresholds } from "./related";

export function List(): JSX.Element {
  const project = useProject();
  const newestRun = newestRunColumn();
  const add = () => (
    <Show when={project.may("create")}>
      <LinkButton href={project.path("branches", "add")} icon="plus" primary>
        Add a branch
      </LinkButton>
    </Show>
  );
  return (
    <Page title="Branches" crumbs={project.crumbs()} actions={add()}>
      <Rows<JsonListedBranch>
        noun="branch"
        search
        archived
        load={(query, signal) =>
          list("/v0/projects/{project}/branches", {
            path: { project: project.slug() },
            query: { ...query, sort: runOrder(query) },
            signal,
          })
        }
        href={(branch) => project.path("branches", branch.slug)}
        columns={[
          { title: "Name", sort: "name", cell: (branch) => branch.name },
          {
            title: "Start point",
            wide: true,
            cell: (branch) => (
              <Show when={branch.head.start_point} fallback={<span class="muted">–</span>}>
                {(point) => <StartPoint point={point()} />}
              </Show>
            ),
          },
          newestRun,
          {
            title: "Created",
            wide: true,
            end: true,
            cell: (branch) => (
              <span class="muted">
                <Time at={branch.created} />
              </span>
            ),
          },
        ]}
        empty={
          <Empty title="No branches yet" action={add()}>
            The first run of a branch creates it: <code>tidemark run --branch main</code>.
          </Empty>
        }
      />
    </Page>
  );
}

/** Branch names by UUID: a start point contains only the UUID of its branch. */
const names = new Map<string, Promise<JsonBranch | undefined>>();

function StartPoint(props: { point: JsonStartPoint }): JSX.Element {
  const project = useProject();
  const branch = load(
    () => ({ project: project.slug(), branch: props.point.branch }),
    (path) => {
      const key = `${path.project} ${path.branch}`;
      const known =
        names.get(key) ?? call("get", "/v0/projects/{project}/branches/{branch}", { path }).catch(() => undefined);
      names.set(key, known);
      return known;
    },
  );
  return (
    <span class="break">
      <A
        class="above-row-link"
        href={`${project.path("branches", branch()?.slug ?? props.point.branch)}?head=${props.point.head}`}
      >
        {branch()?.name ?? "…"}
      </A>{" "}
      <Version version={props.point.version} />
    </span>
  );
}

export function Add(): JSX.Element {
  const project = useProject();
  const navigate = useNavigate();
  const [from, setFrom] = createSignal<Named>();
  return (
    <Page title="Add a branch" crumbs={project.crumbs("branches", "Branches")} narrow>
      <Form
        action="Add the branch"
        onCancel={() => navigate(project.path("branches"))}
        onSubmit={async ({ name = "", slug, hash, clone_thresholds }) => {
          const start = from();
          const start_point = start
            ? { branch: start.slug, hash: hash ?? null, clone_thresholds: clone_thresholds === "on" }
            : null;
          const made = await call("post", "/v0/projects/{project}/branches", {
            path: { project: project.slug() },
            body: { name, slug: slug ?? null, start_point },
          });
          toast("The branch was added.");
          navigate(project.path("branches", made.slug));
        }}
      >
        <TextField name="name" label="Name" required maxLength={256} autofocus hint="The name of the git branch." />
        <StartFields from={from()} onFrom={setFrom} />
        <TextField
          name="slug"
          label="Slug"
          maxLength={64}
          hint="The identifier in URLs. Generated from the name if empty."
        />
      </Form>
    </Page>
  );
}

function StartFields(props: { from: Named | undefined; onFrom: (from: Named | undefined) => void }): JSX.Element {
  return (
    <>
      <Picker
        label="Start point"
        placeholder="None: start with an empty history"
        hint="Continue the history of another branch, so that the first run has a baseline."
        value={props.from}
        onPick={props.onFrom}
        search={useChoices("branch")}
      />
      <Show when={props.from}>
        <TextField name="hash" label="Commit" maxLength={40} hint="The full hash. The newest version if empty." />
        <CheckField name="clone_thresholds" checked label="Copy its thresholds" />
      </Show>
    </>
  );
}

export function View(): JSX.Element {
  const project = useProject();
  const place = inProject("branches", "Branches");
  const params = useParams<{ branch: string }>();
  const [query] = useSearchParams<{ head?: string }>();
  const [starting, setStarting] = createSignal(false);
  const path = (branch: string) => ({ project: project.slug(), branch });
  return (
    <ItemPage<JsonBranch, JsonUpdateBranch>
      noun="branch"
      place={place}
      id={params.branch}
      nameLength={256}
      load={(branch, signal) => call("get", "/v0/projects/{project}/branches/{branch}", { path: path(branch), signal })}
      patch={(branch, body) => call("patch", "/v0/projects/{project}/branches/{branch}", { path: path(branch), body })}
      remove={(branch) => call("delete", "/v0/projects/{project}/branches/{branch}", { path: path(branch) })}
      deletion="A branch with runs or thresholds cannot be deleted. It can only be archived."
      actions={(shown) => (
        <>
          <LinkButton
            icon="chart"
            href={`${project.perfPath()}?branches=${shown().uuid}${query.head ? `&heads=${query.head}` : ""}`}
          >
            Explore
          </LinkButton>
          <Show when={project.may("edit")}>
            <Button onClick={() => setStarting(true)}>Change start point</Button>
          </Show>
        </>
      )}
      facts={(shown, here) => (
        <>
          <Fact label="Start point">
            <Show when={shown().head.start_point} fallback={<span class="muted">none</span>}>
              {(point) => <StartPoint point={point()} />}
            </Show>
          </Fact>
          <StartPointDialog open={starting()} onClose={() => setStarting(false)} branch={shown()} here={here} />
        </>
      )}
    >
      {(shown) => (
        <>
          <Heads branch={shown()} head={query.head} />
          <Thresholds branch={shown().slug} />
        </>
      )}
    </ItemPage>
  );
}

/** Starts a new head of a branch at another start point. */
function StartPointDialog(props: {
  open: boolean;
  onClose: () => void;
  branch: JsonBranch;
  here: ItemContext<JsonBranch, JsonUpdateBranch>;
}): JSX.Element {
  const [from, setFrom] = createSignal<Named>();
  return (
    <Dialog open={props.open} title="Change start point" onClose={() => props.onClose()}>
      <p class="muted">
        The branch gets a new head. Existing runs are kept, but new values are no longer compared with them, and active
        alerts are silenced.
      </p>
      <Form
        action="Create head"
        onCancel={() => props.onClose()}
        onSubmit={async ({ hash, clone_thresholds }) => {
          const start = from();
          await props.here.change({
            start_point: {
              reset: true,
              ...(start ? { branch: start.slug, hash: hash ?? null, clone_thresholds: clone_thresholds === "on" } : {}),
            },
          });
          props.onClose();
          toast("The branch has a new head.");
        }}
      >
        <StartFields from={from()} onFrom={setFrom} />
      </Form>
    </Dialog>
  );
}

/** Number of reports to load, newest first. */
const LOOKED = 255;
const FEW = 12;

interface HeadRow extends JsonHead {
  versions: readonly number[];
  reports: number;
}

interface VersionRow {
  key: string;
  head: JsonHead;
  newest: JsonReport;
  testbeds: readonly string[];
  reports: number;
  alerts: number;
}

/** The heads and versions of a branch, collected from its newest reports. */
function Heads(props: { branch: JsonBranch; head: string | undefined }): JSX.Element {
  const project = useProject();
  const [all, setAll] = createSignal(false);
  const reports = load(
    () => ({ project: project.slug(), branch: props.branch.slug, head: props.branch.head.uuid }),
    ({ project, branch }, signal) =>
      list("/v0/projects/{project}/reports", { path: { project }, query: { branch, per_page: LOOKED }, signal }),
  );
  // The URL names a head without reports.
  const named = load(
    () => (props.head ? { project: project.slug(), branch: props.branch.slug, head: props.head } : undefined),
    ({ project, branch, head }, signal) =>
      call("get", "/v0/projects/{project}/branches/{branch}", { path: { project, branch }, query: { head }, signal }),
  );
  const chosen = () => (props.head && named() ? (named() as JsonBranch).head : props.branch.head);
  const heads = createMemo((): HeadRow[] => {
    const found = new Map<string, HeadRow>([
      [props.branch.head.uuid, { ...props.branch.head, versions: [], reports: 0 }],
    ]);
    for (const { branch } of reports()?.rows ?? []) {
      const { version, ...head } = branch.head;
      const row = found.get(head.uuid) ?? { ...head, versions: [], reports: 0 };
      found.set(head.uuid, {
        ...row,
        reports: row.reports + 1,
        versions: version && !row.versions.includes(version.number) ? [...row.versions, version.number] : row.versions,
      });
    }
    return [...found.values()].sort((a, b) => b.created.localeCompare(a.created));
  });
  const versions = createMemo((): VersionRow[] => {
    const found = new Map<string, VersionRow>();
    for (const report of reports()?.rows ?? []) {
      const { head } = report.branch;
      if (head.uuid !== chosen().uuid || !head.version) continue;
      const key = `${head.version.number}`;
      const row = found.get(key) ?? { key, head, newest: report, testbeds: [], reports: 0, alerts: 0 };
      found.set(key, {
        ...row,
        testbeds: row.testbeds.includes(report.testbed.name) ? row.testbeds : [...row.testbeds, report.testbed.name],
        reports: row.reports + 1,
        alerts: row.alerts + report.counts.alerts.active,
      });
    }
    return [...found.values()].sort((a, b) => (b.head.version?.number ?? 0) - (a.head.version?.number ?? 0));
  });
  return (
    <>
      <Show when={chosen().replaced}>
        {(replaced) => (
          <Notice tone="warn">
            This head was replaced <Time at={replaced()} />.{" "}
            <A href={project.path("branches", props.branch.slug)}>Show the current head</A>
          </Notice>
        )}
      </Show>
      <Show when={heads().length > 1}>
        <section class="stack tight">
          <h2>
            Heads <span class="muted small number">{count(heads().length)}</span>
          </h2>
          <Table<HeadRow>
            label="Heads"
            rows={heads()}
            href={(head) =>
              project.path("branches", props.branch.slug) +
              (head.uuid === props.branch.head.uuid ? "" : `?head=${head.uuid}`)
            }
            columns={[
              {
                title: "Head",
                cell: (head) => (
                  <>
                    <code>{head.uuid.slice(0, 8)}</code>{" "}
                    <Show when={head.uuid === chosen().uuid}>
                      <Badge tone="brand">shown</Badge>
                    </Show>
                  </>
                ),
              },
              {
                title: "Start point",
                cell: (head) => (
                  <Show when={head.start_point} fallback={<span class="muted">–</span>}>
                    {(point) => <StartPoint point={point()} />}
                  </Show>
                ),
              },
              {
                title: "Versions",
                wide: true,
                end: true,
                cell: (head) => <span class="number">{count(head.versions.length)}</span>,
              },
              { title: "From", wide: true, end: true, cell: (head) => <Time at={head.created} /> },
              {
                title: "Until",
                end: true,
                cell: (head) => (
                  <Show when={head.replaced} fallback={<Badge tone="good">current</Badge>}>
                    {(replaced) => <Time at={replaced()} />}
                  </Show>
                ),
              },
            ]}
          />
        </section>
      </Show>
      <section class="stack tight">
        <div class="row between">
          <h2>
            Versions{" "}
            <Show when={(reports()?.total ?? 0) > LOOKED}>
              <span class="muted small">of the newest {LOOKED} runs</span>
            </Show>
          </h2>
          <Show when={reports()?.total}>
            <LinkButton href={`${project.path("reports")}?branch=${encodeURIComponent(props.branch.slug)}`}>
              All {plural(reports()?.total ?? 0, "run")}
            </LinkButton>
          </Show>
        </div>
        <Show when={reports.error()}>{(error) => <Failure error={error()} retry={reports.refresh} />}</Show>
        <Show
          when={reports()}
          fallback={
            <Show when={!reports.error()}>
              <Skeleton lines={6} />
            </Show>
          }
        >
          <Show when={versions().length} fallback={<p class="muted">This head has no runs.</p>}>
            <Table<VersionRow>
              label="Versions"
              rows={all() ? versions() : versions().slice(0, FEW)}
              href={(row) => project.path("reports", row.newest.uuid)}
              columns={[
                { title: "Version", cell: (row) => <Version version={row.head.version} /> },
                {
                  title: "Testbeds",
                  wide: true,
                  cell: (row) => <span class="break muted">{row.testbeds.join(", ")}</span>,
                },
                {
                  title: "Runs",
                  wide: true,
                  end: true,
                  cell: (row) => <span class="number">{count(row.reports)}</span>,
                },
                {
                  title: "Alerts",
                  end: true,
                  cell: (row) => (
                    <Show when={row.alerts} fallback={<span class="muted">–</span>}>
                      <Badge tone="alert">{count(row.alerts)} active</Badge>
                    </Show>
                  ),
                },
                {
                  title: "Newest",
                  end: true,
                  cell: (row) => (
                    <span class="muted">
                      <Time at={row.newest.start_time} />
                    </span>
                  ),
                },
              ]}
            />
            <Show when={!all() && versions().length > FEW}>
              <div class="row">
                <Button onClick={() => setAll(true)}>Show {count(versions().length)}</Button>
              </div>
            </Show>
          </Show>
        </Show>
      </section>
    </>
  );
}
