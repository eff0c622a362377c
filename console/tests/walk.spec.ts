// Walks every page of the console and the main dialogs, on a desktop and on a phone: each renders, logs nothing, fits the
// screen and passes the accessibility rules, in light and dark. The pages come from src/routes.tsx: a new page needs an
// entry here only if it has a new parameter.
//
// `cargo xtask console screenshots` also saves a screenshot of each page and dialog.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { APIRequestContext, Page } from "@playwright/test";
import { pages } from "./routes";
import { ask, enlist } from "./runner";
import { lab } from "./seed";
import { asAdmin, audit, expect, fits, make, settled, test } from "./support";

/** The folder of the screenshots, if any. */
const SCREENSHOTS = process.env.TIDEMARK_CONSOLE_SCREENSHOTS;

/** Pages that the walk cannot open by their URL. */
const SKIPPED: readonly { paths: RegExp; reason: string }[] = [
  { paths: /^\/auth\/(github|google|oidc)/, reason: "a provider redirects to it: oauth.spec.ts" },
  { paths: /^\/auth\/logout$/, reason: "ends the session of the administrator: auth.spec.ts" },
  { paths: /^\/console\/plan$|\/checkout$/, reason: "redirects without billing: plan.spec.ts" },
  { paths: /\/embed$/, reason: "a frame without a heading: perf.spec.ts" },
  {
    paths: /^\/perf\/:project\/(?!plots$|benchmarks)/,
    reason: "the page of the console without its buttons: anonymous.spec.ts",
  },
];

/** Groups that several workers walk in parallel. A page belongs to the first group that matches. */
const GROUPS: Readonly<Record<string, RegExp>> = {
  everybody: /^\/(?!console)/,
  items: /:(key|notice|member|job|invitation)$/,
  organizations: /^\/console\/organizations/,
  results: /^\/console\/projects\/:project\/(plots|perf|compare|pulls|reports|jobs|alerts|regressions|metrics)/,
  parts: /^\/console\/projects\/:project\/(thresholds|branches|testbeds|benchmarks|measures|detection)/,
  settings: /^\/console\/projects/,
  server: /^\/console/,
};

const PATHS = pages()
  .map(({ path }) => path)
  .filter((path) => !SKIPPED.some(({ paths }) => paths.test(path)));

/** The name of the group of a path. */
const groupOf = (path: string) => Object.keys(GROUPS).find((group) => GROUPS[group]?.test(path));

type Parameters = Readonly<Record<string, string>>;

/** The path with values of its parameters. Fails if a parameter has no value. */
function fill(path: string, parameters: Parameters): string {
  return path
    .replace(/\/:step\?$|\/\*operation$/, "")
    .replace(/^\/\*.*/, "/there/is/no/such/page")
    .replace(/:(\w+)/g, (_, name: string) => {
      const value = parameters[name];
      if (!value) throw new Error(`The walk has no value of :${name} for ${path}.`);
      return encodeURIComponent(value);
    });
}

/** Items of the demo project. */
async function demoParameters(request: APIRequestContext): Promise<Parameters> {
  const first = async <T>(list: string) => ((await (await request.get(`/v0/projects/demo/${list}`)).json()) as T[])[0];
  const uuid = async (list: string) => (await first<{ uuid: string }>(`${list}per_page=1`))?.uuid ?? "";
  const events = await request.get("/v0/projects/demo/events?status=open&change_direction=regression");
  const event = ((await events.json()) as { uuid: string; total: number }[]).find(({ total }) => total > 1);
  const alert = await first<{ uuid: string; metric: { uuid: string } }>("alerts?status=active&per_page=1");
  return {
    project: "demo",
    organization: "tidepool",
    user: "ada-lovelace",
    plot: await uuid("plots?"),
    report: await uuid("reports?branch=main&testbed=metal-arm64&"),
    event: event?.uuid ?? "",
    threshold: await uuid("thresholds?branch=main&testbed=ci-linux-x64&"),
    alert: alert?.uuid ?? "",
    metric: alert?.metric.uuid ?? "",
    branch: "main",
    testbed: "ci-linux-x64",
    benchmark: "parser-json-large",
    measure: "latency",
  };
}

/** A new project whose pages of items are not empty. */
async function itemParameters(page: Page, name: string): Promise<Parameters> {
  const { project, organization } = await lab(page, name);
  const { request } = page.context();
  const { user } = (await (await request.get("/v0/auth/session")).json()) as { user: { slug: string } };
  const { uuid: key } = await make<{ uuid: string }>(request, `/v0/projects/${project}/keys`, { name: "ci" });
  const { uuid: userKey } = await make<{ uuid: string }>(request, `/v0/users/${user.slug}/keys`, { name: "laptop" });
  const chat = { name: "Team", kind: "slack", url: "https://hooks.slack.com/services/T0/B0/abc" };
  const { uuid: notice } = await make<{ uuid: string }>(request, `/v0/projects/${project}/notices`, chat);
  const mail = { name: "To me", kind: "email" };
  const { uuid: userNotice } = await make<{ uuid: string }>(request, `/v0/users/${user.slug}/notices`, mail);
  await make(request, `/v0/projects/${project}/members`, { user: "ada-lovelace", role: "viewer" });
  await make(request, `/v0/organizations/${organization}/members`, {
    email: `new-${name}@example.org`,
    role: "member",
  });
  const invitations = await request.get(`/v0/organizations/${organization}/invitations`);
  const [invitation] = (await invitations.json()) as { uuid: string }[];
  const { spec } = await enlist();
  const { job } = await ask(page, project, spec);
  return {
    project,
    organization,
    user: user.slug,
    job,
    "project key": key,
    "user key": userKey,
    "project notice": notice,
    "user notice": userNotice,
    "project member": "ada-lovelace",
    "organization member": user.slug,
    invitation: invitation?.uuid ?? "",
  };
}

