import { readFileSync } from "node:fs";
import type { Page } from "@playwright/test";
import { lab } from "./seed";
import { accessible, expect, fits, idle, make, test } from "./support";

const DAY = 86_400_000;
const NAMES = ["parser::json::large", "parser::json::small", "parser::toml", "codec/zstd"];

/** A project with this number of reports on two branches; the newest reports of main are slower and raise an alert. */
async function measured(page: Page, name: string, reports: number): Promise<string> {
  const { project: slug } = await lab(page, name, { url: "https://example.org/lab" });
  const { request } = page.context();
  for (let number = 0; number < reports; number++) {
    const time = Date.now() - (reports - number) * DAY;
    const isLate = number >= reports - 2;
    const value = (place: number) => 1e6 * (place + 1) * (isLate ? 1.5 : 1 + (number % 3) / 100);
    const results = Object.fromEntries(
      NAMES.map((name, place) => [
        name,
        {
          latency: { value: value(place), lower_value: value(place) * 0.98, upper_value: value(place) * 1.02 },
          throughput: { value: 4096 + number },
        },
      ]),
    );
    await make(request, `/v0/projects/${slug}/reports`, {
      branch: number % 4 === 1 ? "feature/fast" : "main",
      testbed: "lab-1",
      hash: number.toString(16).padStart(40, "0"),
      start_time: new Date(time).toISOString(),
      end_time: new Date(time + 60_000).toISOString(),
      results: [JSON.stringify(results)],
      settings: { adapter: "json" },
      thresholds: { models: { latency: { test: "percentage", min_sample_size: 2, upper_boundary: 0.2 } } },
    });
  }
  return slug;
}

const legend = (page: Page) => page.getByRole("region", { name: "Legend" });
const plot = (page: Page) => page.getByRole("group", { name: /with \d+ points/ });

/** Moves the pointer to the newest point of the first line. */
async function hover(page: Page): Promise<void> {
  await page.mouse.move(0, 0);
  await plot(page).focus();
  await page.keyboard.press("End");
  const box = await page.locator(".plot-dot").boundingBox();
  if (!box) throw new Error("There is no point.");
  await page.keyboard.press("Escape");
  await expect(page.locator(".readout")).toBeHidden();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await expect(page.locator(".readout")).toBeVisible();
}

test("a project without reports says how to get some", async ({ page }, { project }) => {
  const slug = await measured(page, `Blank-${project.name}`, 0);
  await page.goto(`/console/projects/${slug}/perf`);
  await expect(page.getByRole("heading", { name: "No data yet" })).toBeVisible();
  await accessible(page);
  await fits(page);
});

test("without changes, the first visit shows the newest report, and the address says so", async ({ page }, {
  project,
}) => {
  const slug = await measured(page, `Visit-${project.name}`, 8);
  await page.goto(`/console/projects/${slug}/perf`);
  await expect(legend(page).getByRole("button", { name: NAMES[0], exact: true })).toBeVisible();
  await expect(page.getByText("No series changed in the last 30 days.")).toBeVisible();
  await expect(page).toHaveURL(/branches=[\w-]{36}&.*testbeds=.*benchmarks=.*measures=.*start_time=\d+/);
  await accessible(page);
  await fits(page);
  const address = page.url();
  await page.reload();
  await expect(legend(page).getByRole("button", { name: "4 lines" })).toBeVisible();
  expect(page.url()).toBe(address);
});

test("points are walked along by the keyboard, and listed in tables", async ({ page }, { project }) => {
  const slug = await measured(page, `Walk-${project.name}`, 8);
  await page.goto(`/console/projects/${slug}/perf`);
  await expect(legend(page).getByRole("button", { name: "4 lines" })).toBeVisible();
  // Marks of changes that load later would deselect the point.
  await idle(page);
  await plot(page).focus();
  await page.keyboard.press("End");
  await page.keyboard.press("ArrowLeft");
  await expect(page.locator(".readout")).toContainText("Change from previous");
  await expect(page.locator(".readout")).toContainText("lab-1");
  await expect(page.locator(".readout a.mono")).toHaveAttribute("href", /^https:\/\/example\.org\/lab\/commit\/0+\w$/);
  await expect(plot(page)).toContainText(/codec\/zstd: 6\sms, /);
  await accessible(page);
  await page.keyboard.press("Escape");
  await expect(page.locator(".readout")).toBeHidden();

  await page.getByText("Values as a table").click();
  await expect(page.getByRole("region", { name: "Lines" }).getByRole("row")).toHaveCount(5);
  await accessible(page);
  await fits(page);
});

