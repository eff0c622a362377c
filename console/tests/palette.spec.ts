import { pages } from "./routes";
import { lab, reports } from "./seed";
import { accessible, asAdmin, expect, fits, pressReplaced, settled, test } from "./support";

test("the palette finds pages, projects and what is in one", async ({ page }, info) => {
  const { project } = await lab(page, `Palette-${info.project.name}`);
  await reports(page.context().request, project, "main", 1);
  await page.goto(`/console/projects/${project}/settings`);
  if (info.project.name === "phone") await page.getByRole("button", { name: "Search pages and projects" }).click();
  else {
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
    await page.keyboard.press("Control+k");
  }
  const field = page.getByRole("combobox", { name: "Search pages and projects" });
  await expect(field).toBeFocused();
  await expect(page.getByRole("option", { name: /Overview/ })).toBeVisible();
  await accessible(page);
  await fits(page);
  await field.fill("parse::la");
  await expect(page.getByRole("option")).toHaveCount(1);
  await field.fill("compa");
  await expect(page.getByRole("option", { selected: true })).toContainText("Compare");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(new RegExp(`/console/projects/${project}/compare`));
  await expect(field).toBeHidden();
});

test("the palette opens every page of the project", async ({ page }, info) => {
  const { project } = await lab(page, `Entries-${info.project.name}`);
  const base = `/console/projects/${project}`;
  const entries: readonly [string, string][] = [
    ["overview", "plots"],
    ["explore", "perf"],
    ["perf", "perf"],
    ["compare", "compare"],
    ["pull requests", "pulls"],
    ["regressions", "regressions"],
    ["runs", "reports"],
    ["reports", "reports"],
    ["branches", "branches"],
    ["testbeds", "testbeds"],
    ["benchmarks", "benchmarks"],
    ["measures", "measures"],
    ["thresholds", "thresholds"],
    ["alerts", "alerts"],
    ["detection", "detection"],
    ["notifications", "notices"],
    ["jobs", "jobs"],
    ["keys", "keys"],
    ["members", "members"],
    ["settings", "settings"],
  ];
  await page.goto(base);
  const field = page.getByRole("combobox", { name: "Search pages and projects" });
  for (const [words, segment] of entries) {
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
    await page.getByRole("button", { name: "Search pages and projects" }).click();
    await field.fill(words);
    await page.keyboard.press("Enter");
    await expect(page, words).toHaveURL(new RegExp(`${base}/${segment}($|\\?)`));
  }
});

/** Pages without an entry in the palette. */
const NOT_IN_PALETTE: readonly { paths: RegExp; reason: string }[] = [
  {
    paths: /:(?!project\b|organization\b|user\b|step\b)|^\/console\/server\/users\/:user$/,
    reason: "one item: the palette finds it by name",
  },
  { paths: /\/add$/, reason: "a form: its list opens it" },
  { paths: /^\/auth\/|^\/console\/plan$|\/checkout$/, reason: "a step of signing in or of a payment" },
  { paths: /\/embed$|\*$/, reason: "not a page to open" },
  { paths: /^\/perf\/:project/, reason: "the public view has the sidebar of the project as entries" },
];

test("every page has an entry in the palette", async ({ page }, info) => {
  test.skip(info.project.name === "phone", "The entries do not depend on the screen.");
  await asAdmin(page);
  await page.goto("/console/projects/demo/plots");
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  const demo = await page.context().request.get("/v0/projects/demo");
  const { organization } = (await demo.json()) as { organization: string };
  const wanted = pages()
    .map(({ path }) => path.replace(/\/:step\?$/, "").replace(/\/\*operation$/, ""))
    .filter((path) => !NOT_IN_PALETTE.some(({ paths }) => paths.test(path)))
    .map((path) =>
      path.replace(":project", "demo").replace(":organization", organization).replace(":user", "ada-lovelace"),
    );
  expect(wanted.length).toBeGreaterThan(40);
  await page.keyboard.press("Control+k");
  const field = page.getByRole("combobox", { name: "Search pages and projects" });
  const options = page.getByRole("dialog", { name: "Go to" }).getByRole("option");
  await field.fill("/");
  await expect(options.first()).toBeVisible();
  const entries = await options.locator(".muted").allTextContents();
  for (const path of wanted) expect(entries, "a page without an entry in Palette.tsx").toContain(path);
  // The start of a path opens the page.
  await field.fill("/console/projects/demo/code");
  await expect(options).toHaveCount(1);
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1, name: "Commands in pull requests" })).toBeVisible();
  await page.keyboard.press("Control+k");
  await field.fill("manual");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/docs\//);
});

