// The benchmarks of a project: newest values, list, view, create, rename, archive, delete. Use it as the pattern for other
// nouns.

import { useNavigate, useParams, useSearchParams } from "@solidjs/router";
import { createSignal, type JSX, lazy, Show, Suspense } from "solid-js";
import { call, type JsonBenchmark, list } from "../api";
import { load } from "../load";
import { MuteButton, MutedBadge } from "../mute";
import { NewestPickers, type NewestReports, newestReports } from "../newest";
import { matchesPattern } from "../pattern";
import { useProject } from "../project";
import { Badge } from "../ui/Badge";
import { Button, LinkButton } from "../ui/Button";
import { Confirm } from "../ui/Dialog";
import { EditableFact, Fact, Facts } from "../ui/Facts";
import { Form, TextField } from "../ui/Form";
import { List as Rows } from "../ui/List";
import { LoadingPage, Page } from "../ui/Page";
import { Empty, Failure, Skeleton } from "../ui/State";
import { toast, toastFailure } from "../ui/Toast";
import { Time } from "../ui/Value";
import { SeriesTable } from "./series_table";

// Loads with the plot.
const BenchmarkHistory = lazy(async () => ({ default: (await import("./benchmark_history")).BenchmarkHistory }));

export function List(): JSX.Element {
  const project = useProject();
  const add = () => (
    <Show when={project.may("create")}>
      <LinkButton href={project.path("benchmarks", "add")} icon="plus" primary>
        Add a benchmark
      </LinkButton>
    </Show>
  );
  const [params] = useSearchParams<{ view?: string }>();
  const newest = newestReports();
  // Only a report contains values.
  const hasReports = () => newest.all()?.total !== 0;
  const isComplete = () => params.view === "all" || !hasReports();
  return (
    <Page title="Benchmarks" crumbs={project.crumbs()} actions={add()}>
      <Show when={hasReports()}>
        <nav class="tabs" aria-label="View">
          <a href={project.path("benchmarks")} aria-current={isComplete() ? undefined : "page"}>
            Newest values
          </a>
          <a href={`${project.path("benchmarks")}?view=all`} aria-current={isComplete() ? "page" : undefined}>
            All benchmarks
          </a>
        </nav>
      </Show>
      <Show when={isComplete()} fallback={<NewestValues of={newest} />}>
        <AllBenchmarks />
      </Show>
    </Page>
  );
}

/** The benchmarks of the newest report of a branch and a testbed. */
function NewestValues(props: { of: NewestReports }): JSX.Element {
  const testbed = () => props.of.testbed() ?? props.of.testbeds()?.[0];
  return (
    <>
      <Show when={props.of.error()}>{(error) => <Failure error={error()} retry={props.of.refresh} />}</Show>
      <Show
        when={testbed()}
        fallback={
          <Show when={!props.of.error()}>
            <Skeleton lines={15} />
          </Show>
        }
      >
        {(testbed) => (
          <section class="stack">
            <div class="row between">
              <p class="small muted">
                Run of <Time at={testbed().newest.start_time} />, compared with its baseline
              </p>
              <NewestPickers of={props.of} />
            </div>
            <SeriesTable of={testbed()} order="name" />
          </section>
        )}
      </Show>
    </>
  );
}

/** All benchmarks, with search. The newest report may not contain them. */
function AllBenchmarks(): JSX.Element {
  const project = useProject();
  return (
    <Rows<JsonBenchmark>
      noun="benchmark"
      search
      archived
      load={(query, signal) =>
        list("/v0/projects/{project}/benchmarks", { path: { project: project.slug() }, query, signal })
      }
      href={(benchmark) => project.path("benchmarks", benchmark.slug)}
      rowActions={(benchmark) => (
        <Show when={project.may("edit")}>
          <MuteButton benchmark={benchmark.name} />
        </Show>
      )}
      columns={[
        { title: "Name", sort: "name", cell: (benchmark) => benchmark.name },
        {
          title: "Created",
          wide: true,
          end: true,
          cell: (benchmark) => (
            <span class="muted">
              <Time at={benchmark.created} />
            </span>
          ),
        },
      ]}
      empty={
        <Empty
          title="No benchmarks yet"
          action={
            <Show when={!project.isPublic}>
              <LinkButton href="/console/onboard/run" primary>
                Get started
              </LinkButton>
            </Show>
          }
        >
          The first run with a benchmark creates it: use <code>tidemark run</code>.
        </Empty>
      }
    />
  );
}

