// Projects: the list of an organization, a new project, and the settings of one.

import { useNavigate, useParams } from "@solidjs/router";
import { createSignal, type JSX, Show } from "solid-js";
import { call, type JsonProject, type JsonUpdateProject, list, url, type Visibility } from "../api";
import { useOrganization } from "../frames";
import { webAddress } from "../links";
import { load } from "../load";
import { organizationCrumbs } from "../organization";
import { useProject } from "../project";
import { Badge } from "../ui/Badge";
import { Button, LinkButton } from "../ui/Button";
import { Confirm } from "../ui/Dialog";
import { EditableFact, Fact, Facts } from "../ui/Facts";
import { ChoiceField, Form, TextField } from "../ui/Form";
import { List as Rows } from "../ui/List";
import { Page } from "../ui/Page";
import { Raw } from "../ui/Raw";
import { Empty } from "../ui/State";
import { toast, toastFailure } from "../ui/Toast";
import { Time } from "../ui/Value";
import "./lists.css";

const VISIBILITIES: readonly { value: Visibility; label: string; about: string }[] = [
  { value: "public", label: "Public", about: "everyone can view it and find it in the list of public projects" },
  {
    value: "private",
    label: "Private",
    about: "only its members and the members of its organization can view it",
  },
];

export function List(): JSX.Element {
  const organization = useOrganization();
  const params = useParams<{ organization: string }>();
  const base = () => `/console/organizations/${encodeURIComponent(params.organization)}/projects`;
  const may = load(
    () => ({ organization: params.organization, permission: "create" as const }),
    async (path, signal) =>
      (await call("get", "/v0/organizations/{organization}/allowed/{permission}", { path, signal })).allowed,
  );
  const add = () => (
    <Show when={may()}>
      <LinkButton href={`${base()}/add`} icon="plus" primary>
        Add a project
      </LinkButton>
    </Show>
  );
  return (
    <Page title="Projects" crumbs={organizationCrumbs(params.organization, organization()?.name)} actions={add()}>
      <Rows<JsonProject>
        noun="project"
        search
        load={(query, signal) =>
          list("/v0/organizations/{organization}/projects", {
            path: { organization: params.organization },
            query: { ...query, sort: "name" },
            signal,
          })
        }
        href={(project) => `/console/projects/${encodeURIComponent(project.slug)}`}
        columns={[
          { title: "Name", sort: "name", cell: (project) => project.name },
          {
            title: "Visibility",
            cell: (project) => (
              <Badge tone={project.visibility === "public" ? "brand" : "neutral"}>{project.visibility}</Badge>
            ),
          },
          {
            title: "Created",
            wide: true,
            end: true,
            cell: (project) => (
              <span class="muted">
                <Time at={project.created} />
              </span>
            ),
          },
        ]}
        empty={
          <Empty title="No projects yet" action={add()}>
            A project contains the benchmarks of one software project and their history.
          </Empty>
        }
      />
    </Page>
  );
}