test("a press counts although results replace the entry", async ({ page }, info) => {
  const name = `Pressed-${info.project.name}`;
  const { project } = await lab(page, name);
  await page.goto(`/console/projects/${project}/settings`);
  if (info.project.name === "phone") await page.getByRole("button", { name: "Search pages and projects" }).click();
  else {
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
    await page.keyboard.press("Control+k");
  }
  const field = page.getByRole("combobox", { name: "Search pages and projects" });
  await field.fill("pressed");
  const entry = page
    .getByRole("option")
    .filter({ has: page.getByText(name, { exact: true }) })
    .filter({ has: page.getByText("Project", { exact: true }) });
  await expect(entry).toBeVisible();
  await pressReplaced(page, field, "pressed-", entry);
  await expect(page).toHaveURL(new RegExp(`/console/projects/${project}/plots`));
});

test("the palette finds notices, invitations, themes and commits", async ({ page }, info) => {
  const { project } = await lab(page, `Commits-${info.project.name}`);
  await reports(page.context().request, project, "main", 9);
  await page.goto(`/console/projects/${project}/settings`);
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  const open = page.getByRole("button", { name: "Search pages and projects" });
  const field = page.getByRole("combobox", { name: "Search pages and projects" });
  const option = (name: RegExp) => page.getByRole("option", { name });
  await open.click();
  await field.fill("notifications");
  await expect(page.getByRole("option")).toHaveCount(2);
  await option(/^Notifications/).click();
  await expect(page).toHaveURL(`/console/projects/${project}/notices`);
  await open.click();
  await field.fill("dark");
  await option(/^Dark theme/).click();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await open.click();
  await field.fill("system theme");
  await option(/^System theme/).click();
  await open.click();
  await field.fill("invitations");
  await option(/^Invitations/).click();
  await expect(page.getByRole("heading", { level: 1, name: "Members" })).toBeVisible();
  await page.goto(`/console/projects/${project}/settings`);
  await open.click();
  // The second report has the hash 0202…; it is not among the newest reports.
  await field.fill("020");
  await expect(option(/^Run of/)).toHaveCount(0);
  await field.fill("0202020");
  await expect(option(/^Run of 02020202/)).toHaveCount(1);
  await accessible(page);
  await fits(page);
  await option(/^Run of 02020202/).click();
  await expect(page).toHaveURL(new RegExp(`/console/projects/${project}/reports/[\\w-]{36}$`));
  await expect(page.getByText("02020202").first()).toBeVisible();
});

test("the key / focuses the search of a list, and opens the palette elsewhere", async ({ page }, info) => {
  test.skip(info.project.name === "phone", "A phone has no keyboard.");
  const { project, organization } = await lab(page, `Slash-${info.project.name}`);
  const inProject = ["branches", "testbeds", "benchmarks", "measures", "keys", "members"].map(
    (list) => `/console/projects/${project}/${list}`,
  );
  const others = [
    "/console/organizations",
    `/console/organizations/${organization}/projects`,
    `/console/organizations/${organization}/members`,
    "/perf",
  ];
  for (const path of [...inProject, ...others]) {
    await page.goto(path);
    await settled(page);
    await page.keyboard.press("/");
    await expect(page.getByRole("searchbox"), path).toBeFocused();
  }
  for (const list of ["reports", "jobs", "alerts", "thresholds", "settings"]) {
    await page.goto(`/console/projects/${project}/${list}`);
    await settled(page);
    await page.keyboard.press("/");
    await expect(page.getByRole("combobox", { name: "Search pages and projects" }), list).toBeFocused();
  }
});

test("an address without a page says so", async ({ page }) => {
  await page.goto("/nowhere/at/all");
  await expect(page.getByRole("heading", { name: "No page at this URL" })).toBeVisible();
  await accessible(page);
  await fits(page);
});