test("what is shown is chosen in groups, and hidden in the legend", async ({ page }, { project }) => {
  const slug = await measured(page, `Choose-${project.name}`, 8);
  await page.goto(`/console/projects/${slug}/perf`);
  await expect(legend(page).getByRole("button", { name: "4 lines" })).toBeVisible();
  await page.getByRole("checkbox", { name: /^parser::/ }).uncheck();
  await expect(legend(page).getByRole("button", { name: "1 line" })).toBeVisible();
  await page.getByLabel("Search benchmarks").fill("json");
  await page.getByRole("checkbox", { name: "All 2 found" }).check();
  await expect(legend(page).getByRole("button", { name: "3 lines" })).toBeVisible();
  await page.getByLabel("Search benchmarks").fill("");
  await expect(page.getByRole("checkbox", { name: /^parser::/ })).toBeChecked({ indeterminate: true });

  await legend(page).getByRole("button", { name: "Hide codec/zstd" }).click();
  await expect(page).toHaveURL(/hidden=\d/);
  await expect(plot(page)).toHaveAccessibleName(/2 lines/);
  await page.reload();
  await expect(legend(page).getByRole("button", { name: "Show codec/zstd" })).toBeVisible();
  await legend(page).getByRole("button", { name: "Show all" }).click();

  await page.getByRole("tab", { name: /^Measures/ }).click();
  await page.getByRole("checkbox", { name: /^Throughput/ }).check();
  await expect(legend(page).getByRole("button", { name: "6 lines" })).toBeVisible();
  await accessible(page);
  await page.getByRole("tab", { name: /^Branches/ }).click();
  await page.getByRole("checkbox", { name: "feature/fast" }).check();
  await expect(legend(page)).toContainText("feature/fast");
  await fits(page);

  await page.getByRole("tab", { name: /^Testbeds/ }).click();
  await page.getByRole("button", { name: "Clear" }).click();
  await expect(page.getByRole("heading", { name: "Select series" })).toBeVisible();
  await accessible(page);
  await page.getByRole("button", { name: "Show the newest run" }).click();
  await expect(legend(page)).toContainText("lab-1");
});

test("the axes, the limits and the zoom are in the address", async ({ page }, { project }) => {
  const slug = await measured(page, `Axes-${project.name}`, 8);
  await page.goto(`/console/projects/${slug}/perf`);
  await expect(legend(page).getByRole("button", { name: "4 lines" })).toBeVisible();
  await page.getByRole("button", { name: "Upper limits" }).click();
  await page.getByRole("button", { name: "Log" }).click();
  await expect(page).toHaveURL(/upper_boundary=true/);
  await expect(page).toHaveURL(/y_axis=log/);
  await plot(page).focus();
  await page.keyboard.press("+");
  await expect(page).toHaveURL(/zoom=\d+_\d+/);
  await page.getByRole("button", { name: "Reset zoom" }).click();
  await expect(page).not.toHaveURL(/zoom=/);
  if (project.name === "desktop") {
    await idle(page);
    const box = await page.locator(".u-over").boundingBox();
    if (!box) throw new Error("There is no plot.");
    const drag = async (from: number, to: number) => {
      await page.mouse.move(box.x + box.width * from, box.y + 40);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width * to, box.y + 60, { steps: 6 });
      await page.mouse.up();
    };
    const zoom = () => /zoom=(\d+)/.exec(page.url())?.[1];
    await drag(0.5, 0.9);
    await expect(page).toHaveURL(/zoom=/);
    const before = zoom();
    await page.keyboard.down("Shift");
    await drag(0.3, 0.6);
    await page.keyboard.up("Shift");
    await expect.poll(zoom).not.toBe(before);
    expect(Number(zoom())).toBeLessThan(Number(before));
    await page.getByRole("button", { name: "Reset zoom" }).click();
    await expect(page).not.toHaveURL(/zoom=/);
    await idle(page);
    await hover(page);
    await expect(page.locator(".readout")).toContainText("Change from baseline");
  }
  await page.getByRole("button", { name: "Version" }).click();
  await expect(page).toHaveURL(/x_axis=version/);
  await page.getByLabel("To", { exact: true }).fill("2020-01-02");
  await page.getByLabel("From", { exact: true }).fill("2020-01-01");
  await expect(page.getByRole("heading", { name: "No data" })).toBeVisible();
  await accessible(page);
  await page.getByRole("button", { name: "Show all time" }).click();
  await expect(legend(page).getByRole("button", { name: "4 lines" })).toBeVisible();
});

