import { lab, reports } from "./seed";
import { accessible, expect, fits, idle, make, test } from "./support";

/** Requests for a verdict, but no assets. */
const VERDICT = /\/reports\/[\w-]+\/verdict/;

test("the home of a project without reports says how to send one", async ({ page }, info) => {
  const { project } = await lab(page, `Home-empty-${info.project.name}`);
  await page.goto(`/console/projects/${project}/plots`);
  await expect(page.getByRole("heading", { name: "No runs yet" })).toBeVisible();
  await accessible(page);
  await fits(page);
});

test("the home says what changed, what is alerting and how sharp each series sees", async ({ page }, info) => {
  const { project } = await lab(page, `Home-${info.project.name}`);
  const { request } = page.context();
  await reports(request, project, "main", 20);
  // The event opens with the first alert; the change joins it.
  const changes = async () =>
    ((await (await request.get(`/v0/projects/${project}/changes`)).json()) as object[]).length;
  await expect.poll(changes).toBe(1);
  await page.goto(`/console/projects/${project}/plots`);

  const open = page.getByRole("region", { name: "Open regressions" });
  await expect(open.getByRole("link", { name: /parse::large/ })).toBeVisible();
  await expect(open.getByText(/^\+2[456]/)).toBeVisible();
  await expect(open.getByRole("link", { name: /parse::small/ })).toBeHidden();
  await expect(
    page.getByRole("region", { name: "Recent changes" }).getByRole("link", { name: /parse::large/ }),
  ).toBeVisible();
  // The parts below load when the user scrolls to them.
  await page.getByRole("heading", { name: "Data health" }).scrollIntoViewIfNeeded();
  const series = page.getByRole("region", { name: "List of series" });
  await expect(series.getByRole("row")).toHaveCount(3);
  await expect(series.getByRole("row", { name: /parse::large/ })).toContainText(/\+2[456].*\s%/);
  const testbeds = page.getByRole("region", { name: "Last run of each testbed" });
  await expect(testbeds.getByRole("row", { name: /^ci yesterday/ })).toContainText("1 regression");
  await expect(page.getByRole("heading", { name: "No pinned plots" })).toBeVisible();
  await accessible(page);
  await fits(page);

  await page.getByRole("searchbox", { name: "Search series" }).fill("small");
  await expect(series.getByRole("row")).toHaveCount(2);
  await expect(page).toHaveURL(/series_search=small/);
  await accessible(page);
});

test("the verdicts of the newest reports are those of their pages", async ({ page }, info) => {
  const { project } = await lab(page, `Verdicts-${info.project.name}`);
  const { request } = page.context();
  await reports(request, project, "main", 20);
  const settled = async () => {
    const [newest] = (await (await request.get(`/v0/projects/${project}/reports`)).json()) as { uuid: string }[];
    const verdict = await request.get(`/v0/projects/${project}/reports/${newest?.uuid}/verdict?limit=0`);
    return ((await verdict.json()) as { settled: boolean }).settled;
  };
  await expect.poll(settled).toBe(true);
  // At most two verdicts are requested at a time.
  let [pending, most] = [0, 0];
  await page.route(VERDICT, async (route) => {
    most = Math.max(most, ++pending);
    const response = await route.fetch();
    pending--;
    await route.fulfill({ response });
  });
  await page.goto(`/console/projects/${project}/plots`);
  const rows = page.getByRole("region", { name: "List of newest runs" }).locator("tbody tr");
  await expect(rows).toHaveCount(8);
  await rows.last().scrollIntoViewIfNeeded();
  await expect(rows.locator("td:last-child .badge")).toHaveCount(8);
  expect(most).toBeLessThanOrEqual(2);
  // The newest report, and the newest one before the change.
  for (const [place, text] of [
    [0, "1 regression"],
    [5, "inconclusive"],
  ] as const) {
    await rows.nth(place).scrollIntoViewIfNeeded();
    await expect(rows.nth(place).locator(".badge").last()).toHaveText(text);
    await rows.nth(place).getByRole("link").first().click();
    const verdict = page.getByRole("region", { name: "Comparison with the baseline" });
    await expect(verdict.locator(".badge").first()).toHaveText(text);
    await page.goBack();
  }
});

