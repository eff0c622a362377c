// Members and invitations of an organization.

import { A, useNavigate, useParams } from "@solidjs/router";
import { createSignal, For, type JSX, Show } from "solid-js";
import { call, type JsonInvitation, type JsonMember, list } from "../api";
import { useOrganization } from "../frames";
import { load } from "../load";
import { mayIn, organizationCrumbs, ROLES, roleLabel } from "../organization";
import { user } from "../session";
import { Badge } from "../ui/Badge";
import { Button, LinkButton } from "../ui/Button";
import { Confirm } from "../ui/Dialog";
import { Fact, Facts } from "../ui/Facts";
import { ChoiceField, Form, TextField } from "../ui/Form";
import { List as Rows } from "../ui/List";
import { LoadingPage, Page } from "../ui/Page";
import { Empty } from "../ui/State";
import { toast, toastFailure } from "../ui/Toast";
import { Time } from "../ui/Value";
import "./admin.css";

type Role = JsonMember["role"];

function base(organization: string): string {
  return `/console/organizations/${encodeURIComponent(organization)}/members`;
}

function invitationPath(organization: string, { uuid }: JsonInvitation): string {
  return `/console/organizations/${encodeURIComponent(organization)}/invitations/${uuid}`;
}

export function List(): JSX.Element {
  const organization = useOrganization();
  const params = useParams<{ organization: string }>();
  const may = mayIn(() => params.organization);
  const path = () => ({ organization: params.organization });
  const invitations = load(
    () => may("view_role") && path(),
    (path, signal) => list("/v0/organizations/{organization}/invitations", { path, query: { per_page: 255 }, signal }),
  );
  const pending = () => (invitations()?.rows ?? []).filter(({ status }) => status === "pending");
  const revoke = async (invitation: JsonInvitation) => {
    try {
      await call("delete", "/v0/organizations/{organization}/invitations/{invitation}", {
        path: { ...path(), invitation: invitation.uuid },
      });
      toast("Invitation revoked.");
      await invitations.refresh();
    } catch (error) {
      toastFailure(error);
    }
  };
  return (
    <Page
      title="Members"
      crumbs={organizationCrumbs(params.organization, organization()?.name)}
      actions={
        <Show when={may("create_role")}>
          <LinkButton href={`${base(params.organization)}/invite`} icon="plus" primary>
            Invite member
          </LinkButton>
        </Show>
      }
    >
      <Show when={pending().length}>
        <section class="card stack tight" aria-labelledby="invited">
          <h2 id="invited">Invited</h2>
          <ul class="action-list">
            <For each={pending()}>
              {(invitation) => (
                <li>
                  <span class="grow">
                    <A class="strong break" href={invitationPath(params.organization, invitation)}>
                      {invitation.email}
                    </A>{" "}
                    <span class="small muted">
                      as {invitation.role}, expires <Time at={invitation.expires} />
                    </span>
                  </span>
                  <Show when={may("create_role")}>
                    <Button onClick={() => revoke(invitation)}>Revoke</Button>
                  </Show>
                </li>
              )}
            </For>
          </ul>
        </section>
      </Show>
      <Rows<JsonMember>
        noun="member"
        search
        load={(query, signal) =>
          list("/v0/organizations/{organization}/members", { path: path(), query: { ...query, sort: "name" }, signal })
        }
        href={(member) => `${base(params.organization)}/${member.slug}`}
        columns={[
          { title: "Name", sort: "name", cell: (member) => member.name },
          {
            title: "Role",
            cell: (member) => <Badge tone={member.role === "leader" ? "brand" : "neutral"}>{member.role}</Badge>,
          },
          { title: "E-mail", wide: true, cell: (member) => <span class="break">{member.email}</span> },
          {
            title: "Since",
            wide: true,
            end: true,
            cell: (member) => (
              <span class="muted">
                <Time at={member.created} />
              </span>
            ),
          },
        ]}
        empty={
          <Empty title="No members">
            Invite members by <span class="nowrap">e-mail</span>.
          </Empty>
        }
      />
    </Page>
  );
}

