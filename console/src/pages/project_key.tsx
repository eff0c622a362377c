// Keys of a project, with which CI sends reports. A key is shown once.

import { useNavigate, useParams } from "@solidjs/router";
import { createSignal, type JSX, Show } from "solid-js";
import { call, type JsonProjectKey, list } from "../api";
import { load } from "../load";
import { useProject } from "../project";
import { Confirm } from "../ui/Dialog";
import { Form, SelectField, TextField } from "../ui/Form";
import { List as Rows } from "../ui/List";
import { LoadingPage, Page } from "../ui/Page";
import { Badge, Button, Code, Empty, LinkButton, Notice, Time, type Tone } from "../ui/parts";
import { EditableFact, Fact, Record as Facts } from "../ui/Record";
import { toast } from "../ui/Toast";
import "./lists.css";

/** The lifetime of a key in seconds; empty for the maximum of the server. */
const LIFETIMES = [
  { value: String(90 * 86_400), label: "90 days" },
  { value: String(365 * 86_400), label: "1 year" },
  { value: String(30 * 86_400), label: "30 days" },
  { value: "", label: "Maximum" },
];

/** A key that expires within this time, in milliseconds, should be replaced. */
const SOON = 14 * 864e5;

function State(props: { of: JsonProjectKey }): JSX.Element {
  const state = (): [tone: Tone, word: string] => {
    const left = new Date(props.of.expiration).getTime() - Date.now();
    if (props.of.revoked) return ["neutral", "revoked"];
    if (left < 0) return ["alert", "expired"];
    return left < SOON ? ["warn", "expires soon"] : ["good", "active"];
  };
  return <Badge tone={state()[0]}>{state()[1]}</Badge>;
}

/** When a key expires. A key that never expires has a date beyond the calendar. */
function Expiry(props: { at: string }): JSX.Element {
  return (
    <Show when={new Date(props.at).getFullYear() < 2100} fallback="never">
      <Time at={props.at} />
    </Show>
  );
}

export function List(): JSX.Element {
  const project = useProject();
  const add = () => (
    <Show when={project.may("manage")}>
      <LinkButton href={project.path("keys", "add")} icon="plus" primary>
        Create key
      </LinkButton>
    </Show>
  );
  return (
    <Page title="Keys" crumbs={project.crumbs()} actions={add()}>
      <Rows<JsonProjectKey>
        noun="key"
        search
        archived="revoked"
        load={(query, signal) =>
          list("/v0/projects/{project}/keys", {
            path: { project: project.slug() },
            query: { ...query, sort: "name" },
            signal,
          })
        }
        href={(key) => project.path("keys", key.uuid)}
        columns={[
          { title: "Name", sort: "name", cell: (key) => key.name },
          { title: "State", cell: (key) => <State of={key} /> },
          {
            title: "Created",
            wide: true,
            end: true,
            cell: (key) => (
              <span class="muted">
                <Time at={key.creation} />
              </span>
            ),
          },
          {
            title: "Expires",
            wide: true,
            end: true,
            cell: (key) => (
              <span class="muted">
                <Expiry at={key.expiration} />
              </span>
            ),
          },
        ]}
        empty={
          <Empty title="No keys yet" action={add()}>
            CI uses a project key to send reports. The key gives access only to reporting in this project.
          </Empty>
        }
      />
    </Page>
  );
}

export function Add(): JSX.Element {
  const project = useProject();
  const navigate = useNavigate();
  const [made, setMade] = createSignal<string>();
  return (
    <Page title={made() ? "New key" : "Create key"} crumbs={project.crumbs("keys", "Keys")} narrow>
      <Show
        when={made()}
        fallback={
          <Form
            action="Create key"
            onCancel={() => navigate(project.path("keys"))}
            onSubmit={async ({ name = "", ttl }) => {
              const created = await call("post", "/v0/projects/{project}/keys", {
                path: { project: project.slug() },
                body: { name, ttl: ttl ? Number(ttl) : null },
              });
              setMade(created.key);
            }}
          >
            <TextField
              name="name"
              label="Name"
              required
              maxLength={64}
              autofocus
              hint="Where the key is used, for example: GitHub Actions."
            />
            <SelectField name="ttl" label="Lifetime" required value={LIFETIMES[1]?.value ?? ""} options={LIFETIMES} />
          </Form>
        }
      >
        {(key) => (
          <div class="stack">
            <Notice tone="warn">Copy the key now. It is shown only once.</Notice>
            <Code label="The key" text={key()} />
            <p class="muted">Store it as a CI secret. The command line reads it from the environment:</p>
            <Code
              label="Environment"
              text={[
                `export TIDEMARK_HOST=${location.origin}`,
                `export TIDEMARK_API_KEY=${key()}`,
                `tidemark run --project ${project.slug()} "cargo bench"`,
              ].join("\n")}
            />
            <div class="row">
              <LinkButton href={project.path("keys")} primary>
                Done
              </LinkButton>
            </div>
          </div>
        )}
      </Show>
    </Page>
  );
}

export function View(): JSX.Element {
  const project = useProject();
  const params = useParams<{ key: string }>();
  const [revoking, setRevoking] = createSignal(false);
  const path = () => ({ project: project.slug(), key: params.key });
  const key = load(path, (path, signal) => call("get", "/v0/projects/{project}/keys/{key}", { path, signal }));
  const revoke = async () => {
    await call("delete", "/v0/projects/{project}/keys/{key}", { path: path() });
    toast("Key revoked.");
    await key.refresh();
  };
  const rename = async (name: string) => {
    key.set(
      await key.optimistic(
        (old) => ({ ...old, name }),
        () => call("patch", "/v0/projects/{project}/keys/{key}", { path: path(), body: { name } }),
      ),
    );
  };
  return (
    <Show
      when={key()}
      fallback={<LoadingPage title="Key" crumbs={project.crumbs("keys", "Keys")} lines={5} item={key} />}
    >
      {(shown) => (
        <Page
          title={shown().name}
          aside={<State of={shown()} />}
          crumbs={project.crumbs("keys", "Keys")}
          actions={
            <Show when={!shown().revoked && project.may("manage")}>
              <Button kind="danger" onClick={() => setRevoking(true)}>
                Revoke
              </Button>
            </Show>
          }
        >
          <Facts>
            <EditableFact
              label="Name"
              value={shown().name}
              maxLength={64}
              editable={!shown().revoked && project.may("manage")}
              save={rename}
            />
            <Fact label="UUID" copy={shown().uuid}>
              <span class="mono">{shown().uuid}</span>
            </Fact>
            <Fact label="Created">
              <Time at={shown().creation} />
            </Fact>
            <Fact label="Expires">
              <Expiry at={shown().expiration} />
            </Fact>
            <Show when={shown().revoked}>
              {(at) => (
                <Fact label="Revoked">
                  <Time at={at()} />
                </Fact>
              )}
            </Show>
          </Facts>
          <Confirm
            open={revoking()}
            title="Revoke key?"
            action="Revoke"
            onConfirm={revoke}
            onClose={() => setRevoking(false)}
          >
            <p>
              A client that uses <strong class="break">{shown().name}</strong> is rejected from now on. You cannot undo
              this.
            </p>
          </Confirm>
        </Page>
      )}
    </Show>
  );
}
