import { lab, reports } from "./seed";
import { accessible, expect, fits, idle, make, test } from "./support";

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
  const events = async () => ((await (await request.get(`/v0/projects/${project}/events`)).json()) as object[]).length;
  await expect.poll(events).toBe(1);
  await page.goto(`/console/projects/${project}/plots`);

  const open = page.getByRole("region", { name: "Open regressions" });
  await expect(open.getByRole("link", { name: /parse::large/ })).toBeVisible();
  await expect(open.getByText(/^\+2[456]/)).toBeVisible();
  await expect(open.getByRole("link", { name: /parse::small/ })).toBeHidden();
  await expect(
    page.getByRole("region", { name: "Recent changes" }).getByRole("link", { name: /parse::large/ }),
  ).toBeVisible();
  const health = page.getByRole("region", { name: "List of series" });
  await expect(health.getByRole("row")).toHaveCount(3);
  await expect(page.getByRole("region", { name: "List of latest runs" }).getByRole("row").nth(1)).toBeVisible();
  await expect(page.getByRole("heading", { name: "No pinned plots" })).toBeVisible();
  await accessible(page);
  await fits(page);

  await page.getByRole("searchbox", { name: "Search series" }).fill("small");
  await expect(health.getByRole("row")).toHaveCount(2);
  await expect(page).toHaveURL(/series_search=small/);
  await page.getByText("How this is computed").click();
  await expect(page.getByText("is the variation between runs without a change")).toBeVisible();
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
  await expect(page.getByRole("region", { name: "List of latest runs" }).getByRole("row")).toHaveCount(8);
  await expect(page.getByRole("main").getByRole("link", { name: "Compare" })).toHaveAttribute("href", /^\/perf\//);
  await accessible(page);
  await fits(page);
});
