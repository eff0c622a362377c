import { history, lab } from "./seed";
import { accessible, expect, fits, test } from "./support";

test("a project without reports says how to get some", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `No-reports-${project.name}`);
  await page.goto(`/console/projects/${slug}/reports`);
  await expect(page.getByRole("heading", { name: "No runs yet" })).toBeVisible();
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
  // The list shows the verdict of the page of the report.
  const badge = page.getByRole("row").nth(1).locator("td:last-child .badge");
  const verdict = (await badge.textContent()) ?? "";
  await page.getByRole("row").nth(1).getByRole("link").first().click();
  await expect(page).toHaveURL(new RegExp(uuid));
  await expect(page.getByRole("region", { name: "Comparison with the baseline" }).locator(".badge").first()).toHaveText(
    verdict,
  );
  const rows = page.getByRole("region", { name: "Results", exact: true }).getByRole("row");
  await expect(rows.nth(1)).toContainText("text::parse");
  await expect(rows.nth(1)).toContainText("+100 %");
  await expect(rows.nth(1)).toContainText("outside the threshold");
  await expect(page.getByRole("heading", { name: "Throughput" })).toBeVisible();
  await accessible(page);
  await fits(page);

  await page.getByRole("button", { name: /With alert/ }).click();
  await expect(rows).toHaveCount(2);
  await expect(page).toHaveURL(/show=moved/);
  await page.getByRole("button", { name: /^All/ }).click();
  await page.getByRole("searchbox").fill("scan");
  await expect(page.getByRole("region", { name: "Latency" }).getByRole("row")).toHaveCount(2);
  await page.getByRole("searchbox").fill("");

  await page.getByRole("button", { name: "Dismiss 1 alert" }).click();
  // A phone shows only the status.
  const dismissed = page.getByText(/^(outside the threshold, )?dismissed$/).filter({ visible: true });
  await expect(dismissed).toBeVisible();
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(dismissed).toHaveCount(0);
  await page.getByRole("button", { name: "JSON" }).click();
  await expect(page.getByRole("dialog")).toContainText(uuid);
  await page.keyboard.press("Escape");
  await expect(rows.nth(1).getByRole("link").first()).toHaveAttribute("href", /\/perf\?branches=/);

  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await expect(page.getByText("19 runs")).toBeVisible();
});

test("a report is held against the runs before, without a threshold", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `Verdict-${project.name}`);
  const { uuid } = await history(page.context().request, slug);
  await page.goto(`/perf/${slug}/reports/${uuid}`);
  const verdict = page.getByRole("region", { name: "Comparison with the baseline" });
  await expect(verdict.getByText(/^1 regression, 2 unchanged/)).toBeVisible();
  const changed = verdict.getByRole("region", { name: "Changes", exact: true }).getByRole("row");
  await expect(changed).toHaveCount(2);
  await expect(changed.nth(1)).toContainText("text::parse");
  await expect(changed.nth(1)).toContainText("+100 %");
  await expect(changed.nth(1).getByRole("link")).toHaveAttribute("href", /\?branches=/);
  await verdict.getByText("2 unchanged", { exact: true }).press("Enter");
  const unchanged = verdict.getByRole("region", { name: "unchanged" }).getByRole("row");
  await expect(unchanged).toHaveCount(3);
  await expect(unchanged.nth(1)).toContainText(/\d+(\.\d+)?\s%/);
  await accessible(page);
  await fits(page);
});

test("a report says when the machine is to blame, or nothing but noise", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `Blame-${project.name}`);
  const { uuid } = await history(page.context().request, slug, { days: 8 });
  // The tests of the server cover detection; here the response is mocked.
  let cause = "host";
  let asked = 0;
  let seen = () => {};
  const wasSeen = new Promise<void>((resolve) => (seen = resolve));
  await page.route("**/verdict", async (route) => {
    const answer = await route.fetch({ timeout: 0 });
    const verdict = (await answer.json()) as { comparisons: { measure: object }[] };
    const factors = [
      {
        measure: verdict.comparisons[0]?.measure,
        change: 0.082,
        lower: 0.07,
        upper: 0.09,
        benchmarks: 12,
        together: 0.9,
        is_host: true,
      },
    ];
    asked += 1;
    // Delay the second response until the test has checked the page.
    if (asked === 2) await wasSeen;
    await route.fulfill({ response: answer, json: { ...verdict, cause, factors, settled: asked > 1 } });
  });
  await page.goto(`/console/projects/${slug}/reports/${uuid}`);
  await expect(
    page.getByText(/Most benchmarks changed together: \w+ \+8\.2\s% \(\+7\s% to \+9\s%\)\. Check the machine first/),
  ).toBeVisible();
  await expect(page.getByText("Analyzing…")).toBeVisible();
  seen();
  await expect(page.getByText("Analyzing…")).toBeHidden();
  expect(asked).toBe(2);
  await accessible(page);
  await fits(page);
  cause = "noise";
  await page.reload();
  await expect(
    page.getByText("The same commit or binary was measured before, so all differences are noise."),
  ).toBeVisible();
});

test("a value leads to everything that is known of it", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `Metric-${project.name}`);
  const { alerts } = await history(page.context().request, slug, { days: 8 });
  await page.goto(`/console/projects/${slug}/metrics/${alerts[0]?.metric.uuid}`);
  await expect(page.getByRole("heading", { name: "2 µs" })).toBeVisible();
  await expect(page.getByText("t-test, upper limit 99.9 %")).toBeVisible();
  await accessible(page);
  await fits(page);
});
