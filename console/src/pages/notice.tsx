// Notices of a project and of a user: destinations of notifications. The URL and the secret of a webhook are shown once.

import { A, useNavigate, useParams } from "@solidjs/router";
import { createSignal, type JSX, Show } from "solid-js";
import {
  call,
  type Digest,
  type JsonNewNotice,
  type JsonNotice,
  type JsonProject,
  type JsonQuietHours,
  type JsonUpdateNotice,
  list,
  type NoticeKind,
} from "../api";
import { load } from "../load";
import { Badge } from "../ui/Badge";
import { Button, LinkButton } from "../ui/Button";
import { Code } from "../ui/Code";
import { Confirm } from "../ui/Dialog";
import { EditableFact, Fact, Facts, SelectFact } from "../ui/Facts";
import { Form, SelectField, TextField, type Values } from "../ui/Form";
import { List as Listing } from "../ui/List";
import { type Crumb, LoadingPage, Page } from "../ui/Page";
import { Picker } from "../ui/Picker";
import { Empty, Notice as Remark } from "../ui/State";
import { toast, toastFailure } from "../ui/Toast";
import { Time } from "../ui/Value";
import { Deliveries } from "./notice_delivery";
import { FilterFacts, FilterFields, filterOf } from "./notice_filter";
import { type NoticeOwner, useProjectNotices, useUserNotices } from "./notice_owner";
import { createNoticeTest, SendTest, TestResult } from "./notice_send_test";
import "./lists.css";

const KINDS: readonly { value: NoticeKind; label: string }[] = [
  { value: "slack", label: "Slack" },
  { value: "mattermost", label: "Mattermost" },
  { value: "discord", label: "Discord" },
  { value: "email", label: "E-mail" },
  { value: "webhook", label: "Webhook" },
];
const DIGESTS: readonly { value: Digest; label: string }[] = [
  { value: "none", label: "Per run" },
  { value: "daily", label: "Daily, after midnight UTC" },
];

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

function List(props: { owner: NoticeOwner }): JSX.Element {
  const add = () => (
    <LinkButton href={`${props.owner.base}/add`} icon="plus" primary>
      Add a notice
    </LinkButton>
  );
  return (
    <Page title={props.owner.title} crumbs={props.owner.crumbs} actions={add()}>
      <Listing<JsonNotice>
        noun="notice"
        archived="disabled"
        load={props.owner.list}
        href={(notice) => `${props.owner.base}/${notice.uuid}`}
        columns={[
          { title: "Name", cell: (notice) => notice.name },
          { title: "Kind", cell: (notice) => <Badge>{label(KINDS, notice.kind)}</Badge> },
          {
            title: "Destination",
            wide: true,
            cell: (notice) => <span class="muted break">{destination(notice)}</span>,
          },
          { title: "Sends", wide: true, cell: (notice) => <span class="muted break">{notice.summary}</span> },
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
              when={props.owner.isUser}
              fallback={
                <>
                  A notice sends notifications of this project to a chat, a webhook or an{" "}
                  <span class="nowrap">e-mail</span> address.
                </>
              }
            >
              A personal notice sends you notifications of a project or of all projects of your organizations.
            </Show>
          </Empty>
        }
      />
    </Page>
  );
}

function Add(props: { owner: NoticeOwner }): JSX.Element {
  const navigate = useNavigate();
  const [kind, setKind] = createSignal<NoticeKind>(props.owner.isUser ? "email" : "slack");
  const [project, setProject] = createSignal<JsonProject>();
  const [made, setMade] = createSignal<JsonNotice>();
  const submit = async (values: Values) => {
    const created = await props.owner.create(newNotice(kind(), values));
    if (created.secret) return void setMade(created);
    toast("Notice added.");
    navigate(`${props.owner.base}/${created.uuid}`);
  };
  return (
    <Page title={made() ? "The new webhook" : "Add a notice"} crumbs={noticeCrumbs(props.owner)} narrow>
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
              hint="The destination, for example: Team chat."
            />
            <Show when={kind() !== "email"}>
              <TextField
                name="url"
                label="URL"
                type="url"
                required
                secret
                placeholder="https://"
                hint={
                  kind() === "webhook"
                    ? "The URL that receives signed JSON."
                    : `The URL of an incoming webhook of ${label(KINDS, kind())}.`
                }
              />
            </Show>
            <Show when={kind() === "email" && !props.owner.isUser}>
              <TextField
                name="email"
                label="E-mail"
                type="email"
                required
                hint="The address of a member of the organization."
              />
            </Show>
            <Show when={kind() === "email" && props.owner.isUser}>
              <p class="muted small">Notifications go to the address of your account.</p>
            </Show>
            <Show when={props.owner.isUser}>
              <Picker
                name="project"
                label="Project"
                placeholder="All projects of your organizations"
                value={project()}
                onPick={setProject}
                search={(search, signal) => list("/v0/projects", { query: { search, per_page: 50 }, signal })}
              />
            </Show>
            <FilterFields isUser={props.owner.isUser} />
            <SelectField name="digest" label="Frequency" required value="none" options={DIGESTS} />
            <TextField
              name="from"
              label="Quiet hours from"
              type="time"
              hint="In UTC. Notifications are sent afterwards."
            />
            <TextField name="to" label="Quiet hours until" type="time" />
          </Form>
        }
      >
        {(notice) => (
          <div class="stack">
            <Remark tone="warn">Copy the secret now. It is shown only once.</Remark>
            <Code label="The secret" text={notice().secret ?? ""} />
            <p class="muted">The secret signs each request, so that the destination can verify the sender.</p>
            <div class="row">
              <LinkButton href={`${props.owner.base}/${notice().uuid}`} primary>
                Done
              </LinkButton>
            </div>
          </div>
        )}
      </Show>
    </Page>
  );
}

