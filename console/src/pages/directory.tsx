// The list of public projects.

import { type JSX, Show } from "solid-js";
import { type JsonProject, list } from "../api";
import { webAddress } from "../links";
import { user } from "../session";
import { Badge } from "../ui/Badge";
import { LinkButton } from "../ui/Button";
import { List as Rows } from "../ui/List";
import { Page } from "../ui/Page";
import { Empty } from "../ui/State";
import { Time } from "../ui/Value";

export function Directory(): JSX.Element {
  return (
    <Page
      title="Public projects"
      actions={
        <Show when={user()}>
          <LinkButton href="/console">Your projects</LinkButton>
        </Show>
      }
    >
      <Rows<JsonProject>
        noun="project"
        search
        load={(query, signal) => list("/v0/projects", { query: { ...query, sort: "name" }, signal })}
        href={(project) => `/perf/${project.slug}/plots`}
        columns={[
          {
            title: "Name",
            sort: "name",
            cell: (project) => (
              <>
                {project.name}{" "}
                <Show when={project.visibility === "private"}>
                  <Badge>private</Badge>
                </Show>
              </>
            ),
          },
          {
            title: "Website",
            wide: true,
            cell: (project) => (
              <Show when={webAddress(project.url)}>
                {(url) => (
                  <a class="row-actions break" href={url()} rel="noreferrer">
                    {url().replace(/^https?:\/\//, "")}
                  </a>
                )}
              </Show>
            ),
          },
          {
            title: "Created",
            wide: true,
            end: true,
            cell: (project) => (
              <span class="muted">
                <Time at={project.created} />
              </span>
            ),
          },
        ]}
        empty={
          <Empty
            title="No public projects yet"
            action={
              <LinkButton href={user() ? "/console/onboard" : "/auth/signup"} primary>
                {user() ? "Create a project" : "Sign up"}
              </LinkButton>
            }
          >
            Everyone can view a public project without an account. This list shows all public projects.
          </Empty>
        }
      />
    </Page>
  );
}
