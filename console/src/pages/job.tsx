// Jobs of a project: status, progress and output.

import { A, useParams } from "@solidjs/router";
import { createEffect, createSignal, For, type JSX, onCleanup, Show } from "solid-js";
import { call, type JobStatus, type JsonIterationOutput, type JsonJob, list } from "../api";
import { elapsed, moment, value } from "../format";
import { hasEnded, JobProgress, Noise, STATUSES, Status } from "../job";
import { load, refreshWhile } from "../load";
import { useProject } from "../project";
import { user } from "../session";
import { specText } from "../spec";
import { Badge } from "../ui/Badge";
import { Button, Copy, LinkButton } from "../ui/Button";
import { Confirm } from "../ui/Dialog";
import { Fact, Facts } from "../ui/Facts";
import { List as Rows } from "../ui/List";
import { LoadingPage, Page } from "../ui/Page";
import { Raw } from "../ui/Raw";
import { Empty } from "../ui/State";
import { toast } from "../ui/Toast";
import { Time } from "../ui/Value";
import "./job.css";

const CHOICES = [
  { value: "", label: "Any status" },
  ...Object.entries(STATUSES).map(([value, { word }]) => ({
    value,
    label: word.charAt(0).toUpperCase() + word.slice(1),
  })),
];

export function List(): JSX.Element {
  const project = useProject();
  return (
    <Page title="Jobs" crumbs={project.crumbs()}>
      <Rows<JsonJob>
        noun="job"
        filters={[{ name: "status", label: "Status", options: CHOICES }]}
        load={({ status, ...query }, signal) =>
          list("/v0/projects/{project}/jobs", {
            path: { project: project.slug() },
            query: { ...query, sort: "created", ...(status ? { status: status as JobStatus } : {}) },
            signal,
          })
        }
        changing={(jobs) => jobs.some((job) => !hasEnded(job))}
        href={(job) => project.path("jobs", job.uuid)}
        columns={[
          { title: "Image", cell: (job) => <Image of={job} /> },
          { title: "Status", cell: (job) => <Status of={job.status} /> },
          { title: "Spec", wide: true, cell: (job) => <span class="break">{job.spec.name}</span> },
          {
            title: "Duration",
            wide: true,
            end: true,
            cell: (job) => (
              <span class="muted">
                <JobDuration job={job} />
              </span>
            ),
          },
          {
            title: "Created",
            sort: "created",
            descending: true,
            end: true,
            cell: (job) => (
              <span class="muted">
                <Time at={job.created} />
              </span>
            ),
          },
        ]}
        empty={
          <Empty
            title="No jobs yet"
            action={
              <Show when={user()?.admin}>
                <LinkButton href="/console/server/runners">View runners</LinkButton>
              </Show>
            }
          >
            A job runs an image from the registry on a runner. Push an image, then start a job:{" "}
            <code class="break">
              tidemark run --project {project.slug()} --image {location.host}/{project.slug()}:latest
            </code>
          </Empty>
        }
      />
    </Page>
  );
}

/** The image reference as the user gave it. */
function Image(props: { of: JsonJob }): JSX.Element {
  return (
    <Show when={props.of.image} fallback={<span class="mono">{props.of.uuid.slice(0, 8)}</span>}>
      {(name) => <span class="break">{name()}</span>}
    </Show>
  );
}

/** The duration of the benchmarks, or the elapsed time of a running job. */
function JobDuration(props: { job: JsonJob }): JSX.Element {
  const [now, setNow] = createSignal(Date.now());
  const isRunning = () => props.job.started && !props.job.completed && !hasEnded(props.job);
  createEffect(() => {
    if (!isRunning()) return;
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    onCleanup(() => clearInterval(timer));
  });
  const end = () => props.job.completed ?? (isRunning() ? now() : undefined);
  const text = () => {
    const [from, to] = [props.job.started, end()];
    return from && to !== undefined ? between(from, to) : "–";
  };
  return <span class="number nowrap">{text()}</span>;
}

function between(from: string | number, to: string | number): string {
  return elapsed(Math.max(Math.round((new Date(to).getTime() - new Date(from).getTime()) / 1000), 0));
}