export function Invite(): JSX.Element {
  const organization = useOrganization();
  const params = useParams<{ organization: string }>();
  const navigate = useNavigate();
  return (
    <Page
      title="Invite member"
      crumbs={[
        ...organizationCrumbs(params.organization, organization()?.name),
        { href: base(params.organization), label: "Members" },
      ]}
      narrow
    >
      <Form
        action="Invite"
        onCancel={() => navigate(base(params.organization))}
        onSubmit={async ({ email = "", name, role = "member" }) => {
          const path = { organization: params.organization };
          const invited = await call("post", "/v0/organizations/{organization}/members", {
            path,
            body: { email, name: name ?? null, role: role as Role },
          });
          toast(`${invited.email} was invited.`);
          // The response does not name the invitation. It is the newest one of this address.
          const { rows } = await list("/v0/organizations/{organization}/invitations", {
            path,
            query: { per_page: 255 },
          }).catch(() => ({ rows: [] }));
          const created = rows.find((row) => row.email === invited.email && row.status === "pending");
          navigate(created ? invitationPath(params.organization, created) : base(params.organization));
        }}
      >
        <TextField
          name="email"
          label="E-mail address"
          type="email"
          required
          autofocus
          hint="The next page shows the link, which works once and only for this address."
        />
        <TextField name="name" label="Name" maxLength={64} hint="The name in the mail." />
        <ChoiceField name="role" legend="Role" choices={ROLES} value="member" />
      </Form>
    </Page>
  );
}

export function View(): JSX.Element {
  const organization = useOrganization();
  const params = useParams<{ organization: string; member: string }>();
  const navigate = useNavigate();
  const may = mayIn(() => params.organization);
  const [removing, setRemoving] = createSignal(false);
  const path = () => ({ organization: params.organization, user: params.member });
  const member = load(path, (path, signal) =>
    call("get", "/v0/organizations/{organization}/members/{user}", { path, signal }),
  );
  const crumbs = () => [
    ...organizationCrumbs(params.organization, organization()?.name),
    { href: base(params.organization), label: "Members" },
  ];
  const isMe = () => member()?.uuid === user()?.uuid;
  const setRole = async (role: Role, field: HTMLSelectElement) => {
    const before = member()?.role;
    try {
      member.set(
        await member.optimistic(
          (old) => ({ ...old, role }),
          () => call("patch", "/v0/organizations/{organization}/members/{user}", { path: path(), body: { role } }),
        ),
      );
      toast(`The role is ${role} now.`);
    } catch (error) {
      field.value = before ?? role;
      toastFailure(error);
    }
  };
  const remove = async () => {
    const left = isMe();
    await call("delete", "/v0/organizations/{organization}/members/{user}", { path: path() });
    toast(left ? "You left the organization." : "Member removed.");
    navigate(left ? "/console/organizations" : base(params.organization));
  };
  return (
    <Show when={member()} fallback={<LoadingPage title="Member" crumbs={crumbs()} lines={5} item={member} />}>
      {(shown) => (
        <Page
          title={shown().name}
          aside={
            <Show when={isMe()}>
              <Badge>you</Badge>
            </Show>
          }
          crumbs={crumbs()}
          actions={
            <Show when={may("delete_role") || isMe()}>
              <Button kind="danger" onClick={() => setRemoving(true)}>
                {isMe() ? "Leave" : "Remove"}
              </Button>
            </Show>
          }
        >
          <Facts>
            <Fact label="Role">
              <Show when={may("edit_role")} fallback={roleLabel(shown().role)}>
                <select
                  aria-label="Role"
                  onChange={(event) => void setRole(event.currentTarget.value as Role, event.currentTarget)}
                >
                  <For each={ROLES}>
                    {({ value, label }) => (
                      <option value={value} selected={value === shown().role}>
                        {label}
                      </option>
                    )}
                  </For>
                </select>
              </Show>
              <span class="small muted"> {ROLES.find(({ value }) => value === shown().role)?.about}</span>
            </Fact>
            <Fact label="E-mail" copy={shown().email}>
              {shown().email}
            </Fact>
            <Fact label="UUID" copy={shown().uuid}>
              <span class="mono">{shown().uuid}</span>
            </Fact>
            <Fact label="Member since">
              <Time at={shown().created} />
            </Fact>
          </Facts>
          <Confirm
            open={removing()}
            title={isMe() ? "Leave organization?" : "Remove member?"}
            action={isMe() ? "Leave" : "Remove"}
            onConfirm={remove}
            onClose={() => setRemoving(false)}
          >
            <p>
              <strong class="break">{shown().name}</strong> will no longer see the private projects of{" "}
              {organization()?.name}. Their reports are kept. Their invitations and project keys are revoked; the audit
              log lists them.
            </p>
          </Confirm>
        </Page>
      )}
    </Show>
  );
}
