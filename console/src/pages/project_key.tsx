// Keys of a project, with which CI sends runs. A key is shown once.

import { useParams } from "@solidjs/router";
import { type JSX, Show } from "solid-js";
import { call, type JsonProjectKey, list } from "../api";
import { KEY_TIMES, KeyPage, NewKeyPage } from "../api_key";
import { load } from "../load";
import { useProject } from "../project";
import { Badge, type Tone } from "../ui/Badge";
import { LinkButton } from "../ui/Button";
import { List as Rows } from "../ui/List";
import { Page } from "../ui/Page";
import { Empty } from "../ui/State";
import "./lists.css";

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
          ...KEY_TIMES,
        ]}
        empty={
          <Empty title="No keys yet" action={add()}>
            CI uses a project key to send runs. A key can view, create and edit the content of this project only.
          </Empty>
        }
      />
    </Page>
  );
}

export function Add(): JSX.Element {
  const project = useProject();
  return (
    <NewKeyPage
      crumbs={project.crumbs("keys", "Keys")}
      list={project.path("keys")}
      hint="Where the key is used, for example: GitHub Actions."
      days={365}
      usage="Store it as a CI secret. The command line reads it from the environment:"
      commands={[`tidemark run --project ${project.slug()} "cargo bench"`]}
      create={(body) => call("post", "/v0/projects/{project}/keys", { path: { project: project.slug() }, body })}
    />
  );
}

export function View(): JSX.Element {
  const project = useProject();
  const params = useParams<{ key: string }>();
  const path = () => ({ project: project.slug(), key: params.key });
  const key = load(path, (path, signal) => call("get", "/v0/projects/{project}/keys/{key}", { path, signal }));
  const rename = async (name: string) => {
    key.set(
      await key.optimistic(
        (old) => ({ ...old, name }),
        () => call("patch", "/v0/projects/{project}/keys/{key}", { path: path(), body: { name } }),
      ),
    );
  };
  return (
    <KeyPage
      item={key}
      crumbs={project.crumbs("keys", "Keys")}
      status={(key) => <State of={key} />}
      editable={project.may("manage")}
      rename={rename}
      revoke={() => call("delete", "/v0/projects/{project}/keys/{key}", { path: path() })}
    />
  );
}
