import type { APIRequestContext } from "@playwright/test";
import { lab, reports, step } from "./seed";
import { accessible, countClicks, expect, fits, make, settled, test } from "./support";

/** Waits until a list of events has a number of rows. */
async function events(request: APIRequestContext, slug: string, query: string, wanted: number): Promise<void> {
  const total = async () =>
    ((await (await request.get(`/v0/projects/${slug}/events?${query}`)).json()) as object[]).length;
  await expect.poll(total).toBe(wanted);
}

test("mute a flaky benchmark with 3 clicks", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `Tasks-mute-${project.name}`);
  const { request } = page.context();
  await step(request, slug);
  await events(request, slug, "status=open", 1);
  const clicks = await countClicks(page);
  await page.goto(`/console/projects/${slug}/plots`);
  await page
    .getByRole("region", { name: "Open regressions" })
    .getByRole("link", { name: /queue::push/ })
    .click();
  await page.getByRole("button", { name: "Mute", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Mute" });
  await expect(dialog.getByLabel("Benchmark")).toHaveValue("queue::push");
  await expect(dialog.getByLabel("Reason")).toBeFocused();
  await page.keyboard.type("Flaky since the move");
  await dialog.getByRole("button", { name: "Mute", exact: true }).click();
  await expect(page.getByText(/^Muted until /).first()).toBeVisible();
  expect(clicks()).toBe(3);
  await events(request, slug, "status=open&muted=false", 0);
});

test("a muted event leaves the list, and its mute is listed", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `Muted-${project.name}`);
  const { request } = page.context();
  await step(request, slug);
  await events(request, slug, "status=open", 1);
  await page.goto(`/console/projects/${slug}/regressions`);
  await page.getByRole("link", { name: /1 regression/ }).click();
  await expect(page.getByRole("heading", { name: "1 regression", level: 1 })).toBeVisible();
  await expect(page.getByRole("button", { name: "Mute", exact: true })).toBeVisible();
  // The keyboard opens the dialog.
  await page.keyboard.press("m");
  const dialog = page.getByRole("dialog", { name: "Mute" });
  await expect(dialog.getByLabel("Reason")).toBeFocused();
  await accessible(page);
  await fits(page);
  await page.keyboard.type("Flaky");
  await dialog.getByLabel("Period").selectOption("Until it is unmuted");
  await dialog.getByRole("button", { name: "Mute", exact: true }).click();
  await expect(page.getByText("Muted until it is unmuted: Flaky")).toBeVisible();
  await accessible(page);
  await fits(page);

  await page.goto(`/console/projects/${slug}/regressions`);
  await expect(page.getByRole("heading", { name: "No open regressions" })).toBeVisible();
  await page.getByRole("combobox", { name: "Muted" }).selectOption("Muted");
  await expect(page.getByRole("row").nth(1)).toContainText("muted");

  await page.goto(`/console/projects/${slug}/mutes`);
  const row = page.getByRole("row").nth(1);
  await expect(row).toContainText("queue::push");
  await expect(row).toContainText("Flaky");
  await accessible(page);
  await fits(page);
  await row.getByRole("button", { name: "Unmute" }).click();
  await expect(page.getByRole("heading", { name: "No mutes" })).toBeVisible();
  await events(request, slug, "status=open&muted=false", 1);
});

test("a muted regression has no color on any page", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `Muted-color-${project.name}`);
  const { request } = page.context();
  await reports(request, slug, "main", 24);
  await reports(request, slug, "slower", 1, 1.3, { start_point: { branch: "main" } });
  const compare = `/console/projects/${slug}/compare?from=branch:main&to=branch:slower`;
  await page.goto(compare);
  const verdict = page.getByRole("region", { name: "Verdict", exact: true });
  await expect(verdict).toContainText("1 regression, 1 unchanged");
  await expect(page.getByRole("main").locator(".badge.alert").first()).toBeVisible();
  await make(request, `/v0/projects/${slug}/mutes`, { benchmark: "parse::large", reason: "Flaky" });

  const base = `/console/projects/${slug}`;
  const pages: readonly [string, string][] = [
    [compare, "Comparison"],
    [`${base}/benchmarks?branch=slower`, "List of series"],
    [`${base}/benchmarks/parse-large?branch=slower`, "List of newest values"],
    [`${base}/pulls`, "List of branches"],
  ];
  for (const [path, table] of pages) {
    await page.goto(path);
    await settled(page);
    const row = page.getByRole("region", { name: table, exact: true }).getByRole("row").nth(1);
    await expect(row, path).toContainText("muted");
    await expect(page.getByRole("main").locator(".badge.alert, .delta.worse"), path).toHaveCount(0);
    await fits(page);
  }
  await page.goto(compare);
  await expect(verdict).toContainText("1 muted, 1 unchanged");
  await expect(page.getByRole("region", { name: "Verdicts by measure" })).toContainText("1 muted, 1 unchanged");
});

test("a benchmark is muted on its page and in the list", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `Mute-benchmark-${project.name}`);
  const { request } = page.context();
  await make(request, `/v0/projects/${slug}/benchmarks`, { name: "parse" });
  await page.goto(`/console/projects/${slug}/benchmarks?view=all`);
  await page.getByRole("row").nth(1).getByRole("button", { name: "Mute" }).click();
  const dialog = page.getByRole("dialog", { name: "Mute" });
  await expect(dialog.getByLabel("Benchmark")).toHaveValue("parse");
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "parse" }).click();
  await page.getByRole("button", { name: "Mute", exact: true }).click();
  await dialog.getByLabel("Reason").fill("Flaky");
  await dialog.getByRole("button", { name: "Mute", exact: true }).click();
  await expect(page.getByText("muted", { exact: true })).toBeVisible();
  await accessible(page);
  await fits(page);
});
