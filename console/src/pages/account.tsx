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
import { Page } from "../ui/Page";
import { Badge, Button, Code, Empty, Failure, LinkButton, Notice, Skeleton, Time } from "../ui/parts";
import { EditableFact, Fact, Record } from "../ui/Record";
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
const LIVES = [
  { value: String(30 * 86_400), label: "30 days" },
  { value: String(90 * 86_400), label: "90 days" },
  { value: String(365 * 86_400), label: "1 year" },
  { value: "", label: "As long as possible" },
];

function state(key: { revoked?: string | null; expiration: string }): JSX.Element {
  if (key.revoked) return <Badge tone="alert">revoked</Badge>;
  return new Date(key.expiration).getTime() < Date.now() ? (
    <Badge tone="warn">expired</Badge>
  ) : (
    <Badge tone="good">in use</Badge>
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
          Create a key
        </LinkButton>
      }
    >
      <p class="muted">
        With a key, a program does what you may do. For a build server, a key of the project can do less, and outlives
        your leaving.
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
                Create a key
              </LinkButton>
            }
          >
            The command line and scripts sign in with a key.
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
    <Page
      title="Create a key"
      crumbs={[{ href: `${base(params.user)}/keys`, label: owned(params.user, "keys") }]}
      narrow
    >
      <Show
        when={made()}
        fallback={
          <Form
            action="Create the key"
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
              hint="Where it will be used: my laptop, nightly script."
            />
            <SelectField name="ttl" label="Lives for" required value={LIVES[1]?.value ?? ""} options={LIVES} />
          </Form>
        }
      >
        {(key) => (
          <div class="stack">
            <Notice tone="warn">Copy the key now: it is shown only here, and nobody can see it again.</Notice>
            <Code label="The key" text={key()} />
            <p class="muted">The command line takes it from the environment:</p>
            <Code
              label="Environment"
              text={`export TIDEMARK_HOST=${location.origin}\nexport TIDEMARK_API_KEY=${key()}`}
            />
            <div class="row">
              <LinkButton href={`${base(params.user)}/keys`} primary>
                I have copied it
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
    toast("The key was revoked.");
    await key.refresh();
  };
  return (
    <Show
      when={key()}
      fallback={
        <Page title="Key" crumbs={crumbs()}>
          <Show when={key.error()} fallback={<Skeleton lines={5} />}>
            {(error) => <Failure error={error()} retry={key.refresh} />}
          </Show>
        </Page>
      }
    >
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
            title="Revoke the key?"
            action="Revoke"
            onConfirm={revoke}
            onClose={() => setRevoking(false)}
          >
            <p>
              Whatever uses <strong class="break">{shown().name}</strong> is refused from now on. A revoked key cannot
              be used again.
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
    toast("The token was revoked.");
    await done?.();
  };
  return (
    <Page title="Old tokens">
      <p class="muted">
        Tokens are what keys replace. They work as long as they live; for anything new,{" "}
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
            title="You have no tokens"
            action={
              <LinkButton href={`${base(params.user)}/keys/add`} primary>
                Create a key
              </LinkButton>
            }
          >
            And you need none: keys do the same, and are never shown again.
          </Empty>
        }
      />
      <Confirm
        open={revoking() !== undefined}
        title="Revoke the token?"
        action="Revoke"
        onConfirm={revoke}
        onClose={() => setRevoking(undefined)}
      >
        <p>
          Whatever uses <strong class="break">{revoking()?.token.name}</strong> is refused from now on.
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
      toast("The session has ended.");
      await done();
    } catch (error) {
      toastFailure(error);
    }
  };
  return (
    <section class="stack tight" aria-labelledby="sessions">
      <h2 id="sessions">Sessions</h2>
      <p class="muted">
        A browser keeps its session in a cookie that only the server can read. End a session that you do not recognize.
        Keys are not affected.
      </p>
      <Rows<JsonUserSession>
        noun="session"
        load={({ page, per_page }, signal) =>
          list("/v0/users/{user}/sessions", { path: { user: props.user }, query: { page, per_page }, signal })
        }
        columns={[
          {
            title: "Program",
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

const THEMES: readonly { value: Theme; label: string }[] = [
  { value: "system", label: "As the system" },
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
      toast(`A link was mailed to ${body.email}; it becomes your address once you have opened it.`);
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
                  <Fact label="Account made">
                    <Time at={at()} />
                  </Fact>
                )}
              </Show>
              <Show when={shown().admin}>
                <Fact label="Rights">
                  <Badge tone="brand">administrator of this server</Badge>
                </Fact>
              </Show>
            </Record>
            <p class="small muted">
              Links to sign in are mailed to the address above. A new address ends all sessions and keys of the account.
            </p>
            <section class="stack tight" aria-labelledby="look">
              <h2 id="look">How it looks</h2>
              <Record>
                <Fact label="Light or dark">
                  <select aria-label="Light or dark" onChange={(event) => setTheme(event.currentTarget.value as Theme)}>
                    <For each={THEMES}>
                      {({ value, label }) => (
                        <option value={value} selected={theme() === value}>
                          {label}
                        </option>
                      )}
                    </For>
                  </select>
                </Fact>
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
          <h2>First steps</h2>
          <p class="muted">A project, a key, and the command that sends the first results.</p>
          <div class="row">
            <LinkButton href="/console/onboard">Begin</LinkButton>
          </div>
        </section>
        <section class="card stack tight">
          <h2>API reference</h2>
          <p class="muted">Every operation of this server, to read and to try.</p>
          <div class="row">
            <LinkButton href="/console/api" icon="book">
              Open
            </LinkButton>
          </div>
        </section>
        <section class="card stack tight">
          <h2>Command line</h2>
          <p class="muted">Says what each command does, and its options.</p>
          <Code label="Help of the command line" text="tidemark help run" />
        </section>
      </div>
      <section class="stack tight" aria-labelledby="keyboard">
        <h2 id="keyboard">Keyboard</h2>
        <p class="muted">
          Press <kbd>?</kbd> anywhere for the keys of that page. Here these work:
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
        <Fact label="Version of the API">{version()?.version ?? "…"}</Fact>
      </Record>
    </Page>
  );
}
