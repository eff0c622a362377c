// API keys of users, projects and runners: the columns of a list, the new key, and the page of a key.

import { useNavigate } from "@solidjs/router";
import { createSignal, type JSX, Show } from "solid-js";
import type { Loaded } from "./load";
import { Button, LinkButton } from "./ui/Button";
import { Code } from "./ui/Code";
import { Confirm } from "./ui/Dialog";
import { EditableFact, Fact, Facts } from "./ui/Facts";
import { Form, SelectField, TextField } from "./ui/Form";
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

/** The lifetime of a key in seconds; empty for the maximum of the server. */
const LIFETIMES = [
  { value: String(30 * 86_400), label: "30 days" },
  { value: String(90 * 86_400), label: "90 days" },
  { value: String(365 * 86_400), label: "1 year" },
  { value: "", label: "Maximum" },
];

/** The page that creates a key, and then shows it once. */
export function NewKeyPage(props: {
  crumbs: readonly Crumb[];
  /** The list of the keys. */
  list: string;
  hint: string;
  /** The selected lifetime, in days. */
  days: 90 | 365;
  usage: string;
  /** The commands that use the key, after those that set the environment. */
  commands?: readonly string[];
  create: (body: { name: string; ttl: number | null }) => Promise<{ key: string }>;
}): JSX.Element {
  const navigate = useNavigate();
  const [made, setMade] = createSignal<string>();
  return (
    <Page title={made() ? "New key" : "Create key"} crumbs={props.crumbs} narrow>
      <Show
        when={made()}
        fallback={
          <Form
            action="Create key"
            onCancel={() => navigate(props.list)}
            onSubmit={async ({ name = "", ttl }) => {
              const { key } = await props.create({ name, ttl: ttl ? Number(ttl) : null });
              setMade(key);
            }}
          >
            <TextField name="name" label="Name" required maxLength={64} autofocus hint={props.hint} />
            <SelectField name="ttl" label="Lifetime" required value={String(props.days * 86_400)} options={LIFETIMES} />
          </Form>
        }
      >
        {(key) => (
          <div class="stack">
            <NewKey
              text={key()}
              usage={props.usage}
              label="Environment"
              commands={[
                `export TIDEMARK_HOST=${location.origin}`,
                `export TIDEMARK_API_KEY=${key()}`,
                ...(props.commands ?? []),
              ]}
            />
            <div class="row">
              <LinkButton href={props.list} primary>
                Done
              </LinkButton>
            </div>
          </div>
        )}
      </Show>
    </Page>
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
