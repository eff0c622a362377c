import { lab, reports } from "./seed";
import { accessible, expect, fits, test } from "./support";

test("branches, versions and reports are compared by the server, and the URL contains the sides", async ({
  page,
}, info) => {
  const { project } = await lab(page, `Compare-${info.project.name}`);
  const { request } = page.context();
  await page.goto(`/console/projects/${project}/compare`);
  await expect(page.getByRole("heading", { name: "Nothing to compare yet" })).toBeVisible();
  await accessible(page);

  await reports(request, project, "stable", 24);
  await reports(request, project, "slow", 2, 1.2);
  await page.goto(`/console/projects/${project}/compare?from=branch:stable&to=branch:slow`);
  const rows = page.getByRole("region", { name: "Comparison" }).getByRole("row");
  const verdict = page.getByRole("region", { name: "Verdict", exact: true });
  await expect(rows).toHaveCount(3);
  await expect(rows.nth(1)).toContainText("parse::large");
  await expect(rows.nth(1)).toContainText(/\+(19|2\d)(\.\d+)?\s%/);
  await expect(rows.nth(1)).toContainText("regressed");
  await expect(rows.nth(2)).toContainText("unchanged");
  await expect(verdict).toContainText("1 regression, 1 unchanged · against stable@18181818, 24 runs on ci");
  await accessible(page);
  await fits(page);

  await page.getByLabel("Only changes").check();
  await expect(rows).toHaveCount(2);
  await expect(page).toHaveURL(/moved=true/);
  await page.reload();
  await expect(rows).toHaveCount(2);
  await expect(rows.nth(1)).toContainText("regressed");

  // One report and one version select the same runs.
  await page.getByRole("group", { name: "From: what to compare" }).getByRole("button", { name: "Run" }).click();
  await page.getByRole("group", { name: "To: what to compare" }).getByRole("button", { name: "Version" }).click();
  await expect(page).toHaveURL(/from=report%3A.*to=version%3A/);
  await expect(verdict).toContainText("1 regression, 1 unchanged · against stable@18181818, 24 runs on ci");
  await page.getByText("How the verdicts are computed").click();
  await expect(page.getByText("Inconclusive means")).toBeVisible();
  await accessible(page);
  await fits(page);

  await page.getByRole("button", { name: "Swap sides" }).click();
  await expect(verdict.getByRole("heading")).toHaveText("stable@18181818");
  await expect(verdict).toContainText("against slow@02020202, 2 runs on ci");

  // Without a start point, the default baseline is the earlier runs of the branch.
  await page.getByRole("group", { name: "From: what to compare" }).getByRole("button", { name: "Baseline" }).click();
  await expect(page).toHaveURL(/from=baseline/);
  await expect(verdict).toContainText("against stable@17171717, 23 runs on ci");
  await expect(page.getByRole("button", { name: "Swap sides" })).toBeHidden();
});
