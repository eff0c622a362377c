import type { Page } from "@playwright/test";
import { lab, step } from "./seed";
import { accessible, expect, fits, settled, test } from "./support";

/** A row of the backtest table; the first is the selected sensitivity. */
function figures(page: Page, name: string) {
  return page
    .getByRole("region", { name: "Results of the backtest" })
    .getByRole("row")
    .filter({ hasText: name })
    .getByRole("cell");
}

test("how a project is watched is seen by everybody, and set by those who may", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `Watched-levels-${project.name}`);
  const { request } = page.context();
  await step(request, slug);
  await page.goto(`/perf/${slug}/plots`);
  await page.getByRole("link", { name: "0 false alarms per month observed, budget 2" }).click();
  await expect(page.getByRole("heading", { name: "Detection" })).toBeVisible();
  await expect(page.getByRole("region", { name: "Figures", exact: true })).toContainText("Runs per month");
  await expect(page.getByRole("button", { name: "Save" })).toHaveCount(0);
  await settled(page);
  await accessible(page);
  await fits(page);

  await page.goto(`/console/projects/${slug}/detection`);
  await settled(page);
  await page.getByRole("radio", { name: /^Alerts/ }).check();
  await page.getByLabel("False-alarm budget").fill("5");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("Saved.", { exact: true })).toBeVisible();
  await expect(page.getByText("notifications for alerts")).toBeVisible();
  await accessible(page);
  await fits(page);
  await page.reload();
  await expect(page.getByRole("radio", { name: /^Alerts/ })).toBeChecked();
  await expect(page.getByLabel("False-alarm budget")).toHaveValue("5");
  expect(await (await request.get(`/v0/projects/${slug}/detection`)).json()).toMatchObject({
    notifies: "alerts",
    false_alarms_per_month: 5,
  });
});

test("the slider previews another sensitivity", async ({ page }) => {
  await page.goto("/perf/demo/detection");
  await expect(page.getByText(/^[\d,]+ series with [\d,]+ values since/)).toBeVisible();
  const monthly = figures(page, "Notifications per month");
  const usual = await monthly.nth(2).innerText();
  await expect(monthly.nth(1)).toHaveText(usual);
  const threshold = await monthly.nth(3).innerText();

  const slider = page.getByRole("slider", { name: "Sensitivity" });
  await slider.press("End");
  await expect(slider).toHaveAttribute("aria-valuetext", "1,000 times the default");
  await expect(page).toHaveURL(/sensitivity=1000/);
  await settled(page);
  await expect.poll(async () => Number(await monthly.nth(1).innerText())).toBeGreaterThan(Number(usual));
  // The rows for comparison stay the same.
  await expect(monthly.nth(2)).toHaveText(usual);
  await expect(monthly.nth(3)).toHaveText(threshold);
  await accessible(page);
  await fits(page);
  await page.reload();
  await expect(slider).toHaveValue("3");

  await slider.press("Home");
  await expect(page).toHaveURL(/sensitivity=0\.001/);
  await settled(page);
  await expect.poll(async () => Number(await monthly.nth(1).innerText())).toBeLessThan(Number(usual));
  await page.getByRole("region", { name: "Notifications of the backtest" }).getByRole("link").first().click();
  await expect(page).toHaveURL(/\/perf\/demo\?branches=/);
});

test("only the last of several moves is asked for", async ({ page }) => {
  await page.goto("/perf/demo/detection");
  await settled(page);
  const asked: number[] = [];
  page.on("request", (request) => {
    if (request.url().endsWith("/backtest"))
      asked.push((request.postDataJSON() as { sensitivity: number }).sensitivity);
  });
  const slider = page.getByRole("slider", { name: "Sensitivity" });
  // Press the keys at once: on a busy machine, the pause between two keys can exceed the delay of the slider.
  await slider.evaluate((input: HTMLInputElement) => {
    for (let times = 0; times < 4; times++) {
      input.stepUp();
      input.dispatchEvent(new InputEvent("input", { bubbles: true }));
    }
  });
  await expect(page).toHaveURL(/sensitivity=10$/);
  await expect.poll(() => asked.length).toBeGreaterThan(0);
  await settled(page);
  expect(asked).toEqual([10]);
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
  await expect(figures(page, "Notified changes").nth(1)).toHaveText("1");
  await expect(
    page.getByRole("region", { name: "Notifications of the backtest" }).getByRole("row").nth(1),
  ).toContainText("real");
});
