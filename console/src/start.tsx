// Redirects from `/` and `/console`.

import { Navigate } from "@solidjs/router";
import { type JSX, Show } from "solid-js";
import { call, list } from "./api";
import { load } from "./load";
import { user } from "./session";
import { Shell } from "./ui/Shell";
import { Failure, Skeleton } from "./ui/State";

const LAST = "tidemark-project";

/** Stores the last visited project. */
export function rememberProject(slug: string): void {
  localStorage.setItem(LAST, slug);
}

/** `/`: the console; without a session the public projects, or the first account of a new server. */
export function Root(): JSX.Element {
  const setup = load(
    () => user() === null && {},
    (_, signal) => call("get", "/v0/server/setup", { signal }),
  );
  return (
    <Show when={!user()} fallback={<Navigate href="/console" />}>
      <Show when={setup()} fallback={<Loading error={setup.error()} retry={setup.refresh} />}>
        {(setup) => <Navigate href={setup().accounts === "none" ? "/auth/signup" : "/perf"} />}
      </Show>
    </Show>
  );
}

/** `/console`: the last project, the onboarding, the only project, or the list. */
export function Start(): JSX.Element {
  const target = load(
    () => user() && { own: user()?.slug ?? "" },
    async ({ own }, signal) => {
      const projects = (organization: string) =>
        list("/v0/organizations/{organization}/projects", { path: { organization }, query: { per_page: 2 }, signal });
      const last = localStorage.getItem(LAST);
      if (last) {
        const known = await call("get", "/v0/projects/{project}", { path: { project: last }, signal }).catch(
          () => undefined,
        );
        if (known) return `/console/projects/${known.slug}/plots`;
        localStorage.removeItem(LAST);
      }
      // A new user has an empty organization.
      const mine = await projects(own).catch(() => undefined);
      if (mine?.total === 0) return "/console/onboard/project";
      const { rows: organizations } = await list("/v0/organizations", { query: { per_page: 2 }, signal });
      const [only] = organizations;
      if (organizations.length !== 1 || !only) return "/console/organizations";
      const { rows } = await projects(only.slug);
      return rows.length === 1
        ? `/console/projects/${rows[0]?.slug ?? ""}/plots`
        : `/console/organizations/${only.slug}/projects`;
    },
  );
  return (
    <Show when={target()} fallback={<Loading error={target.error()} retry={target.refresh} />}>
      {(target) => <Navigate href={target()} />}
    </Show>
  );
}

function Loading(props: { error: unknown; retry: () => unknown }): JSX.Element {
  return (
    <Shell>
      <Show when={props.error} fallback={<Skeleton lines={6} />}>
        {(error) => <Failure error={error()} retry={props.retry} />}
      </Show>
    </Shell>
  );
}
