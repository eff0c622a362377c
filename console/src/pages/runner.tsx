// Runners, managed by administrators. The key of a runner is shown once.

import { A, useNavigate, useParams } from "@solidjs/router";
import { createSignal, For, type JSX, Show } from "solid-js";
import { call, type JsonRunner, type JsonSpec, type JsonUpdateRunner, list, type RunnerState } from "../api";
import { NewKey } from "../api_key";
import { count } from "../format";
import { load, refreshWhile } from "../load";
import { machineText } from "../spec";
import { Badge, type Tone } from "../ui/Badge";
import { Button, LinkButton } from "../ui/Button";
import { Confirm, Dialog } from "../ui/Dialog";
import { Fact } from "../ui/Facts";
import { Form, TextField } from "../ui/Form";
import { ItemPage, type Place } from "../ui/ItemPage";
import { List as Rows } from "../ui/List";
import { Page } from "../ui/Page";
import { Picker } from "../ui/Picker";
import { Empty, Failure, Skeleton } from "../ui/State";
import { toast, toastFailure } from "../ui/Toast";
import { Time } from "../ui/Value";
import "./admin.css";

const HERE: Place = {
  path: (...segments) => ["/console/server/runners", ...segments.map(encodeURIComponent)].join("/"),
  crumbs: () => [
    { href: "/console/server", label: "This server" },
    { href: "/console/server/runners", label: "Runners" },
  ],
  may: () => true,
};

const STATES: Readonly<Record<RunnerState, { tone: Tone; word: string }>> = {
  offline: { tone: "warn", word: "offline" },
  idle: { tone: "good", word: "idle" },
  busy: { tone: "brand", word: "running a job" },
};

function State(props: { of: JsonRunner }): JSX.Element {
  const state = () => STATES[props.of.state];
  return (
    <Show when={!props.of.archived} fallback={<Badge tone="warn">archived</Badge>}>
      <Badge tone={state().tone}>{state().word}</Badge>
    </Show>
  );
}

/** The time of its last contact. */
function LastSeen(props: { of: JsonRunner }): JSX.Element {
  return (
    <Show when={props.of.last_heartbeat} fallback={<span class="muted">never</span>}>
      {(at) => <Time at={at()} />}
    </Show>
  );
}

export function List(): JSX.Element {
  const add = () => (
    <LinkButton href={HERE.path("add")} icon="plus" primary>
      Add a runner
    </LinkButton>
  );
  return (
    <Page title="Runners" crumbs={HERE.crumbs().slice(0, 1)} actions={add()}>
      <Rows<JsonRunner>
        noun="runner"
        search
        archived
        load={(query, signal) =>
          list("/v0/runners", { query: { ...query, sort: query.sort === "created" ? "created" : "name" }, signal })
        }
        changing={(runners) => runners.length > 0}
        href={(runner) => HERE.path(runner.slug)}
        columns={[
          { title: "Name", sort: "name", cell: (runner) => runner.name },
          { title: "State", cell: (runner) => <State of={runner} /> },
          {
            title: "Specs",
            wide: true,
            end: true,
            cell: (runner) => <span class="number">{count(runner.specs.length)}</span>,
          },
          { title: "Version", wide: true, cell: (runner) => <span class="muted">{runner.version ?? "–"}</span> },
          {
            title: "Last seen",
            wide: true,
            end: true,
            cell: (runner) => (
              <span class="muted">
                <LastSeen of={runner} />
              </span>
            ),
          },
          {
            title: "Created",
            sort: "created",
            descending: true,
            wide: true,
            end: true,
            cell: (runner) => (
              <span class="muted">
                <Time at={runner.created} />
              </span>
            ),
          },
        ]}
        empty={
          <Empty title="No runners yet" action={add()}>
            A runner is a dedicated machine that runs jobs. Add a runner here, then start it on the machine with its
            key.
          </Empty>
        }
      />
    </Page>
  );
}

/** The key and the commands that use it. */
function Key(props: { runner: string; text: string }): JSX.Element {
  return (
    <NewKey
      text={props.text}
      usage="Start the runner on its machine, as a user with permission to create containers:"
      label="Commands"
      commands={[
        `export TIDEMARK_HOST=${location.origin}`,
        `export TIDEMARK_RUNNER_KEY=${props.text}`,
        `tidemark runner up --runner ${props.runner}`,
      ]}
    />
  );
}

export function Add(): JSX.Element {
  const navigate = useNavigate();
  const [made, setMade] = createSignal<{ slug: string; key: string }>();
  return (
    <Page title={made() ? "New runner" : "Add a runner"} crumbs={HERE.crumbs()} narrow>
      <Show
        when={made()}
        fallback={
          <Form
            action="Add the runner"
            onCancel={() => navigate(HERE.path())}
            onSubmit={async ({ name = "", slug }) => {
              const { uuid, key } = await call("post", "/v0/runners", { body: { name, slug: slug ?? null } });
              // The UUID also identifies the runner, so the command works after a rename.
              const known = await call("get", "/v0/runners/{runner}", { path: { runner: uuid } }).catch(
                () => undefined,
              );
              setMade({ slug: known?.slug ?? uuid, key });
            }}
          >
            <TextField
              name="name"
              label="Name"
              required
              maxLength={64}
              autofocus
              hint="The name of the machine, for example bench-1."
            />
            <TextField
              name="slug"
              label="Slug"
              maxLength={64}
              hint="The identifier in URLs and commands. Generated from the name if empty."
            />
          </Form>
        }
      >
        {(made) => (
          <div class="stack">
            <Key runner={made().slug} text={made().key} />
            <div class="row">
              <LinkButton href={HERE.path(made().slug)} primary>
                Done
              </LinkButton>
            </div>
            <p class="muted">Next, select the specs that it serves.</p>
          </div>
        )}
      </Show>
    </Page>
  );
}

