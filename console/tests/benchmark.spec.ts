import type { Page } from "@playwright/test";
import { reports } from "./seed";
import { accessible, expect, fits, make, signIn, test } from "./support";

/** A project for one test. */
async function lab(page: Page, name: string): Promise<string> {
  await signIn(page, "Grace Hopper", `${name}@example.org`);
  const { request } = page.context();
  const [organization] = (await (await request.get("/v0/organizations")).json()) as { slug: string }[];
  const project = await make<{ slug: string }>(request, `/v0/organizations/${organization?.slug}/projects`, { name });
  return project.slug;
}

test("a project without benchmarks says how to get some", async ({ page }, { project }) => {
  const slug = await lab(page, `Empty ${project.name}`.replace(" ", "-"));
  await page.goto(`/console/projects/${slug}/benchmarks`);
  await expect(page.getByRole("heading", { name: "No benchmarks yet" })).toBeVisible();
  await accessible(page);
  await fits(page);
});

test("benchmarks are searched, sorted and paged, and the address knows", async ({ page }, { project }) => {
  const slug = await lab(page, `Many-${project.name}`);
  const { request } = page.context();
  for (let number = 10; number < 40; number++)
    await make(request, `/v0/projects/${slug}/benchmarks`, { name: `parser::case ${number}` });
  await page.goto(`/console/projects/${slug}/benchmarks`);
  const rows = page.getByRole("row");
  await expect(rows).toHaveCount(26);
  await expect(page.getByText("30 benchmarks")).toBeVisible();
  await accessible(page);
  await fits(page);
  await page.getByRole("button", { name: "Next page" }).click();
  await expect(rows).toHaveCount(6);
  await expect(page).toHaveURL(/page=2/);
  await page.keyboard.press("/");
  await page.keyboard.type("case 3");
  await expect(rows).toHaveCount(11);
  await expect(page).toHaveURL(/search=case\+3|search=case%203/);
  await page.getByRole("button", { name: "Name" }).click();
  await expect(rows.nth(1)).toContainText("case 39");
  await page.reload();
  await expect(rows.nth(1)).toContainText("case 39");
  await page.getByRole("searchbox").fill("nonsense");
  await page.getByRole("button", { name: "Show all" }).click();
  await expect(rows).toHaveCount(26);
});

test("benchmarks show their newest value, its change and its noise", async ({ page }, { project }) => {
  const slug = await lab(page, `Newest-${project.name}`);
  const { request } = page.context();
  await reports(request, slug, "main", 20);
  await make(request, `/v0/projects/${slug}/benchmarks`, { name: "parse::unused" });
  const events = async () => ((await (await request.get(`/v0/projects/${slug}/events`)).json()) as object[]).length;
  await expect.poll(events).toBe(1);
  await page.goto(`/console/projects/${slug}/benchmarks`);
  const rows = page.getByRole("region", { name: "List of series" }).locator("tbody tr");
  await expect(rows).toHaveCount(2);
  await expect(rows.nth(0)).toContainText("parse::large");
  await expect(rows.nth(0)).toContainText(/1\.2\d+\sµs/);
  await expect(rows.nth(0).locator(".delta.worse")).toHaveText(/^\+2[456]/);
  await expect(rows.nth(1).locator(".delta.worse, .delta.better")).toHaveCount(0);
  await expect(rows.nth(1).getByRole("img", { name: "Last 20 values" })).toBeVisible();
  await accessible(page);
  await fits(page);
  await page.getByRole("button", { name: "Series" }).click();
  await expect(rows.nth(0)).toContainText("parse::small");
  await page.getByRole("button", { name: "Change", exact: true }).click();
  await expect(rows.nth(0)).toContainText("parse::large");
  await expect(page).toHaveURL(/series_sort=change/);
  await page.reload();
  await expect(rows.nth(0)).toContainText("parse::large");

  // The largest value first, then the smallest one.
  await page.getByRole("button", { name: "Newest value" }).click();
  await expect(rows.nth(0)).toContainText("parse::large");
  await expect(page).toHaveURL(/series_sort=head/);
  await page.getByRole("button", { name: "Newest value" }).click();
  await expect(rows.nth(0)).toContainText("parse::small");
  await expect(page.getByRole("columnheader", { name: "Newest value" })).toHaveAttribute("aria-sort", "ascending");

  await page.getByRole("link", { name: "All benchmarks" }).click();
  await expect(page.getByRole("link", { name: "parse::unused" })).toBeVisible();
  await accessible(page);
  await page.getByRole("link", { name: "Newest values" }).click();
  await rows.nth(0).getByRole("link").click();

  await expect(page.getByRole("heading", { name: "parse::large", level: 1 })).toBeVisible();
  const newest = page.getByRole("region", { name: "List of newest values" }).locator("tbody tr");
  await expect(newest).toHaveCount(1);
  await expect(newest).toContainText(/1\.2\d+\sµs/);
  await expect(newest).toContainText("regressed");
  await expect(newest).toContainText(/0\.\d+\s%/);
  await expect(page.getByRole("group", { name: /of parse::large: 1 line with 20 points/ })).toBeVisible();
  await accessible(page);
  await fits(page);
  const event = page.getByRole("region", { name: "Events" }).getByRole("link", { name: /parse::large/ });
  await expect(event).toHaveAttribute("href", /\/regressions\/[\w-]{36}$/);
  await page.getByRole("region", { name: "Events" }).getByRole("link", { name: "All 1" }).click();
  await expect(page.getByText("Only events of the benchmark parse-large.")).toBeVisible();
  await expect(page.getByRole("row")).toHaveCount(2);
  await accessible(page);
  await fits(page);
  await page.goBack();
  await expect(page.getByRole("main").getByRole("link", { name: "Explore" })).toHaveAttribute("href", /benchmarks=/);
});

