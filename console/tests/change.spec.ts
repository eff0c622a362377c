import { lab, step } from "./seed";
import { accessible, expect, fits, test } from "./support";

test("without changes it says how they are found", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `Level-${project.name}`);
  await page.goto(`/console/projects/${slug}/changes`);
  await expect(page.getByRole("heading", { name: "No active changes" })).toBeVisible();
  await expect(page.getByText("Detection needs no threshold")).toBeVisible();
  await accessible(page);
  await fits(page);
});

test("a step is found without a threshold, and what is said of it stays", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `Step-${project.name}`);
  const { request } = page.context();
  await step(request, slug);
  const found = async () =>
    ((await (await request.get(`/v0/projects/${slug}/changes`)).json()) as { effect: number }[]).map(({ effect }) =>
      Math.round(effect * 10),
    );
  await expect.poll(found).toEqual([2]);

  await page.goto(`/console/projects/${slug}/changes`);
  const rows = page.getByRole("row");
  await expect(rows).toHaveCount(2);
  await expect(rows.nth(1)).toContainText("queue::push");
  await expect(rows.nth(1)).toContainText("Latency · main · ci");
  await expect(rows.nth(1)).toContainText(/\+(19|20)(\.\d)? %/);
  await expect(rows.nth(1)).toContainText("regression");
  await expect(rows.nth(1)).not.toContainText(/machine|noise/);
  await accessible(page);
  await fits(page);
  await page.getByRole("button", { name: "Largest first" }).click();
  await expect(page).toHaveURL(/sort=size/);
  await page.getByRole("combobox", { name: "Direction" }).selectOption("Improvements");
  await expect(page.getByRole("heading", { name: "No matches" })).toBeVisible();
  await page.getByRole("button", { name: "Show all" }).click();
  await expect(rows).toHaveCount(2);

  await page.getByRole("button", { name: "Review" }).click();
  const dialog = page.getByRole("dialog");
  // It began too long ago for a notification.
  await expect(dialog).toContainText("not notified.");
  await dialog.getByLabel("Status").selectOption("expected");
  await dialog.getByLabel("Note").fill("The queue keeps its order now.");
  await accessible(page);
  await fits(page);
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("The change is expected now.")).toBeVisible();
  await expect(page.getByRole("heading", { name: "No active changes" })).toBeVisible();
  await page.getByRole("link", { name: /^Expected/ }).click();
  await expect(rows.nth(1)).toContainText("The queue keeps its order now.");
  await page.reload();
  await expect(rows.nth(1)).toContainText("The queue keeps its order now.");
  await fits(page);

  await page.getByRole("link", { name: /queue::push/ }).click();
  const plot = page.getByRole("group", { name: /1 line with \d+ points and 1 change of level/ });
  await expect(plot.locator("canvas")).toBeVisible();
  await accessible(page);
  await fits(page);

  await page.goto(`/perf/${slug}/changes?status=expected`);
  await expect(rows.nth(1)).toContainText("The queue keeps its order now.");
  await expect(page.getByRole("button", { name: "Review" })).toHaveCount(0);
});

test("a change says that the machine seems to be behind it, and when people were notified", async ({ page }, {
  project,
}) => {
  const { project: slug } = await lab(page, `Machine-${project.name}`);
  const { request } = page.context();
  await step(request, slug);
  await expect
    .poll(async () => ((await (await request.get(`/v0/projects/${slug}/changes`)).json()) as object[]).length)
    .toBe(1);
  // The tests of the server cover detection; here the response is mocked.
  let cause = "host";
  await page.route("**/changes?*", async (route) => {
    const answer = await route.fetch({ timeout: 0 });
    const changes = (await answer.json()) as object[];
    await route.fulfill({
      response: answer,
      json: changes.map((change) => ({ ...change, cause, raised: new Date(Date.now() - 7_300_000).toISOString() })),
    });
  });
  await page.goto(`/console/projects/${slug}/changes`);
  const row = page.getByRole("row").nth(1);
  await expect(row.getByText("machine", { exact: true })).toBeVisible();
  await expect(row.getByText("2 hours ago").filter({ visible: true })).toBeVisible();
  await accessible(page);
  await fits(page);
  await page.getByRole("button", { name: "Review" }).click();
  await expect(page.getByRole("dialog")).toContainText("notified 2 hours ago.");
  cause = "noise";
  await page.reload();
  await expect(row.getByText("noise", { exact: true })).toBeVisible();
});
