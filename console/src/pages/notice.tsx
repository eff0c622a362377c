// Notices of a project and of a user: destinations of notifications, with their deliveries. The secret of a webhook is
// shown once.

import { A, useNavigate, useParams } from "@solidjs/router";
import { createSignal, For, type JSX, Show } from "solid-js";
import {
  call,
  type Digest,
  type JsonDelivery,
  type JsonNewNotice,
  type JsonNotice,
  type JsonQuietHours,
  type JsonUpdateNotice,
  list,
  type NoticeEvent,
  type NoticeKind,
  type Page as Rows,
} from "../api";
import { load } from "../load";
import { useProject } from "../project";
import { user } from "../session";
import { Confirm } from "../ui/Dialog";
import { Form, SelectField, TextField, type Values } from "../ui/Form";
import { List as Listing, type ListQuery } from "../ui/List";
import { type Crumb, Page } from "../ui/Page";
import {
  Badge,
  Button,
  Code,
  Empty,
  Failure,
  LinkButton,
  Notice as Remark,
  Skeleton,
  Time,
  type Tone,
} from "../ui/parts";
import { EditableFact, Fact, Record as Facts } from "../ui/Record";
import { toast, toastFailure } from "../ui/Toast";
import "./lists.css";

const KINDS: readonly { value: NoticeKind; label: string }[] = [
  { value: "slack", label: "Slack" },
  { value: "mattermost", label: "Mattermost" },
  { value: "discord", label: "Discord" },
  { value: "email", label: "E-mail" },
  { value: "webhook", label: "Webhook" },
];
const EVENTS: readonly { value: NoticeEvent; label: string }[] = [
  { value: "alerts", label: "All alerts" },
  { value: "regressions", label: "Regressions only" },
];
const DIGESTS: readonly { value: Digest; label: string }[] = [
  { value: "none", label: "Each report by itself" },
  { value: "daily", label: "Once a day, after midnight UTC" },
];

/** The owner of the notices: their paths in the API and in the console. */
interface Owner {
  title: string;
  crumbs: Crumb[];
  base: string;
  /** Whether the owner is a user. */
  own: boolean;
  list: (query: ListQuery, signal: AbortSignal) => Promise<Rows<JsonNotice>>;
  create: (body: JsonNewNotice) => Promise<JsonNotice>;
  view: (notice: string, signal: AbortSignal) => Promise<JsonNotice>;
  update: (notice: string, body: JsonUpdateNotice) => Promise<JsonNotice>;
  remove: (notice: string) => Promise<unknown>;
  deliveries: (notice: string, query: ListQuery, signal: AbortSignal) => Promise<Rows<JsonDelivery>>;
  repeat: (notice: string, delivery: string) => Promise<unknown>;
}

function useProjectNotices(): Owner {
  const project = useProject();
  const path = (notice: string) => ({ project: project.slug(), notice });
  return {
    title: "Notices",
    get crumbs() {
      return [
        { href: project.path(), label: project().name },
        { href: project.path("settings"), label: "Settings" },
      ];
    },
    get base() {
      return project.path("notices");
    },
    own: false,
    list: (query, signal) =>
      list("/v0/projects/{project}/notices", { path: { project: project.slug() }, query, signal }),
    create: (body) => call("post", "/v0/projects/{project}/notices", { path: { project: project.slug() }, body }),
    view: (notice, signal) => call("get", "/v0/projects/{project}/notices/{notice}", { path: path(notice), signal }),
    update: (notice, body) => call("patch", "/v0/projects/{project}/notices/{notice}", { path: path(notice), body }),
    remove: (notice) => call("delete", "/v0/projects/{project}/notices/{notice}", { path: path(notice) }),
    deliveries: (notice, query, signal) =>
      list("/v0/projects/{project}/notices/{notice}/deliveries", { path: path(notice), query, signal }),
    repeat: (notice, delivery) =>
      call("post", "/v0/projects/{project}/notices/{notice}/deliveries/{delivery}", {
        path: { ...path(notice), delivery },
      }),
  };
}