export function Add(): JSX.Element {
  const organization = useOrganization();
  const params = useParams<{ organization: string }>();
  const navigate = useNavigate();
  const base = () => `/console/organizations/${encodeURIComponent(params.organization)}/projects`;
  return (
    <Page
      title="Add a project"
      crumbs={[...organizationCrumbs(params.organization, organization()?.name), { href: base(), label: "Projects" }]}
      narrow
    >
      <Form
        action="Add the project"
        onCancel={() => navigate(base())}
        onSubmit={async ({ name = "", slug, url, visibility }) => {
          const body = { name, slug: slug ?? null, url: url ?? null, visibility: visibility as Visibility };
          const made = await call("post", "/v0/organizations/{organization}/projects", {
            path: { organization: params.organization },
            body,
          });
          toast("The project was added.");
          navigate(`/console/onboard/key?project=${encodeURIComponent(made.slug)}`);
        }}
      >
        <TextField name="name" label="Name" required maxLength={64} autofocus />
        <TextField
          name="url"
          label="Website or repository"
          type="url"
          placeholder="https://"
          hint="With the URL of a repository, commits become links."
        />
        <ChoiceField name="visibility" legend="Visibility" choices={VISIBILITIES} value="private" />
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

export function Settings(): JSX.Element {
  const project = useProject();
  const navigate = useNavigate();
  const [deleting, setDeleting] = createSignal(false);
  const change = async (body: JsonUpdateProject) => {
    const changed = await call("patch", "/v0/projects/{project}", { path: { project: project.slug() }, body });
    project.set(changed);
    if (changed.slug !== project.slug())
      navigate(`/console/projects/${encodeURIComponent(changed.slug)}/settings`, { replace: true, scroll: false });
  };
  const show = async (visibility: Visibility): Promise<void> => {
    const before = project();
    if (before.visibility === visibility) return;
    project.set({ ...before, visibility });
    try {
      await change({ visibility });
      toast(`The project is ${visibility} now.`, () => show(before.visibility));
    } catch (error) {
      project.set(before);
      toastFailure(error);
    }
  };
  const remove = async () => {
    const { organization, name } = project();
    await call("delete", "/v0/projects/{project}", { path: { project: project.slug() } });
    toast(`${name} was deleted.`);
    navigate(`/console/organizations/${organization}/projects`);
  };
  const feed = () => location.origin + url("/v0/projects/{project}/feed", { path: { project: project.slug() } });
  const badge = () => {
    const picture = location.origin + url("/v0/projects/{project}/badge", { path: { project: project.slug() } });
    const folder = project().visibility === "public" ? "perf" : "console/projects";
    const page = `${location.origin}/${folder}/${project.slug()}`;
    return `[![benchmarks](${picture})](${page})`;
  };
  const download = (format: "csv" | "ndjson" | "parquet") =>
    url("/v0/projects/{project}/export", { path: { project: project.slug() }, query: { format } });
  return (
    <Page title="Settings" crumbs={project.crumbs()} actions={<Raw value={project()} />}>
      <Facts>
        <EditableFact
          label="Name"
          value={project().name}
          maxLength={64}
          editable={project.may("edit")}
          save={(name) => change({ name })}
        />
        <EditableFact
          label="Slug"
          value={project().slug}
          maxLength={64}
          editable={project.may("edit")}
          save={(slug) => change({ slug })}
        />
        <EditableFact
          label="Website"
          type="url"
          optional
          value={project().url ?? ""}
          editable={project.may("edit")}
          save={(url) => change({ url: url || null })}
        >
          <Show
            when={project().url}
            fallback={<span class="muted">none; with the URL of a repository, commits become links</span>}
          >
            {(url) => (
              <Show when={webAddress(url())} fallback={<span class="break">{url()}</span>}>
                {(address) => (
                  <a href={address()} target="_blank" rel="noreferrer">
                    {url()}
                  </a>
                )}
              </Show>
            )}
          </Show>
        </EditableFact>
        <Fact label="UUID" copy={project().uuid}>
          <span class="mono">{project().uuid}</span>
        </Fact>
        <Fact label="Created">
          <Time at={project().created} />
        </Fact>
      </Facts>
      <ChoiceField
        name="visibility"
        legend="Visibility"
        choices={VISIBILITIES}
        value={project().visibility}
        disabled={!project.may("edit")}
        onChange={(value) => void show(value)}
      />
      <section class="stack tight">
        <div class="row between">
          <h2>Notifications, badge and feed</h2>
          <Show when={project.may("manage")}>
            <LinkButton href={project.path("notices")} icon="bell">
              Notifications
            </LinkButton>
          </Show>
        </div>
        <p class="muted">
          The project can send notifications to a chat, a webhook or an <span class="nowrap">e-mail</span> address. The
          badge shows the number of active alerts in a README. The feed lists the runs with alerts.
          <Show when={project().visibility === "private"}>
            {" "}
            The project is private: badge and feed require a credential, which a README cannot send.
          </Show>
        </p>
        <Facts>
          <Fact label="Badge" copy={badge()}>
            <span class="mono">{badge()}</span>
          </Fact>
          <Fact label="Feed" copy={feed()}>
            <span class="mono">{feed()}</span>
          </Fact>
        </Facts>
      </section>
      <Show when={project.may("manage")}>
        <section class="stack tight">
          <div class="row between">
            <h2>Commands in pull requests</h2>
            <LinkButton href={project.path("code_host")} icon="branch">
              Code host
            </LinkButton>
          </div>
          <p class="muted">Comments on pull requests can start jobs on your runners.</p>
        </section>
      </Show>
      <section class="stack tight">
        <h2>Export data</h2>
        <p class="muted">All metrics of the project, one per row.</p>
        <div class="row">
          <a class="button" href={download("csv")} download={`${project.slug()}.csv`} rel="external">
            CSV
          </a>
          <a class="button" href={download("ndjson")} download={`${project.slug()}.ndjson`} rel="external">
            NDJSON
          </a>
          <a class="button" href={download("parquet")} download={`${project.slug()}.parquet`} rel="external">
            Parquet
          </a>
        </div>
      </section>
      <Show when={project.may("delete")}>
        <section class="card danger-zone">
          <div>
            <h2>Delete project</h2>
            <p class="muted">Deletes its runs, thresholds, alerts and plots.</p>
          </div>
          <Button kind="danger" onClick={() => setDeleting(true)}>
            Delete project
          </Button>
        </section>
      </Show>
      <Confirm
        open={deleting()}
        title="Delete project?"
        action="Delete permanently"
        type={project().slug}
        onConfirm={remove}
        onClose={() => setDeleting(false)}
      >
        <p>
          <strong class="break">{project().name}</strong> and all its data will be deleted. Links, badges and embedded
          plots will stop working.
        </p>
      </Confirm>
    </Page>
  );
}