test("a benchmark without values in the newest report says so", async ({ page }, { project }) => {
  const slug = await lab(page, `Unused-${project.name}`);
  const { request } = page.context();
  await reports(request, slug, "main", 2);
  await make(request, `/v0/projects/${slug}/benchmarks`, { name: "unused" });
  await page.goto(`/console/projects/${slug}/benchmarks/unused`);
  await expect(page.getByText("The newest runs of this branch do not contain this benchmark.")).toBeVisible();
  await expect(page.getByText("No values of this measure on this branch.")).toBeVisible();
  await expect(page.getByText("No events")).toBeVisible();
  await accessible(page);
  await fits(page);
});

test("a benchmark is made, renamed, archived and deleted", async ({ page }, { project }) => {
  const slug = await lab(page, `One-${project.name}`);
  await page.goto(`/console/projects/${slug}/benchmarks`);
  await page.getByRole("link", { name: "Add a benchmark" }).click();
  await page.getByLabel("Name").fill("parse");
  await page.getByLabel("Slug").fill("Not a slug");
  await page.getByRole("button", { name: "Add the benchmark" }).click();
  await expect(page.getByRole("alert")).toBeVisible();
  await expect(page.getByLabel("Slug")).toBeFocused();
  await accessible(page);
  await page.getByLabel("Slug").fill("parse");
  await page.getByRole("button", { name: "Add the benchmark" }).click();
  await expect(page.getByRole("heading", { name: "parse" })).toBeVisible();
  await accessible(page);
  await fits(page);

  await page.getByRole("button", { name: "Edit: Name" }).click();
  await page.getByRole("textbox", { name: "Name" }).fill("parser::parse");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "parser::parse" })).toBeVisible();
  await page.getByRole("button", { name: "Archive" }).click();
  await expect(page.getByText("archived", { exact: true })).toBeVisible();
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(page.getByText("archived", { exact: true })).toBeHidden();

  await page.getByRole("button", { name: "Delete" }).click();
  await accessible(page);
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await expect(page.getByRole("heading", { name: "No benchmarks yet" })).toBeVisible();
});

test("the keys are listed and lead to their pages", async ({ page }, { project }) => {
  const slug = await lab(page, `Keys-${project.name}`);
  await page.goto(`/console/projects/${slug}/benchmarks`);
  await expect(page.getByRole("heading", { name: "No benchmarks yet" })).toBeVisible();
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog")).toContainText("Go to explore");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toBeHidden();
  // Press both keys at once: the second key counts for 1.2 s, and a busy machine may take longer.
  await page.evaluate(() => {
    for (const key of ["g", "p"])
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  });
  await expect(page).toHaveURL(`/console/projects/${slug}/perf`);
});
