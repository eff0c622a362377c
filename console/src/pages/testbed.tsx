// Testbeds: the environments in which benchmarks run.

import { useNavigate, useParams } from "@solidjs/router";
import { type JSX, Show } from "solid-js";
import { call, type JsonListedTestbed, type JsonTestbed, type JsonUpdateTestbed, list } from "../api";
import { newestRunColumn, runOrder } from "../newest";
import { useProject } from "../project";
import { specText } from "../spec";
import { LinkButton } from "../ui/Button";
import { Fact } from "../ui/Facts";
import { Form, TextField } from "../ui/Form";
import { ItemPage, inProject } from "../ui/ItemPage";
import { List as Rows } from "../ui/List";
import { Page } from "../ui/Page";
import { Empty } from "../ui/State";
import { toast } from "../ui/Toast";
import { Time } from "../ui/Value";
import "./lists.css";
import { Reports, Thresholds } from "./related";

export function List(): JSX.Element {
  const project = useProject();
  const newestRun = newestRunColumn();
  const add = () => (
    <Show when={project.may("create")}>
      <LinkButton href={project.path("testbeds", "add")} icon="plus" primary>
        Add a testbed
      </LinkButton>
    </Show>
  );
  return (
    <Page title="Testbeds" crumbs={project.crumbs()} actions={add()}>
      <Rows<JsonListedTestbed>
        noun="testbed"
        search
        archived
        load={(query, signal) =>
          list("/v0/projects/{project}/testbeds", {
            path: { project: project.slug() },
            query: { ...query, sort: runOrder(query) },
            signal,
          })
        }
        href={(testbed) => project.path("testbeds", testbed.slug)}
        columns={[
          { title: "Name", sort: "name", cell: (testbed) => testbed.name },
          { title: "Spec", wide: true, cell: (testbed) => <span class="muted">{testbed.spec?.name ?? "–"}</span> },
          newestRun,
          {
            title: "Created",
            wide: true,
            end: true,
            cell: (testbed) => (
              <span class="muted">
                <Time at={testbed.created} />
              </span>
            ),
          },
        ]}
        empty={
          <Empty title="No testbeds yet" action={add()}>
            A testbed is the environment in which benchmarks run. Values of different testbeds are never compared. The
            first run on a testbed creates it: <code>tidemark run --testbed ci-linux</code>.
          </Empty>
        }
      />
    </Page>
  );
}

export function Add(): JSX.Element {
  const project = useProject();
  const navigate = useNavigate();
  return (
    <Page title="Add a testbed" crumbs={project.crumbs("testbeds", "Testbeds")} narrow>
      <Form
        action="Add the testbed"
        onCancel={() => navigate(project.path("testbeds"))}
        onSubmit={async ({ name = "", slug }) => {
          const made = await call("post", "/v0/projects/{project}/testbeds", {
            path: { project: project.slug() },
            body: { name, slug: slug ?? null },
          });
          toast("The testbed was added.");
          navigate(project.path("testbeds", made.slug));
        }}
      >
        <TextField
          name="name"
          label="Name"
          required
          maxLength={64}
          autofocus
          hint="The name of the environment, for example ci-linux-x64."
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
  const place = inProject("testbeds", "Testbeds");
  const params = useParams<{ testbed: string }>();
  const path = (testbed: string) => ({ project: project.slug(), testbed });
  return (
    <ItemPage<JsonTestbed, JsonUpdateTestbed>
      noun="testbed"
      place={place}
      id={params.testbed}
      nameLength={64}
      load={(testbed, signal) =>
        call("get", "/v0/projects/{project}/testbeds/{testbed}", { path: path(testbed), signal })
      }
      patch={(testbed, body) =>
        call("patch", "/v0/projects/{project}/testbeds/{testbed}", { path: path(testbed), body })
      }
      remove={(testbed) => call("delete", "/v0/projects/{project}/testbeds/{testbed}", { path: path(testbed) })}
      deletion="A testbed with runs or thresholds cannot be deleted. It can only be archived."
      actions={(shown) => (
        <LinkButton icon="chart" href={`${project.perfPath()}?testbeds=${shown().uuid}`}>
          Explore
        </LinkButton>
      )}
      facts={(shown) => (
        <Fact label="Spec">
          <Show when={shown().spec} fallback={<span class="muted">none</span>}>
            {(spec) => specText(spec())}
          </Show>
        </Fact>
      )}
    >
      {(shown) => (
        <>
          <Thresholds testbed={shown().slug} />
          <Reports testbed={shown().slug} />
        </>
      )}
    </ItemPage>
  );
}
