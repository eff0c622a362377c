// The layout of every page: header with project and user menu, sidebar, and a drawer on phones.

import { A, useLocation, useNavigate } from "@solidjs/router";
import { createEffect, createSignal, For, type JSX, on, onCleanup, onMount, Show, Suspense } from "solid-js";
import { type JsonProject, list, offline } from "../api";
import { chunk } from "../chunk";
import { bindKeys } from "../keys";
import { load } from "../load";
import { endSession, signInPath, user } from "../session";
import { setTheme, type Theme, theme } from "../theme";
import { Badge } from "./Badge";
import { IconButton, LinkButton } from "./Button";
import { Dialog } from "./Dialog";
import { Icon, type IconName } from "./Icon";
import { Menu, type MenuItem } from "./Menu";
import { Shortcuts } from "./Shortcuts";
import { Toasts } from "./Toast";

/** A sidebar link of a project, an organization, an account or the server. */
export interface Section {
  href: string;
  label: string;
  icon: IconName;
  /** Its shortcut: `g p`. */
  keys?: string;
  /** Other words that find it in the palette. */
  words?: string;
  /** Whether it is current only for this exact path. */
  end?: boolean;
  /** The start of other paths for which it is current. */
  contains?: string;
  /** A count beside the label, hidden if zero. */
  count?: number | undefined;
}

const Palette = chunk(
  async () => (await import("./Palette")).default,
  (props) => (
    <Dialog open title="The search could not be loaded" onClose={props.onClose}>
      {props.children}
    </Dialog>
  ),
);

export interface SectionGroup {
  label?: string;
  sections: readonly Section[];
}

export function Shell(props: {
  project?: JsonProject | undefined;
  groups?: readonly SectionGroup[];
  children: JSX.Element;
}): JSX.Element {
  const location = useLocation();
  const navigate = useNavigate();
  const [help, setHelp] = createSignal(false);
  const [drawer, setDrawer] = createSignal(false);
  const [finding, setFinding] = createSignal(false);
  let side: HTMLDialogElement | undefined;
  createEffect(
    on(
      () => location.pathname,
      () => setDrawer(false),
    ),
  );
  createEffect(() => {
    if (drawer() && !side?.open) side?.showModal();
    else if (!drawer() && side?.open) side.close();
  });
  bindKeys([
    { keys: "?", label: "Show keyboard shortcuts", run: () => setHelp(true) },
    { keys: "/", label: "Search pages and projects", run: () => setFinding(true) },
    { keys: "Ctrl-k", label: "Search, also from a text field", run: () => setFinding(true) },
    { keys: "g h", label: "Go to the home page", run: () => navigate("/console") },
    { keys: "g o", label: "Go to the public projects", run: () => navigate("/perf") },
  ]);
  createEffect(() => {
    const own = (props.groups ?? []).flatMap(({ sections }) => sections).filter((section) => section.keys);
    bindKeys(
      own.map((section) => ({
        keys: section.keys ?? "",
        label: `Go to ${section.label.toLowerCase()}`,
        run: () => navigate(section.href),
      })),
    );
  });
  const sections = () => <Sections groups={props.groups ?? []} />;
  return (
    <div class="shell" classList={{ bare: !props.groups?.length }}>
      {/* biome-ignore lint/a11y/useValidAnchor: the router would take a change of the fragment for a navigation. */}
      <a
        class="skip-link"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById("main")?.focus();
        }}
      >
        Skip to content
      </a>
      <header class="top-bar">
        <Show when={props.groups?.length}>
          <span class="phone">
            <IconButton icon="menu" label="Menu" onClick={() => setDrawer(true)} />
          </span>
        </Show>
        <A href={user() ? "/console" : "/"} class="brand" aria-label="Tidemark home">
          <img src="/icon.svg" alt="" width="24" height="24" />
          <span>Tidemark</span>
        </A>
        <ProjectSwitcher project={props.project} />
        <span class="grow" />
        <IconButton icon="search" label="Search pages and projects" onClick={() => setFinding(true)} />
        <ThemeMenu />
        <Show when={user() !== undefined}>
          <Show
            when={user()}
            fallback={<LinkButton href={signInPath(location.pathname + location.search)}>Sign in</LinkButton>}
          >
            {(user) => <UserMenu slug={user().slug} name={user().name} admin={user().admin} />}
          </Show>
        </Show>
      </header>
      <Show when={offline()}>
        <div class="offline" role="status">
          The server is unreachable. Retrying…
        </div>
      </Show>
      <Show when={props.groups?.length}>
        <aside class="sidebar">{sections()}</aside>
        <dialog
          ref={side}
          class="drawer"
          aria-label="Menu"
          onClose={() => setDrawer(false)}
          onPointerDown={(event) => {
            if (event.target === side) setDrawer(false);
          }}
        >
          <Show when={drawer()}>
            <div class="drawer-body">
              <IconButton icon="close" label="Close menu" onClick={() => setDrawer(false)} />
              {sections()}
            </div>
          </Show>
        </dialog>
      </Show>
      <main id="main" tabindex="-1">
        {props.children}
      </main>
      <footer class="page-footer small muted">
        <a href="/docs" rel="external">
          Manual
        </a>
        <A href="/console/api">API reference</A>
      </footer>
      <Toasts />
      <Show when={finding()}>
        <Suspense>
          <Palette project={props.project} groups={props.groups ?? []} onClose={() => setFinding(false)} />
        </Suspense>
      </Show>
      <Dialog open={help()} title="Keyboard shortcuts" onClose={() => setHelp(false)}>
        <Shortcuts />
        <p>
          <a href="/docs/console.html" rel="external">
            Manual of the console
          </a>
        </p>
      </Dialog>
    </div>
  );
}