export function Add(): JSX.Element {
  const project = useProject();
  const navigate = useNavigate();
  return (
    <Page title="Add a benchmark" crumbs={project.crumbs("benchmarks", "Benchmarks")} narrow>
      <Form
        action="Add the benchmark"
        onCancel={() => navigate(project.path("benchmarks"))}
        onSubmit={async ({ name = "", slug }) => {
          const made = await call("post", "/v0/projects/{project}/benchmarks", {
            path: { project: project.slug() },
            body: { name, slug: slug ?? null },
          });
          toast("The benchmark was added.");
          navigate(project.path("benchmarks", made.slug));
        }}
      >
        <TextField
          name="name"
          label="Name"
          required
          maxLength={1024}
          autofocus
          hint={
            <>
              Separate groups with <code>::</code> or <code>/</code>: <code>parser::json::large</code>.
            </>
          }
        />
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

export function View(): JSX.Element {
  const project = useProject();
  const params = useParams<{ benchmark: string }>();
  const navigate = useNavigate();
  const [deleting, setDeleting] = createSignal(false);
  const path = () => ({ project: project.slug(), benchmark: params.benchmark });
  const benchmark = load(path, (path, signal) =>
    call("get", "/v0/projects/{project}/benchmarks/{benchmark}", { path, signal }),
  );

  const mutes = load(
    () => ({ project: project.slug() }),
    async (path, signal) =>
      (await list("/v0/projects/{project}/mutes", { path, query: { expired: false, per_page: 255 }, signal })).rows,
  );
  /** A mute of the benchmark on all branches and testbeds. */
  const muted = () => {
    const name = benchmark()?.name;
    const found = mutes()?.find(
      (mute) => name && mute.benchmark && !mute.branch && !mute.testbed && matchesPattern(mute.benchmark, name),
    );
    return found && { mute: found.uuid, reason: found.reason, expires: found.expires };
  };

  const change = async (body: Partial<Pick<JsonBenchmark, "name" | "slug">> & { archived?: boolean }) => {
    const { archived, ...names } = body;
    const changed = await benchmark.optimistic(
      (old) => ({
        ...old,
        ...names,
        archived: archived === undefined ? old.archived : archived ? new Date().toISOString() : null,
      }),
      () => call("patch", "/v0/projects/{project}/benchmarks/{benchmark}", { path: path(), body }),
    );
    benchmark.set(changed);
    if (changed.slug !== params.benchmark)
      navigate(project.path("benchmarks", changed.slug), { replace: true, scroll: false });
  };
  const archive = (archived: boolean): Promise<void> =>
    change({ archived }).then(
      () => toast(archived ? "The benchmark was archived." : "The benchmark was unarchived.", () => archive(!archived)),
      toastFailure,
    );
  const remove = async () => {
    await call("delete", "/v0/projects/{project}/benchmarks/{benchmark}", { path: path() });
    toast("The benchmark was deleted.");
    navigate(project.path("benchmarks"));
  };

  return (
    <Show
      when={benchmark()}
      fallback={
        <LoadingPage title="Benchmark" crumbs={project.crumbs("benchmarks", "Benchmarks")} lines={5} item={benchmark} />
      }
    >
      {(shown) => (
        <Page
          title={shown().name}
          aside={
            <>
              <Show when={shown().archived}>
                <Badge tone="warn">archived</Badge>
              </Show>
              <MutedBadge of={muted()} />
            </>
          }
          crumbs={project.crumbs("benchmarks", "Benchmarks")}
          actions={
            <>
              <Show when={!project.isPublic}>
                <LinkButton icon="compare" href={project.path("compare")}>
                  Compare
                </LinkButton>
              </Show>
              <Show when={project.may("edit")}>
                <MuteButton benchmark={shown().name} onChange={() => void mutes.refresh()} />
                <Button onClick={() => archive(!shown().archived)}>{shown().archived ? "Unarchive" : "Archive"}</Button>
              </Show>
              <Show when={project.may("delete")}>
                <Button kind="danger" onClick={() => setDeleting(true)}>
                  Delete
                </Button>
              </Show>
            </>
          }
        >
          <Suspense fallback={<Skeleton lines={18} />}>
            <BenchmarkHistory benchmark={shown()} />
          </Suspense>
          <Facts>
            <EditableFact
              label="Name"
              value={shown().name}
              maxLength={1024}
              editable={project.may("edit")}
              save={(name) => change({ name })}
            />
            <EditableFact
              label="Slug"
              value={shown().slug}
              maxLength={64}
              editable={project.may("edit")}
              save={(slug) => change({ slug })}
            />
            <Fact label="UUID" copy={shown().uuid}>
              <span class="mono">{shown().uuid}</span>
            </Fact>
            <Fact label="Created">
              <Time at={shown().created} />
            </Fact>
            <Fact label="Changed">
              <Time at={shown().modified} />
            </Fact>
            <Show when={shown().archived}>
              {(archived) => (
                <Fact label="Archived">
                  <Time at={archived()} />
                </Fact>
              )}
            </Show>
          </Facts>
          <Confirm
            open={deleting()}
            title="Delete benchmark?"
            action="Delete"
            onConfirm={remove}
            instead={
              project.may("edit") && !shown().archived ? { label: "Archive", run: () => archive(true) } : undefined
            }
            onClose={() => setDeleting(false)}
          >
            <p>
              Delete <strong class="break">{shown().name}</strong> permanently?
            </p>
            <p class="muted">A benchmark with results cannot be deleted. It can only be archived.</p>
          </Confirm>
        </Page>
      )}
    </Show>
  );
}