test("an old link shows the same, down to its tabs", async ({ page }, { project }) => {
  const slug = await measured(page, `Links-${project.name}`, 8);
  const { request } = page.context();
  const reports = (await (await request.get(`/v0/projects/${slug}/reports?per_page=8`)).json()) as {
    uuid: string;
    branch: { uuid: string };
    testbed: { uuid: string };
  }[];
  const [newest] = reports;
  const ids = async (kind: string) =>
    ((await (await request.get(`/v0/projects/${slug}/${kind}`)).json()) as { uuid: string }[])
      .map(({ uuid }) => uuid)
      .join(",");
  const link = new URLSearchParams({
    branches: newest?.branch.uuid ?? "",
    heads: "",
    testbeds: newest?.testbed.uuid ?? "",
    specs: "",
    benchmarks: await ids("benchmarks"),
    measures: (await ids("measures")).split(",")[0] ?? "",
    range: "version",
    key: "false",
    tab: "reports",
    report: reports[1]?.uuid ?? "",
    reports_per_page: "4",
    reports_page: "2",
    benchmarks_search: "json",
    benchmarks_page: "1",
  });
  await page.goto(`/console/projects/${slug}/perf?${link}`);
  await expect(plot(page)).toHaveAccessibleName(/4 lines/);
  await expect(page.getByRole("button", { name: "Version", exact: true })).toHaveAttribute("aria-pressed", "true");
  // The four rows of the page, and the selected report, which is on another page.
  const panel = page.getByRole("tabpanel");
  await expect(panel.getByRole("button", { name: "Plot" })).toHaveCount(5);
  await expect(panel.getByText("4 benchmarks, 2 measures")).toBeVisible();
  await accessible(page);
  await fits(page);
  await panel.getByRole("button", { name: "Newer" }).click();
  await expect(panel.getByRole("button", { name: "Plot" })).toHaveCount(4);
  await page.getByRole("tab", { name: /^Benchmarks/ }).click();
  await expect(page.getByLabel("Search benchmarks")).toHaveValue("json");
  await page.getByLabel("Search benchmarks").fill("toml");
  await expect(page).toHaveURL(/benchmarks_search=toml/);
  await expect(page).toHaveURL(new RegExp(`report=${reports[1]?.uuid}`));
});

