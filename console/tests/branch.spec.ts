import { history, lab } from "./seed";
import { accessible, expect, fits, make, pressReplaced, test } from "./support";

test("a branch is made from another, gets a new head, and shows both", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `Branches-${project.name}`);
  const { request } = page.context();
  await history(request, slug, { days: 6 });
  await page.goto(`/console/projects/${slug}/branches`);
  await accessible(page);
  await page.getByRole("link", { name: "Add a branch" }).click();
  await page.getByLabel("Name").fill("feature/x");
  await page.getByRole("combobox", { name: "Start point" }).click();
  await page.getByRole("option", { name: "main" }).click();
  await page.getByRole("button", { name: "Add the branch" }).click();
  await expect(page.getByRole("heading", { name: "feature/x" })).toBeVisible();
  await expect(page.getByText("main #5")).toBeVisible();
  await expect(page.getByText("t-test, upper limit 99.9 %")).toBeVisible();
  await accessible(page);
  await fits(page);

  await history(request, slug, { days: 2, branch: "feature/x" });
  await page.getByRole("button", { name: "Change start point" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Create head" }).click();
  await expect(page.getByText("none", { exact: true })).toBeVisible();
  const heads = page.getByRole("region", { name: "Heads" });
  await expect(heads.getByRole("row")).toHaveCount(3);
  await heads.getByRole("row").nth(2).getByRole("link").first().click();
  await expect(page.getByText("This head was replaced")).toBeVisible();
  await expect(page.getByRole("region", { name: "Versions" }).getByRole("row")).toHaveCount(3);
  await accessible(page);
  await fits(page);
});

test("lists of branches, testbeds and measures sort by the newest run", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `Runs-${project.name}`);
  const { request } = page.context();
  await history(request, slug, { days: 2 });
  for (const [segment, used] of [
    ["branches", "main"],
    ["testbeds", "laptop"],
    ["measures", /Latency|Throughput/],
  ] as const) {
    // Without a run, it is first by name and last by run.
    const unused = segment === "measures" ? { name: "A first", units: "bytes (B)" } : { name: "a-first" };
    await make(request, `/v0/projects/${slug}/${segment}`, unused);
    await page.goto(`/console/projects/${slug}/${segment}`);
    const rows = page.getByRole("row");
    await expect(rows.nth(1)).toContainText(unused.name);
    await expect(rows.nth(1)).toContainText("–");
    await page.getByRole("button", { name: "Newest run" }).click();
    await expect(page).toHaveURL(/sort=newest_run/);
    await expect(rows.nth(1)).toContainText(used);
    await accessible(page);
    await fits(page);
    await rows.nth(1).getByRole("link").nth(1).click();
    await expect(page).toHaveURL(/\/reports\/[\w-]{36}$/);
  }
});

test("testbeds and measures are made, renamed, archived and deleted", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `Dimensions-${project.name}`);
  for (const [segment, noun, title] of [
    ["testbeds", "testbed", "No testbeds yet"],
    ["measures", "measure", "No measures yet"],
  ] as const) {
    await page.goto(`/console/projects/${slug}/${segment}`);
    await expect(page.getByRole("heading", { name: title })).toBeVisible();
    await accessible(page);
    await page
      .getByRole("link", { name: `Add a ${noun}` })
      .first()
      .click();
    await page.getByLabel("Name").fill("First");
    if (noun === "measure") {
      await page.getByLabel("Units").fill("bytes (B)");
      await page.getByLabel("Direction").selectOption("lower is better");
    }
    await accessible(page);
    await page.getByRole("button", { name: `Add the ${noun}` }).click();
    await expect(page.getByRole("heading", { name: "First" })).toBeVisible();
    if (noun === "measure") {
      await expect(page.getByText("1.235 MB")).toBeVisible();
      await expect(page.getByLabel("Direction")).toHaveValue("lower_is_better");
      await page.getByLabel("Direction").selectOption("unknown");
      await expect(page.getByLabel("Direction")).toHaveValue("unknown");
    }
    await accessible(page);
    await fits(page);
    await page.getByRole("button", { name: "Edit: Slug" }).click();
    await page.getByRole("textbox", { name: "Slug" }).fill("the-first");
    await page.keyboard.press("Enter");
    await expect(page).toHaveURL(new RegExp(`/${segment}/the-first$`));
    await page.getByRole("button", { name: "Archive" }).click();
    await expect(page.getByText("archived", { exact: true })).toBeVisible();
    await page.getByRole("button", { name: "Undo" }).click();
    await expect(page.getByText("archived", { exact: true })).toBeHidden();
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await expect(page.getByRole("heading", { name: title })).toBeVisible();
  }
});

test("a testbed that is in use says why it stays", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `InUse-${project.name}`);
  await history(page.context().request, slug, { days: 2 });
  await make(page.context().request, `/v0/projects/${slug}/testbeds`, { name: "other" });
  await page.goto(`/console/projects/${slug}/testbeds/laptop`);
  await expect(page.getByRole("region", { name: "Runs" }).getByRole("row")).toHaveCount(3);
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await expect(page.getByRole("dialog").getByRole("alert")).toBeVisible();
});

test("a pressed option counts although results replace it", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `Pressed-branch-${project.name}`);
  await history(page.context().request, slug, { days: 1 });
  await page.goto(`/console/projects/${slug}/branches`);
  await page.getByRole("link", { name: "Add a branch" }).click();
  const field = page.getByRole("combobox", { name: "Start point" });
  await field.click();
  const option = page.getByRole("option", { name: "main" });
  await expect(option).toBeVisible();
  await pressReplaced(page, field, "mai", option);
  await expect(option).toBeHidden();
  await expect(field).toHaveValue("main");
});
