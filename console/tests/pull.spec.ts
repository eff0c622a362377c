import { lab, reports } from "./seed";
import { accessible, countClicks, expect, fits, test } from "./support";

test("a project without pull requests shows how to send their reports", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `No-pulls-${project.name}`);
  await page.goto(`/console/projects/${slug}/pulls`);
  await expect(page.getByRole("heading", { name: "No pull requests yet" })).toBeVisible();
  await expect(page.getByText("--start-point main")).toBeVisible();
  await accessible(page);
  await fits(page);
});

test("a pull request against main: 1 click to its comparison, 2 clicks to its benchmark", async ({ page }, info) => {
  const { project } = await lab(page, `Pulls-${info.project.name}`, { url: "https://github.com/acme/widget" });
  const { request } = page.context();
  await reports(request, project, "trunk", 24);
  const fromTrunk = { start_point: { branch: "trunk" } };
  await reports(request, project, "slower", 1, 1.2, fromTrunk);
  await reports(request, project, "same", 1, 1, fromTrunk);
  const clicks = await countClicks(page);
  await page.goto(`/console/projects/${project}/pulls`);
  const rows = page.getByRole("row");
  // The regression is first, although its report is older.
  await expect(rows.nth(1)).toContainText("slower");
  await expect(rows.nth(1)).toContainText("1 regression, 1 unchanged");
  await expect(rows.nth(1)).toContainText(/parse::large \+(19|2\d)(\.\d+)?\s%/);
  await expect(rows.nth(2)).toContainText("same");
  await expect(rows.nth(2)).toContainText("2 unchanged");
  await expect(page.getByText(/verdicts$/)).toBeHidden();
  if (info.project.name === "desktop") await expect(rows.nth(1)).toContainText("trunk #23");
  // Both layouts link to the commit.
  await expect(rows.nth(1).getByRole("link", { name: "01010101" })).toHaveAttribute(
    "href",
    "https://github.com/acme/widget/commit/0101010101010101010101010101010101010101",
  );
  await accessible(page);
  await fits(page);

  // A slow verdict moves no row: the list appears when the verdicts of its page are known.
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const last = (await (await request.get(`/v0/projects/${project}/pulls`)).json()) as { reports: { uuid: string }[] }[];
  await page.route(new RegExp(`/reports/${last[1]?.reports[0]?.uuid}/verdict`), async (route) => {
    await released;
    await route.continue();
  });
  await page.reload();
  await expect(page.getByText("1 of 2 verdicts")).toBeVisible();
  await expect(rows).toHaveCount(0);
  release();
  await expect(rows.nth(1)).toContainText("slower");
  await expect(rows.nth(2)).toContainText("same");

  await rows.nth(1).getByRole("link", { name: "slower" }).click();
  await expect(page).toHaveURL(/from=baseline&to=report%3A/);
  expect(clicks()).toBe(1);
  const verdict = page.getByRole("region", { name: "Verdict", exact: true });
  await expect(verdict).toContainText("1 regression, 1 unchanged · against trunk@18181818, 24 runs on ci");
  await page.getByRole("link", { name: /parse::large/ }).click();
  await expect(page).toHaveURL(/\/perf\?branches=[\w-]+%2C[\w-]+&/);
  expect(clicks()).toBe(2);

  await page.goto(`/perf/${project}/pulls`);
  const run = page.getByRole("link").and(page.locator('[href*="/reports/"]'));
  await page.getByRole("row").filter({ hasText: "slower" }).locator(run).click();
  await expect(page).toHaveURL(/\/reports\/[\w-]{36}$/);
  await expect(page.getByRole("region", { name: "Comparison with the baseline" })).toContainText(
    "1 regression, 1 unchanged · against trunk@18181818, 24 runs on ci",
  );
});