function useUserNotices(): Owner {
  const params = useParams<{ user: string }>();
  const path = (notice: string) => ({ user: params.user, notice });
  return {
    get title() {
      return params.user === user()?.slug ? "Your notices" : `Notices of ${params.user}`;
    },
    crumbs: [],
    get base() {
      return `/console/users/${encodeURIComponent(params.user)}/notices`;
    },
    own: true,
    list: (query, signal) => list("/v0/users/{user}/notices", { path: { user: params.user }, query, signal }),
    create: (body) => call("post", "/v0/users/{user}/notices", { path: { user: params.user }, body }),
    view: (notice, signal) => call("get", "/v0/users/{user}/notices/{notice}", { path: path(notice), signal }),
    update: (notice, body) => call("patch", "/v0/users/{user}/notices/{notice}", { path: path(notice), body }),
    remove: (notice) => call("delete", "/v0/users/{user}/notices/{notice}", { path: path(notice) }),
    deliveries: (notice, query, signal) =>
      list("/v0/users/{user}/notices/{notice}/deliveries", { path: path(notice), query, signal }),
    repeat: (notice, delivery) =>
      call("post", "/v0/users/{user}/notices/{notice}/deliveries/{delivery}", { path: { ...path(notice), delivery } }),
  };
}

export function OfProject(): JSX.Element {
  const owner = useProjectNotices();
  return <List owner={owner} />;
}

export function AddToProject(): JSX.Element {
  const owner = useProjectNotices();
  return <Add owner={owner} />;
}

export function ViewOfProject(): JSX.Element {
  const owner = useProjectNotices();
  return <View owner={owner} />;
}

export function OfUser(): JSX.Element {
  const owner = useUserNotices();
  return <List owner={owner} />;
}

export function AddToUser(): JSX.Element {
  const owner = useUserNotices();
  return <Add owner={owner} />;
}

export function ViewOfUser(): JSX.Element {
  const owner = useUserNotices();
  return <View owner={owner} />;
}

function List(props: { owner: Owner }): JSX.Element {
  const add = () => (
    <LinkButton href={`${props.owner.base}/add`} icon="plus" primary>
      Add a notice
    </LinkButton>
  );
  return (
    <Page title={props.owner.title} crumbs={props.owner.crumbs} actions={add()}>
      <Listing<JsonNotice>
        noun="notice"
        archived
        load={props.owner.list}
        href={(notice) => `${props.owner.base}/${notice.uuid}`}
        columns={[
          { title: "Name", cell: (notice) => notice.name },
          { title: "Kind", cell: (notice) => <Badge>{label(KINDS, notice.kind)}</Badge> },
          { title: "To", wide: true, cell: (notice) => <span class="muted break">{receiver(notice)}</span> },
          {
            title: "Created",
            wide: true,
            end: true,
            cell: (notice) => (
              <span class="muted">
                <Time at={notice.created} />
              </span>
            ),
          },
        ]}
        empty={
          <Empty title="No notices yet" action={add()}>
            <Show
              when={props.owner.own}
              fallback="A notice tells a chat, a program or a person of the alerts that reports of this project raise."
            >
              A notice of your own tells you of the alerts of a project, or of all projects of your organizations, as
              long as you may see them.
            </Show>
          </Empty>
        }
      />
    </Page>
  );
}

function Add(props: { owner: Owner }): JSX.Element {
  const navigate = useNavigate();
  const [kind, setKind] = createSignal<NoticeKind>(props.owner.own ? "email" : "slack");
  const [made, setMade] = createSignal<JsonNotice>();
  const submit = async (values: Values) => {
    const created = await props.owner.create(fresh(kind(), values));
    if (created.secret) return void setMade(created);
    toast("The notice was added.");
    navigate(`${props.owner.base}/${created.uuid}`);
  };
  return (
    <Page title={made() ? "The new webhook" : "Add a notice"} crumbs={trail(props.owner)} narrow>
      <Show
        when={made()}
        fallback={
          <Form action="Add the notice" onCancel={() => navigate(props.owner.base)} onSubmit={submit}>
            <SelectField
              name="kind"
              label="Kind"
              required
              value={kind()}
              options={KINDS}
              onInput={(value) => setKind(value as NoticeKind)}
            />
            <TextField
              name="name"
              label="Name"
              required
              maxLength={64}
              autofocus
              hint="Who is told, such as: Team chat."
            />
            <Show when={kind() !== "email"}>
              <TextField
                name="url"
                label="Address"
                type="url"
                required
                placeholder="https://"
                hint={
                  kind() === "webhook"
                    ? "Where signed JSON is sent to."
                    : `The address of an incoming webhook of ${label(KINDS, kind())}.`
                }
              />
            </Show>
            <Show when={kind() === "email" && !props.owner.own}>
              <TextField
                name="email"
                label="E-mail"
                type="email"
                required
                hint="The address of a member of the organization."
              />
            </Show>
            <Show when={kind() === "email" && props.owner.own}>
              <p class="muted small">It goes to the address of your account.</p>
            </Show>
            <Show when={props.owner.own}>
              <TextField
                name="project"
                label="Project"
                maxLength={64}
                hint="The slug of a project that you may see; all projects of your organizations when left empty."
              />
            </Show>
            <SelectField name="event" label="Tell of" required value="alerts" options={EVENTS} />
            <SelectField name="digest" label="How often" required value="none" options={DIGESTS} />
            <TextField
              name="from"
              label="Silent from"
              type="time"
              hint="In UTC. What happens meanwhile is told afterwards."
            />
            <TextField name="to" label="Silent until" type="time" />
          </Form>
        }
      >
        {(notice) => (
          <div class="stack">
            <Remark tone="warn">Copy the secret now: it is shown only here, and nobody can see it again.</Remark>
            <Code label="The secret" text={notice().secret ?? ""} />
            <p class="muted">It signs each request, so that the receiver knows that it is from here.</p>
            <div class="row">
              <LinkButton href={`${props.owner.base}/${notice().uuid}`} primary>
                I have copied it
              </LinkButton>
            </div>
          </div>
        )}
      </Show>
    </Page>
  );
}

