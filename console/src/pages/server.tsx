// Server administration: statistics, users, configuration, backups and the audit log.

import { A, useNavigate, useParams } from "@solidjs/router";
import { createSignal, For, type JSX, Show } from "solid-js";
import { call, type JsonBackup, type JsonCohort, type JsonServerStats, type JsonUser, list } from "../api";
import { binarySize, count, moment } from "../format";
import { load } from "../load";
import { user as me } from "../session";
import { Audit as Entries } from "../ui/Audit";
import { Badge } from "../ui/Badge";
import { Button, LinkButton } from "../ui/Button";
import { Confirm } from "../ui/Dialog";
import { EditableFact, Fact, Facts } from "../ui/Facts";
import { CheckField, Form, SelectField } from "../ui/Form";
import { List as Rows } from "../ui/List";
import { LoadingPage, Page } from "../ui/Page";
import { Empty, Failure, Notice, Skeleton } from "../ui/State";
import { toast } from "../ui/Toast";
import { Time } from "../ui/Value";
import "./admin.css";
import "./lists.css";

type Counted = {
  [K in keyof JsonServerStats]-?: NonNullable<JsonServerStats[K]> extends JsonCohort ? K : never;
}[keyof JsonServerStats];
const COUNTED: readonly { name: Counted; label: string }[] = [
  { name: "users", label: "Users" },
  { name: "projects", label: "Projects" },
  { name: "active_projects", label: "Active projects" },
  { name: "reports", label: "Runs" },
  { name: "metrics", label: "Metrics" },
];

export function Stats(): JSX.Element {
  const stats = load(
    () => ({}),
    (_, signal) => call("get", "/v0/server/stats", { signal }),
  );
  const config = load(
    () => ({}),
    async (_, signal) =>
      (await call("get", "/v0/server/config", { signal })) as {
        server?: { metrics_address?: string | null };
        access?: unknown;
      },
  );
  const elsewhere = () => config()?.server?.metrics_address;
  return (
    <Page
      title="This server"
      actions={
        <Show when={config() && !elsewhere()}>
          <a class="button" href="/metrics" target="_self" rel="external">
            Metrics for Prometheus
          </a>
        </Show>
      }
    >
      <Show when={stats.error()}>{(error) => <Failure error={error()} retry={stats.refresh} />}</Show>
      <Show
        when={stats()}
        fallback={
          <Show when={!stats.error()}>
            <Skeleton lines={8} />
          </Show>
        }
      >
        {(stats) => (
          <>
            <dl class="tiles">
              <For each={COUNTED}>
                {({ name, label }) => (
                  <Show when={stats()[name] as JsonCohort | null | undefined}>
                    {(cohort) => (
                      <div>
                        <dt>{label}</dt>
                        <dd class="number">{count(cohort().total)}</dd>
                        <dd class="small muted">
                          {count(cohort().week)} this week, {count(cohort().month)} this month
                        </dd>
                      </div>
                    )}
                  </Show>
                )}
              </For>
              <Show when={stats().organizations as readonly unknown[] | null | undefined}>
                {(all) => (
                  <div>
                    <dt>Organizations</dt>
                    <dd class="number">{count(all().length)}</dd>
                    <dd class="small muted">in all</dd>
                  </div>
                )}
              </Show>
            </dl>
            <Facts>
              <Fact label="Version">
                Tidemark {stats().server.tidemark_version ?? "–"}, API {stats().server.version ?? "–"}
              </Fact>
              <Fact label="First started">
                <Time at={stats().server.created} />
              </Fact>
              <Fact label="UUID" copy={stats().server.uuid}>
                <span class="mono">{stats().server.uuid}</span>
              </Fact>
              <Show when={elsewhere()}>
                {(address) => (
                  <Fact label="Metrics for Prometheus" copy={`http://${address()}/metrics`}>
                    <span class="mono">http://{address()}/metrics</span>
                  </Fact>
                )}
              </Show>
              <Fact label="Counted at">{moment(stats().timestamp)}</Fact>
            </Facts>
            <Show when={config()?.access}>
              {(access) => (
                <section class="stack tight" aria-labelledby="access">
                  <h2 id="access">Access</h2>
                  <p class="muted">
                    Who can use this server, and the quotas of unclaimed organizations.{" "}
                    <A class="underlined" href="/console/server/config">
                      Configuration
                    </A>{" "}
                    shows the names of the settings.
                  </p>
                  <Facts>
                    <For each={flat(access())}>
                      {([key, setting]) => <Fact label={settingLabel(key)}>{settingText(key, setting)}</Fact>}
                    </For>
                  </Facts>
                </section>
              )}
            </Show>
            <Show when={(stats().admins as JsonUser[] | null | undefined)?.length}>
              <section class="stack tight" aria-labelledby="admins">
                <h2 id="admins">Administrators</h2>
                <ul>
                  <For each={stats().admins as JsonUser[]}>
                    {(admin) => (
                      <li>
                        <A class="underlined" href={`/console/server/users/${admin.slug}`}>
                          {admin.name}
                        </A>{" "}
                        <span class="muted break">{admin.email}</span>
                      </li>
                    )}
                  </For>
                </ul>
              </section>
            </Show>
            <p class="small muted">The server sends none of this data.</p>
          </>
        )}
      </Show>
    </Page>
  );
}