function Sections(props: { groups: readonly SectionGroup[] }): JSX.Element {
  const location = useLocation();
  return (
    <nav class="sections" aria-label="Sections">
      <For each={props.groups}>
        {(group) => (
          <div>
            <Show when={group.label}>
              <h2 class="small muted break">{group.label}</h2>
            </Show>
            <ul>
              <For each={group.sections}>
                {(section) => (
                  <li>
                    <A
                      href={section.href}
                      end={section.end ?? false}
                      title={section.keys}
                      classList={
                        section.contains && location.pathname.startsWith(section.contains) ? { active: true } : {}
                      }
                    >
                      <Icon name={section.icon} />
                      <span class="grow">{section.label}</span>
                      <Show when={section.count}>{(count) => <Badge tone="alert">{count()}</Badge>}</Show>
                    </A>
                  </li>
                )}
              </For>
            </ul>
          </div>
        )}
      </For>
    </nav>
  );
}

/** The project menu: the current project and a search. */
function ProjectSwitcher(props: { project: JsonProject | undefined }): JSX.Element {
  const navigate = useNavigate();
  const [open, setOpen] = createSignal(false);
  const [words, setWords] = createSignal("");
  const projects = load(
    () => open() && { search: words() },
    ({ search }, signal) => list("/v0/projects", { query: { search, per_page: 12 }, signal }),
  );
  let root: HTMLDivElement | undefined;
  let button: HTMLButtonElement | undefined;
  const close = () => {
    setOpen(false);
    setWords("");
  };
  const go = (project: JsonProject) => {
    close();
    navigate(`${user() ? "/console/projects" : "/perf"}/${project.slug}`);
  };
  const outside = (event: Event) => {
    if (!root?.contains(event.target as Node)) close();
  };
  onMount(() => document.addEventListener("pointerdown", outside));
  onCleanup(() => document.removeEventListener("pointerdown", outside));
  bindKeys([{ keys: "g s", label: "Switch project", run: () => setOpen(true) }]);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape closes the menu from any element inside it.
    <div
      class="menu switcher"
      ref={root}
      onKeyDown={(event) => {
        if (event.key === "Escape" && open()) {
          close();
          button?.focus();
        }
      }}
    >
      <button
        ref={button}
        type="button"
        class="menu-trigger"
        aria-haspopup="dialog"
        aria-expanded={open()}
        onClick={() => (open() ? close() : setOpen(true))}
      >
        <span class="ellipsis">{props.project?.name ?? "Projects"}</span>
        <Icon name="down" size={16} />
      </button>
      <Show when={open()}>
        <div class="menu-list" role="dialog" aria-label="Projects">
          <input
            type="search"
            aria-label="Search projects"
            placeholder="Search projects"
            ref={(field) => queueMicrotask(() => field.focus())}
            onInput={(event) => setWords(event.currentTarget.value)}
            onKeyDown={(event) => {
              const first = projects()?.rows[0];
              if (event.key === "Enter" && first) go(first);
            }}
          />
          <ul>
            <For
              each={projects()?.rows}
              fallback={<li class="muted small">{projects() ? "No project matches." : "…"}</li>}
            >
              {(project) => (
                <li>
                  <button type="button" onClick={() => go(project)}>
                    <span class="ellipsis grow">{project.name}</span>
                    <Show when={project.visibility === "private"}>
                      <Badge>private</Badge>
                    </Show>
                  </button>
                </li>
              )}
            </For>
          </ul>
          <A href={user() ? "/console/organizations" : "/perf"} onClick={close}>
            All projects
          </A>
        </div>
      </Show>
    </div>
  );
}

const THEMES: readonly { theme: Theme; label: string; icon: IconName }[] = [
  { theme: "system", label: "System", icon: "screen" },
  { theme: "light", label: "Light", icon: "sun" },
  { theme: "dark", label: "Dark", icon: "moon" },
];

function ThemeMenu(): JSX.Element {
  const items = (): MenuItem[] =>
    THEMES.map((choice) => ({
      label: choice.label,
      icon: choice.theme === theme() ? "check" : choice.icon,
      run: () => setTheme(choice.theme),
    }));
  return (
    <Menu
      label="Theme"
      items={items()}
      trigger={<Icon name={THEMES.find((choice) => choice.theme === theme())?.icon ?? "screen"} />}
    />
  );
}

function UserMenu(props: { slug: string; name: string; admin: boolean }): JSX.Element {
  const navigate = useNavigate();
  const items = (): MenuItem[] => [
    { label: "Organizations", icon: "people", href: "/console/organizations" },
    { label: "Your keys", icon: "key", href: `/console/users/${props.slug}/keys` },
    { label: "Your settings", icon: "settings", href: `/console/users/${props.slug}/settings` },
    ...(props.admin ? [{ label: "This server", icon: "server", href: "/console/server" } as const] : []),
    { label: "Manual", icon: "book", href: "/docs", external: true },
    { label: "API reference", icon: "book", href: "/console/api" },
    { label: "Sign out", icon: "out", run: () => endSession().then(() => navigate("/auth/login")) },
  ];
  return (
    <Menu
      label={`Account of ${props.name}`}
      items={items()}
      trigger={
        <span class="avatar" aria-hidden="true">
          {initials(props.name)}
        </span>
      }
    />
  );
}

function initials(name: string): string {
  const words = name.split(/\s+/);
  return `${words[0]?.[0] ?? ""}${words.length > 1 ? (words.at(-1)?.[0] ?? "") : ""}`.toUpperCase();
}
