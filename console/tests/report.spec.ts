import { history, lab } from "./seed";
import { accessible, expect, fits, test } from "./support";

test("a project without reports says how to get some", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `No-reports-${project.name}`);
  await page.goto(`/console/projects/${slug}/reports`);
  await expect(page.getByRole("heading", { name: "No reports yet" })).toBeVisible();
  await accessible(page);
  await fits(page);
});

test("reports are filtered by branch and day, and the address knows", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `Reports-${project.name}`);
  const { request } = page.context();
  await history(request, slug, { days: 6 });
  await history(request, slug, { days: 3, branch: "feature" });
  await page.goto(`/console/projects/${slug}/reports`);
  const rows = page.getByRole("row");
  await expect(rows).toHaveCount(10);
  await accessible(page);
  await fits(page);
  const branch = page.getByRole("combobox", { name: "Branch" });
  await branch.fill("fea");
  await page.getByRole("option", { name: "feature" }).click();
  await expect(rows).toHaveCount(4);
  await expect(page).toHaveURL(/branch=feature/);
  await page.reload();
  await expect(branch).toHaveValue("feature");
  await page.getByRole("button", { name: "Any: Branch" }).click();
  await expect(rows).toHaveCount(10);
  const today = new Date(Date.now() - 2.5 * 864e5).toLocaleDateString("sv");
  await page.getByLabel("From").fill(today);
  await expect(page).toHaveURL(/start_time=\d+/);
  await expect(rows).not.toHaveCount(10);
});

test("a report shows the worst first, only what moved, and dismisses its alerts", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `Report-${project.name}`);
  const { uuid } = await history(page.context().request, slug);
  await page.goto(`/console/projects/${slug}/reports`);
  await page.getByRole("row").nth(1).getByRole("link").first().click();
  await expect(page).toHaveURL(new RegExp(uuid));
  const rows = page.getByRole("row");
  await expect(rows.nth(1)).toContainText("text::parse");
  await expect(rows.nth(1)).toContainText("+100 %");
  await expect(rows.nth(1)).toContainText("regression");
  await expect(page.getByRole("heading", { name: "Throughput" })).toBeVisible();
  await accessible(page);
  await fits(page);

  await page.getByRole("button", { name: /Only what moved/ }).click();
  await expect(rows).toHaveCount(2);
  await expect(page).toHaveURL(/show=moved/);
  await page.getByRole("button", { name: /^All/ }).click();
  await page.getByRole("searchbox").fill("scan");
  await expect(page.getByRole("region", { name: "Latency" }).getByRole("row")).toHaveCount(2);
  await page.getByRole("searchbox").fill("");

  await page.getByRole("button", { name: "Dismiss 1 alert" }).click();
  await expect(page.getByText("regression, dismissed")).toBeVisible();
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(page.getByText("regression, dismissed")).toBeHidden();
  await page.getByRole("button", { name: "JSON" }).click();
  await expect(page.getByRole("dialog")).toContainText(uuid);
  await page.keyboard.press("Escape");
  await expect(rows.nth(1).getByRole("link").first()).toHaveAttribute("href", /\/perf\?branches=/);

  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await expect(page.getByText("19 reports")).toBeVisible();
});

test("a value leads to everything that is known of it", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `Metric-${project.name}`);
  const { alerts } = await history(page.context().request, slug, { days: 8 });
  await page.goto(`/console/projects/${slug}/metrics/${alerts[0]?.metric.uuid}`);
  await expect(page.getByRole("heading", { name: "2 µs" })).toBeVisible();
  await expect(page.getByText("t-test, upper 0.999")).toBeVisible();
  await accessible(page);
  await fits(page);
});
