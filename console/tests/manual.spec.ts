// The manual at /docs: links from the console, search, the contents on a phone, and the accessibility rules in light and dark.

import { audit, expect, fits, test } from "./support";

test("the console links to the manual", async ({ page }) => {
  await page.goto("/perf");
  await page.getByRole("contentinfo").getByRole("link", { name: "Manual" }).click();
  await expect(page).toHaveURL(/\/docs\/index\.html$/);
  await expect(page.getByRole("heading", { level: 1, name: "Tidemark manual" })).toBeVisible();
});

test("pages of the manual fit the screen and pass the accessibility rules", async ({ page }) => {
  for (const scheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    for (const path of ["index", "cli", "console", "statistics", "tutorials/rust"]) {
      await page.goto(`/docs/${path}.html`);
      await fits(page);
      await audit(page);
    }
  }
});

test("the search finds a section", async ({ page }) => {
  await page.goto("/docs/tutorials/go.html");
  await page.keyboard.press("/");
  const field = page.getByRole("searchbox", { name: "Search the manual" });
  await expect(field).toBeFocused();
  await field.fill("exit codes");
  await expect(page.getByRole("link", { name: /^The command line › Exit codes/ })).toBeVisible();
  await fits(page);
  await field.fill("xyzzy");
  await expect(page.getByText("No section contains all words.")).toBeVisible();
  await field.fill("exit codes");
  await page.getByRole("link", { name: /^The command line › Exit codes/ }).click();
  await expect(page).toHaveURL(/\/docs\/cli\.html#exit-codes$/);
});

test("the contents lead to every group of pages", async ({ page, isMobile }) => {
  await page.goto("/docs/quickstart.html");
  const contents = page.getByRole("navigation", { name: "Contents" });
  if (isMobile) {
    await page.getByRole("link", { name: "Contents" }).click();
    await expect(page.getByRole("main")).toBeHidden();
  }
  for (const group of ["Start", "Guides", "Reference", "Operations", "Concepts"])
    await expect(contents.getByRole("heading", { name: group })).toBeVisible();
  await contents.getByRole("link", { name: "Glossary" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Glossary" })).toBeVisible();
});

test("an unknown page of the manual offers the contents", async ({ page }) => {
  const response = await page.goto("/docs/none/none.html");
  expect(response?.status()).toBe(404);
  await expect(page.getByRole("heading", { level: 1, name: "Page not found" })).toBeVisible();
  await page.getByRole("navigation", { name: "Contents" }).getByRole("link", { name: "Introduction" }).click();
  await expect(page).toHaveURL(/\/docs\/index\.html$/);
});
