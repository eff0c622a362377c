// The account of a user: profile, sessions and help.

import { useNavigate, useParams } from "@solidjs/router";
import { type JSX, Show } from "solid-js";
import { programName } from "../agent";
import { call, type JsonUserSession, list, serverVersion } from "../api";
import { load } from "../load";
import { endSession, updateUser, user } from "../session";
import { setTheme, type Theme, theme } from "../theme";
import { Badge } from "../ui/Badge";
import { Button, LinkButton } from "../ui/Button";
import { Code } from "../ui/Code";
import { EditableFact, Fact, Facts, SelectFact } from "../ui/Facts";
import { List as Rows } from "../ui/List";
import { Page } from "../ui/Page";
import type { Option } from "../ui/Select";
import { Shortcuts } from "../ui/Shortcuts";
import { Empty, Failure, Skeleton } from "../ui/State";
import { toast, toastFailure } from "../ui/Toast";
import { Time } from "../ui/Value";
import { userPath, userTitle } from "../user";
import "./admin.css";

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
    if (changed.slug !== params.user) navigate(userPath(changed.slug, "settings"), { replace: true, scroll: false });
  };
  const leave = () => endSession().then(() => navigate("/auth/login"), toastFailure);
  return (
    <Page
      title={userTitle(params.user, "settings")}
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
            <Facts>
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
                hint="The server mails a link to the new address. The change takes effect when you open the link."
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
            </Facts>
            <p class="small muted">
              Sign-in links are sent to this address. Changing the address ends all sessions and revokes all keys of the
              account.
            </p>
            <section class="stack tight" aria-labelledby="look">
              <h2 id="look">Appearance</h2>
              <Facts>
                <SelectFact label="Theme" value={theme()} options={THEMES} save={setTheme} />
              </Facts>
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
          <p class="muted">Lists all commands and their options.</p>
          <Code label="Command-line help" text="tidemark --help" />
        </section>
      </div>
      <section class="stack tight" aria-labelledby="keyboard">
        <h2 id="keyboard">Keyboard</h2>
        <p class="muted">
          Press <kbd>?</kbd> on any page to show its shortcuts. Shortcuts of this page:
        </p>
        <Shortcuts />
      </section>
      <Facts>
        <Fact label="Version">
          Tidemark {serverVersion() ?? "…"}, API {version()?.version ?? "…"}
        </Fact>
      </Facts>
    </Page>
  );
}
