import type { APIRequestContext } from "@playwright/test";
import { history, lab, step } from "./seed";
import { accessible, expect, fits, make, test } from "./support";

/** Waits until detection has found the event of `step`. */
async function found(request: APIRequestContext, slug: string): Promise<void> {
  const total = async () => ((await (await request.get(`/v0/projects/${slug}/events`)).json()) as object[]).length;
  await expect.poll(total).toBe(1);
}

test("without regressions it says how they are found", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `Level-${project.name}`);
  await page.goto(`/console/projects/${slug}/regressions`);
  await expect(page.getByRole("heading", { name: "No open regressions" })).toBeVisible();
  await expect(page.getByText("Detection needs no threshold")).toBeVisible();
  await accessible(page);
  await fits(page);
});

test("an event links to its commits at the code host", async ({ page }, { project }) => {
  const url = "https://github.com/acme/widget";
  const { project: slug } = await lab(page, `Range-${project.name}`, { url });
  const { request } = page.context();
  await step(request, slug);
  await found(request, slug);
  type Version = { number: number; hash: string };
  const [event] = (await (await request.get(`/v0/projects/${slug}/events`)).json()) as {
    uuid: string;
    candidates: Version[];
  }[];
  await page.goto(`/console/projects/${slug}/regressions/${event?.uuid}`);
  const [first, last] = [event?.candidates[0] as Version, event?.candidates.at(-1) as Version];
  // `step` sends one run per commit, and the hash of a version is its number plus one.
  const good = first.number.toString(16).padStart(40, "b");
  await expect(page.getByRole("link", { name: "Compare commits" })).toHaveAttribute(
    "href",
    `${url}/compare/${good}...${last.hash}`,
  );
  await fits(page);
});

test("a regression is reviewed once, for all its series", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `Step-${project.name}`);
  const { request } = page.context();
  await step(request, slug);
  await found(request, slug);

  await page.goto(`/console/projects/${slug}/regressions`);
  const rows = page.getByRole("row");
  await expect(rows).toHaveCount(2);
  await expect(rows.nth(1)).toContainText("1 regression");
  await expect(rows.nth(1)).toContainText("queue::push");
  await expect(rows.nth(1)).toContainText(/\+(19|20)(\.\d)?\s%/);
  await expect(rows.nth(1)).not.toContainText(/machine|noise/i);
  await accessible(page);
  await fits(page);
  await page.getByRole("button", { name: "Largest first" }).click();
  await expect(page).toHaveURL(/sort=size/);
  await page.getByRole("combobox", { name: "Direction" }).selectOption("Improvements");
  await expect(page.getByRole("heading", { name: "No matches" })).toBeVisible();
  await page.getByRole("button", { name: "Show all" }).click();
  await expect(rows).toHaveCount(2);

  await page.getByRole("link", { name: /1 regression/ }).click();
  await expect(page.getByRole("heading", { name: "1 regression", level: 1 })).toBeVisible();
  await expect(page.getByRole("group", { name: /Latency of queue::push around the change/ })).toBeVisible();
  const series = page.getByRole("region", { name: "Affected series" }).getByRole("row");
  await expect(series).toHaveCount(2);
  await expect(series.nth(1)).toContainText("Latency · ci");
  await accessible(page);
  await fits(page);

  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("button", { name: "Share" }).click();
  await expect(page.getByText("Link copied.")).toBeVisible();
  // The project is public, and its link requires no sign-in.
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  expect(new URL(copied).pathname).toMatch(new RegExp(`^/perf/${slug}/regressions/[\\w-]{36}$`));

  await page.getByRole("button", { name: "Expected" }).click();
  await expect(page.getByText("Marked as expected.")).toBeVisible();
  await expect(page.getByRole("listitem").filter({ hasText: "expected by" })).toBeVisible();
  await accessible(page);
  await fits(page);
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(page.getByRole("button", { name: "Reopen" })).toHaveCount(0);
  await page.getByRole("button", { name: "Edit: Note" }).click();
  await page.getByRole("textbox", { name: "Note" }).fill("The queue keeps its order now.");
  await page.keyboard.press("Enter");
  await expect(page.getByText("Saved the note.")).toBeVisible();
  // The keyboard does the same.
  await page.getByRole("heading", { level: 1 }).click();
  await page.keyboard.press("e");
  await expect(page.getByRole("button", { name: "Reopen" })).toBeVisible();
  await page.keyboard.press("n");
  await expect(page.getByRole("heading", { name: "No open regressions" })).toBeVisible();
  await page.getByRole("link", { name: /^Expected/ }).click();
  await expect(rows.nth(1)).toContainText("The queue keeps its order now.");

  await page.goto(`/perf/${slug}/regressions?status=expected`);
  await page.getByRole("link", { name: /1 regression/ }).click();
  await expect(page.getByRole("heading", { name: "1 regression", level: 1 })).toBeVisible();
  await expect(page.getByRole("button", { name: "Reopen" })).toHaveCount(0);
});