/** The label of an access setting: `unclaimed.total_image_bytes` is "Unclaimed: total images". */
function settingLabel(key: string): string {
  const words = key
    .replace(".", ": ")
    .replace(/image_bytes$/, "images")
    .replace(/report_bytes$/, "reports")
    .replaceAll("_", " ")
    .replace("oauth", "OAuth");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function settingText(key: string, setting: unknown): string {
  if (typeof setting === "boolean") return setting ? "yes" : "no";
  if (typeof setting !== "number") return String(setting);
  if (setting === 0) return "no limit";
  return key.endsWith("_bytes") ? binarySize(setting) : count(setting);
}

export function Users(): JSX.Element {
  return (
    <Page title="Users" crumbs={[{ href: "/console/server", label: "This server" }]}>
      <Rows<JsonUser>
        noun="user"
        search
        load={(query, signal) => list("/v0/users", { query: { ...query, sort: "name" }, signal })}
        href={(user) => `/console/server/users/${user.slug}`}
        columns={[
          {
            title: "Name",
            sort: "name",
            cell: (user) => (
              <>
                {user.name}
                <span class="subtext on-phone">{user.email}</span>
              </>
            ),
          },
          { title: "E-mail", wide: true, cell: (user) => <span class="break">{user.email}</span> },
          {
            title: "State",
            cell: (user) => (
              <span class="row">
                <Show when={user.admin}>
                  <Badge tone="brand">administrator</Badge>
                </Show>
                <Show when={user.locked}>
                  <Badge tone="alert">locked</Badge>
                </Show>
              </span>
            ),
          },
          {
            title: "Created",
            wide: true,
            end: true,
            cell: (user) => (
              <Show when={user.created}>
                {(at) => (
                  <span class="muted">
                    <Time at={at()} />
                  </span>
                )}
              </Show>
            ),
          },
        ]}
        empty={<Empty title="No users">Users sign up or are invited to an organization.</Empty>}
      />
    </Page>
  );
}

export function User(): JSX.Element {
  const params = useParams<{ user: string }>();
  const navigate = useNavigate();
  const [asking, setAsking] = createSignal<{
    title: string;
    action: string;
    text: string;
    body: { admin?: boolean; locked?: boolean };
  }>();
  const path = () => ({ user: params.user });
  const account = load(path, (path, signal) => call("get", "/v0/users/{user}", { path, signal }));
  const crumbs = [
    { href: "/console/server", label: "This server" },
    { href: "/console/server/users", label: "Users" },
  ];
  const isMe = () => account()?.uuid === me()?.uuid;
  const change = async (body: { name?: string; slug?: string; email?: string; admin?: boolean; locked?: boolean }) => {
    const changed = await call("patch", "/v0/users/{user}", { path: path(), body });
    account.set(changed);
    if (body.email && changed.email !== body.email)
      toast(`A link was mailed to ${body.email}; opening it confirms the new address.`);
    if (changed.slug !== params.user)
      navigate(`/console/server/users/${changed.slug}`, { replace: true, scroll: false });
  };
  const decide = async () => {
    const question = asking();
    if (!question) return;
    await change(question.body);
    toast("Account saved.");
  };
  return (
    <Show when={account()} fallback={<LoadingPage title="User" crumbs={crumbs} lines={5} item={account} />}>
      {(shown) => (
        <Page
          title={shown().name}
          crumbs={crumbs}
          aside={
            <span class="row">
              <Show when={isMe()}>
                <Badge>you</Badge>
              </Show>
              <Show when={shown().admin}>
                <Badge tone="brand">administrator</Badge>
              </Show>
              <Show when={shown().locked}>
                <Badge tone="alert">locked</Badge>
              </Show>
            </span>
          }
          actions={
            <>
              <Button
                onClick={() =>
                  setAsking(
                    shown().admin
                      ? {
                          title: "Revoke administrator role?",
                          action: "Revoke",
                          text: "will no longer be an administrator of this server.",
                          body: { admin: false },
                        }
                      : {
                          title: "Grant administrator role?",
                          action: "Grant administrator role",
                          text: "will have all rights on this server, including private projects.",
                          body: { admin: true },
                        },
                  )
                }
              >
                {shown().admin ? "Revoke administrator role" : "Grant administrator role"}
              </Button>
              <Button
                kind={shown().locked ? "quiet" : "danger"}
                onClick={() =>
                  setAsking(
                    shown().locked
                      ? {
                          title: "Unlock account?",
                          action: "Unlock",
                          text: "will be able to sign in again, and their keys will work again.",
                          body: { locked: false },
                        }
                      : {
                          title: "Lock account?",
                          action: "Lock",
                          text: "cannot sign in until unlocked, and their keys are rejected.",
                          body: { locked: true },
                        },
                  )
                }
              >
                {shown().locked ? "Unlock" : "Lock"}
              </Button>
            </>
          }
        >
          <Facts>
            <EditableFact label="Name" value={shown().name} maxLength={64} editable save={(name) => change({ name })} />
            <EditableFact label="Slug" value={shown().slug} maxLength={64} editable save={(slug) => change({ slug })} />
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
            <Fact label="Keys">
              <LinkButton href={`/console/users/${shown().slug}/keys`}>View keys</LinkButton>
            </Fact>
          </Facts>
          <Confirm
            open={asking() !== undefined}
            title={asking()?.title ?? ""}
            action={asking()?.action ?? ""}
            onConfirm={decide}
            onClose={() => setAsking(undefined)}
          >
            <p>
              <strong class="break">{shown().name}</strong> {asking()?.text}
            </p>
          </Confirm>
        </Page>
      )}
    </Show>
  );
}

/** The settings of one section with dotted names: `database.file`. */
function flat(value: unknown, name = ""): [string, unknown][] {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return [[name, value]];
  const entries = Object.entries(value as { [key: string]: unknown });
  return entries.length
    ? entries.flatMap(([key, inner]) => flat(inner, name ? `${name}.${key}` : key))
    : [[name, "{}"]];
}

export function Config(): JSX.Element {
  const config = load(
    () => ({}),
    async (_, signal) => (await call("get", "/v0/server/config", { signal })) as { [section: string]: unknown },
  );
  const sections = () => {
    const all = Object.entries(config() ?? {});
    const isSection = (value: unknown) => value !== null && typeof value === "object" && !Array.isArray(value);
    const loose = all.filter(([, value]) => !isSection(value));
    return [
      ...(loose.length ? [["general", Object.fromEntries(loose)] as [string, unknown]] : []),
      ...all.filter(([, value]) => isSection(value)),
    ];
  };
  return (
    <Page title="Configuration" crumbs={[{ href: "/console/server", label: "This server" }]}>
      <Notice tone="neutral">
        The settings of the running server, with masked secrets. Change them in the configuration file, the environment
        or the command line. <code>tidemark serve --print-config</code> explains each setting.
      </Notice>
      <Show when={config.error()}>{(error) => <Failure error={error()} retry={config.refresh} />}</Show>
      <Show
        when={config()}
        fallback={
          <Show when={!config.error()}>
            <Skeleton lines={14} />
          </Show>
        }
      >
        <For each={sections()}>
          {([name, values]) => (
            <section class="stack tight config" aria-labelledby={`config-${name}`}>
              <h2 id={`config-${name}`}>{name}</h2>
              <Facts>
                <For each={flat(values)}>
                  {([key, value]) => (
                    <Fact label={key}>
                      <Show
                        when={value !== null && !(Array.isArray(value) && !value.length)}
                        fallback={<span class="muted">not set</span>}
                      >
                        <span class="mono">{typeof value === "string" ? value : JSON.stringify(value)}</span>
                      </Show>
                    </Fact>
                  )}
                </For>
              </Facts>
            </section>
          )}
        </For>
      </Show>
    </Page>
  );
}

export function Backup(): JSX.Element {
  const [made, setMade] = createSignal<string[]>([]);
  const [copying, setCopying] = createSignal(false);
  return (
    <Page title="Backup" crumbs={[{ href: "/console/server", label: "This server" }]} narrow>
      <p class="muted">
        Creates a copy of the database while the server is running. The server stores it beside the database in its data
        folder.
      </p>
      <Form
        action="Create backup"
        onSubmit={async ({ compression, copy, remove }) => {
          const body: JsonBackup = {
            compress: compression !== undefined,
            compression: (compression as JsonBackup["compression"]) ?? null,
            data_store: copy ? "aws_s3" : null,
            remove: Boolean(remove),
          };
          const { created } = await call("post", "/v0/server/backup", { body });
          setMade((all) => [created, ...all]);
          toast("Backup created.");
        }}
      >
        <SelectField
          name="compression"
          label="Compression"
          required
          value="zstd"
          options={[
            { value: "zstd", label: "zstd: small and fast" },
            { value: "gzip", label: "gzip: supported everywhere" },
            { value: "", label: "None" },
          ]}
        />
        <fieldset class="choices">
          <legend>Object store</legend>
          <CheckField
            name="copy"
            label="Copy the backup to the configured object store"
            checked={copying()}
            onInput={setCopying}
          />
          <Show when={copying()}>
            <CheckField name="remove" label="Then delete the local file" />
          </Show>
        </fieldset>
      </Form>
      <Show when={made().length}>
        <section class="stack tight" aria-labelledby="made">
          <h2 id="made">Created just now</h2>
          <ul>
            <For each={made()}>{(at) => <li>{moment(at)}</li>}</For>
          </ul>
        </section>
      </Show>
    </Page>
  );
}

export function Audit(): JSX.Element {
  return (
    <Page title="Audit" crumbs={[{ href: "/console/server", label: "This server" }]}>
      <p class="muted">Changes in all organizations and on the server, by user.</p>
      <Entries load={({ page, per_page }, signal) => list("/v0/server/audit", { query: { page, per_page }, signal })} />
    </Page>
  );
}