function View(props: { owner: Owner }): JSX.Element {
  const params = useParams<{ notice: string }>();
  const navigate = useNavigate();
  const [deleting, setDeleting] = createSignal(false);
  const notice = load(
    () => ({ notice: params.notice }),
    ({ notice }, signal) => props.owner.view(notice, signal),
  );
  const change = async (body: JsonUpdateNotice) => notice.set(await props.owner.update(params.notice, body));
  const pick = (body: JsonUpdateNotice) => change(body).then(() => toast("The notice was changed."), toastFailure);
  const remove = async () => {
    await props.owner.remove(params.notice);
    toast("The notice was deleted.");
    navigate(props.owner.base);
  };
  const buttons = (shown: JsonNotice) => (
    <>
      <Button onClick={() => pick({ archived: !shown.archived })}>
        {shown.archived ? "Use again" : "Put out of use"}
      </Button>
      <Button kind="danger" onClick={() => setDeleting(true)}>
        Delete
      </Button>
    </>
  );
  return (
    <Show
      when={notice()}
      fallback={
        <Page title="Notice" crumbs={trail(props.owner)}>
          <Show when={notice.error()} fallback={<Skeleton lines={6} />}>
            {(error) => <Failure error={error()} retry={notice.refresh} />}
          </Show>
        </Page>
      }
    >
      {(shown) => (
        <Page
          title={shown().name}
          aside={
            <Badge tone={shown().archived ? "neutral" : "good"}>{shown().archived ? "out of use" : "in use"}</Badge>
          }
          crumbs={trail(props.owner)}
          actions={buttons(shown())}
        >
          <Facts>
            <EditableFact label="Name" value={shown().name} maxLength={64} editable save={(name) => change({ name })} />
            <Fact label="Kind">{label(KINDS, shown().kind)}</Fact>
            <Show when={shown().url}>
              {(url) => (
                <EditableFact label="Address" type="url" value={url()} editable save={(url) => change({ url })} />
              )}
            </Show>
            <Show when={shown().email}>
              {(email) => (
                <EditableFact
                  label="E-mail"
                  type="email"
                  value={email()}
                  editable={!props.owner.own}
                  save={(email) => change({ email })}
                />
              )}
            </Show>
            <Show when={props.owner.own}>
              <Fact label="Projects">
                {shown().project ? (
                  <A href={`/console/projects/${shown().project ?? ""}`}>one</A>
                ) : (
                  "all of your organizations"
                )}
              </Fact>
            </Show>
            <Choice label="Tell of" value={shown().event} options={EVENTS} pick={(event) => pick({ event })} />
            <Choice label="How often" value={shown().digest} options={DIGESTS} pick={(digest) => pick({ digest })} />
            <EditableFact
              label="Silent (UTC)"
              value={hours(shown().quiet)}
              optional
              maxLength={13}
              editable
              save={(text) => change({ quiet: quiet(...split(text)) })}
            >
              {shown().quiet ? hours(shown().quiet) : <span class="muted">never</span>}
            </EditableFact>
            <Fact label="UUID" copy={shown().uuid}>
              <span class="mono">{shown().uuid}</span>
            </Fact>
          </Facts>
          <section class="stack tight" aria-labelledby="log">
            <h2 id="log">Deliveries</h2>
            <Log owner={props.owner} notice={shown()} />
          </section>
          <Confirm
            open={deleting()}
            title="Delete the notice?"
            action="Delete"
            onConfirm={remove}
            onClose={() => setDeleting(false)}
          >
            <p>
              <strong class="break">{shown().name}</strong> tells nothing any more, not even what waits. Its log goes
              with it.
            </p>
          </Confirm>
        </Page>
      )}
    </Show>
  );
}

