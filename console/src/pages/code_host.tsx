// Connection of a project to a code host, for commands in comments of pull requests. A created secret is shown once.

import { createSignal, type JSX, Show } from "solid-js";
import { call, isMissing, type JsonCodeHost, type JsonCodeHostProvider, type JsonNewCodeHost } from "../api";
import { load } from "../load";
import { useProject } from "../project";
import { Badge } from "../ui/Badge";
import { Button } from "../ui/Button";
import { Code } from "../ui/Code";
import { Confirm } from "../ui/Dialog";
import { Fact, Facts } from "../ui/Facts";
import { CheckField, Form, SelectField, TextField, type Values } from "../ui/Form";
import { Page } from "../ui/Page";
import { Failure, Notice, Skeleton } from "../ui/State";
import { toast } from "../ui/Toast";
import { Time } from "../ui/Value";
import "./lists.css";

const PATH = "/v0/projects/{project}/code_host";
const PROVIDERS: readonly { value: JsonCodeHostProvider; label: string; url: string }[] = [
  { value: "github", label: "GitHub", url: "https://api.github.com" },
  { value: "gitlab", label: "GitLab", url: "https://gitlab.com/api/v4" },
  { value: "forgejo", label: "Forgejo or Gitea", url: "https://codeberg.org/api/v1" },
];

export function View(): JSX.Element {
  const project = useProject();
  const path = () => ({ project: project.slug() });
  const [secret, setSecret] = createSignal<string>();
  const [deleting, setDeleting] = createSignal(false);
  // The form of a project without a connection is empty: null.
  const loaded = load(path, async (path, signal): Promise<{ connection: JsonCodeHost | null }> => {
    try {
      return { connection: await call("get", PATH, { path, signal }) };
    } catch (error) {
      if (isMissing(error)) return { connection: null };
      throw error;
    }
  });
  const save = async (values: Values) => {
    const connection = await call("put", PATH, { path: path(), body: newConnection(values) });
    setSecret(connection.secret);
    loaded.set({ connection });
    toast("The connection is saved.");
  };
  const remove = async () => {
    await call("delete", PATH, { path: path() });
    setSecret(undefined);
    loaded.set({ connection: null });
    toast("The project is disconnected.");
  };
  return (
    <Page
      title="Commands in pull requests"
      crumbs={[...project.crumbs(), { href: project.path("settings"), label: "Settings" }]}
      actions={
        <Show when={loaded()?.connection}>
          <Button kind="danger" onClick={() => setDeleting(true)}>
            Disconnect
          </Button>
        </Show>
      }
      narrow
    >
      <p class="muted prose">
        Users with write access to the repository start jobs with the comments <code>/tidemark run</code> and{" "}
        <code>/tidemark bisect</code>. The section <code>[on_demand]</code> in the <code>tidemark.toml</code> of the
        base branch defines what runs. See{" "}
        <a href="/docs/on-demand.html" rel="external">
          the manual
        </a>
        .
      </p>
      <Show when={loaded.error()}>{(error) => <Failure error={error()} retry={loaded.refresh} />}</Show>
      <Show
        when={loaded()}
        fallback={
          <Show when={!loaded.error()}>
            <Skeleton lines={10} />
          </Show>
        }
      >
        {(known) => (
          <>
            <Show when={secret()}>
              {(text) => (
                <div class="stack">
                  <Notice tone="warn">Copy the secret of the webhook now. It is shown only once.</Notice>
                  <Code label="The secret of the webhook" text={text()} />
                </div>
              )}
            </Show>
            <Show when={known().connection}>{(connection) => <Connection of={connection()} />}</Show>
            <Settings of={known().connection} save={save} />
          </>
        )}
      </Show>
      <Confirm
        open={deleting()}
        title="Disconnect the project?"
        action="Disconnect"
        onConfirm={remove}
        onClose={() => setDeleting(false)}
      >
        <p>Comments will no longer start jobs. The token and the secret of the webhook will be deleted.</p>
      </Confirm>
    </Page>
  );
}

function Connection(props: { of: JsonCodeHost }): JSX.Element {
  return (
    <Facts>
      <Fact label="Webhook URL" copy={props.of.webhook_url}>
        <span class="mono break">{props.of.webhook_url}</span>
      </Fact>
      <Fact label="Content type">application/json</Fact>
      <Fact label="Commands">
        <Badge tone={props.of.commands ? "good" : "neutral"}>{props.of.commands ? "enabled" : "disabled"}</Badge>
      </Fact>
      <Fact label="Changed">
        <Time at={props.of.modified} />
      </Fact>
    </Facts>
  );
}

function Settings(props: { of: JsonCodeHost | null; save: (values: Values) => Promise<void> }): JSX.Element {
  const [provider, setProvider] = createSignal<string>(props.of?.provider ?? "github");
  const ownUrl = () => {
    const url = props.of?.url.replace(/\/$/, "") ?? "";
    return url === defaultUrl(props.of?.provider ?? "") ? "" : url;
  };
  const kept = (noun: string) => (props.of ? `Empty keeps the stored ${noun}. ` : "");
  return (
    <Form action={props.of ? "Save" : "Connect"} onSubmit={props.save}>
      <SelectField
        name="provider"
        label="Code host"
        required
        value={provider()}
        options={PROVIDERS}
        onInput={setProvider}
      />
      <TextField
        name="repository"
        label="Repository"
        required
        maxLength={255}
        value={props.of?.repository ?? ""}
        hint="For example: acme/widget."
      />
      <TextField
        name="url"
        label="API URL"
        type="url"
        value={ownUrl()}
        placeholder={defaultUrl(provider())}
        hint="Only for a code host of your own."
      />
      <TextField
        name="token"
        label="Token"
        type="password"
        secret
        required={!props.of}
        hint={`${kept("token")}It reads the repository and its collaborators, and writes comments.`}
      />
      <TextField
        name="secret"
        label="Webhook secret"
        type="password"
        secret
        hint={props.of ? kept("secret") : "The server creates one if empty."}
      />
      <CheckField name="commands" checked={props.of?.commands ?? true} label="Run commands in comments" />
    </Form>
  );
}

function defaultUrl(provider: string): string {
  return PROVIDERS.find(({ value }) => value === provider)?.url ?? "";
}

function newConnection({ provider, repository = "", url, token, secret, commands }: Values): JsonNewCodeHost {
  const body: JsonNewCodeHost = {
    provider: provider as JsonCodeHostProvider,
    repository,
    commands: commands === "on",
  };
  if (url) body.url = url;
  if (token) body.token = token;
  if (secret) body.secret = secret;
  return body;
}
