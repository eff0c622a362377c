// Frequent tasks and their number of clicks. Other specs contain the tasks of their page: explore.spec.ts, mute.spec.ts
// and pull.spec.ts.

import type { APIRequestContext } from "@playwright/test";
import { lab, reports } from "./seed";
import { startServer } from "./server";
import { countClicks, expect, mailedToken, make, test } from "./support";

/** Waits until detection has found a number of open events. */
async function events(request: APIRequestContext, slug: string, wanted: number): Promise<void> {
  const open = async () =>
    ((await (await request.get(`/v0/projects/${slug}/events?status=open`)).json()) as object[]).length;
  await expect.poll(open).toBe(wanted);
}

/** Stops the separate server of a test. */
let stop: (() => void) | undefined;
test.afterEach(() => stop?.());

test("from an empty server to the first plot with 6 clicks", async ({ page, playwright }) => {
  const server = await startServer("");
  stop = server.stop;
  const { base, data } = server;
  const clicks = await countClicks(page);
  await page.goto(base);
  await expect(page.getByText("The first account becomes the administrator.")).toBeVisible();
  await page.getByLabel("Your name").fill("Ada Lovelace");
  await page.getByLabel("Your e-mail address").fill("ada@example.org");
  await page.getByLabel("I agree").check();
  await page.getByRole("button", { name: "Create administrator account" }).click();
  await expect(page.getByRole("heading", { name: "Check your e-mail" })).toBeVisible();
  await page.goto(`${base}/auth/confirm?token=${await mailedToken("ada@example.org", undefined, data)}`);
  await page.getByLabel("Name").fill("Widget");
  await page.getByRole("button", { name: "Create project" }).click();
  await page.getByRole("button", { name: "Create key" }).click();
  const key = await page.getByText(/^svc_run_\w{30}$/).textContent();
  await page.getByRole("link", { name: "Open project" }).click();
  await expect(page.getByRole("heading", { name: "No runs yet" })).toBeVisible();
  // The user runs the command of the page. The overview shows the runs without a reload.
  const ci = await playwright.request.newContext({
    baseURL: base,
    extraHTTPHeaders: { authorization: `Bearer ${key}` },
  });
  await reports(ci, "widget", "main", 9);
  await ci.dispose();
  await page.getByRole("main").getByRole("link", { name: "Explore" }).click();
  await expect(page.getByRole("group", { name: /2 lines with 18 points/ })).toBeVisible();
  expect(clicks()).toBe(6);
});

/** The benchmarks of `steps`, with the day of their change and its size. */
const STEPS: Readonly<Record<string, readonly [number, number]>> = {
  "queue::push": [40, 1.5],
  "queue::pop": [40, 1.4],
  "queue::peek": [40, 1.45],
  "text::parse": [50, 1.15],
  "text::scan": [60, 1],
  "text::sort": [60, 1],
  "net::send": [60, 1],
  "net::wait": [60, 1],
};

/** Reports for 60 days: three benchmarks change with one commit, and another one changes less, ten days later. */
async function steps(request: APIRequestContext, project: string): Promise<void> {
  const names = Object.keys(STEPS);
  for (let day = 0; day < 60; day++) {
    const time = new Date(Date.now() - (60 - day) * 86_400_000).toISOString();
    const results = names.map((name, place) => {
      const [start, factor] = STEPS[name] as readonly [number, number];
      const noise = Math.sin((day + 11 * place) * (day + 3 * place)) * 1.4;
      return [name, { latency: { value: (100 + noise) * (day < start ? 1 : factor) } }];
    });
    await make(request, `/v0/projects/${project}/reports`, {
      branch: "main",
      testbed: "ci",
      hash: (day + 1).toString(16).padStart(40, "b"),
      start_time: time,
      end_time: time,
      results: [JSON.stringify(Object.fromEntries(results))],
    });
  }
}

test("find the commit of the worst regression and mark all its series as expected with 4 clicks", async ({ page }) => {
  const { project } = await lab(page, "Tasks-expected");
  const { request } = page.context();
  await steps(request, project);
  await events(request, project, 2);
  const clicks = await countClicks(page);
  await page.goto(`/console/projects/${project}/plots`);
  await page.getByRole("link", { name: /^Regressions/ }).click();
  const rows = page.getByRole("row");
  // The newest event is not the worst one.
  await expect(rows.nth(1)).toContainText("text::parse");
  await page.getByRole("button", { name: "Largest first" }).click();
  await expect(rows.nth(1)).toContainText("queue::push and 2 more");
  await rows.nth(1).getByRole("link").first().click();
  await expect(page.getByRole("heading", { name: "3 regressions in queue::push and 2 more", level: 1 })).toBeVisible();
  const commit = (41).toString(16).padStart(40, "b");
  await expect(page.locator(`[title="${commit}"]`).first()).toBeVisible();
  await page.getByRole("button", { name: "Expected", exact: true }).click();
  await expect(page.getByText("Marked as expected.")).toBeVisible();
  expect(clicks()).toBe(4);
  // The status applies to all series of the event, and to no other event.
  await events(request, project, 1);
  type Change = { benchmark: { name: string }; status: string };
  const changes = (await (await request.get(`/v0/projects/${project}/changes`)).json()) as Change[];
  const expected = changes.filter(({ status }) => status === "expected").map(({ benchmark }) => benchmark.name);
  expect(expected.sort()).toEqual(["queue::peek", "queue::pop", "queue::push"]);
});