function View(props: { owner: NoticeOwner }): JSX.Element {
  const params = useParams<{ notice: string }>();
  const navigate = useNavigate();
  const [deleting, setDeleting] = createSignal(false);
  const test = createNoticeTest(props.owner, () => params.notice);
  const notice = load(
    () => ({ notice: params.notice }),
    ({ notice }, signal) => props.owner.view(notice, signal),
  );
  const project = load(
    () => (props.owner.isUser && notice()?.project ? { project: notice()?.project ?? "" } : undefined),
    (path, signal) => call("get", "/v0/projects/{project}", { path, signal }),
  );
  const change = async (body: JsonUpdateNotice) => notice.set(await props.owner.update(params.notice, body));
  const pick = (body: JsonUpdateNotice) => change(body).then(() => toast("Notice saved."), toastFailure);
  const remove = async () => {
    await props.owner.remove(params.notice);
    toast("Notice deleted.");
    navigate(props.owner.base);
  };
  const buttons = (shown: JsonNotice) => (
    <>
      <Show when={!shown.archived}>
        <SendTest test={test} />
      </Show>
      <Button onClick={() => pick({ archived: !shown.archived })}>{shown.archived ? "Enable" : "Disable"}</Button>
      <Button kind="danger" onClick={() => setDeleting(true)}>
        Delete
      </Button>
    </>
  );
  return (
    <Show
      when={notice()}
      fallback={<LoadingPage title="Notice" crumbs={noticeCrumbs(props.owner)} lines={6} item={notice} />}
    >
      {(shown) => (
        <Page
          title={shown().name}
          aside={
            <Badge tone={shown().archived ? "neutral" : "good"}>{shown().archived ? "disabled" : "enabled"}</Badge>
          }
          crumbs={noticeCrumbs(props.owner)}
          actions={buttons(shown())}
        >
          <p>{shown().summary}</p>
          <TestResult test={test} notice={shown()} />
          <Facts>
            <EditableFact label="Name" value={shown().name} maxLength={64} editable save={(name) => change({ name })} />
            <Fact label="Kind">{label(KINDS, shown().kind)}</Fact>
            <Show when={shown().url}>
              {(masked) => (
                <EditableFact label="URL" type="url" value="" editable save={(url) => change({ url })}>
                  {masked()}
                </EditableFact>
              )}
            </Show>
            <Show when={shown().email}>
              {(email) => (
                <EditableFact
                  label="E-mail"
                  type="email"
                  value={email()}
                  editable={!props.owner.isUser}
                  save={(email) => change({ email })}
                />
              )}
            </Show>
            <Show when={props.owner.isUser}>
              <Fact label="Projects">
                <Show when={shown().project} fallback="all projects of your organizations">
                  {(uuid) => <A href={`/console/projects/${uuid()}`}>{project()?.name ?? uuid()}</A>}
                </Show>
              </Fact>
            </Show>
            <FilterFacts notice={shown()} save={change} pick={pick} />
            <SelectFact
              label="Frequency"
              value={shown().digest}
              options={DIGESTS}
              save={(digest) => pick({ digest })}
            />
            <EditableFact
              label="Quiet hours (UTC)"
              value={quietText(shown().quiet)}
              optional
              maxLength={13}
              editable
              save={(text) => change({ quiet: quietHours(...splitTimes(text)) })}
            >
              {shown().quiet ? quietText(shown().quiet) : <span class="muted">none</span>}
            </EditableFact>
            <Fact label="UUID" copy={shown().uuid}>
              <span class="mono">{shown().uuid}</span>
            </Fact>
          </Facts>
          <section class="stack tight" aria-labelledby="log">
            <h2 id="log">Deliveries</h2>
            <Deliveries owner={props.owner} notice={shown()} again={test.delivery()} />
          </section>
          <Confirm
            open={deleting()}
            title="Delete notice?"
            action="Delete"
            onConfirm={remove}
            onClose={() => setDeleting(false)}
          >
            <p>
              <strong class="break">{shown().name}</strong> will send no more notifications, including waiting ones. Its
              deliveries will be deleted.
            </p>
          </Confirm>
        </Page>
      )}
    </Show>
  );
}

function newNotice(kind: NoticeKind, values: Values): JsonNewNotice {
  const { name = "", url, email, project, digest, from, to } = values;
  const body: JsonNewNotice = {
    name,
    kind,
    ...filterOf(values),
    digest: digest as Digest,
    quiet: quietHours(from, to),
  };
  if (url) body.url = url;
  if (email) body.email = email;
  if (project) body.project = project;
  return body;
}

/** Quiet hours from two times; null if both are empty. The server rejects a single time. */
function quietHours(from = "", to = ""): JsonQuietHours | null {
  return from || to ? { from, to } : null;
}

function quietText(quiet: JsonQuietHours | null | undefined): string {
  return quiet ? `${quiet.from}–${quiet.to}` : "";
}

function splitTimes(text: string): string[] {
  return text.split(/\s*[-–]\s*/).filter(Boolean);
}

function destination({ url, email }: JsonNotice): string {
  return url ?? email ?? "";
}

function label<T extends string>(options: readonly { value: T; label: string }[], value: T): string {
  return options.find((option) => option.value === value)?.label ?? value;
}

function noticeCrumbs(owner: NoticeOwner): Crumb[] {
  return [...owner.crumbs, { href: owner.base, label: owner.title }];
}
