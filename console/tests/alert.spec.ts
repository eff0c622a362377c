import { history, lab } from "./seed";
import { accessible, expect, fits, idle, test } from "./support";

test("without alerts all is well", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `Calm-${project.name}`);
  await page.goto(`/console/projects/${slug}/alerts`);
  await expect(page.getByRole("heading", { name: "No active alerts" })).toBeVisible();
  await accessible(page);
  await fits(page);
});

test("an alert is dismissed with one click, and that is undone", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `Alerts-${project.name}`);
  await history(page.context().request, slug);
  await page.goto(`/console/projects/${slug}/alerts`);
  const rows = page.getByRole("row");
  await expect(rows).toHaveCount(2);
  await expect(rows.nth(1)).toContainText("text::parse");
  await accessible(page);
  await fits(page);
  await page.getByRole("button", { name: "Dismiss", exact: true }).first().click();
  await expect(page.getByRole("heading", { name: "No active alerts" })).toBeVisible();
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(rows).toHaveCount(2);

  await page.getByRole("button", { name: "Dismiss multiple…" }).click();
  const dialog = page.getByRole("dialog");
  // Nothing is selected at first.
  await expect(dialog.getByText("0 alerts of 1 selected.")).toBeVisible();
  await expect(dialog.getByRole("button", { name: "Dismiss 0 alerts" })).toBeDisabled();
  await dialog.getByRole("combobox", { name: "Benchmark" }).fill("scan");
  await dialog.getByRole("option", { name: "text::scan" }).click();
  await expect(dialog.getByText("0 alerts of 1 selected.")).toBeVisible();
  await dialog.getByRole("combobox", { name: "Benchmark" }).fill("parse");
  await dialog.getByRole("option", { name: "text::parse" }).click();
  await expect(dialog.getByText("1 alert of 1 selected.")).toBeVisible();
  await dialog.getByRole("button", { name: "Any: Benchmark" }).click();
  await expect(dialog.getByText("0 alerts of 1 selected.")).toBeVisible();
  await dialog.getByLabel("Select all").check();
  await accessible(page);
  await dialog.getByRole("button", { name: "Dismiss 1 alert" }).click();
  await expect(page.getByText("1 alert dismissed.")).toBeVisible();
  await page.getByRole("link", { name: /^Dismissed/ }).click();
  await expect(rows).toHaveCount(2);
  await page.getByRole("button", { name: "Reactivate" }).click();
  await expect(page.getByRole("heading", { name: "No dismissed alerts" })).toBeVisible();
});

test("an alert shows the history around it", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `Alert-${project.name}`);
  const { alerts } = await history(page.context().request, slug);
  await page.goto(`/console/projects/${slug}/alerts/${alerts[0]?.uuid}`);
  await expect(page.getByRole("heading", { name: "text::parse" })).toBeVisible();
  await expect(
    page.getByText(/Latency on main was 2\sµs, \+\d+\s% against the baseline of .* and above the limit of/),
  ).toBeVisible();
  await expect(page.getByText("This is the newest value of the series.")).toBeVisible();
  const plot = page.getByRole("group", { name: "Latency of text::parse around the alert" });
  await expect(plot.locator("canvas")).toBeVisible();
  await accessible(page);
  await fits(page);
  // Lines that load later would deselect the point.
  await idle(page);
  await plot.focus();
  await page.keyboard.press("End");
  await expect(plot.getByText("against the baseline")).toBeVisible();
  await page.getByRole("button", { name: "Dismiss", exact: true }).first().click();
  await expect(page.getByText("dismissed", { exact: true })).toBeVisible();
  await page.getByRole("button", { name: "Reactivate" }).click();
  await expect(page.getByText("active", { exact: true })).toBeVisible();
});

test("an alert that is not there says so", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `Lost-${project.name}`);
  await page.goto(`/console/projects/${slug}/alerts/00000000-0000-0000-0000-000000000000`);
  await expect(page.getByRole("heading", { name: "Alert not found" })).toBeVisible();
  await expect(page.getByRole("link", { name: "Go to Alerts" })).toBeVisible();
  await accessible(page);
});
