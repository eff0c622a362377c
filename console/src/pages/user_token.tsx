// Tokens of a user, which keys replaced.

import { A, useParams } from "@solidjs/router";
import { createSignal, type JSX, Show } from "solid-js";
import { call, type JsonToken, list } from "../api";
import { KEY_TIMES } from "../api_key";
import { Button, LinkButton } from "../ui/Button";
import { Confirm } from "../ui/Dialog";
import { List as Rows } from "../ui/List";
import { Page } from "../ui/Page";
import { Empty } from "../ui/State";
import { toast } from "../ui/Toast";
import { userPath } from "../user";
import { KeyStatus } from "./user_key";
import "./admin.css";

export function List(): JSX.Element {
  const params = useParams<{ user: string }>();
  const [revoking, setRevoking] = createSignal<{ token: JsonToken; done: () => Promise<void> }>();
  const revoke = async () => {
    const { token, done } = revoking() ?? {};
    if (!token) return;
    await call("delete", "/v0/users/{user}/tokens/{token}", { path: { user: params.user, token: token.uuid } });
    toast("Token revoked.");
    await done?.();
  };
  return (
    <Page title="Legacy tokens">
      <p class="muted">
        Keys replace tokens. A token works until it expires. For new uses,{" "}
        <A href={userPath(params.user, "keys", "add")}>create a key</A>.
      </p>
      <Rows<JsonToken>
        noun="token"
        search
        archived="revoked"
        load={(query, signal) =>
          list("/v0/users/{user}/tokens", { path: { user: params.user }, query: { ...query, sort: "name" }, signal })
        }
        columns={[
          { title: "Name", sort: "name", cell: (token) => token.name },
          { title: "State", cell: (token) => <KeyStatus of={token} /> },
          ...KEY_TIMES,
        ]}
        rowActions={(token, rows) => (
          <Show when={!token.revoked}>
            <Button onClick={() => setRevoking({ token, done: rows.refresh })}>Revoke</Button>
          </Show>
        )}
        empty={
          <Empty
            title="No tokens"
            action={
              <LinkButton href={userPath(params.user, "keys", "add")} primary>
                Create key
              </LinkButton>
            }
          >
            You need no tokens: use keys instead.
          </Empty>
        }
      />
      <Confirm
        open={revoking() !== undefined}
        title="Revoke token?"
        action="Revoke"
        onConfirm={revoke}
        onClose={() => setRevoking(undefined)}
      >
        <p>
          A client that uses <strong class="break">{revoking()?.token.name}</strong> is rejected from now on.
        </p>
      </Confirm>
    </Page>
  );
}
