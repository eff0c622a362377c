// The search for the commit of an event: the culprit with its evidence, and the command that starts a search.

import { type JSX, Show } from "solid-js";
import type { JsonBisection, JsonBisectionCommit, JsonChange } from "../api";
import { Levels } from "../change";
import { plural, ratio, share, shortHash } from "../format";
import { commitUrl } from "../links";
import { useProject } from "../project";
import { Badge } from "../ui/Badge";
import { Code } from "../ui/Code";
import { Fact, Facts } from "../ui/Facts";
import { Table } from "../ui/Table";
import { Time, Value } from "../ui/Value";

/** The result of the last search, and how to start one for a change. */
export function Bisection(props: {
  bisection: JsonBisection | undefined;
  /** The change to search for. */
  change: JsonChange | undefined;
}): JSX.Element {
  const project = useProject();
  return (
    <Show when={props.bisection ?? props.change}>
      <section class="stack tight" aria-labelledby="event-bisection">
        <h2 id="event-bisection">Culprit</h2>
        <Show when={props.bisection}>{(bisection) => <Result bisection={bisection()} />}</Show>
        <Show when={props.change}>
          {(change) => (
            <>
              <p class="small muted">
                {props.bisection ? "Search again" : "Find the commit despite noise"}: run this in a clone of the
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
                {culprit().author}, {culprit().date}
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
