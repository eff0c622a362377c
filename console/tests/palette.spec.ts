import { lab, reports } from "./seed";
import { accessible, expect, fits, pressReplaced, test } from "./support";

test("the palette finds pages, projects and what is in one", async ({ page }, info) => {
  const { project } = await lab(page, `Palette-${info.project.name}`);
  await reports(page.context().request, project, "main", 1);
  await page.goto(`/console/projects/${project}/settings`);
  if (info.project.name === "phone") await page.getByRole("button", { name: "Search pages and projects" }).click();
  else {
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
    await page.keyboard.press("Control+k");
  }
  const field = page.getByRole("combobox", { name: "Search pages and projects" });
  await expect(field).toBeFocused();
  await expect(page.getByRole("option", { name: /Overview/ })).toBeVisible();
  await accessible(page);
  await fits(page);
  await field.fill("parse::la");
  await expect(page.getByRole("option")).toHaveCount(1);
  await field.fill("compa");
  await expect(page.getByRole("option", { selected: true })).toContainText("Compare");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(new RegExp(`/console/projects/${project}/compare`));
  await expect(field).toBeHidden();
});

test("a press counts although results replace the entry", async ({ page }, info) => {
  const name = `Pressed-${info.project.name}`;
  const { project } = await lab(page, name);
  await page.goto(`/console/projects/${project}/settings`);
  if (info.project.name === "phone") await page.getByRole("button", { name: "Search pages and projects" }).click();
  else {
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
    await page.keyboard.press("Control+k");
  }
  const field = page.getByRole("combobox", { name: "Search pages and projects" });
  await field.fill("pressed");
  const entry = page
    .getByRole("option")
    .filter({ has: page.getByText(name, { exact: true }) })
    .filter({ has: page.getByText("Project", { exact: true }) });
  await expect(entry).toBeVisible();
  await pressReplaced(page, field, "pressed-", entry);
  await expect(page).toHaveURL(new RegExp(`/console/projects/${project}/plots`));
});

test("an address without a page says so", async ({ page }) => {
  await page.goto("/nowhere/at/all");
  await expect(page.getByRole("heading", { name: "No page at this URL" })).toBeVisible();
  await accessible(page);
  await fits(page);
});