const STEPS = ["Queued", "Preparing", "Running", "Reading results"] as const;

export function View(): JSX.Element {
  const project = useProject();
  const params = useParams<{ job: string }>();
  const [canceling, setCanceling] = createSignal(false);
  const path = () => ({ project: project.slug(), job: params.job });
  const job = load(path, (path, signal) => call("get", "/v0/projects/{project}/jobs/{job}", { path, signal }));
  refreshWhile(
    () => {
      const shown = job();
      return shown !== undefined && !hasEnded(shown);
    },
    job.refresh,
    1_500,
  );
  const cancel = async () => {
    await job.optimistic(
      (old) => ({ ...old, status: "canceled" }),
      () => call("delete", "/v0/projects/{project}/jobs/{job}", { path: path() }),
    );
    toast("The job was canceled.");
    await job.refresh();
  };
  return (
    <Show
      when={job()}
      fallback={<LoadingPage title="Job" crumbs={project.crumbs("jobs", "Jobs")} lines={9} item={job} />}
    >
      {(shown) => (
        <Page
          title={`Job of ${moment(shown().created)}`}
          aside={<Status of={shown().status} />}
          crumbs={project.crumbs("jobs", "Jobs")}
          actions={
            <>
              <LinkButton icon="report" href={project.path("reports", shown().report)}>
                View run
              </LinkButton>
              <Raw value={shown()} />
              <Show when={!hasEnded(shown()) && project.may("edit")}>
                <Button kind="danger" onClick={() => setCanceling(true)}>
                  Cancel job
                </Button>
              </Show>
            </>
          }
        >
          <Show when={!hasEnded(shown())}>
            <ol class="steps" aria-label="Progress">
              <For each={STEPS}>
                {(label, number) => (
                  <li
                    aria-current={number() === STATUSES[shown().status].step ? "step" : undefined}
                    classList={{ done: number() < STATUSES[shown().status].step }}
                  >
                    {label}
                  </li>
                )}
              </For>
            </ol>
          </Show>
          <JobProgress of={shown()} />
          <Facts>
            <Fact label="Image" {...(shown().image ? { copy: shown().image as string } : {})}>
              <Image of={shown()} />
            </Fact>
            <Show when={shown().base}>
              {(base) => (
                <Fact label="Compared with">
                  <span class="mono break">{base()}</span>
                </Fact>
              )}
            </Show>
            <Fact label="Spec">{specText(shown().spec)}</Fact>
            <Fact label="Runner">
              <Show when={shown().runner} fallback={<span class="muted">not claimed yet</span>}>
                {(runner) => (
                  <Show when={user()?.admin} fallback={<span class="mono">{runner()}</span>}>
                    <A class="mono" href={`/console/server/runners/${runner()}`}>
                      {runner()}
                    </A>
                  </Show>
                )}
              </Show>
            </Fact>
            <Fact label="Created">
              <Time at={shown().created} />
            </Fact>
            <Show when={shown().claimed}>
              {(taken) => <Fact label="Wait time">{between(shown().created, taken())}</Fact>}
            </Show>
            <Fact label="Duration">
              <JobDuration job={shown()} /> <span class="muted">of at most {elapsed(shown().timeout)}</span>
            </Fact>
            <Fact label="UUID" copy={shown().uuid}>
              <span class="mono">{shown().uuid}</span>
            </Fact>
          </Facts>
          <Show when={shown().printed}>{(text) => <LiveOutput text={text()} />}</Show>
          <Show when={hasEnded(shown()) || shown().output}>
            <Output of={shown()} />
          </Show>
          <Confirm
            open={canceling()}
            title="Cancel job?"
            action="Cancel job"
            onConfirm={cancel}
            onClose={() => setCanceling(false)}
          >
            <p>
              The runner stops the job and the run stays empty. You cannot resume a canceled job; start a new one
              instead.
            </p>
          </Confirm>
        </Page>
      )}
    </Show>
  );
}

