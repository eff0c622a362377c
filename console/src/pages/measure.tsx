// Measures, their units and their directions.

import { useNavigate, useParams } from "@solidjs/router";
import { type JSX, Show } from "solid-js";
import {
  call,
  type JsonListedMeasure,
  type JsonMeasure,
  type JsonUpdateMeasure,
  list,
  type MeasureDirection,
} from "../api";
import { value } from "../format";
import { newestRunColumn, runOrder } from "../newest";
import { useProject } from "../project";
import { LinkButton } from "../ui/Button";
import { EditableFact, Fact, SelectFact } from "../ui/Facts";
import { Form, SelectField, TextField } from "../ui/Form";
import { ItemPage, inProject } from "../ui/ItemPage";
import { List as Rows } from "../ui/List";
import { Page } from "../ui/Page";
import { Empty } from "../ui/State";
import { toast } from "../ui/Toast";
import { Time } from "../ui/Value";
import "./lists.css";
import { Thresholds } from "./related";

export function List(): JSX.Element {
  const project = useProject();
  const newestRun = newestRunColumn();
  const add = () => (
    <Show when={project.may("create")}>
      <LinkButton href={project.path("measures", "add")} icon="plus" primary>
        Add a measure
      </LinkButton>
    </Show>
  );
  return (
    <Page title="Measures" crumbs={project.crumbs()} actions={add()}>
      <Rows<JsonListedMeasure>
        noun="measure"
        search
        archived
        load={(query, signal) =>
          list("/v0/projects/{project}/measures", {
            path: { project: project.slug() },
            query: { ...query, sort: runOrder(query) },
            signal,
          })
        }
        href={(measure) => project.path("measures", measure.slug)}
        columns={[
          { title: "Name", sort: "name", cell: (measure) => measure.name },
          { title: "Units", cell: (measure) => <span class="break">{measure.units}</span> },
          {
            title: "Direction",
            wide: true,
            cell: (measure) => <span class="muted">{labelOf(measure.direction ?? UNKNOWN)}</span>,
          },
          newestRun,
          {
            title: "Created",
            wide: true,
            end: true,
            cell: (measure) => (
              <span class="muted">
                <Time at={measure.created} />
              </span>
            ),
          },
        ]}
        empty={
          <Empty title="No measures yet" action={add()}>
            A measure is a measured quantity with units: latency, throughput, bytes. The first run with a measure
            creates it.
          </Empty>
        }
      />
    </Page>
  );
}

/** The option of a measure without a direction. */
const UNKNOWN = "unknown";

/** The last option restores the default, which is unknown unless the measure is built in. */
const DIRECTIONS = [
  { value: "lower_is_better", label: "lower is better" },
  { value: "higher_is_better", label: "higher is better" },
  { value: UNKNOWN, label: "default" },
] as const;

type Direction = (typeof DIRECTIONS)[number]["value"];

function labelOf(direction: Direction): string {
  return direction === UNKNOWN ? UNKNOWN : (DIRECTIONS.find(({ value }) => value === direction)?.label ?? direction);
}

/** The value for the API: null for the default. */
function toApi(direction: string | undefined): MeasureDirection | null {
  return direction === "lower_is_better" || direction === "higher_is_better" ? direction : null;
}

export function Add(): JSX.Element {
  const project = useProject();
  const navigate = useNavigate();
  return (
    <Page title="Add a measure" crumbs={project.crumbs("measures", "Measures")} narrow>
      <Form
        action="Add the measure"
        onCancel={() => navigate(project.path("measures"))}
        onSubmit={async ({ name = "", slug, units = "", direction }) => {
          const made = await call("post", "/v0/projects/{project}/measures", {
            path: { project: project.slug() },
            body: { name, slug: slug ?? null, units, direction: toApi(direction) },
          });
          toast("The measure was added.");
          navigate(project.path("measures", made.slug));
        }}
      >
        <TextField name="name" label="Name" required maxLength={64} autofocus />
        <TextField
          name="units"
          label="Units"
          required
          maxLength={64}
          hint={
            <>
              The console scales times, bytes and rates: <code>nanoseconds</code>, <code>bytes</code>,{" "}
              <code>requests / second</code>.
            </>
          }
        />
        <SelectField
          name="direction"
          label="Direction"
          value={UNKNOWN}
          options={DIRECTIONS}
          hint="Decides which changes are regressions. A built-in measure has its own direction by default."
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
  const place = inProject("measures", "Measures");
  const params = useParams<{ measure: string }>();
  const path = (measure: string) => ({ project: project.slug(), measure });
  return (
    <ItemPage<JsonMeasure, JsonUpdateMeasure>
      noun="measure"
      place={place}
      id={params.measure}
      nameLength={64}
      load={(measure, signal) =>
        call("get", "/v0/projects/{project}/measures/{measure}", { path: path(measure), signal })
      }
      patch={(measure, body) =>
        call("patch", "/v0/projects/{project}/measures/{measure}", { path: path(measure), body })
      }
      remove={(measure) => call("delete", "/v0/projects/{project}/measures/{measure}", { path: path(measure) })}
      deletion="A measure with results cannot be deleted. It can only be archived."
      actions={(shown) => (
        <LinkButton icon="chart" href={`${project.perfPath()}?measures=${shown().uuid}`}>
          Explore
        </LinkButton>
      )}
      facts={(shown, here) => (
        <>
          <EditableFact
            label="Units"
            value={shown().units}
            maxLength={64}
            editable={project.may("edit")}
            save={(units) => here.change({ units })}
          />
          <Fact label="Shown as">
            {value(1234567, shown().units)} <span class="muted">for 1,234,567</span>
          </Fact>
          <Show
            when={project.may("edit")}
            fallback={<Fact label="Direction">{labelOf(shown().direction ?? UNKNOWN)}</Fact>}
          >
            <SelectFact<Direction>
              label="Direction"
              value={shown().direction ?? UNKNOWN}
              options={DIRECTIONS}
              save={(direction) => here.change({ direction: toApi(direction) })}
            />
          </Show>
        </>
      )}
    >
      {(shown) => <Thresholds measure={shown().slug} />}
    </ItemPage>
  );
}