test("a plot is pinned, changed, shared and downloaded", async ({ page }, { project }) => {
  const slug = await measured(page, `Pin-${project.name}`, 6);
  await page.goto(`/console/projects/${slug}/perf`);
  await expect(legend(page).getByRole("button", { name: "4 lines" })).toBeVisible();
  await page.getByRole("button", { name: "Pin", exact: true }).click();
  await page.getByLabel("Title").fill("All of the lab");
  await accessible(page);
  await page.getByRole("button", { name: "Pin plot" }).click();
  await expect(page.getByRole("heading", { name: "All of the lab" })).toBeVisible();
  await expect(page).toHaveURL(/plot=[\w-]{36}/);
  await page.getByRole("button", { name: "Log" }).click();
  await expect(page).toHaveURL(/y_axis=log/);
  await page.getByRole("button", { name: "Update pin" }).click();
  await page.getByLabel("Title").fill("The lab");
  await page.getByRole("button", { name: "Update plot" }).click();
  await expect(page.getByRole("heading", { name: "The lab", exact: true })).toBeVisible();
  const [pinned] = (await (await page.context().request.get(`/v0/projects/${slug}/plots`)).json()) as {
    uuid: string;
    y_axis: string;
  }[];
  expect(pinned?.y_axis).toBe("log");
  await page.goto(`/console/projects/${slug}/perf?plot=${pinned?.uuid}`);
  await expect(legend(page).getByRole("button", { name: "4 lines" })).toBeVisible();
  await expect(page).toHaveURL(/y_axis=log/);

  await page.getByRole("button", { name: "Share" }).click();
  await expect(page.getByRole("dialog")).toContainText("iframe");
  await expect
    .poll(() => page.getByAltText(/^Preview/).evaluate((image: HTMLImageElement) => image.naturalWidth))
    .toBeGreaterThan(0);
  await accessible(page);
  await fits(page);
  // The title of the pinned plot, then the typed one.
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("group", { name: "Frame" })).toContainText("embed_title=The%20lab");
  await dialog.getByLabel("Title").fill("Typed & shared");
  for (const name of ["Link", "Markdown", "HTML"])
    await expect(dialog.getByRole("group", { name, exact: true })).toContainText("title=Typed%20%26%20shared");
  await expect(dialog.getByRole("group", { name: "Markdown" })).toContainText("[![Typed & shared](");
  await expect(dialog.getByRole("group", { name: "Frame" })).toContainText("embed_title=Typed%20%26%20shared");
  const link = (await dialog.getByRole("group", { name: "Link", exact: true }).textContent()) ?? "";
  await page.getByRole("button", { name: "Close" }).click();
  await page.goto(new URL(link).pathname + new URL(link).search);
  await expect(page.getByRole("heading", { level: 1, name: "Typed & shared" })).toBeVisible();
  await page.goto(`/console/projects/${slug}/perf?plot=${pinned?.uuid}`);
  await expect(legend(page).getByRole("button", { name: "4 lines" })).toBeVisible();

  // The search of the pinned plots is directly above their list.
  await page.getByRole("tab", { name: "Plots" }).click();
  await page.getByRole("button", { name: "The lab" }).waitFor();
  const gap = await page.evaluate(() => {
    const panel = document.querySelector(".perf-choices [role=tabpanel]");
    const [search, list] = [panel?.querySelector(".search input"), panel?.querySelector(".perf-list")];
    return (list?.getBoundingClientRect().top ?? 0) - (search?.getBoundingClientRect().bottom ?? 0);
  });
  expect(gap).toBeLessThan(32);

  for (const [name, ending] of [
    ["Image (PNG)", "png"],
    ["Vector image (SVG)", "svg"],
    ["Values (CSV)", "csv"],
  ] as const) {
    await page.getByRole("button", { name: "Download" }).click();
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("menuitem", { name }).click()]);
    expect(download.suggestedFilename()).toBe(`${slug}-perf.${ending}`);
    const content = readFileSync(await download.path());
    if (ending === "png") expect(content.subarray(1, 4).toString()).toBe("PNG");
    if (ending === "svg") expect(content.toString()).toContain("<svg");
    if (ending === "csv") expect(content.toString().trim().split("\r\n").length).toBeGreaterThan(NAMES.length);
  }
});

test("everybody sees a public project, its index and its frames, without an account", async ({ page }, { project }) => {
  const slug = await measured(page, `Open-${project.name}`, 5);
  await page.context().clearCookies();
  await page.goto("/perf");
  await page.getByLabel("Search projects").fill(`Open-${project.name}`);
  await expect(page.getByRole("link", { name: `Open-${project.name}` })).toBeVisible();
  await accessible(page);
  await fits(page);
  await page.goto(`/perf/${slug}`);
  await expect(legend(page).getByRole("button", { name: "4 lines" })).toBeVisible();
  await expect(page.getByRole("button", { name: "Pin", exact: true })).toBeHidden();
  const { search } = new URL(page.url());
  const answer = await page.goto(`/perf/${slug}/embed${search}&embed_title=In+a+frame`);
  expect(answer?.headers()["content-security-policy"]).toContain("frame-ancestors *");
  await expect(page.getByRole("heading", { name: "In a frame" })).toBeVisible();
  await expect(legend(page).getByRole("button", { name: "4 lines" })).toBeVisible();
  await expect(page.getByRole("navigation")).toHaveCount(0);
  await accessible(page);
  await fits(page);
  await page.goto("/perf/there-is-no-such/embed");
  await expect(page.getByRole("heading", { name: "Plot not found" })).toBeVisible();
});