export function View(): JSX.Element {
  const params = useParams<{ runner: string }>();
  const [asking, setAsking] = createSignal(false);
  const [key, setKey] = createSignal<string>();
  const renew = async () =>
    setKey((await call("post", "/v0/runners/{runner}/key", { path: { runner: params.runner } })).key);
  return (
    <>
      <ItemPage<JsonRunner, JsonUpdateRunner>
        noun="runner"
        place={HERE}
        id={params.runner}
        nameLength={64}
        load={(runner, signal) => call("get", "/v0/runners/{runner}", { path: { runner }, signal })}
        patch={(runner, body) => call("patch", "/v0/runners/{runner}", { path: { runner }, body })}
        actions={(shown) => (
          <Show when={!shown().archived}>
            <Button icon="key" onClick={() => setAsking(true)}>
              New key
            </Button>
          </Show>
        )}
        facts={(shown, here) => {
          refreshWhile(() => !shown().archived, here.refresh, 3_000);
          return (
            <>
              <Fact label="State">
                <State of={shown()} />
              </Fact>
              <Fact label="Last seen">
                <LastSeen of={shown()} />
              </Fact>
              <Show when={shown().job}>
                {(job) => (
                  <Fact label="Job" copy={job()}>
                    <span class="mono">{job()}</span>
                  </Fact>
                )}
              </Show>
              <Fact label="Version">{shown().version ?? <span class="muted">unknown</span>}</Fact>
            </>
          );
        }}
      >
        {(shown, here) => <Specs runner={shown().slug} changed={here.refresh} />}
      </ItemPage>
      <Confirm
        open={asking()}
        title="Create new key?"
        action="Create new key"
        onConfirm={renew}
        onClose={() => setAsking(false)}
      >
        <p>
          The current key stops working immediately, and the runner is disconnected until it uses the new key. A running
          job continues after it reconnects.
        </p>
      </Confirm>
      <Dialog open={key() !== undefined} title="New key" onClose={() => setKey(undefined)} wide>
        <Key runner={params.runner} text={key() ?? ""} />
      </Dialog>
    </>
  );
}

/** The specs that a runner serves. */
function Specs(props: { runner: string; changed: () => Promise<void> }): JSX.Element {
  const path = () => ({ runner: props.runner });
  const specs = load(path, (path, signal) => call("get", "/v0/runners/{runner}/specs", { path, signal }));
  const sorted = (all: JsonSpec[]) => all.sort((a, b) => a.name.localeCompare(b.name));
  const add = async (spec: JsonSpec): Promise<void> => {
    try {
      await specs.optimistic(
        (old) => sorted([...old, spec]),
        () => call("post", "/v0/runners/{runner}/specs", { path: path(), body: { spec: spec.uuid } }),
      );
      void props.changed();
    } catch (error) {
      toastFailure(error);
    }
  };
  const remove = async (spec: JsonSpec): Promise<void> => {
    try {
      await specs.optimistic(
        (old) => old.filter(({ uuid }) => uuid !== spec.uuid),
        () => call("delete", "/v0/runners/{runner}/specs/{spec}", { path: { ...path(), spec: spec.uuid } }),
      );
      void props.changed();
      toast(`The runner no longer serves ${spec.name}.`, () => add(spec));
    } catch (error) {
      toastFailure(error);
    }
  };
  const has = (uuid: string) => specs()?.some((spec) => spec.uuid === uuid) ?? false;
  const offered = async (search: string, signal: AbortSignal) => {
    const found = await list("/v0/specs", { query: { search, per_page: 50 }, signal });
    return { ...found, rows: found.rows.filter(({ uuid }) => !has(uuid)) };
  };
  return (
    <section class="stack tight" aria-labelledby="specs">
      <div class="row between">
        <h2 id="specs">
          Specs <Show when={specs()}>{(all) => <span class="muted small">{all().length}</span>}</Show>
        </h2>
        <Picker<JsonSpec>
          label="Add a spec"
          quiet
          placeholder="Add a spec"
          value={undefined}
          onPick={(spec) => spec && void add(spec)}
          search={offered}
        />
      </div>
      <Show when={specs.error()}>{(error) => <Failure error={error()} retry={specs.refresh} />}</Show>
      <Show
        when={specs()}
        fallback={
          <Show when={!specs.error()}>
            <Skeleton lines={2} />
          </Show>
        }
      >
        {(all) => (
          <Show
            when={all().length}
            fallback={
              <Empty title="No specs" action={<LinkButton href="/console/server/specs">View specs</LinkButton>}>
                A runner takes jobs of the specs that it serves. Add the spec of its machine.
              </Empty>
            }
          >
            <ul class="action-list">
              <For each={all()}>
                {(spec) => (
                  <li>
                    <span class="grow">
                      <A class="strong break" href={`/console/server/specs/${encodeURIComponent(spec.slug)}`}>
                        {spec.name}
                      </A>{" "}
                      <span class="small muted">{machineText(spec)}</span>
                    </span>
                    <Show when={spec.fallback}>
                      <Badge tone="brand">fallback</Badge>
                    </Show>
                    <Button onClick={() => remove(spec)}>Remove</Button>
                  </li>
                )}
              </For>
            </ul>
          </Show>
        )}
      </Show>
    </section>
  );
}
