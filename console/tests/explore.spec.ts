import type { APIRequestContext, Page } from "@playwright/test";
import { lab, step } from "./seed";
import { accessible, countClicks, expect, fits, idle, make, test } from "./support";

const DAY = 86_400_000;
/** The one benchmark whose level changes. */
const MOVING = "suite_1::case_23";
/** Number of reports before and after the change. */
const [BEFORE, AFTER] = [16, 12];

/** Waits until detection has found an event. */
async function found(request: APIRequestContext, slug: string): Promise<void> {
  const total = async () => ((await (await request.get(`/v0/projects/${slug}/events`)).json()) as object[]).length;
  await expect.poll(total).toBeGreaterThan(0);
}

/** Reports of many benchmarks, one per day until now. One benchmark becomes 15 % slower; the others have 1 % noise. */
async function many(page: Page, name: string, benchmarks: number): Promise<string> {
  const { project: slug } = await lab(page, name);
  const { request } = page.context();
  for (let day = 0; day < BEFORE + AFTER; day++) {
    const time = new Date(Date.now() - (BEFORE + AFTER - day) * DAY).toISOString();
    const results = Object.fromEntries(
      Array.from({ length: benchmarks }, (_, place) => {
        const benchmark = `suite_${Math.floor(place / 19)}::case_${place}`;
        const level = 1000 * (1 + (place % 7)) * (benchmark === MOVING && day >= BEFORE ? 1.15 : 1);
        return [benchmark, { latency: { value: level * (1 + Math.sin(place + day * day) / 100) } }];
      }),
    );
    await make(request, `/v0/projects/${slug}/reports`, {
      branch: "main",
      testbed: "ci",
      hash: (day + 1).toString(16).padStart(40, "c"),
      start_time: time,
      end_time: time,
      results: [JSON.stringify(results)],
      settings: { adapter: "json" },
    });
  }
  await found(request, slug);
  return slug;
}

/** The page with all benchmarks of a project selected. */
async function all(page: Page, slug: string): Promise<string> {
  const ids = async (kind: string) =>
    (
      (await (await page.context().request.get(`/v0/projects/${slug}/${kind}?per_page=255`)).json()) as {
        uuid: string;
      }[]
    ).map(({ uuid }) => uuid);
  const link = new URLSearchParams({
    branches: (await ids("branches")).join(),
    testbeds: (await ids("testbeds")).join(),
    benchmarks: (await ids("benchmarks")).join(),
    measures: (await ids("measures")).slice(0, 1).join(),
  });
  return `/console/projects/${slug}/perf?${link}`;
}

const legend = (page: Page) => page.getByRole("region", { name: "Legend" });
const plot = (page: Page) => page.getByRole("group", { name: /with [\d,]+ points/ });

test("find the moving line among 200 with 1 click", async ({ page }, { project }) => {
  const slug = await many(page, `Crowd-${project.name}`, 200);
  const clicks = await countClicks(page);
  await page.goto(await all(page, slug));
  await expect(plot(page)).toHaveAccessibleName(/200 lines/);
  await idle(page);
  // Only the lines with a change have entries; the others are in a closed group.
  await expect(legend(page).getByRole("heading", { name: "1 changed line" })).toBeVisible();
  await expect(legend(page).getByRole("listitem").filter({ hasText: "case_" })).toHaveCount(1);
  await expect(legend(page).getByRole("link", { name: /^Regression of \+1\d(\.\d)?\s% in / })).toBeVisible();
  await accessible(page);
  await fits(page);
  await legend(page).getByRole("button", { name: MOVING, exact: true }).click();
  await expect(page).toHaveURL(/isolated=\d+/);
  await expect(page.locator(".plot-units")).toContainText(MOVING);
  expect(clicks()).toBe(1);
  await page.keyboard.press("Escape");
  await expect(page).not.toHaveURL(/isolated=/);

  // The other lines are found by name.
  await legend(page).getByRole("button", { name: "199 lines without a change" }).click();
  await expect(legend(page).getByRole("listitem").filter({ hasText: "case_" })).toHaveCount(200);
  await legend(page).getByLabel("Search lines").fill("suite_3 case_60");
  await expect(legend(page).getByRole("listitem").filter({ hasText: "case_" })).toHaveCount(1);
  await legend(page).getByRole("button", { name: "suite_3::case_60", exact: true }).press("Enter");
  await expect(page.locator(".plot-units")).toContainText("suite_3::case_60");
  await legend(page).getByRole("button", { name: "Show all" }).click();
  await expect(page).not.toHaveURL(/isolated=/);
});

