// The account of a user: profile, API keys, legacy tokens, sessions and help.

import { A, useNavigate, useParams } from "@solidjs/router";
import { createSignal, For, type JSX, Show } from "solid-js";
import { programName } from "../agent";
import { call, type JsonToken, type JsonUserKey, type JsonUserSession, list } from "../api";
import { bindings } from "../keys";
import { load } from "../load";
import { endSession, updateUser, user } from "../session";
import { setTheme, type Theme, theme } from "../theme";
import { Confirm } from "../ui/Dialog";
import { Form, SelectField, TextField } from "../ui/Form";
import { List as Rows } from "../ui/List";
import { LoadingPage, Page } from "../ui/Page";
import { Badge, Button, Code, Empty, Failure, LinkButton, Notice, Skeleton, Time } from "../ui/parts";
import { EditableFact, Fact, Record, SelectFact } from "../ui/Record";
import type { Option } from "../ui/Select";
import { toast, toastFailure } from "../ui/Toast";
import "./admin.css";

function base(slug: string): string {
  return `/console/users/${encodeURIComponent(slug)}`;
}

/** The owner of the keys: an administrator also sees the keys of other users. */
function owned(slug: string, noun: string): string {
  return slug === user()?.slug ? `Your ${noun}` : `${noun.charAt(0).toUpperCase()}${noun.slice(1)} of ${slug}`;
}

/** The lifetime of a key in seconds; empty for the maximum of the server. */
const LIFETIMES = [
  { value: String(30 * 86_400), label: "30 days" },
  { value: String(90 * 86_400), label: "90 days" },
  { value: String(365 * 86_400), label: "1 year" },
  { value: "", label: "Maximum" },
];

function state(key: { revoked?: string | null; expiration: string }): JSX.Element {
  if (key.revoked) return <Badge tone="alert">revoked</Badge>;
  return new Date(key.expiration).getTime() < Date.now() ? (
    <Badge tone="warn">expired</Badge>
  ) : (
    <Badge tone="good">active</Badge>
  );
}

/** When a key expires. A key that never expires has a date beyond the calendar. */
function Expiry(props: { at: string }): JSX.Element {
  return (
    <Show when={new Date(props.at).getFullYear() < 2100} fallback="never">
      <Time at={props.at} />
    </Show>
  );
}

