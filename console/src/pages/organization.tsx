// Organizations of the user: list, settings, usage and audit log. See project.tsx for projects and member.tsx for
// members.

import { useNavigate, useParams } from "@solidjs/router";
import { createSignal, For, type JSX, Show } from "solid-js";
import { call, type JsonOrganization, type JsonSso, type JsonUsage, list } from "../api";
import { count, day } from "../format";
import { useOrganization } from "../frames";
import { load } from "../load";
import { mayIn, organizationCrumbs } from "../organization";
import { user } from "../session";
import { Audit as Entries } from "../ui/Audit";
import { Badge } from "../ui/Badge";
import { Button, LinkButton } from "../ui/Button";
import { Confirm } from "../ui/Dialog";
import { EditableFact, Fact, Facts } from "../ui/Facts";
import { Form, TextField } from "../ui/Form";
import { List as Rows } from "../ui/List";
import { Page } from "../ui/Page";
import { Empty, Failure, Notice, Skeleton } from "../ui/State";
import { toast, toastFailure } from "../ui/Toast";
import { Time } from "../ui/Value";
import "./admin.css";

const BASE = "/console/organizations";

function ClaimState(props: { of: JsonOrganization }): JSX.Element {
  return (
    <Show when={props.of.claimed} fallback={<Badge tone="warn">unclaimed</Badge>}>
      <Badge tone="good">claimed</Badge>
    </Show>
  );
}

export function List(): JSX.Element {
  const [all, setAll] = createSignal(false);
  return (
    <Page
      title="Organizations"
      actions={
        <LinkButton href={`${BASE}/add`} icon="plus" primary>
          Add an organization
        </LinkButton>
      }
    >
      <Show when={user()?.admin}>
        <label class="check">
          <input type="checkbox" checked={all()} onChange={(event) => setAll(event.currentTarget.checked)} />{" "}
          <span>Show all organizations of the server</span>
        </label>
      </Show>
      <Show when={all() ? "all" : "own"} keyed>
        {(shown) => (
          <Rows<JsonOrganization>
            noun="organization"
            search
            load={(query, signal) =>
              list("/v0/organizations", {
                query: { ...query, sort: "name", ...(shown === "all" ? { all: true } : {}) },
                signal,
              })
            }
            href={(organization) => `${BASE}/${organization.slug}/projects`}
            columns={[
              { title: "Name", sort: "name", cell: (organization) => organization.name },
              {
                title: "State",
                cell: (organization) => <ClaimState of={organization} />,
              },
              {
                title: "Created",
                wide: true,
                end: true,
                cell: (organization) => (
                  <span class="muted">
                    <Time at={organization.created} />
                  </span>
                ),
              },
            ]}
            empty={
              <Empty
                title="No organizations"
                action={
                  <LinkButton href={`${BASE}/add`} primary>
                    Add an organization
                  </LinkButton>
                }
              >
                Projects belong to an organization. Create one, or ask a leader of an organization to invite you.
              </Empty>
            }
          />
        )}
      </Show>
    </Page>
  );
}

export function Add(): JSX.Element {
  const navigate = useNavigate();
  return (
    <Page title="Add an organization" crumbs={[{ href: BASE, label: "Organizations" }]} narrow>
      <Form
        action="Add the organization"
        onCancel={() => navigate(BASE)}
        onSubmit={async ({ name = "", slug }) => {
          const made = await call("post", "/v0/organizations", { body: { name, slug: slug ?? null } });
          toast("The organization was added.");
          navigate(`${BASE}/${made.slug}/projects`);
        }}
      >
        <TextField
          name="name"
          label="Name"
          required
          maxLength={64}
          autofocus
          hint="A company, a team or an open-source project."
        />
        <TextField
          name="slug"
          label="Slug"
          maxLength={64}
          hint="The identifier in URLs. Generated from the name if empty."
        />
      </Form>
    </Page>
  );
}

