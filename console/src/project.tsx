// The project of a page, in the console (`/console/projects/…`) and in the public view (`/perf/…`). Pages call
// `useProject()` and work in both.

import { type RouteSectionProps, useParams } from "@solidjs/router";
import { createContext, createEffect, createSignal, type JSX, Show, useContext } from "solid-js";
import { call, isMissing, type JsonProject, list } from "./api";
import { type Loaded, load } from "./load";
import { user } from "./session";
import { rememberProject } from "./start";
import { LinkButton } from "./ui/Button";
import { type Crumb, Page } from "./ui/Page";
import { type Section, type SectionGroup, Shell } from "./ui/Shell";
import { Empty, Failure, Skeleton } from "./ui/State";

/** A permission in a project. */
export type Permission =
  | "view"
  | "create"
  | "edit"
  | "delete"
  | "manage"
  | "view_role"
  | "create_role"
  | "edit_role"
  | "delete_role";

export interface ProjectHere {
  /** The project; defined in all its pages. */
  (): JsonProject;
  /** The slug, for the API and the URL. */
  slug: () => string;
  /** A path in the project: `path("benchmarks", slug)`. */
  path: (...segments: string[]) => string;
  /** The path of the page Explore, which is the start page of the public view. */
  perfPath: () => string;
  /** The breadcrumbs of a page: the project, and the list that the page belongs to. */
  crumbs: (segment?: string, title?: string) => Crumb[];
  /** Whether this is the read-only public view. */
  isPublic: boolean;
  /** Whether the user has the permission; false until the response arrives. */
  may: (permission: Permission) => boolean;
  /** Replaces the project after a change. */
  set: (project: JsonProject) => void;
  /** Number of active alerts. */
  alerts: Loaded<number>;
  /** Number of open events with a regression that are not muted. */
  regressions: Loaded<number>;
}

const Context = createContext<ProjectHere>();

/** The project of the page. */
export function useProject(): ProjectHere {
  const here = useContext(Context);
  if (!here) throw new Error("useProject is for pages of a project.");
  return here;
}

/** Layout of `/console/projects/:project`. */
export function ConsoleProject(props: RouteSectionProps): JSX.Element {
  return <ProjectFrame base="/console/projects" {...props} />;
}

/** Layout of `/perf/:project`. */
export function PublicProject(props: RouteSectionProps): JSX.Element {
  return <ProjectFrame base="/perf" {...props} />;
}

function ProjectFrame(props: RouteSectionProps & { base: "/console/projects" | "/perf" }): JSX.Element {
  const params = useParams<{ project: string }>();
  const isPublic = props.base === "/perf";
  // The session determines which projects are visible.
  const project = load(
    () => user() !== undefined && { project: params.project, as: user()?.uuid },
    ({ project }, signal) => call("get", "/v0/projects/{project}", { path: { project }, signal }),
  );
  const alerts = load(
    () => project() && { project: params.project },
    async (path, signal) =>
      (await list("/v0/projects/{project}/alerts", { path, query: { status: "active", per_page: 0 }, signal })).total,
  );
  const regressions = load(
    () => project() && { project: params.project },
    async (path, signal) =>
      (
        await list("/v0/projects/{project}/events", {
          path,
          query: { status: "open", change_direction: "regression", muted: false, per_page: 0 },
          signal,
        })
      ).total,
  );
  createEffect(() => {
    const known = project();
    if (known && !isPublic) rememberProject(known.slug);
  });
  const [rights, setRights] = createSignal<Partial<{ [P in Permission]: boolean }>>({});
  const asked = new Set<string>();
  const here = (() => project()) as ProjectHere;
  here.slug = () => params.project;
  here.path = (...segments) =>
    [props.base, params.project, ...segments].map((part, place) => (place ? encodeURIComponent(part) : part)).join("/");
  here.perfPath = () => (isPublic ? here.path() : here.path("perf"));
  here.crumbs = (segment, title) => {
    const crumbs = [{ href: here.path(), label: here().name }];
    if (segment && title) crumbs.push({ href: here.path(segment), label: title });
    return crumbs;
  };
  here.isPublic = isPublic;
  here.may = (permission) => {
    const key = `${params.project} ${permission}`;
    if (!isPublic && user() && !asked.has(key)) {
      asked.add(key);
      const path = { project: params.project, permission };
      call("get", "/v0/projects/{project}/allowed/{permission}", { path })
        .then(({ allowed }) => setRights((old) => ({ ...old, [permission]: allowed })))
        .catch(() => asked.delete(key));
    }
    return !isPublic && rights()[permission] === true;
  };
  here.set = project.set;
  here.alerts = alerts;
  here.regressions = regressions;
  return (
    <Context.Provider value={here}>
      <Shell project={project()} groups={isMissing(project.error()) ? [] : sections(here)}>
        <Show
          when={project()}
          fallback={
            <Show when={project.error()} fallback={<Skeleton lines={8} />}>
              {(error) => <Missing error={error()} retry={project.refresh} />}
            </Show>
          }
        >
          {props.children}
        </Show>
      </Shell>
    </Context.Provider>
  );
}