const TONES: Readonly<Record<JsonDelivery["status"], Tone>> = {
  waiting: "warn",
  delivered: "good",
  failed: "alert",
  dropped: "neutral",
};
const STATUSES = [
  { value: "", label: "All" },
  { value: "waiting", label: "Waiting" },
  { value: "delivered", label: "Delivered" },
  { value: "failed", label: "Failed" },
  { value: "dropped", label: "Dropped" },
];

function Log(props: { owner: Owner; notice: JsonNotice }): JSX.Element {
  const repeat = async (delivery: JsonDelivery, done: () => Promise<void>) => {
    try {
      await props.owner.repeat(props.notice.uuid, delivery.uuid);
      toast("It will be told again.");
      await done();
    } catch (error) {
      toastFailure(error);
    }
  };
  return (
    <Listing<JsonDelivery>
      noun="delivery"
      filters={[{ name: "status", label: "Status", options: STATUSES }]}
      load={(query, signal) => props.owner.deliveries(props.notice.uuid, query, signal)}
      again={props.notice.modified}
      changing={(rows) => rows.some((row) => row.status === "waiting")}
      columns={[
        {
          title: "Report",
          cell: (row) => (
            <Show when={row.report} fallback={<span class="muted">deleted</span>}>
              {(report) => (
                <A href={`/console/projects/${row.project}/reports/${report()}`}>
                  <Time at={row.created} />
                </A>
              )}
            </Show>
          ),
        },
        { title: "Status", cell: (row) => <Badge tone={TONES[row.status]}>{row.status}</Badge> },
        { title: "Attempts", wide: true, end: true, cell: (row) => <span class="number">{row.attempts}</span> },
        { title: "What went wrong", wide: true, cell: (row) => <span class="muted break">{row.error ?? ""}</span> },
      ]}
      rowActions={(row, rows) => (
        <Show when={row.status !== "waiting" && !props.notice.archived}>
          <Button onClick={() => void repeat(row, rows.refresh)}>Tell again</Button>
        </Show>
      )}
      empty={
        <Empty title="Nothing was told yet">
          Each report that raises alerts is listed here for thirty days, with what became of it.
        </Empty>
      }
    />
  );
}

/** An editable field with a few options. */
function Choice<T extends string>(props: {
  label: string;
  value: T;
  options: readonly { value: T; label: string }[];
  pick: (value: T) => unknown;
}): JSX.Element {
  return (
    <Fact label={props.label}>
      <select aria-label={props.label} onChange={(event) => props.pick(event.currentTarget.value as T)}>
        <For each={props.options}>
          {(option) => (
            <option value={option.value} selected={option.value === props.value}>
              {option.label}
            </option>
          )}
        </For>
      </select>
    </Fact>
  );
}

function fresh(kind: NoticeKind, { name = "", url, email, project, event, digest, from, to }: Values): JsonNewNotice {
  const body: JsonNewNotice = {
    name,
    kind,
    event: event as NoticeEvent,
    digest: digest as Digest,
    quiet: quiet(from, to),
  };
  if (url) body.url = url;
  if (email) body.email = email;
  if (project) body.project = project;
  return body;
}

/** Quiet hours from two times; null if both are empty. The server rejects a single time. */
function quiet(from = "", to = ""): JsonQuietHours | null {
  return from || to ? { from, to } : null;
}

function hours(quiet: JsonQuietHours | null | undefined): string {
  return quiet ? `${quiet.from}–${quiet.to}` : "";
}

function split(text: string): string[] {
  return text.split(/\s*[-–]\s*/).filter(Boolean);
}

function receiver({ url, email }: JsonNotice): string {
  return url ? new URL(url).host : (email ?? "");
}

function label<T extends string>(options: readonly { value: T; label: string }[], value: T): string {
  return options.find((option) => option.value === value)?.label ?? value;
}

function trail(owner: Owner): Crumb[] {
  return [...owner.crumbs, { href: owner.base, label: owner.title }];
}
