// One verdict per run: every page, the command line and MCP show the same counts for a run of the demo project.

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { APIRequestContext, Page } from "@playwright/test";
import { expect, test } from "./support";

interface Counts {
  regressions: number;
  improvements: number;
  differences: number;
  unchanged: number;
  inconclusive: number;
  muted: number;
}

interface Verdict {
  counts: Counts;
  settled: boolean;
}

interface Report {
  uuid: string;
  branch: { name: string };
}

const get = async <T>(request: APIRequestContext, path: string): Promise<T> =>
  (await (await request.get(`/v0/projects/demo/${path}`)).json()) as T;

/** The verdict of the API, once detection has analyzed the demo project. */
async function verdictOf(request: APIRequestContext, report: string): Promise<Counts> {
  let verdict: Verdict | undefined;
  await expect
    .poll(async () => {
      verdict = await get<Verdict>(request, `reports/${report}/verdict?limit=0`);
      return verdict.settled;
    })
    .toBe(true);
  return (verdict as Verdict).counts;
}

/** The counts in the text of a page: `2 regressions, 67 unchanged, 14 inconclusive`. */
function parseCounts(text: string): Counts {
  const number = (noun: string) => Number(new RegExp(`(\\d+) ${noun}`).exec(text)?.[1] ?? 0);
  return {
    regressions: number("regression"),
    improvements: number("improvement"),
    differences: number("difference"),
    unchanged: number("unchanged"),
    inconclusive: number("inconclusive"),
    muted: number("muted"),
  };
}

/** The counts of the section of a page with a verdict. */
async function countsOn(page: Page, path: string, section: string): Promise<Counts> {
  await page.goto(path);
  const text = page.getByRole("region", { name: section, exact: true }).locator("p", { hasText: "· against" });
  return parseCounts((await text.textContent()) ?? "");
}

/** The counts of the badge of a run on the overview; the tooltip contains all of them. */
async function countsOnOverview(page: Page, report: string): Promise<Counts> {
  await page.goto("/perf/demo/plots");
  const row = page.getByRole("row").filter({ has: page.locator(`a[href$="/reports/${report}"]`) });
  await row.first().scrollIntoViewIfNeeded();
  const badge = row.first().locator(".verdict-badge [title]");
  const counts = parseCounts((await badge.getAttribute("title")) ?? "");
  // The text of the badge is the start of the counts.
  const { regressions, improvements, differences } = parseCounts((await badge.textContent()) ?? "");
  expect({ ...counts, regressions, improvements, differences }).toEqual(counts);
  return counts;
}

/** The counts that the command line prints. */
async function countsOfCommand(base: string, report: string): Promise<Counts> {
  const { stdout } = await promisify(execFile)(process.env.TIDEMARK_TEST_BINARY ?? "tidemark", [
    ...["report", "verdict", "demo", report],
    ...["--host", base],
  ]);
  const number = (name: string) => Number(new RegExp(`^${name} +(\\d+)$`, "m").exec(stdout)?.[1]);
  return {
    regressions: number("Regressions"),
    improvements: number("Improvements"),
    differences: number("Other changes"),
    unchanged: number("Unchanged"),
    inconclusive: number("Inconclusive"),
    // The command omits the row if nothing is muted.
    muted: Number(/^Muted +(\d+)$/m.exec(stdout)?.[1] ?? 0),
  };
}

/** The counts of a tool. */
async function countsOfTool(request: APIRequestContext, name: string, arguments_: object): Promise<Counts> {
  const answer = await request.post("/mcp", {
    headers: { accept: "application/json, text/event-stream" },
    data: {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name, arguments: { project: "demo", limit: 0, ...arguments_ } },
    },
  });
  const { result } = (await answer.json()) as { result: { structuredContent: Verdict } };
  return result.structuredContent.counts;
}

async function expectSameVerdict(page: Page, base: string, report: string, counts: Counts): Promise<void> {
  const { request } = page.context();
  expect(await countsOn(page, `/perf/demo/reports/${report}`, "Comparison with the baseline")).toEqual(counts);
  expect(await countsOn(page, `/perf/demo/compare?to=report:${report}`, "Verdict")).toEqual(counts);
  expect(await countsOnOverview(page, report)).toEqual(counts);
  expect(await countsOfCommand(base, report)).toEqual(counts);
  expect(await countsOfTool(request, "view_verdict", { report })).toEqual(counts);
  expect(await countsOfTool(request, "compare", { new: `report:${report}` })).toEqual(counts);
}

test("a run with regressions has the same verdict on every surface", async ({ page, baseURL }) => {
  const { request } = page.context();
  const [newest] = await get<Report[]>(request, "reports?branch=main&testbed=metal-arm64&per_page=1");
  const report = newest?.uuid ?? "";
  const counts = await verdictOf(request, report);
  expect(counts.regressions).toBeGreaterThan(0);
  await expectSameVerdict(page, baseURL ?? "", report, counts);
});

test("a pull request has the same verdict on every surface", async ({ page, baseURL }) => {
  const { request } = page.context();
  const [pull] = await get<{ reports: Report[] }[]>(request, "pulls?per_page=1");
  const [newest] = pull?.reports ?? [];
  const report = newest?.uuid ?? "";
  const counts = await verdictOf(request, report);
  expect(counts.improvements).toBeGreaterThan(0);
  await expectSameVerdict(page, baseURL ?? "", report, counts);

  await page.goto("/perf/demo/pulls");
  const row = page.getByRole("row").filter({ hasText: newest?.branch.name ?? "" });
  await expect(row).toContainText(/unchanged/);
  expect(parseCounts((await row.getByText(/, \d+ inconclusive$/).textContent()) ?? "")).toEqual(counts);
});