test("an event shows how to search for its commit, and the culprit", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `Culprit-${project.name}`);
  const { request } = page.context();
  await step(request, slug);
  await found(request, slug);
  await page.goto(`/console/projects/${slug}/regressions`);
  await page.getByRole("link", { name: /1 regression/ }).click();
  const command = page.getByRole("group", { name: "Search for the commit", exact: true });
  await expect(command).toContainText(new RegExp(`tidemark change bisect [\\w-]{36} --project ${slug} "COMMAND"`));
  const commit = (hash: string, probability: number, value: number) => {
    return { hash: hash.repeat(40), probability, values: [value], reused: [], skipped: null };
  };
  // There are no runners.
  await page.getByRole("button", { name: "Search with jobs" }).click();
  await expect(page.getByText(/The server found no commit:/)).toBeVisible();
  const event = new URL(page.url()).pathname.split("/").at(-1);
  await make(request, `/v0/projects/${slug}/events/${event}/bisection`, {
    status: "found",
    culprit: { hash: "b".repeat(40), subject: "Keep the order", author: "Ada", date: "2026-11-18" },
    candidates: ["b".repeat(40)],
    probability: 0.9876,
    good: "a".repeat(40),
    bad: "b".repeat(40),
    benchmark: "queue::push",
    measure: "Latency",
    units: "nanoseconds (ns)",
    before: 100,
    after: 120,
    difference: { estimate: 0.2, lower: 0.18, upper: 0.22, relative: true },
    runs: 2,
    reused: 0,
    total: 1,
    commits: [commit("a", 0, 100), commit("b", 0.9876, 120)],
  });
  await page.reload();
  await expect(page.getByText("Keep the order")).toBeVisible();
  await expect(page.getByText("98.8 %").first()).toBeVisible();
  await page.getByText("Measured commits").click();
  await expect(page.getByRole("region", { name: "Measured commits" }).getByRole("row")).toHaveCount(3);
  await accessible(page);
  await fits(page);
});

test("an event says that the machine is the probable cause", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `Machine-${project.name}`);
  const { request } = page.context();
  await step(request, slug);
  await found(request, slug);
  // The tests of the server cover detection; here the response is mocked.
  await page.route(/\/events\/[^/]+$/, async (route) => {
    const answer = await route.fetch({ timeout: 0 });
    const event = (await answer.json()) as object;
    const raised = new Date(Date.now() - 7_300_000).toISOString();
    await route.fulfill({ response: answer, json: { ...event, cause: "host", raised } });
  });
  await page.goto(`/console/projects/${slug}/regressions`);
  await page.getByRole("link", { name: /1 regression/ }).click();
  await expect(page.getByRole("heading", { name: "Machine: 1 regression" })).toBeVisible();
  await expect(page.getByText("the machine is the probable cause")).toBeVisible();
  await expect(page.getByText("2 hours ago").filter({ visible: true })).toBeVisible();
  await accessible(page);
  await fits(page);
});

test("values outside a threshold are an event without a change", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `Outside-${project.name}`);
  await history(page.context().request, slug);
  await page.goto(`/console/projects/${slug}/regressions`);
  const rows = page.getByRole("row");
  await expect(rows).toHaveCount(2);
  await expect(rows.nth(1)).toContainText("1 alert");
  await expect(rows.nth(1)).toContainText("text::parse");
  await expect(rows.nth(1)).toContainText("outside threshold");
  await accessible(page);
  await fits(page);

  await page.getByRole("link", { name: /1 alert/ }).click();
  await expect(page.getByRole("heading", { name: "1 alert", level: 1 })).toBeVisible();
  const alerts = page.getByRole("region", { name: "Outside the configured threshold" }).getByRole("row");
  await expect(alerts).toHaveCount(2);
  await expect(alerts.nth(1)).toContainText("Latency · laptop");
  await expect(alerts.nth(1)).toContainText("≤ 1");
  // The plot has the limits and the alert.
  await expect(page.getByRole("group", { name: /Latency of text::parse around the alert/ })).toBeVisible();
  await expect(page.getByText(/Allowed: ≤ 1/)).toBeVisible();
  await expect(alerts.nth(1).getByRole("button", { name: "Show" })).toBeDisabled();
  await accessible(page);
  await fits(page);
  await page.getByRole("button", { name: "Expected" }).click();
  await expect(page.getByText("Marked as expected.")).toBeVisible();
});
