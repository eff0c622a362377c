// Frequent tasks and their number of clicks. Other specs contain the tasks of their page: explore.spec.ts, mute.spec.ts
// and pull.spec.ts.

import type { APIRequestContext } from "@playwright/test";
import { lab, reports, step } from "./seed";
import { countClicks, expect, make, test } from "./support";

/** Waits until detection has found a number of open events. */
async function events(request: APIRequestContext, slug: string, wanted: number): Promise<void> {
  const open = async () =>
    ((await (await request.get(`/v0/projects/${slug}/events?status=open`)).json()) as object[]).length;
  await expect.poll(open).toBe(wanted);
}

test("from an empty project to the first plot with 4 clicks", async ({ page }) => {
  await lab(page, "Tasks-first");
  const clicks = await countClicks(page);
  await page.goto("/console/onboard/project");
  await page.getByLabel("Name").fill("Tasks first plot");
  await page.getByRole("button", { name: "Create project" }).click();
  await page.getByRole("button", { name: "Create key" }).click();
  await page.getByRole("link", { name: "Open project" }).click();
  await expect(page.getByRole("heading", { name: "No runs yet" })).toBeVisible();
  // The user runs the command of the page. The overview shows the report without a reload.
  await reports(page.context().request, "tasks-first-plot", "main", 9);
  await page.getByRole("main").getByRole("link", { name: "Explore" }).click();
  await expect(page.getByRole("group", { name: /2 lines with 18 points/ })).toBeVisible();
  expect(clicks()).toBe(4);
});

test("find the commit of the worst regression and mark it as expected with 2 clicks", async ({ page }) => {
  const { project } = await lab(page, "Tasks-expected");
  const { request } = page.context();
  await step(request, project);
  await events(request, project, 1);
  const clicks = await countClicks(page);
  await page.goto(`/console/projects/${project}/plots`);
  await page
    .getByRole("region", { name: "Open regressions" })
    .getByRole("link", { name: /queue::push/ })
    .click();
  await expect(page.getByRole("heading", { name: "1 regression", level: 1 })).toBeVisible();
  await expect(page.getByText("bbbbbb").first()).toBeVisible();
  await page.getByRole("button", { name: "Expected", exact: true }).click();
  await expect(page.getByText("Marked as expected.")).toBeVisible();
  expect(clicks()).toBe(2);
  await events(request, project, 0);
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
  await page.goto(`/console/projects/${project}/regressions`);
  await expect(page.getByRole("row")).toHaveCount(6);
  // Open the first event from the list.
  await page
    .getByRole("link", { name: /1 regression/ })
    .first()
    .focus();
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