export function Keys(): JSX.Element {
  const params = useParams<{ user: string }>();
  return (
    <Page
      title={owned(params.user, "keys")}
      actions={
        <LinkButton href={`${base(params.user)}/keys/add`} icon="plus" primary>
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
        href={(key) => `${base(params.user)}/keys/${key.uuid}`}
        columns={[
          { title: "Name", sort: "name", cell: (key) => key.name },
          { title: "State", cell: (key) => state(key) },
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
          <Empty
            title="No keys yet"
            action={
              <LinkButton href={`${base(params.user)}/keys/add`} primary>
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

export function AddKey(): JSX.Element {
  const params = useParams<{ user: string }>();
  const navigate = useNavigate();
  const [made, setMade] = createSignal<string>();
  return (
    <Page title="Create key" crumbs={[{ href: `${base(params.user)}/keys`, label: owned(params.user, "keys") }]} narrow>
      <Show
        when={made()}
        fallback={
          <Form
            action="Create key"
            onCancel={() => navigate(`${base(params.user)}/keys`)}
            onSubmit={async ({ name = "", ttl }) => {
              const created = await call("post", "/v0/users/{user}/keys", {
                path: { user: params.user },
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
              hint="Where the key is used, for example: my laptop, nightly script."
            />
            <SelectField name="ttl" label="Lifetime" required value={LIFETIMES[1]?.value ?? ""} options={LIFETIMES} />
          </Form>
        }
      >
        {(key) => (
          <div class="stack">
            <Notice tone="warn">Copy the key now. It is shown only once.</Notice>
            <Code label="The key" text={key()} />
            <p class="muted">The command line reads it from the environment:</p>
            <Code
              label="Environment"
              text={`export TIDEMARK_HOST=${location.origin}\nexport TIDEMARK_API_KEY=${key()}`}
            />
            <div class="row">
              <LinkButton href={`${base(params.user)}/keys`} primary>
                Done
              </LinkButton>
            </div>
          </div>
        )}
      </Show>
    </Page>
  );
}

export function Key(): JSX.Element {
  const params = useParams<{ user: string; key: string }>();
  const [revoking, setRevoking] = createSignal(false);
  const path = () => ({ user: params.user, key: params.key });
  const key = load(path, (path, signal) => call("get", "/v0/users/{user}/keys/{key}", { path, signal }));
  const crumbs = () => [{ href: `${base(params.user)}/keys`, label: owned(params.user, "keys") }];
  const revoke = async () => {
    await call("delete", "/v0/users/{user}/keys/{key}", { path: path() });
    toast("Key revoked.");
    await key.refresh();
  };
  return (
    <Show when={key()} fallback={<LoadingPage title="Key" crumbs={crumbs()} lines={5} item={key} />}>
      {(shown) => (
        <Page
          title={shown().name}
          aside={state(shown())}
          crumbs={crumbs()}
          actions={
            <Show when={!shown().revoked}>
              <Button kind="danger" onClick={() => setRevoking(true)}>
                Revoke
              </Button>
            </Show>
          }
        >
          <Record>
            <EditableFact
              label="Name"
              value={shown().name}
              maxLength={64}
              editable={!shown().revoked}
              save={async (name) =>
                key.set(await call("patch", "/v0/users/{user}/keys/{key}", { path: path(), body: { name } }))
              }
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
          </Record>
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

export function Tokens(): JSX.Element {
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
        <A href={`${base(params.user)}/keys/add`}>create a key</A>.
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
          { title: "State", cell: (token) => state(token) },
          {
            title: "Created",
            wide: true,
            end: true,
            cell: (token) => (
              <span class="muted">
                <Time at={token.creation} />
              </span>
            ),
          },
          {
            title: "Expires",
            wide: true,
            end: true,
            cell: (token) => (
              <span class="muted">
                <Expiry at={token.expiration} />
              </span>
            ),
          },
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
              <LinkButton href={`${base(params.user)}/keys/add`} primary>
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

/** The sessions of a user. */
function Sessions(props: { user: string }): JSX.Element {
  const end = async (session: JsonUserSession, done: () => Promise<void>) => {
    try {
      await call("delete", "/v0/users/{user}/sessions/{session}", {
        path: { user: props.user, session: session.uuid },
      });
      toast("Session ended.");
      await done();
    } catch (error) {
      toastFailure(error);
    }
  };
  return (
    <section class="stack tight" aria-labelledby="sessions">
      <h2 id="sessions">Sessions</h2>
      <p class="muted">
        The session of a browser is a cookie that only the server can read. End sessions that you do not recognize. This
        does not affect keys.
      </p>
      <Rows<JsonUserSession>
        noun="session"
        load={({ page, per_page }, signal) =>
          list("/v0/users/{user}/sessions", { path: { user: props.user }, query: { page, per_page }, signal })
        }
        columns={[
          {
            title: "Client",
            cell: (session) => (
              <span class="break" title={session.agent ?? undefined}>
                {session.agent ? programName(session.agent) : "unknown"}{" "}
                <Show when={session.current}>
                  <Badge tone="good">this session</Badge>
                </Show>
              </span>
            ),
          },
          { title: "Address", wide: true, cell: (session) => session.address ?? "unknown" },
          {
            title: "Signed in",
            end: true,
            cell: (session) => (
              <span class="muted">
                <Time at={session.creation} />
              </span>
            ),
          },
        ]}
        rowActions={(session, rows) => (
          <Show when={!session.current}>
            <Button onClick={() => void end(session, rows.refresh)}>End</Button>
          </Show>
        )}
        empty={<Empty title="No sessions">This user is not signed in.</Empty>}
      />
    </section>
  );
}

const THEMES: readonly Option<Theme>[] = [
  { value: "system", label: "System" },
  { value: "light", label: "Light" },
  { value: "dark", label: "Dark" },
];

export function Settings(): JSX.Element {
  const params = useParams<{ user: string }>();
  const navigate = useNavigate();
  const path = () => ({ user: params.user });
  const account = load(path, (path, signal) => call("get", "/v0/users/{user}", { path, signal }));
  const isMe = () => account()?.uuid === user()?.uuid;
  const change = async (body: { name?: string; slug?: string; email?: string }) => {
    const changed = await call("patch", "/v0/users/{user}", { path: path(), body });
    account.set(changed);
    if (isMe()) updateUser(changed);
    if (body.email && changed.email !== body.email)
      toast(`A link was mailed to ${body.email}; open it to confirm the new address.`);
    if (changed.slug !== params.user) navigate(`${base(changed.slug)}/settings`, { replace: true, scroll: false });
  };
  const leave = () => endSession().then(() => navigate("/auth/login"), toastFailure);
  return (
    <Page
      title={owned(params.user, "settings")}
      actions={
        <Show when={isMe()}>
          <Button icon="out" onClick={leave}>
            Sign out
          </Button>
        </Show>
      }
    >
      <Show when={account.error()}>{(error) => <Failure error={error()} retry={account.refresh} />}</Show>
      <Show
        when={account()}
        fallback={
          <Show when={!account.error()}>
            <Skeleton lines={6} />
          </Show>
        }
      >
        {(shown) => (
          <>
            <Record>
              <EditableFact
                label="Name"
                value={shown().name}
                maxLength={64}
                editable
                save={(name) => change({ name })}
              />
              <EditableFact
                label="Slug"
                value={shown().slug}
                maxLength={64}
                editable
                save={(slug) => change({ slug })}
              />
              <EditableFact
                label="E-mail"
                type="email"
                value={shown().email}
                editable
                save={(email) => change({ email })}
              />
              <Fact label="UUID" copy={shown().uuid}>
                <span class="mono">{shown().uuid}</span>
              </Fact>
              <Show when={shown().created}>
                {(at) => (
                  <Fact label="Created">
                    <Time at={at()} />
                  </Fact>
                )}
              </Show>
              <Show when={shown().admin}>
                <Fact label="Role">
                  <Badge tone="brand">server administrator</Badge>
                </Fact>
              </Show>
            </Record>
            <p class="small muted">
              Sign-in links are sent to this address. Changing the address ends all sessions and revokes all keys of the
              account.
            </p>
            <section class="stack tight" aria-labelledby="look">
              <h2 id="look">Appearance</h2>
              <Record>
                <SelectFact label="Theme" value={theme()} options={THEMES} save={setTheme} />
              </Record>
            </section>
            <Sessions user={shown().slug} />
          </>
        )}
      </Show>
    </Page>
  );
}

export function Help(): JSX.Element {
  const version = load(
    () => ({}),
    (_, signal) => call("get", "/v0/server/version", { signal }),
  );
  return (
    <Page title="Help">
      <div class="columns">
        <section class="card stack tight">
          <h2>Get started</h2>
          <p class="muted">Create a project and a key, and send the first results.</p>
          <div class="row">
            <LinkButton href="/console/onboard">Start</LinkButton>
          </div>
        </section>
        <section class="card stack tight">
          <h2>API reference</h2>
          <p class="muted">Read and try all operations of this server.</p>
          <div class="row">
            <LinkButton href="/console/api" icon="book">
              Open
            </LinkButton>
          </div>
        </section>
        <section class="card stack tight">
          <h2>Command line</h2>
          <p class="muted">Shows each command and its options.</p>
          <Code label="Command-line help" text="tidemark help run" />
        </section>
      </div>
      <section class="stack tight" aria-labelledby="keyboard">
        <h2 id="keyboard">Keyboard</h2>
        <p class="muted">
          Press <kbd>?</kbd> on any page to show its shortcuts. Shortcuts of this page:
        </p>
        <table class="keys">
          <tbody>
            <For each={bindings()}>
              {(binding) => (
                <tr>
                  <td>
                    <For each={binding.keys.split(" ")}>
                      {(key) => (
                        <>
                          <kbd>{key}</kbd>{" "}
                        </>
                      )}
                    </For>
                  </td>
                  <td>{binding.label}</td>
                </tr>
              )}
            </For>
          </tbody>
        </table>
      </section>
      <Record>
        <Fact label="API version">{version()?.version ?? "…"}</Fact>
      </Record>
    </Page>
  );
}
