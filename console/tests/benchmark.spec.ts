import type { Page } from "@playwright/test";
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
  await expect(page.getByRole("dialog")).toContainText("Go to perf");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toBeHidden();
  // Press both keys at once: the second key counts for 1.2 s, and a busy machine may take longer.
  await page.evaluate(() => {
    for (const key of ["g", "p"])
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  });
  await expect(page).toHaveURL(`/console/projects/${slug}/perf`);
});