test("a verdict that cannot be loaded is a dash with the error", async ({ page }, info) => {
  const { project } = await lab(page, `No-verdict-${info.project.name}`);
  await reports(page.context().request, project, "main", 2);
  await page.route(VERDICT, (route) => route.fulfill({ status: 500, json: { message: "Out of order." } }));
  await page.goto(`/console/projects/${project}/plots`);
  const rows = page.getByRole("region", { name: "List of newest runs" }).locator("tbody tr");
  await rows.first().scrollIntoViewIfNeeded();
  await expect(rows.first().getByTitle("Out of order.")).toHaveText("–");
  await page.getByRole("heading", { name: "Data health" }).scrollIntoViewIfNeeded();
  await expect(page.getByRole("alert")).toContainText("Out of order.");
  await accessible(page);
});

test("pinned plots are drawn, renamed, moved and unpinned", async ({ page }, info) => {
  const { project } = await lab(page, `Pins-${info.project.name}`);
  const { request } = page.context();
  await reports(request, project, "main", 8);
  const ids = async (kind: string) =>
    ((await (await request.get(`/v0/projects/${project}/${kind}`)).json()) as { uuid: string }[]).map(
      ({ uuid }) => uuid,
    );
  const [branches, testbeds, benchmarks, measures] = await Promise.all(
    ["branches", "testbeds", "benchmarks", "measures"].map(ids),
  );
  const plot = {
    branches,
    testbeds,
    benchmarks,
    measures,
    window: 2_419_200,
    lower_value: false,
    upper_value: false,
    lower_boundary: false,
    upper_boundary: true,
    x_axis: "date_time",
  };
  await make(request, `/v0/projects/${project}/plots`, { ...plot, title: "First", index: 0 });
  await make(request, `/v0/projects/${project}/plots`, { ...plot, title: "Second", index: 1 });
  await page.goto(`/console/projects/${project}/plots`);
  const pins = page.getByRole("article", { name: /First|Second|Parsers/ });
  await expect(pins).toHaveCount(2);
  await pins.first().scrollIntoViewIfNeeded();
  await expect(pins.first().getByText("parse::large")).toBeVisible();
  await pins.nth(1).scrollIntoViewIfNeeded();
  await expect(pins.nth(1).locator("canvas")).toBeVisible();
  await accessible(page);
  await fits(page);

  await page.getByRole("button", { name: "Plot: Second" }).click();
  await page.getByRole("menuitem", { name: "Move forward" }).click();
  await expect(pins.first()).toHaveAccessibleName("Second");
  await page.getByRole("button", { name: "Plot: First" }).click();
  await page.getByRole("menuitem", { name: "Title and window" }).click();
  await page.getByRole("textbox", { name: "Title" }).fill("Parsers");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("dialog")).toBeHidden();
  await idle(page);
  await page.reload();
  await expect(pins.nth(1)).toHaveAccessibleName("Parsers");
  await page.getByRole("link", { name: "Parsers" }).click();
  await expect(page.getByRole("heading", { name: "Parsers" })).toBeVisible();
  await expect(page.locator("canvas")).toBeVisible();
  await accessible(page);
  await fits(page);
  await page.getByRole("button", { name: "Unpin" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Unpin" }).click();
  await expect(pins).toHaveCount(1);
});

test("everybody reads the home of a public project", async ({ page }, info) => {
  const { project } = await lab(page, `Public-${info.project.name}`);
  await reports(page.context().request, project, "main", 7);
  await page.context().clearCookies();
  await page.goto(`/perf/${project}/plots`);
  await expect(page.getByRole("region", { name: "List of newest runs" }).getByRole("row")).toHaveCount(8);
  await expect(page.getByRole("main").getByRole("link", { name: "Compare" })).toHaveAttribute("href", /^\/perf\//);
  await accessible(page);
  await fits(page);
});
