import { lab, reports } from "./seed";
import { accessible, expect, fits, test } from "./support";

test("two branches, versions and reports are compared, and the address knows", async ({ page }, info) => {
  const { project } = await lab(page, `Compare-${info.project.name}`);
  const { request } = page.context();
  await page.goto(`/console/projects/${project}/compare`);
  await expect(page.getByRole("heading", { name: "Nothing to compare yet" })).toBeVisible();
  await accessible(page);

  await reports(request, project, "stable", 8);
  await reports(request, project, "slow", 8, 1.2);
  await page.goto(`/console/projects/${project}/compare?from=branch:stable&to=branch:slow`);
  const rows = page.getByRole("region", { name: "Comparison" }).getByRole("row");
  await expect(rows).toHaveCount(3);
  await expect(rows.nth(1)).toContainText("parse::large");
  await expect(rows.nth(1)).toContainText("+20 %");
  await expect(rows.nth(1)).toContainText("worse");
  await expect(rows.nth(2)).toContainText("same");
  await expect(page.getByText("geometric mean of 2 benchmarks")).toBeVisible();
  await accessible(page);
  await fits(page);

  await page.getByLabel("Only changes").check();
  await expect(rows).toHaveCount(2);
  await expect(page).toHaveURL(/moved=true/);
  await page.getByRole("button", { name: "Swap sides" }).click();
  await expect(rows.nth(1)).toContainText("better");
  await page.reload();
  await expect(rows).toHaveCount(2);
  await expect(rows.nth(1)).toContainText("better");

  // One report on each side: only the bounds of the tool are available.
  await page.getByRole("group", { name: "From: what to compare" }).getByRole("button", { name: "Run" }).click();
  await page.getByRole("group", { name: "To: what to compare" }).getByRole("button", { name: "Version" }).click();
  await expect(page).toHaveURL(/from=report%3A.*to=version%3A/);
  await expect(rows.nth(1)).toContainText("ranges apart");
  await page.getByText("How the verdicts are computed").click();
  await expect(page.getByText("a hint, not a verdict")).toBeVisible();
  await accessible(page);
  await fits(page);
});