export function Settings(): JSX.Element {
  const organization = useOrganization();
  const params = useParams<{ organization: string }>();
  const navigate = useNavigate();
  const may = mayIn(() => params.organization);
  const [deleting, setDeleting] = createSignal<"soft" | "hard">();
  const path = () => ({ organization: params.organization });
  const change = async (body: { name?: string; slug?: string }) => {
    const changed = await organization.optimistic(
      (old) => ({ ...old, ...body }),
      () => call("patch", "/v0/organizations/{organization}", { path: path(), body }),
    );
    organization.set(changed);
    if (changed.slug !== params.organization)
      navigate(`${BASE}/${changed.slug}/settings`, { replace: true, scroll: false });
  };
  const remove = async () => {
    await call("delete", "/v0/organizations/{organization}", {
      path: path(),
      ...(deleting() === "hard" ? { query: { hard: true } } : {}),
    });
    toast("The organization was deleted.");
    navigate(BASE);
  };
  return (
    <Page title="Settings" crumbs={organizationCrumbs(params.organization, organization()?.name)}>
      <Show when={organization()} fallback={<Skeleton lines={6} />}>
        {(shown) => (
          <>
            <Facts>
              <EditableFact
                label="Name"
                value={shown().name}
                maxLength={64}
                editable={may("edit")}
                save={(name) => change({ name })}
              />
              <EditableFact
                label="Slug"
                value={shown().slug}
                maxLength={64}
                editable={may("edit")}
                save={(slug) => change({ slug })}
              />
              <Fact label="UUID" copy={shown().uuid}>
                <span class="mono">{shown().uuid}</span>
              </Fact>
              <Fact label="Created">
                <Time at={shown().created} />
              </Fact>
              <Fact label="Changed">
                <Time at={shown().modified} />
              </Fact>
              <Fact label="Claimed">
                <Show when={shown().claimed} fallback={<ClaimState of={shown()} />}>
                  {(at) => <Time at={at()} />}
                </Show>
              </Fact>
            </Facts>
            <Domains of={shown()} changed={organization.refresh} />
            <Show when={may("delete") || user()?.admin}>
              <section class="card danger-zone" aria-labelledby="danger">
                <div>
                  <h2 id="danger">Delete organization</h2>
                  <p class="muted">
                    Deletes its projects, runs and keys. The data stays in the database until an administrator removes
                    it permanently.
                  </p>
                </div>
                <div class="row">
                  <Show when={may("delete")}>
                    <Button kind="danger" onClick={() => setDeleting("soft")}>
                      Delete
                    </Button>
                  </Show>
                  <Show when={user()?.admin}>
                    <Button kind="danger" onClick={() => setDeleting("hard")}>
                      Remove permanently
                    </Button>
                  </Show>
                </div>
              </section>
            </Show>
            <Confirm
              open={deleting() !== undefined}
              title={deleting() === "hard" ? "Remove permanently?" : "Delete organization?"}
              action={deleting() === "hard" ? "Remove permanently" : "Delete"}
              type={shown().slug}
              onConfirm={remove}
              onClose={() => setDeleting(undefined)}
            >
              <p>
                <strong class="break">{shown().name}</strong> and all of its projects will be{" "}
                {deleting() === "hard" ? "erased from the database" : "deleted"}. You cannot undo this in the console.
              </p>
            </Confirm>
          </>
        )}
      </Show>
    </Page>
  );
}