test("notify Slack about regressions on main with 3 clicks", async ({ page }) => {
  const { project } = await lab(page, "Tasks-slack");
  await reports(page.context().request, project, "main", 1);
  const clicks = await countClicks(page);
  await page.goto(`/console/projects/${project}/plots`);
  await page.getByRole("link", { name: "Notifications" }).click();
  await page.getByRole("link", { name: "Add a notice" }).first().click();
  await page.getByLabel("Kind").selectOption("Slack");
  await page.getByLabel("Name").fill("Team channel");
  await page.getByLabel("URL").fill("https://hooks.slack.com/services/T0/B0/abc");
  await page.getByLabel("Direction").selectOption("regression");
  await page.getByRole("button", { name: "Add the notice" }).click();
  await expect(page.getByText("on branch main raises regressions")).toBeVisible();
  expect(clicks()).toBe(3);
});

test("share a plot with 2 clicks", async ({ page }) => {
  await page.context().grantPermissions(["clipboard-write"]);
  const { project } = await lab(page, "Tasks-share", { visibility: "public" });
  await reports(page.context().request, project, "main", 9);
  const clicks = await countClicks(page);
  await page.goto(`/console/projects/${project}/perf`);
  await page.getByRole("button", { name: "Share", exact: true }).click();
  const link = page.getByRole("dialog").getByRole("group", { name: "Link", exact: true });
  await expect(link).toContainText(`/perf/${project}`);
  await page.getByRole("dialog").getByRole("button", { name: "Copy: Link", exact: true }).click();
  expect(clicks()).toBe(2);
});

test("invite a member with 3 clicks", async ({ page }) => {
  await page.context().grantPermissions(["clipboard-write"]);
  const { organization } = await lab(page, "Tasks-invite");
  const clicks = await countClicks(page);
  await page.goto(`/console/organizations/${organization}/members`);
  await page.getByRole("link", { name: /Invite/ }).click();
  await page.getByLabel("E-mail address").fill("tasks-invited@example.org");
  await page.getByRole("button", { name: "Invite", exact: true }).click();
  await page.getByRole("button", { name: "Copy: Invitation link" }).click();
  expect(clicks()).toBe(3);
});

test("find a commit by its hash without a click", async ({ page }) => {
  const { project } = await lab(page, "Tasks-hash");
  await reports(page.context().request, project, "main", 9);
  const clicks = await countClicks(page);
  await page.goto(`/console/projects/${project}/plots`);
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await page.keyboard.press("ControlOrMeta+k");
  await expect(page.getByRole("combobox", { name: "Search pages and projects" })).toBeFocused();
  await page.keyboard.type("0202020");
  await expect(page.getByRole("option", { name: /02020202/ })).toHaveCount(1);
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/reports\/[\w-]{36}$/);
  expect(clicks()).toBe(0);
});

test("review five events with the keyboard", async ({ page }) => {
  const { project } = await lab(page, "Tasks-review");
  const { request } = page.context();
  const names = ["parse", "scan", "sort", "hash", "send"];
  for (let place = 0; place < 58; place++) {
    const time = new Date(Date.now() - (58 - place) * 86_400_000).toISOString();
    // One benchmark becomes slower every six reports.
    const value = (index: number) =>
      (place < 20 + 6 * index ? 100 : 130) + Math.sin((place + 11 * index) * (place + 3 * index)) * 1.4;
    const results = names.map((name, index) => [name, { latency: { value: value(index) } }]);
    await make(request, `/v0/projects/${project}/reports`, {
      branch: "main",
      testbed: "ci",
      hash: (place + 1).toString(16).padStart(40, "c"),
      start_time: time,
      end_time: time,
      results: [JSON.stringify(Object.fromEntries(results))],
    });
  }
  await events(request, project, 5);
  const clicks = await countClicks(page);
  await page.goto(`/console/projects/${project}/plots`);
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await page.keyboard.press("g");
  await page.keyboard.press("g");
  await expect(page.getByRole("row")).toHaveCount(6);
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog").getByText("Go to the next event; Enter opens it")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  const links = page.getByRole("link", { name: /1 regression/ });
  await page.keyboard.press("j");
  await expect(links.nth(0)).toBeFocused();
  await page.keyboard.press("j");
  await expect(links.nth(1)).toBeFocused();
  await page.keyboard.press("k");
  await page.keyboard.press("Enter");
  for (const key of ["e", "f", "x", "e", "f"]) {
    await expect(page.getByRole("button", { name: "Expected", exact: true })).toBeVisible();
    const url = page.url();
    await page.keyboard.press(key);
    await expect(page.getByRole("button", { name: "Reopen" })).toBeVisible();
    await page.keyboard.press("n");
    await expect(page).not.toHaveURL(url);
  }
  await expect(page.getByRole("heading", { name: "No open regressions" })).toBeVisible();
  expect(clicks()).toBe(0);
});