/** The end of the output of a running job. Scrolls with the output unless the user scrolled back. */
function LiveOutput(props: { text: string }): JSX.Element {
  let box!: HTMLPreElement;
  let isAtEnd = true;
  createEffect(() => {
    if (props.text && isAtEnd) box.scrollTop = box.scrollHeight;
  });
  return (
    <section class="stack" aria-labelledby="live">
      <h2 id="live">Output so far</h2>
      <div class="code job-output">
        <pre
          ref={box}
          tabindex="0"
          role="log"
          aria-label="Output so far"
          onScroll={() => {
            isAtEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 8;
          }}
        >
          <code>{props.text}</code>
        </pre>
      </div>
    </section>
  );
}

/** The output and files of each iteration. */
function Output(props: { of: JsonJob }): JSX.Element {
  const results = () => props.of.output?.results ?? [];
  return (
    <section class="stack" aria-labelledby="output">
      <h2 id="output">Output</h2>
      <Show
        when={props.of.output}
        fallback={<p class="muted">Only members of the project can view the output of a job.</p>}
      >
        <Show when={results().length} fallback={<p class="muted">The job ended without output.</p>}>
          <For each={results()}>
            {(result, place) => <Iteration of={result} number={results().length > 1 ? place() + 1 : undefined} />}
          </For>
        </Show>
      </Show>
    </section>
  );
}

function Iteration(props: { of: JsonIterationOutput; number: number | undefined }): JSX.Element {
  // The runner stores its own measurements under a path that no file can have.
  const files = () =>
    Object.entries(props.of.output ?? {}).map(([path, text]) => ({
      path: path.includes("\0") ? "Measured by the runner" : path,
      text,
    }));
  const isSilent = () => !props.of.stdout && !props.of.stderr && !files().length;
  return (
    <div class="stack tight">
      <div class="row">
        <Show when={props.number}>{(number) => <h3>Iteration {number()}</h3>}</Show>
        <Badge tone={props.of.exit_code === 0 ? "good" : "alert"}>exit code {props.of.exit_code}</Badge>
        <Show when={props.of.noise}>
          {(noise) => (
            <span class="small muted">
              noise of the machine: <Noise of={noise()} />
            </span>
          )}
        </Show>
        <Show when={props.of.cpu_time}>
          {(seconds) => (
            <span class="small muted" title="The total CPU time of all cores.">
              {value(seconds(), "seconds")} of CPU time
            </span>
          )}
        </Show>
        <Show when={props.of.peak_memory}>
          {(bytes) => <span class="small muted">at most {value(bytes(), "bytes")} of memory</span>}
        </Show>
      </div>
      <Show when={isSilent()}>
        <p class="muted">No output.</p>
      </Show>
      <Show when={props.of.stdout}>
        {(text) => <OutputText label="Standard output" of={props.number} text={text()} />}
      </Show>
      <Show when={props.of.stderr}>
        {(text) => <OutputText label="Standard error" of={props.number} text={text()} />}
      </Show>
      <For each={files()}>{({ path, text }) => <OutputText label={path} of={props.number} text={text} />}</For>
    </div>
  );
}

/** Number of characters shown from the end of the output before "Show all". */
const DRAWN = 100_000;

function OutputText(props: { label: string; of: number | undefined; text: string }): JSX.Element {
  const [all, setAll] = createSignal(false);
  const name = () => (props.of === undefined ? props.label : `${props.label} of iteration ${props.of}`);
  const isCut = () => !all() && props.text.length > DRAWN;
  return (
    <details class="job-output" open>
      <summary>
        <span class="break">{props.label}</span>{" "}
        <span class="small muted number">{value(props.text.length, "bytes")}</span>
      </summary>
      <Show when={isCut()}>
        <div class="row">
          <span class="small muted">The end of the output.</span>
          <Button onClick={() => setAll(true)}>Show all</Button>
        </div>
      </Show>
      <div class="code">
        <pre tabindex="0" role="region" aria-label={name()}>
          <code>{isCut() ? props.text.slice(-DRAWN) : props.text}</code>
        </pre>
        <Copy text={props.text} label={`Copy: ${name()}`} />
      </div>
    </details>
  );
}
