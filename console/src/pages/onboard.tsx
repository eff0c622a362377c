// Onboarding: create a project and a key, and show the commands for the first report.

import { A, useNavigate, useParams, useSearchParams } from "@solidjs/router";
import { createSignal, For, type JSX, Match, Show, Switch } from "solid-js";
import { call, type JsonProject, list } from "../api";
import { load } from "../load";
import { user } from "../session";
import { rememberProject } from "../start";
import { Button, LinkButton } from "../ui/Button";
import { Code } from "../ui/Code";
import { ChoiceField, Form, SelectField, TextField } from "../ui/Form";
import { Page } from "../ui/Page";
import { Failure, Notice, Skeleton } from "../ui/State";

const STEPS = [
  { step: "project", label: "A project" },
  { step: "key", label: "A key" },
  { step: "run", label: "The first run" },
] as const;

/** Shown once and kept only while the page is open. */
const [key, setKey] = createSignal<{ project: string; key: string }>();

export function Onboard(): JSX.Element {
  const params = useParams<{ step?: string }>();
  const [query] = useSearchParams();
  const slug = () => (typeof query.project === "string" ? query.project : undefined);
  const project = load(
    () => (slug() ? { project: slug() ?? "" } : undefined),
    (path, signal) => call("get", "/v0/projects/{project}", { path, signal }),
  );
  const place = () =>
    Math.max(
      STEPS.findIndex(({ step }) => step === params.step),
      0,
    );
  return (
    <Page title="Get started" narrow>
      <ol class="steps" aria-label="Steps">
        <For each={STEPS}>
          {(step, number) => (
            <li aria-current={number() === place() ? "step" : undefined} classList={{ done: number() < place() }}>
              {step.label}
            </li>
          )}
        </For>
      </ol>
      <Show when={project.error()}>{(error) => <Failure error={error()} retry={project.refresh} />}</Show>
      <Switch>
        <Match when={place() === 0 || !slug()}>
          <NewProject />
        </Match>
        <Match when={project()}>
          {(project) => (
            <Show when={place() === 1} fallback={<FirstReport project={project()} />}>
              <NewKey project={project()} />
            </Show>
          )}
        </Match>
        <Match when={!project.error()}>
          <Skeleton lines={6} />
        </Match>
      </Switch>
    </Page>
  );
}

function NewProject(): JSX.Element {
  const navigate = useNavigate();
  const organizations = load(
    () => ({}),
    (_, signal) => list("/v0/organizations", { query: { per_page: 255 }, signal }),
  );
  return (
    <Show
      when={organizations()}
      fallback={
        <Show when={organizations.error()} fallback={<Skeleton lines={6} />}>
          {(error) => <Failure error={error()} retry={organizations.refresh} />}
        </Show>
      }
    >
      {(organizations) => (
        <>
          <p>
            A project contains the benchmarks of one software project and their history. Or browse{" "}
            <A href="/console/organizations">your organizations</A> or <A href="/perf">public projects</A>.
          </p>
          <Form
            action="Create project"
            onSubmit={async ({ name = "", url, visibility, organization = "" }) => {
              const body = {
                name,
                url: url ?? null,
                visibility: visibility === "private" ? "private" : "public",
              } as const;
              const made = await call("post", "/v0/organizations/{organization}/projects", {
                path: { organization },
                body,
              });
              rememberProject(made.slug);
              navigate(`/console/onboard/key?project=${made.slug}`);
            }}
          >
            <TextField
              name="name"
              label="Name"
              required
              maxLength={64}
              autofocus
              value={`${user()?.name ?? "My"}'s project`}
            />
            <TextField name="url" label="Website or repository" type="url" placeholder="https://" />
            <ChoiceField
              name="visibility"
              legend="Visibility"
              value="private"
              choices={[
                {
                  value: "private",
                  label: "Private",
                  about: "only its members and the members of its organization can view it",
                },
                { value: "public", label: "Public", about: "everyone can view it" },
              ]}
            />
            <Show
              when={organizations().rows.length > 1}
              fallback={<input type="hidden" name="organization" value={organizations().rows[0]?.slug ?? ""} />}
            >
              <SelectField
                name="organization"
                label="Organization"
                required
                options={organizations().rows.map(({ slug, name }) => ({ value: slug, label: name }))}
              />
            </Show>
          </Form>
        </>
      )}
    </Show>
  );
}

function NewKey(props: { project: JsonProject }): JSX.Element {
  const navigate = useNavigate();
  const [failure, setFailure] = createSignal<unknown>();
  const next = () => `/console/onboard/run?project=${props.project.slug}`;
  const create = async () => {
    setFailure(undefined);
    try {
      const made = await call("post", "/v0/projects/{project}/keys", {
        path: { project: props.project.slug },
        body: { name: "Get started" },
      });
      setKey({ project: props.project.slug, key: made.key });
      navigate(next());
    } catch (error) {
      setFailure(error);
    }
  };
  return (
    <>
      <p>
        CI uses a project key to send runs to <strong>{props.project.name}</strong>. The key is shown only once.
      </p>
      <Show when={failure()}>{(error) => <Failure error={error()} />}</Show>
      <div class="row">
        <Button kind="primary" onClick={create}>
          Create key
        </Button>
        <LinkButton href={next()}>Skip</LinkButton>
      </div>
    </>
  );
}

function FirstReport(props: { project: JsonProject }): JSX.Element {
  const own = () => (key()?.project === props.project.slug ? key()?.key : undefined);
  const shown = () => own() ?? "svc_run_…";
  const host = location.origin;
  const slug = () => props.project.slug;
  const variables = () => `export TIDEMARK_HOST=${host}\nexport TIDEMARK_API_KEY=${shown()}`;
  const cli = () => `${variables()}\ntidemark run --project ${slug()} "cargo bench"`;
  const ci = () =>
    [
      "# .github/workflows/bench.yml; the key is a secret of the repository",
      `- run: tidemark run --project ${slug()} --error-on-alert "cargo bench"`,
      "  env:",
      `    TIDEMARK_HOST: ${host}`,
      `    TIDEMARK_API_KEY: \${{ secrets.TIDEMARK_API_KEY }}`,
    ].join("\n");
  const curl = () => {
    const results = JSON.stringify(JSON.stringify({ parse: { latency: { value: 1234.5 } } }));
    const now = new Date().toISOString();
    const times = `"start_time": "${now}", "end_time": "${now}"`;
    return [
      `curl ${host}/v0/projects/${slug()}/reports`,
      `-H 'Authorization: Bearer ${shown()}' -H 'Content-Type: application/json'`,
      `-d '{"branch": "main", "testbed": "laptop", ${times}, "results": [${results}]}'`,
    ].join(" \\\n  ");
  };
  return (
    <>
      <Show when={own()}>
        {(key) => (
          <>
            <Notice tone="warn">Copy the key now. It is shown only once.</Notice>
            <Code label="the key" text={key()} />
          </>
        )}
      </Show>
      <h2>From your machine</h2>
      <Code label="commands for the shell" text={cli()} />
      <p class="muted small">
        You can use any command that prints results of a supported tool instead of <code>cargo bench</code>.
      </p>
      <h2>From CI</h2>
      <Code label="a step for CI" text={ci()} />
      <h2>With curl</h2>
      <Code label="a request" text={curl()} />
      <div class="row">
        <LinkButton href={`/console/projects/${slug()}/plots`} primary>
          Open project
        </LinkButton>
        <A href="/console/api">API reference</A>
      </div>
    </>
  );
}