test("small multiples show the largest change first", async ({ page }, { project }) => {
  const slug = await many(page, `Small-${project.name}`, 40);
  await page.goto(await all(page, slug));
  await page.getByRole("button", { name: "Small multiples" }).click();
  await expect(page).toHaveURL(/layout=multiples/);
  const plots = page.getByRole("region", { name: /40 lines/ }).getByRole("button");
  await expect(plots).toHaveCount(40);
  await idle(page);
  await expect(plots.first()).toContainText(MOVING);
  await expect(plots.first()).toContainText(/\+1\d(\.\d)?\s%/);
  await expect(plots.nth(1)).not.toContainText("%");
  await page.getByRole("group", { name: "Y axis" }).getByRole("button", { name: "Shared" }).click();
  await expect(page).toHaveURL(/shared_y=true/);
  await page.getByRole("combobox", { name: "Values" }).selectOption("% of median");
  await expect(page).toHaveURL(/relative=median/);
  await expect(page.getByText(/in % of median/).first()).toBeVisible();
  await accessible(page);
  await fits(page);
  await plots.first().press("Enter");
  await expect(page.locator(".plot-units")).toContainText(MOVING);
  await expect(page).not.toHaveURL(/layout=/);
});

test("the page opens with the changed series, and their marks lead to the event", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `Opens-${project.name}`);
  const { request } = page.context();
  await step(request, slug);
  await found(request, slug);
  await page.goto(`/console/projects/${slug}/perf`);
  await expect(page.getByRole("heading", { name: "Series that changed in the last 30 days" })).toBeVisible();
  await expect(plot(page)).toHaveAccessibleName(/1 line with .* and 1 change of level/);
  await expect(legend(page).getByRole("list", { name: "Marks" })).toHaveText("Regression");
  await expect(page).toHaveURL(/benchmarks=[\w-]{36}/);
  await accessible(page);
  await fits(page);
  const address = page.url();
  await page.reload();
  await expect(page.getByRole("heading", { name: "Series that changed in the last 30 days" })).toBeVisible();
  expect(page.url()).toBe(address);

  await idle(page);
  const mark = plot(page).getByRole("link", { name: /^Regression of \+(19|20)(\.\d)?\s% in queue::push, open$/ });
  if (project.name === "desktop") {
    await mark.hover();
    const readout = page.locator(".readout");
    await expect(readout).toContainText("open");
    await expect(readout).toContainText(/\d → \d/);
    await expect(readout).toContainText("#");
    await expect(readout).toContainText("bbbbbbbb");
  }
  await mark.click();
  await expect(page).toHaveURL(/\/regressions\/[\w-]{36}$/);
  await expect(page.getByRole("heading", { name: "1 regression", level: 1 })).toBeVisible();

  // A reviewed change stays visible, but does not look like an open one.
  await page.getByRole("button", { name: "Expected" }).click();
  await expect(page.getByText("Marked as expected.")).toBeVisible();
  await page.goto(address);
  await expect(legend(page).getByRole("list", { name: "Marks" })).toHaveText("Reviewed or recovered");
  await expect(plot(page).getByRole("link", { name: /queue::push, expected$/ })).toBeVisible();
});

test("values are shown in percent of a reference value", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `Percent-${project.name}`);
  const { request } = page.context();
  await step(request, slug);
  await found(request, slug);
  await page.goto(`/console/projects/${slug}/perf`);
  await idle(page);
  const values = page.getByRole("combobox", { name: "Values" });
  const last = async () => {
    await plot(page).focus();
    await page.keyboard.press("End");
    return page.locator(".readout");
  };
  await values.selectOption("% of baseline");
  await expect(page).toHaveURL(/relative=baseline/);
  await expect(plot(page)).toHaveAccessibleName(/in % of baseline/);
  await expect(await last()).toContainText(/1(19|2\d)(\.\d+)?\s% of [\d.]+\sns \(level before the change at #\d+\)/);
  await expect(page.locator(".plot-units")).toContainText("% of baseline");
  await values.selectOption("% of first value");
  await expect(await last()).toContainText(/% of [\d.]+\sns \(first value in the time range\)/);
  await page.reload();
  await expect(values).toHaveValue("first");
  await expect(plot(page)).toHaveAccessibleName(/in % of first value/);
  await page.getByRole("button", { name: "Download" }).click();
  await expect(page.getByRole("menuitem", { name: "Vector image (SVG), absolute values" })).toBeVisible();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("menuitem", { name: "Image (PNG)" }).click(),
  ]);
  expect(download.suggestedFilename()).toBe(`${slug}-perf.png`);
  await values.selectOption("Absolute");
  await expect(page).not.toHaveURL(/relative=/);
  // The keyboard opens the event of a change: its link is in the values of the point.
  await idle(page);
  await plot(page).focus();
  await page.keyboard.press("End");
  for (let place = 0; place < 30 && !(await page.locator(".readout").getByText("Event").isVisible()); place++)
    await page.keyboard.press("ArrowLeft");
  await expect(page.locator(".readout").getByRole("link", { name: /regression, open/ })).toBeVisible();
});
