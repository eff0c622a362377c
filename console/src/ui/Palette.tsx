// The command palette (`/` or Ctrl-K): finds pages, projects, items and commits of the project, and sets the theme.
// Loaded on first use.

import { useNavigate } from "@solidjs/router";
import { createEffect, createMemo, createSignal, createUniqueId, For, type JSX, onMount, Show } from "solid-js";
import { type JsonProject, list } from "../api";
import { shortHash } from "../format";
import { load } from "../load";
import { user } from "../session";
import { setTheme } from "../theme";
import { Icon, type IconName } from "./Icon";
import type { SectionGroup } from "./Shell";

interface Entry {
  /** The page to open, or an action. */
  href: string | (() => void);
  label: string;
  about: string;
  icon: IconName;
  /** Other words that find the entry. */
  words?: string;
}

const THEMES: readonly Entry[] = [
  { href: () => setTheme("light"), label: "Light theme", about: "Appearance", icon: "sun" },
  { href: () => setTheme("dark"), label: "Dark theme", about: "Appearance", icon: "moon" },
  { href: () => setTheme("system"), label: "System theme", about: "Appearance", icon: "screen" },
];

/** The start of a commit hash. */
const HASH = /^[0-9a-f]{4,40}$/i;

const MOST = 6;

export default function Palette(props: {
  project: JsonProject | undefined;
  groups: readonly SectionGroup[];
  onClose: () => void;
}): JSX.Element {
  const navigate = useNavigate();
  const id = createUniqueId();
  const [words, setWords] = createSignal("");
  const [place, setPlace] = createSignal(0);
  let dialog: HTMLDialogElement | undefined;
  let field: HTMLInputElement | undefined;
  onMount(() => {
    dialog?.showModal();
    field?.focus();
  });

  /** Pages of the project and of the organization that are not in the sidebar. */
  const related = (): Entry[] => {
    if (!user()) return [];
    const { project } = props;
    const organization =
      /^\/console\/organizations\/(?!add$)([^/]+)/.exec(location.pathname)?.[1] ?? project?.organization;
    const ofProject: Entry[] = project
      ? [
          {
            href: `/console/projects/${project.slug}/notices`,
            label: "Notifications",
            about: project.name,
            icon: "bell",
            words: "notifications",
          },
          {
            href: `/console/projects/${project.slug}/code_host`,
            label: "Commands in pull requests",
            about: project.name,
            icon: "branch",
            words: "code host github gitlab forgejo gitea connection",
          },
        ]
      : [];
    if (!organization) return ofProject;
    const base = `/console/organizations/${organization}`;
    const members = `${base}/members`;
    return [
      ...ofProject,
      { href: `${base}/projects`, label: "Projects", about: "Organization", icon: "benchmark" },
      { href: members, label: "Members", about: "Organization", icon: "people" },
      { href: `${base}/usage`, label: "Usage", about: "Organization", icon: "chart" },
      {
        href: `${base}/billing`,
        label: "Billing",
        about: "Organization",
        icon: "chart",
        words: "plan payment subscription",
      },
      { href: `${base}/audit`, label: "Audit", about: "Organization", icon: "report" },
      { href: `${base}/settings`, label: "Settings", about: "Organization", icon: "settings" },
      { href: `${members}#invited`, label: "Invitations", about: "Organization", icon: "people", words: "members" },
      { href: `${members}/invite`, label: "Invite member", about: "Organization", icon: "plus" },
    ];
  };
  const pages = createMemo((): Entry[] => {
    const own = props.groups.flatMap(({ label, sections }) =>
      sections.map((section) => ({
        href: section.href,
        label: section.label,
        about: props.project?.name ?? label ?? "Page",
        icon: section.icon,
        words: section.words ?? "",
      })),
    );
    const me = user();
    const known = new Set<Entry["href"]>(own.map(({ href }) => href));
    // The server sends the manual: it is not a page of the console.
    const manual: Entry = {
      href: () => location.assign("/docs"),
      label: "Manual",
      about: "Page",
      icon: "book",
      words: "docs documentation",
    };
    const getStarted: Entry = {
      href: "/console/onboard",
      label: "Get started",
      about: "Page",
      icon: "right",
      words: "onboarding create project",
    };
    const always: Entry[] = me
      ? [
          { href: "/console/organizations", label: "Organizations", about: "Page", icon: "people" },
          { href: `/console/users/${me.slug}/keys`, label: "Your keys", about: "Page", icon: "key" },
          {
            href: `/console/users/${me.slug}/notices`,
            label: "Your notifications",
            about: "Page",
            icon: "bell",
            words: "notices",
          },
          { href: `/console/users/${me.slug}/settings`, label: "Your settings", about: "Page", icon: "settings" },
          { href: `/console/users/${me.slug}/tokens`, label: "Legacy tokens", about: "Page", icon: "key" },
          { href: `/console/users/${me.slug}/help`, label: "Help", about: "Page", icon: "book" },
          manual,
          { href: "/console/api", label: "API reference", about: "Page", icon: "book" },
          getStarted,
          { href: "/perf", label: "Public projects", about: "Page", icon: "chart" },
          ...(me.admin
            ? ([
                { href: "/console/server", label: "This server", about: "Administration", icon: "server" },
                { href: "/console/server/users", label: "Users", about: "Administration", icon: "people" },
                { href: "/console/server/runners", label: "Runners", about: "Administration", icon: "runner" },
                { href: "/console/server/specs", label: "Specs", about: "Administration", icon: "testbed" },
                { href: "/console/server/config", label: "Configuration", about: "Administration", icon: "settings" },
                { href: "/console/server/backup", label: "Backup", about: "Administration", icon: "server" },
                { href: "/console/server/audit", label: "Audit", about: "Administration", icon: "report" },
              ] as const)
            : []),
        ]
      : [{ href: "/perf", label: "Public projects", about: "Page", icon: "chart" }, manual];
    return [...own, ...[...related(), ...always].filter(({ href }) => !known.has(href)), ...THEMES];
  });

  // Do not send requests for a single letter.
  const [asked, setAsked] = createSignal("");
  let timer: ReturnType<typeof setTimeout> | undefined;
  createEffect(() => {
    const next = words().trim();
    clearTimeout(timer);
    timer = setTimeout(() => setAsked(next), 150);
  });
  const found = load(
    () => ({ search: asked(), project: props.project?.slug }),
    async ({ search, project }, signal): Promise<Entry[]> => {
      const query = { search, per_page: MOST };
      const projects = list("/v0/projects", { query, signal }).then(({ rows }) =>
        rows.map(
          ({ slug, name }): Entry => ({
            href: user() ? `/console/projects/${slug}/plots` : `/perf/${slug}/plots`,
            label: name,
            about: "Project",
            icon: "home",
          }),
        ),
      );
      if (!project || search.length < 2) return projects;
      const path = { project };
      const base = user() ? `/console/projects/${project}` : `/perf/${project}`;
      const rows =
        (kind: string, about: string, icon: IconName) =>
        ({ rows }: { rows: { slug: string; name: string }[] }) =>
          rows.map(
            ({ slug, name }): Entry => ({
              href: `${base}/${kind}/${encodeURIComponent(slug)}`,
              label: name,
              about,
              icon,
            }),
          );
      const all = await Promise.all([
        projects,
        list("/v0/projects/{project}/benchmarks", { path, query, signal }).then(
          rows("benchmarks", "Benchmark", "benchmark"),
        ),
        list("/v0/projects/{project}/branches", { path, query, signal }).then(rows("branches", "Branch", "branch")),
        list("/v0/projects/{project}/testbeds", { path, query, signal }).then(rows("testbeds", "Testbed", "testbed")),
        list("/v0/projects/{project}/measures", { path, query, signal }).then(rows("measures", "Measure", "measure")),
        HASH.test(search) ? reportsOf(path, search, base, signal) : [],
      ]);
      return all.flat();
    },
  );
  const entries = createMemo(() => {
    const wanted = words().trim().toLowerCase();
    // The start of a path finds its pages.
    if (wanted.startsWith("/"))
      return pages().filter(({ href }) => typeof href === "string" && href.startsWith(wanted));
    const fits = ({ label, about, words = "" }: Entry) =>
      wanted.split(/\s+/).every((word) => `${label} ${about} ${words}`.toLowerCase().includes(word));
    return [
      ...pages()
        .filter(fits)
        .slice(0, wanted ? MOST : 8),
      ...(found() ?? []).filter(({ label, words = "" }) => `${label} ${words}`.toLowerCase().includes(wanted)),
    ];
  });
  createEffect(() => {
    words();
    setPlace(0);
  });
  /** The pressed entry. */
  let pressed: Entry | undefined;
  const press = (event: PointerEvent & { currentTarget: HTMLElement }, entry: Entry) => {
    // The input keeps the focus.
    event.preventDefault();
    pressed = event.button ? undefined : entry;
    // Search results may replace the entry before the pointer is released, and then there is no click.
    event.currentTarget.parentElement?.setPointerCapture(event.pointerId);
  };
  const release = (event: PointerEvent & { currentTarget: HTMLElement }) => {
    const entry = pressed;
    pressed = undefined;
    if (event.currentTarget.contains(document.elementFromPoint(event.clientX, event.clientY))) go(entry);
  };
  const go = (entry: Entry | undefined) => {
    if (!entry) return;
    props.onClose();
    if (typeof entry.href === "string") navigate(entry.href);
    else entry.href();
  };
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const all = entries().length;
    if (step && all) {
      setPlace((place() + step + all) % all);
      dialog?.querySelector(`[id="${id}-${place()}"]`)?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") go(entries()[place()]);
    else return;
    event.preventDefault();
  };
  return (
    <dialog
      ref={dialog}
      class="dialog palette"
      aria-label="Go to"
      onClose={() => props.onClose()}
      onPointerDown={(event) => {
        if (event.target === dialog) props.onClose();
      }}
    >
      <div class="palette-field">
        <Icon name="search" />
        <input
          ref={field}
          type="text"
          role="combobox"
          aria-label="Search pages and projects"
          aria-expanded="true"
          aria-controls={id}
          aria-autocomplete="list"
          aria-activedescendant={entries().length ? `${id}-${place()}` : undefined}
          placeholder={props.project ? `Pages, projects and items of ${props.project.name}` : "Pages and projects"}
          autocomplete="off"
          value={words()}
          onInput={(event) => setWords(event.currentTarget.value)}
          onKeyDown={onKey}
        />
      </div>
      <div
        class="palette-list"
        id={id}
        role="listbox"
        aria-label="Results"
        onPointerUp={release}
        onPointerCancel={() => (pressed = undefined)}
      >
        <For each={entries()}>
          {(entry, at) => (
            // biome-ignore lint/a11y/useFocusableInteractive: the input keeps the focus (aria-activedescendant).
            // biome-ignore lint/a11y/useKeyWithClickEvents: the input handles the keys.
            <div
              id={`${id}-${at()}`}
              role="option"
              aria-selected={at() === place()}
              onPointerMove={() => setPlace(at())}
              onPointerDown={(event) => press(event, entry)}
              onClick={() => go(entry)}
            >
              <Icon name={entry.icon} />
              <span class="grow break">{entry.label}</span>
              <span class="small muted ellipsis">
                {words().startsWith("/") && typeof entry.href === "string" ? entry.href : entry.about}
              </span>
            </div>
          )}
        </For>
      </div>
      <Show when={!entries().length}>
        <p class="palette-empty muted" role="status">
          {found.pending() ? "Searching…" : "No matches."}
        </p>
      </Show>
    </dialog>
  );
}

/** The newest runs of the commits whose hash starts with a text. */
async function reportsOf(path: { project: string }, hash: string, base: string, signal: AbortSignal): Promise<Entry[]> {
  const { rows } = await list("/v0/projects/{project}/reports", { path, query: { hash, per_page: MOST }, signal });
  return rows.map(({ uuid, branch, testbed }) => ({
    href: `${base}/reports/${uuid}`,
    label: `Run of ${shortHash(branch.head.version?.hash ?? hash)}`,
    about: `${branch.name}, ${testbed.name}`,
    icon: "report",
    words: branch.head.version?.hash ?? hash,
  }));
}
