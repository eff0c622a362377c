// The second measurement of an event: its state, the compared commits and the values of both sides.

import { A } from "@solidjs/router";
import { type JSX, Show } from "solid-js";
import type { JsonConfirmation, JsonVerdictComparison } from "../api";
import { Levels } from "../change";
import { CONFIRMATIONS, ConfirmationBadge } from "../event";
import { nameOf } from "../history";
import { useProject } from "../project";
import { Fact, Facts } from "../ui/Facts";
import { Table } from "../ui/Table";
import { Delta, Name, Time } from "../ui/Value";
import { Version } from "../ui/Version";

export function ConfirmationSection(props: { of: JsonConfirmation }): JSX.Element {
  const project = useProject();
  return (
    <section class="stack tight" aria-labelledby="confirmation-title">
      <h2 id="confirmation-title">Second measurement</h2>
      <p>
        <ConfirmationBadge of={props.of} />{" "}
        <span class="muted">{props.of.reason ?? CONFIRMATIONS[props.of.state].about}</span>
      </p>
      <Show when={props.of.job}>
        {(job) => (
          <Facts>
            <Fact label="Before">
              <Version version={props.of.base ?? undefined} />
            </Fact>
            <Fact label="After">
              <Version version={props.of.head ?? undefined} />
            </Fact>
            <Fact label="Job">
              <A href={project.path("jobs", job())}>View job</A>
            </Fact>
            <Fact label="Updated">
              <Time at={props.of.modified} />
            </Fact>
          </Facts>
        )}
      </Show>
      <Show when={props.of.comparisons.length}>
        <Table<JsonVerdictComparison>
          label="Second measurement"
          rows={props.of.comparisons}
          first={16}
          columns={[
            {
              title: "Series",
              cell: (one) => (
                <>
                  <Name of={nameOf(one)} />
                  <span class="subtext">
                    {one.measure.name} · {one.head_runs} pairs
                  </span>
                </>
              ),
            },
            { title: "Change", end: true, cell: (one) => <Delta from={one.base ?? one.head} to={one.head} /> },
            {
              title: "Level",
              wide: true,
              end: true,
              cell: (one) => <Levels before={one.base ?? one.head} after={one.head} units={one.measure.units} />,
            },
            { title: "Verdict", end: true, cell: (one) => one.answer },
          ]}
        />
      </Show>
    </section>
  );
}
