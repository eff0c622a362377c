// The search for the commit of an event: the culprit with its evidence, and the command that starts a search.

import { type JSX, Show } from "solid-js";
import { call, type JsonBisection, type JsonBisectionCommit, type JsonChange, type JsonEvent } from "../api";
import { Levels } from "../change";
import { plural, ratio, share, shortHash } from "../format";
import { commitUrl } from "../links";
import { useProject } from "../project";
import { Badge } from "../ui/Badge";
import { Button } from "../ui/Button";
import { Code } from "../ui/Code";
import { Fact, Facts } from "../ui/Facts";
import { Table } from "../ui/Table";
import { toastFailure } from "../ui/Toast";
import { Time, Value } from "../ui/Value";

/** The result of the last search, and how to start one. */
export function Bisection(props: {
  event: JsonEvent;
  /** The change to search for. */
  change: JsonChange | undefined;
  onChange: (event: JsonEvent) => void;
}): JSX.Element {
  const project = useProject();
  const search = async () => {
    const path = { project: project.slug(), event: props.event.uuid };
    props.onChange(await call("post", "/v0/projects/{project}/events/{event}/search", { path }));
  };
  const hasSeries = () => props.event.total > 0 || props.event.total_alerts > 0;
  return (
    <Show when={props.event.bisection ?? hasSeries()}>
      <section class="stack tight" aria-labelledby="event-bisection">
        <h2 id="event-bisection">Culprit</h2>
        <Show when={props.event.bisection}>{(bisection) => <Result bisection={bisection()} />}</Show>
        <Show when={props.event.search}>
          {(known) => (
            <Show
              when={known().pending}
              fallback={
                <Show when={known().reason}>
                  {(reason) => <p class="small muted">The server found no commit: {reason()}</p>}
                </Show>
              }
            >
              <p>
                The server searches for the commit with jobs since <Time at={known().created} />.
              </p>
            </Show>
          )}
        </Show>
        <Show when={hasSeries() && project.may("edit") && !props.event.search?.pending}>
          <div>
            <Button
              title="Measure the images of the commits with jobs on runners"
              onClick={() => void search().catch(toastFailure)}
            >
              Search with jobs
            </Button>
          </div>
        </Show>
        <Show when={props.change}>
          {(change) => (
            <>
              <p class="small muted">
                {props.event.bisection ? "Search again" : "Find the commit despite noise"}: run this in a clone of the
                repository, with the command that runs your benchmarks. The result appears here and in notifications.
              </p>
              <Code
                label="Search for the commit"
                text={`tidemark change bisect ${change().uuid} --project ${project.slug()} "COMMAND"`}
              />
            </>
          )}
        </Show>
      </section>
    </Show>
  );
}

function Result(props: { bisection: JsonBisection }): JSX.Element {
  const result = () => props.bisection.result;
  const mean = ({ values }: JsonBisectionCommit) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const measured = () => result().commits.filter(({ values }) => values.length > 0);
  return (
    <>
      <Facts>
        <Show
          when={result().culprit}
          fallback={<Fact label="Result">No difference between the good and the bad commit</Fact>}
        >
          {(culprit) => (
            <Fact label={result().status === "found" ? "Culprit" : "Most probable commit"} copy={culprit().hash}>
              <Commit hash={culprit().hash} /> {culprit().subject}
              <span class="subtext">
                <Show when={culprit().author}>
                  {culprit().author}, {culprit().date}
                </Show>
                <Show when={result().candidates.length > 1}>
                  {" "}
                  · or one of the {plural(result().candidates.length - 1, "commit")} before it, which cannot be measured
                </Show>
              </span>
            </Fact>
          )}
        </Show>
        <Fact label="Probability">
          <Badge tone={result().status === "found" ? "good" : "neutral"}>{share(result().probability)}</Badge>
        </Fact>
        <Show when={result().difference?.relative && result().difference}>
          {(difference) => (
            <Fact label="Difference">
              {ratio(difference().estimate)}{" "}
              <span class="muted">
                ({ratio(difference().lower)} to {ratio(difference().upper)})
              </span>
            </Fact>
          )}
        </Show>
        <Show when={result().after} keyed>
          {(after) => (
            <Fact label="Level">
              <Levels before={result().before} after={after} units={result().units} />
            </Fact>
          )}
        </Show>
        <Fact label="Evidence">
          {plural(result().runs, "run")}
          <Show when={result().reused}>{(reused) => `, ${plural(reused(), "earlier result")}`}</Show>,{" "}
          {measured().length} of {plural(result().total + 1, "commit")}
        </Fact>
        <Fact label="Searched">
          <Time at={props.bisection.created} />
        </Fact>
      </Facts>
      <details>
        <summary>Measured commits</summary>
        <Table<JsonBisectionCommit>
          label="Measured commits"
          rows={measured()}
          first={16}
          columns={[
            { title: "Commit", cell: ({ hash }) => <Commit hash={hash} /> },
            { title: "Runs", end: true, cell: ({ values }) => <span class="number">{values.length}</span> },
            { title: "Mean", end: true, cell: (commit) => <Value value={mean(commit)} units={result().units} /> },
            {
              title: "Probability",
              end: true,
              cell: ({ probability }) => (
                <Show when={probability >= 0.0005} fallback={<span class="muted">–</span>}>
                  {share(probability)}
                </Show>
              ),
            },
          ]}
        />
      </details>
    </>
  );
}

function Commit(props: { hash: string }): JSX.Element {
  const project = useProject();
  return (
    <Show
      when={commitUrl(project().url, props.hash)}
      fallback={<code title={props.hash}>{shortHash(props.hash)}</code>}
    >
      {(href) => (
        <a href={href()} target="_blank" rel="noreferrer" title={props.hash}>
          <code>{shortHash(props.hash)}</code>
        </a>
      )}
    </Show>
  );
}