/** The parameters of one path: items of the same kind have different owners. */
function owned(path: string, parameters: Parameters): Parameters {
  const owner = path.includes("/projects/") ? "project" : path.includes("/users/") ? "user" : "organization";
  const own = (kind: string) => parameters[`${owner} ${kind}`] ?? "";
  return { ...parameters, key: own("key"), notice: own("notice"), member: own("member") };
}

/** Checks what the page shows, and saves screenshots if asked to. */
async function check(page: Page, name: string): Promise<void> {
  const project = test.info().project.name;
  const save = async (scheme: string) => {
    if (!SCREENSHOTS) return;
    const folder = join(SCREENSHOTS, `${project}-${scheme}`);
    mkdirSync(folder, { recursive: true });
    const isDialog = (await page.locator("dialog[open]").count()) > 0;
    await page.screenshot({
      path: join(folder, `${name.replace(/[^\w-]+/g, "_").replace(/^_|_$/g, "") || "missing"}.png`),
      animations: "disabled",
      fullPage: !isDialog,
    });
  };
  await audit(page);
  await fits(page);
  await save("light");
  // Dark mode changes only the colors, which are the same on a phone.
  if (project === "phone" && !SCREENSHOTS) return;
  await page.emulateMedia({ colorScheme: "dark" });
  await audit(page, "color-contrast");
  await save("dark");
  await page.emulateMedia({ colorScheme: "light" });
}

async function walk(page: Page, group: string, parameters: Parameters): Promise<void> {
  const paths = PATHS.filter((path) => groupOf(path) === group);
  expect(paths.length).toBeGreaterThan(0);
  for (const path of paths) {
    await test.step(path, async () => {
      await page.goto(fill(path, owned(path, parameters)));
      await settled(page);
      // An item that does not exist is not its page.
      if (!path.includes("*")) await expect(page.getByRole("heading", { name: /not found|No page at/ })).toHaveCount(0);
      await check(page, path);
    });
  }
}

test("every page belongs to a group", () => {
  expect(PATHS.filter((path) => !groupOf(path))).toEqual([]);
});

test("the pages of everybody", async ({ page }) => {
  await walk(page, "everybody", await demoParameters(page.request));
});

test("the pages of items that users create", async ({ page }, info) => {
  await walk(page, "items", await itemParameters(page, `Walk-items-${info.project.name}`));
});

for (const group of ["organizations", "results", "parts", "settings"]) {
  test(`the pages of an administrator: ${group}`, async ({ page }) => {
    await asAdmin(page);
    await walk(page, group, await demoParameters(page.request));
  });
}

test("the pages of an administrator: server", async ({ page }) => {
  await asAdmin(page);
  const { spec, runner } = await enlist();
  await walk(page, "server", { ...(await demoParameters(page.request)), spec, runner });
});

/** The main dialogs: the page, and how a user opens the dialog. */
const DIALOGS: Readonly<Record<string, { path: string; open: (page: Page) => Promise<void> }>> = {
  palette: {
    path: "/console/projects/:project/plots",
    open: (page) => page.getByRole("button", { name: "Search pages and projects" }).click(),
  },
  shortcuts: { path: "/console/projects/:project/regressions", open: (page) => page.keyboard.press("?") },
  mute: {
    path: "/console/projects/:project/regressions/:event",
    open: (page) => page.getByRole("button", { name: "Mute", exact: true }).click(),
  },
  share: {
    path: "/console/projects/:project/perf?plot=:plot",
    open: (page) => page.getByRole("button", { name: "Share", exact: true }).click(),
  },
  pin: {
    path: "/console/projects/:project/perf?plot=:plot",
    open: (page) =>
      page
        .getByRole("button", { name: /^(Pin|Update)/ })
        .first()
        .click(),
  },
  "dismiss alerts": {
    path: "/console/projects/:project/alerts",
    open: (page) => page.getByRole("button", { name: "Dismiss multiple…" }).click(),
  },
  delete: {
    path: "/console/projects/:project/benchmarks/:benchmark",
    open: (page) => page.getByRole("button", { name: "Delete", exact: true }).click(),
  },
};

test("the main dialogs", async ({ page }) => {
  await asAdmin(page);
  const parameters = await demoParameters(page.request);
  for (const [name, { path, open }] of Object.entries(DIALOGS)) {
    await test.step(name, async () => {
      await page.goto(fill(path, parameters));
      await settled(page);
      await open(page);
      await expect(page.locator("dialog[open]")).toBeVisible();
      await check(page, `dialog ${name}`);
    });
  }
});

test("the dialog of an expired session", async ({ page }) => {
  await asAdmin(page);
  await page.goto("/console/projects/demo/settings");
  await settled(page);
  await page.context().clearCookies();
  await page.getByRole("main").getByRole("link", { name: "Notifications" }).click();
  await expect(page.locator("dialog[open]")).toBeVisible();
  await check(page, "dialog expired session");
});