function Missing(props: { error: unknown; retry: () => unknown }): JSX.Element {
  return (
    <Page title="Project">
      <Show when={isMissing(props.error)} fallback={<Failure error={props.error} retry={props.retry} />}>
        <Empty title="Project not found" action={<LinkButton href="/perf">View public projects</LinkButton>}>
          The project does not exist, or it is private and you are not a signed-in member.
        </Empty>
      </Show>
    </Page>
  );
}

function sections(here: ProjectHere): SectionGroup[] {
  const own = (...sections: Section[]) => (here.isPublic ? [] : sections);
  const groups: SectionGroup[] = [
    {
      sections: [
        { href: here.path("plots"), label: "Overview", icon: "home", keys: "g v" },
        { href: here.perfPath(), label: "Explore", icon: "chart", keys: "g p", words: "perf", end: here.isPublic },
        { href: here.path("compare"), label: "Compare", icon: "compare", keys: "g c" },
        { href: here.path("pulls"), label: "Pull requests", icon: "branch", keys: "g q" },
        {
          href: here.path("regressions"),
          label: "Regressions",
          icon: "step",
          keys: "g g",
          words: "changes events",
          count: here.regressions(),
        },
        {
          href: here.path("reports"),
          label: "Runs",
          icon: "report",
          keys: "g r",
          words: "reports",
          contains: here.path("metrics"),
        },
        ...own({
          href: here.path("settings"),
          label: "Settings",
          icon: "settings",
          keys: "g ,",
          contains: here.path("code_host"),
        }),
      ],
    },
    {
      label: "Dimensions",
      sections: [
        { href: here.path("branches"), label: "Branches", icon: "branch", keys: "g b" },
        { href: here.path("testbeds"), label: "Testbeds", icon: "testbed", keys: "g t" },
        { href: here.path("benchmarks"), label: "Benchmarks", icon: "benchmark", keys: "g n" },
        { href: here.path("measures"), label: "Measures", icon: "measure", keys: "g m" },
      ],
    },
    {
      label: "Detection",
      sections: [
        { href: here.path("thresholds"), label: "Thresholds", icon: "threshold", keys: "g l" },
        { href: here.path("alerts"), label: "Alerts", icon: "warning", keys: "g a", count: here.alerts() },
        { href: here.path("detection"), label: "Detection", icon: "search", keys: "g d" },
        ...own({ href: here.path("notices"), label: "Notifications", icon: "bell", keys: "g i", words: "notices" }),
        { href: here.path("mutes"), label: "Mutes", icon: "mute", keys: "g u", words: "mute unmute flaky" },
      ],
    },
    {
      label: "Project",
      sections: [
        { href: here.path("jobs"), label: "Jobs", icon: "job", keys: "g j" },
        ...own(
          { href: here.path("keys"), label: "Keys", icon: "key", keys: "g k" },
          { href: here.path("members"), label: "Members", icon: "people", keys: "g e" },
        ),
      ],
    },
  ];
  if (!here.isPublic || !user()) return groups;
  const console = `/console/projects/${encodeURIComponent(here.slug())}/plots`;
  return [...groups, { sections: [{ href: console, label: "Open in the console", icon: "right" }] }];
}
