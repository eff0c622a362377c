// API keys of users, projects and runners: the columns of a list, the new key, and the page of a key.

import { createSignal, type JSX, Show } from "solid-js";
import type { Loaded } from "./load";
import { Button } from "./ui/Button";
import { Code } from "./ui/Code";
import { Confirm } from "./ui/Dialog";
import { EditableFact, Fact, Facts } from "./ui/Facts";
import type { Column } from "./ui/List";
import { type Crumb, LoadingPage, Page } from "./ui/Page";
import { Notice } from "./ui/State";
import { toast } from "./ui/Toast";
import { Time } from "./ui/Value";

interface Key {
  uuid: string;
  name: string;
  creation: string;
  expiration: string;
  revoked?: string | null;
}

/** The columns with the times of a key or a token. */
export const KEY_TIMES: readonly Column<Pick<Key, "creation" | "expiration">>[] = [
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
];

/** When a key expires. A key that never expires has a date beyond the calendar. */
function Expiry(props: { at: string }): JSX.Element {
  return (
    <Show when={new Date(props.at).getFullYear() < 2100} fallback="never">
      <Time at={props.at} />
    </Show>
  );
}

/** A new key, and the commands that use it. */
export function NewKey(props: {
  text: string;
  usage: string;
  label: string;
  commands: readonly string[];
}): JSX.Element {
  return (
    <>
      <Notice tone="warn">Copy the key now. It is shown only once.</Notice>
      <Code label="The key" text={props.text} />
      <p class="muted">{props.usage}</p>
      <Code label={props.label} text={props.commands.join("\n")} />
    </>
  );
}

/** The page of a key: rename and revoke. */
export function KeyPage<T extends Key>(props: {
  item: Loaded<T>;
  crumbs: readonly Crumb[];
  status: (key: T) => JSX.Element;
  /** Whether the user may rename and revoke the key. */
  editable: boolean;
  rename: (name: string) => Promise<unknown>;
  revoke: () => Promise<unknown>;
}): JSX.Element {
  const [revoking, setRevoking] = createSignal(false);
  const revoke = async () => {
    await props.revoke();
    toast("Key revoked.");
    await props.item.refresh();
  };
  return (
    <Show when={props.item()} fallback={<LoadingPage title="Key" crumbs={props.crumbs} lines={5} item={props.item} />}>
      {(shown) => (
        <Page
          title={shown().name}
          aside={props.status(shown())}
          crumbs={props.crumbs}
          actions={
            <Show when={!shown().revoked && props.editable}>
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
              editable={!shown().revoked && props.editable}
              save={props.rename}
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