/** The e-mail domains whose users join automatically; set by an administrator of the server. */
function Domains(props: { of: JsonOrganization; changed: () => unknown }): JSX.Element {
  const path = () => ({ organization: props.of.slug });
  const remove = async (sso: JsonSso) => {
    try {
      await call("delete", "/v0/organizations/{organization}/sso/{sso}", { path: { ...path(), sso: sso.uuid } });
      toast(`Users of ${sso.domain} no longer join automatically.`);
      await props.changed();
    } catch (error) {
      toastFailure(error);
    }
  };
  return (
    <Show when={user()?.admin || props.of.sso?.length}>
      <section class="card stack tight" aria-labelledby="domains">
        <h2 id="domains">Domains</h2>
        <p class="muted">
          Users with a verified <span class="nowrap">e-mail</span> address of these domains join this organization
          automatically.
        </p>
        <ul class="action-list">
          <For each={props.of.sso}>
            {(sso) => (
              <li>
                <span class="grow">
                  <span class="strong break">{sso.domain}</span>{" "}
                  <span class="small muted">
                    since <Time at={sso.created} />
                  </span>
                </span>
                <Show when={user()?.admin}>
                  <Button onClick={() => remove(sso)}>Remove</Button>
                </Show>
              </li>
            )}
          </For>
        </ul>
        <Show when={user()?.admin}>
          <Form
            action="Add domain"
            onSubmit={async ({ domain = "" }) => {
              const added = await call("post", "/v0/organizations/{organization}/sso", {
                path: path(),
                body: { domain },
              });
              toast(`Users of ${added.domain} now join automatically.`);
              await props.changed();
            }}
          >
            <TextField
              name="domain"
              label="Domain"
              required
              placeholder="example.org"
              hint={
                <>
                  The part of the <span class="nowrap">e-mail</span> address after the @.
                </>
              }
            />
          </Form>
        </Show>
      </section>
    </Show>
  );
}

const KINDS: Readonly<Record<JsonUsage["kind"], string>> = {
  cloud_free: "Free",
  cloud_metered: "Metered",
  cloud_self_hosted_licensed: "Licensed, self-hosted",
  self_hosted_free: "Self-hosted",
  self_hosted_licensed: "Self-hosted, licensed",
};

export function Usage(): JSX.Element {
  const organization = useOrganization();
  const params = useParams<{ organization: string }>();
  const usage = load(
    () => ({ organization: params.organization }),
    (path, signal) => call("get", "/v0/organizations/{organization}/usage", { path, signal }),
  );
  return (
    <Page title="Usage" crumbs={organizationCrumbs(params.organization, organization()?.name)}>
      <Show when={usage.error()}>{(error) => <Failure error={error()} retry={usage.refresh} />}</Show>
      <Show
        when={usage()}
        fallback={
          <Show when={!usage.error()}>
            <Skeleton lines={6} />
          </Show>
        }
      >
        {(usage) => (
          <>
            <p class="muted">
              From {day(usage().start_time)} to {day(usage().end_time)}.
            </p>
            <dl class="tiles">
              <Tile label="Metrics received" value={usage().metrics} about="values in runs" />
              <Tile label="Active series" value={usage().active_series} about="distinct series in these runs" />
              <Tile label="Runner minutes" value={usage().runner_minutes} about="duration of jobs" />
            </dl>
            <Facts>
              <Fact label="Plan">{KINDS[usage().kind]}</Fact>
              <Show when={usage().license}>
                {(license) => (
                  <Fact label="License">
                    {count(license().entitlements)} metrics, until {day(license().expiration)}
                  </Fact>
                )}
              </Show>
            </Facts>
            <Show
              when={usage().kind.startsWith("cloud")}
              fallback={
                <Notice tone="neutral">There are no quotas. The administrator limits the size of requests.</Notice>
              }
            >
              <div class="row">
                <LinkButton href={`${BASE}/${params.organization}/billing`}>Plan and payment</LinkButton>
              </div>
            </Show>
          </>
        )}
      </Show>
    </Page>
  );
}

function Tile(props: { label: string; value: number | null | undefined; about: string }): JSX.Element {
  return (
    <Show when={props.value !== null && props.value !== undefined}>
      <div>
        <dt>{props.label}</dt>
        <dd class="number">{count(props.value ?? 0)}</dd>
        <dd class="small muted">{props.about}</dd>
      </div>
    </Show>
  );
}

export function Audit(): JSX.Element {
  const organization = useOrganization();
  const params = useParams<{ organization: string }>();
  return (
    <Page title="Audit" crumbs={organizationCrumbs(params.organization, organization()?.name)}>
      <p class="muted">Changes to this organization and its projects, by user.</p>
      <Entries
        load={({ page, per_page }, signal) =>
          list("/v0/organizations/{organization}/audit", {
            path: { organization: params.organization },
            query: { page, per_page },
            signal,
          })
        }
      />
    </Page>
  );
}
