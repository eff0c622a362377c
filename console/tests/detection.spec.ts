import type { Page } from "@playwright/test";
import { history, lab, step } from "./seed";
import { accessible, expect, fits, settled, test } from "./support";

/** A row of the preview; the second cell is the selected budget, the third the current one. */
function figures(page: Page, name: string) {
  return page
    .getByRole("region", { name: "Results of the backtest" })
    .getByRole("row")
    .filter({ hasText: name })
    .getByRole("cell");
}

test("everybody sees the detection settings, and managers change them", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `Watched-levels-${project.name}`);
  const { request } = page.context();
  await history(request, slug);
  await page.goto(`/perf/${slug}/plots`);
  await page.getByRole("link", { name: "0 false alarms per month observed, budget 2" }).click();
  await expect(page.getByRole("heading", { name: "Detection", level: 1 })).toBeVisible();
  await expect(page.getByRole("region", { name: "False alarms per month" })).toContainText("Runs per month");
  await settled(page);
  for (const name of ["Apply", "Save"]) await expect(page.getByRole("button", { name })).toHaveCount(0);
  await expect(page.getByRole("link", { name: "Add", exact: true })).toHaveCount(0);
  await accessible(page);
  await fits(page);

  await page.goto(`/console/projects/${slug}/detection`);
  const slider = page.getByRole("slider", { name: "Accept at most" });
  const apply = page.getByRole("button", { name: "Apply" });
  await expect(slider).toHaveAttribute("aria-valuetext", "2 false alarms per month");
  await expect(apply).toBeDisabled();
  await slider.press("ArrowRight");
  await slider.press("ArrowRight");
  await expect(page).toHaveURL(/false_alarms_per_month=5/);
  await settled(page);
  await accessible(page);
  await fits(page);
  const stored = async () =>
    (await (await request.get(`/v0/projects/${slug}/detection`)).json()) as { false_alarms_per_month: number };
  expect((await stored()).false_alarms_per_month).toBe(2);
  await apply.click();
  await expect(page.getByText("The limit is 5 false alarms per month.")).toBeVisible();
  await expect(apply).toBeDisabled();
  expect((await stored()).false_alarms_per_month).toBe(5);
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(page.getByText("Current: 2 per month", { exact: true }).first()).toBeVisible();
  expect((await stored()).false_alarms_per_month).toBe(2);

  // Thresholds are next to the budget, with their alerts.
  const thresholds = page.getByRole("region", { name: "Thresholds", exact: true });
  await expect(thresholds.getByRole("row")).toHaveCount(2);
  await expect(page.getByRole("link", { name: "Add", exact: true })).toHaveAttribute("href", /thresholds\/add$/);
  await thresholds.getByRole("row").nth(1).getByRole("link", { name: "1", exact: true }).click();
  await expect(page.getByText("These are the alerts of one threshold.")).toBeVisible();
  await expect(page.getByRole("region", { name: "List of alerts" }).getByRole("row")).toHaveCount(2);
  await accessible(page);
  await fits(page);
  await page.goBack();

  await page.getByRole("radio", { name: /^Alerts/ }).check();
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("Saved.", { exact: true })).toBeVisible();
  await page.reload();
  await expect(page.getByRole("radio", { name: /^Alerts/ })).toBeChecked();
  expect(await stored()).toMatchObject({ notifies: "alerts", false_alarms_per_month: 2 });
});

test("the slider previews another number of false alarms", async ({ page }) => {
  await page.goto("/perf/demo/detection");
  await expect(page.getByText(/^[\d,]+ series with [\d,]+ values since/)).toBeVisible();
  const monthly = figures(page, "Notifications per month");
  const usual = await monthly.nth(2).innerText();
  await expect(monthly.nth(1)).toHaveText(usual);

  const slider = page.getByRole("slider", { name: "Accept at most" });
  await slider.press("End");
  await expect(slider).toHaveAttribute("aria-valuetext", "1,000 false alarms per month");
  await expect(page).toHaveURL(/false_alarms_per_month=1000/);
  await settled(page);
  await expect.poll(async () => Number(await monthly.nth(1).innerText())).toBeGreaterThan(Number(usual));
  // The column for comparison stays the same.
  await expect(monthly.nth(2)).toHaveText(usual);
  await accessible(page);
  await fits(page);
  await page.reload();
  await expect(slider).toHaveAttribute("aria-valuetext", "1,000 false alarms per month");

  await slider.press("Home");
  await expect(page).toHaveURL(/false_alarms_per_month=1$/);
  await settled(page);
  await expect.poll(async () => Number(await monthly.nth(1).innerText())).toBeLessThanOrEqual(Number(usual));
  await page.getByRole("region", { name: "Notifications of the backtest" }).getByRole("link").first().click();
  await expect(page).toHaveURL(/\/perf\/demo\?branches=/);
});

test("only the last of several moves is asked for", async ({ page }) => {
  await page.goto("/perf/demo/detection");
  await settled(page);
  const asked: number[] = [];
  page.on("request", (request) => {
    if (request.url().endsWith("/backtest"))
      asked.push((request.postDataJSON() as { false_alarms_per_month: number }).false_alarms_per_month);
  });
  const slider = page.getByRole("slider", { name: "Accept at most" });
  // Press the keys at once: on a busy machine, the pause between two keys can exceed the delay of the slider.
  await slider.evaluate((input: HTMLInputElement) => {
    for (let times = 0; times < 4; times++) {
      input.stepUp();
      input.dispatchEvent(new InputEvent("input", { bubbles: true }));
    }
  });
  await expect(page).toHaveURL(/false_alarms_per_month=20$/);
  await expect.poll(() => asked.length).toBeGreaterThan(0);
  await settled(page);
  expect(asked).toEqual([20]);
});

test("an alarm that people call real counts as found", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `Judged-${project.name}`);
  const { request } = page.context();
  await step(request, slug);
  const changes = async () => (await (await request.get(`/v0/projects/${slug}/changes`)).json()) as { event: string }[];
  await expect.poll(async () => (await changes()).length).toBe(1);
  const [change] = await changes();
  const patch = await request.patch(`/v0/projects/${slug}/events/${change?.event}`, {
    data: { status: "expected" },
    headers: { "x-tidemark-console": "1" },
  });
  expect(patch.ok()).toBe(true);
  await page.goto(`/console/projects/${slug}/detection`);
  await expect(figures(page, "Notified, confirmed").nth(1)).toHaveText("1");
  await expect(
    page.getByRole("region", { name: "Notifications of the backtest" }).getByRole("row").nth(1),
  ).toContainText("real");
});
