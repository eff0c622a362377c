// API keys of a user. A key is shown once.

import { useParams } from "@solidjs/router";
import type { JSX } from "solid-js";
import { call, type JsonUserKey, list } from "../api";
import { KEY_TIMES, KeyPage, NewKeyPage } from "../api_key";
import { load } from "../load";
import { Badge, type Tone } from "../ui/Badge";
import { LinkButton } from "../ui/Button";
import { List as Rows } from "../ui/List";
import { Page } from "../ui/Page";
import { Empty } from "../ui/State";
import { userPath, userTitle } from "../user";
import "./admin.css";

/** The status of a key or a token. */
export function KeyStatus(props: { of: { revoked?: string | null; expiration: string } }): JSX.Element {
  const status = (): [tone: Tone, word: string] => {
    if (props.of.revoked) return ["alert", "revoked"];
    return new Date(props.of.expiration).getTime() < Date.now() ? ["warn", "expired"] : ["good", "active"];
  };
  return <Badge tone={status()[0]}>{status()[1]}</Badge>;
}

export function List(): JSX.Element {
  const params = useParams<{ user: string }>();
  return (
    <Page
      title={userTitle(params.user, "keys")}
      actions={
        <LinkButton href={userPath(params.user, "keys", "add")} icon="plus" primary>
          Create key
        </LinkButton>
      }
    >
      <p class="muted">
        A key has your permissions. For CI, use a project key: it has fewer permissions and does not depend on your
        account.
      </p>
      <Rows<JsonUserKey>
        noun="key"
        search
        archived="revoked"
        load={(query, signal) =>
          list("/v0/users/{user}/keys", { path: { user: params.user }, query: { ...query, sort: "name" }, signal })
        }
        href={(key) => userPath(params.user, "keys", key.uuid)}
        columns={[
          { title: "Name", sort: "name", cell: (key) => key.name },
          { title: "State", cell: (key) => <KeyStatus of={key} /> },
          ...KEY_TIMES,
        ]}
        empty={
          <Empty
            title="No keys yet"
            action={
              <LinkButton href={userPath(params.user, "keys", "add")} primary>
                Create key
              </LinkButton>
            }
          >
            The command line and scripts authenticate with a key.
          </Empty>
        }
      />
    </Page>
  );
}

export function Add(): JSX.Element {
  const params = useParams<{ user: string }>();
  return (
    <NewKeyPage
      crumbs={[{ href: userPath(params.user, "keys"), label: userTitle(params.user, "keys") }]}
      list={userPath(params.user, "keys")}
      hint="Where the key is used, for example: my laptop, nightly script."
      days={90}
      usage="The command line reads it from the environment:"
      create={(body) => call("post", "/v0/users/{user}/keys", { path: { user: params.user }, body })}
    />
  );
}

export function View(): JSX.Element {
  const params = useParams<{ user: string; key: string }>();
  const path = () => ({ user: params.user, key: params.key });
  const key = load(path, (path, signal) => call("get", "/v0/users/{user}/keys/{key}", { path, signal }));
  return (
    <KeyPage
      item={key}
      crumbs={[{ href: userPath(params.user, "keys"), label: userTitle(params.user, "keys") }]}
      status={(key) => <KeyStatus of={key} />}
      editable
      rename={async (name) =>
        key.set(await call("patch", "/v0/users/{user}/keys/{key}", { path: path(), body: { name } }))
      }
      revoke={() => call("delete", "/v0/users/{user}/keys/{key}", { path: path() })}
    />
  );
}
