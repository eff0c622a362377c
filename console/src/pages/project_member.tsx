// Members of a project: users with a project role, in addition to the leaders of the organization.

import { useNavigate, useParams } from "@solidjs/router";
import { createSignal, type JSX, Show } from "solid-js";
import { ApiError, call, type JsonProjectMember, list, type ProjectRole } from "../api";
import { load } from "../load";
import { useProject } from "../project";
import { user } from "../session";
import { Badge } from "../ui/Badge";
import { Button, LinkButton } from "../ui/Button";
import { Confirm } from "../ui/Dialog";
import { Fact, Facts } from "../ui/Facts";
import { ChoiceField, Form } from "../ui/Form";
import { List as Rows } from "../ui/List";
import { LoadingPage, Page } from "../ui/Page";
import { type Choice, Picker } from "../ui/Picker";
import { Empty } from "../ui/State";
import { toast, toastFailure } from "../ui/Toast";
import { Time } from "../ui/Value";
import "./lists.css";

const ROLES: readonly { value: ProjectRole; label: string; about: string }[] = [
  { value: "viewer", label: "Viewer", about: "views everything" },
  { value: "developer", label: "Developer", about: "sends runs, sets thresholds, dismisses alerts" },
  { value: "maintainer", label: "Maintainer", about: "has all rights, including members, keys and settings" },
];

export function List(): JSX.Element {
  const project = useProject();
  const add = () => (
    <Show when={project.may("create_role")}>
      <LinkButton href={project.path("members", "add")} icon="plus" primary>
        Add a member
      </LinkButton>
    </Show>
  );
  return (
    <Page title="Members" crumbs={project.crumbs()} actions={add()}>
      <Rows<JsonProjectMember>
        noun="member"
        search
        load={(query, signal) =>
          list("/v0/projects/{project}/members", {
            path: { project: project.slug() },
            query: { ...query, sort: "name" },
            signal,
          })
        }
        href={(member) => project.path("members", member.slug)}
        columns={[
          {
            title: "Name",
            sort: "name",
            cell: (member) => (
              <>
                {member.name}
                <Show when={member.uuid === user()?.uuid}>
                  {" "}
                  <span class="muted small">you</span>
                </Show>
              </>
            ),
          },
          {
            title: "Role",
            cell: (member) => <Badge tone={member.role === "maintainer" ? "brand" : "neutral"}>{member.role}</Badge>,
          },
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
          <Empty title="No members" action={add()}>
            The leaders of the organization have all rights in the project. Add other users here.
          </Empty>
        }
      />
    </Page>
  );
}

/** A user to give a role: a member of the organization, or the typed name. */
interface Person extends Choice {
  user: string;
}

export function Add(): JSX.Element {
  const project = useProject();
  const navigate = useNavigate();
  const [person, setPerson] = createSignal<Person>();
  const search = async (words: string, signal: AbortSignal) => {
    const known = await list("/v0/organizations/{organization}/members", {
      path: { organization: project().organization },
      query: { search: words, per_page: 20 },
      signal,
    }).catch((error: unknown) => {
      // Permission to add project members does not include viewing the members of the organization.
      if (error instanceof ApiError && error.status >= 403 && error.status <= 404) return { rows: [], total: 0 };
      throw error;
    });
    const rows: Person[] = known.rows.map(({ uuid, name, slug }) => ({ uuid, name, user: slug }));
    const typed = words.trim();
    if (typed && !rows.some(({ user }) => user === typed)) rows.push({ uuid: "typed", name: typed, user: typed });
    return { rows, total: rows.length };
  };
  return (
    <Page title="Add a member" crumbs={project.crumbs("members", "Members")} narrow>
      <Form
        action="Add the member"
        onCancel={() => navigate(project.path("members"))}
        onSubmit={async ({ role }) => {
          await call("post", "/v0/projects/{project}/members", {
            path: { project: project.slug() },
            body: { user: person()?.user ?? "", role: role as ProjectRole },
          });
          toast("Member added.");
          navigate(project.path("members"));
        }}
      >
        <Picker<Person>
          label="User"
          required
          placeholder="A name or a slug"
          hint="A member of the organization, or the slug of another user of this server."
          value={person()}
          onPick={setPerson}
          search={search}
        />
        <ChoiceField name="role" legend="Role" choices={ROLES} value="developer" />
      </Form>
    </Page>
  );
}

export function View(): JSX.Element {
  const project = useProject();
  const params = useParams<{ member: string }>();
  const navigate = useNavigate();
  const [removing, setRemoving] = createSignal(false);
  const path = () => ({ project: project.slug(), user: params.member });
  const member = load(path, (path, signal) => call("get", "/v0/projects/{project}/members/{user}", { path, signal }));
  const setRole = async (role: ProjectRole): Promise<void> => {
    const before = member()?.role;
    if (!before || before === role) return;
    try {
      member.set(
        await member.optimistic(
          (old) => ({ ...old, role }),
          () => call("patch", "/v0/projects/{project}/members/{user}", { path: path(), body: { role } }),
        ),
      );
      toast(`${member()?.name} is a ${role} now.`, () => setRole(before));
    } catch (error) {
      toastFailure(error);
    }
  };
  const remove = async () => {
    await call("delete", "/v0/projects/{project}/members/{user}", { path: path() });
    toast("Member removed.");
    navigate(project.path("members"));
  };
  return (
    <Show
      when={member()}
      fallback={<LoadingPage title="Member" crumbs={project.crumbs("members", "Members")} lines={5} item={member} />}
    >
      {(shown) => (
        <Page
          title={shown().name}
          aside={<Badge tone="brand">{shown().role}</Badge>}
          crumbs={project.crumbs("members", "Members")}
          actions={
            <Show when={project.may("delete_role")}>
              <Button kind="danger" onClick={() => setRemoving(true)}>
                Remove
              </Button>
            </Show>
          }
        >
          <ChoiceField
            name="role"
            legend="Role"
            choices={ROLES}
            value={shown().role}
            disabled={!project.may("edit_role")}
            onChange={(value) => void setRole(value)}
          />
          <Facts>
            <Fact label="Slug" copy={shown().slug}>
              {shown().slug}
            </Fact>
            <Fact label="UUID" copy={shown().uuid}>
              <span class="mono">{shown().uuid}</span>
            </Fact>
            <Fact label="Since">
              <Time at={shown().created} />
            </Fact>
          </Facts>
          <Confirm
            open={removing()}
            title="Remove member?"
            action="Remove"
            onConfirm={remove}
            onClose={() => setRemoving(false)}
          >
            <p>
              <strong class="break">{shown().name}</strong> loses the role in the project. The project keys of this user
              are revoked.
            </p>
            <p class="muted">Leaders of the organization keep their rights.</p>
          </Confirm>
        </Page>
      )}
    </Show>
  );
}
