// A visitor without a session follows every link of a public project: each one opens a page of the public view.

import { lab, step } from "./seed";
import { expect, fits, make, settled, test } from "./support";

/** The first segments of the paths that the visitor reaches. */
const REACHED = [
  "plots",
  "compare",
  "regressions",
  "reports",
  "branches",
  "testbeds",
  "benchmarks",
  "measures",
  "metrics",
  "thresholds",
  "alerts",
  "detection",
  "mutes",
  "jobs",
];

/** Maximum number of pages per kind, such as `/reports/:report`. */
const PER_KIND = 1;

test("an anonymous visitor can follow every link of a public project", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `Anonymous-${project.name}`);
  const { request } = page.context();
  await step(request, slug);
  await make(request, `/v0/projects/${slug}/thresholds`, {
    branch: "main",
    testbed: "ci",
    measure: "latency",
    test: "static",
    upper_boundary: 130,
  });
  const now = new Date().toISOString();
  await make(request, `/v0/projects/${slug}/reports`, {
    branch: "main",
    testbed: "ci",
    hash: "c".repeat(40),
    start_time: now,
    end_time: now,
    results: [JSON.stringify({ "queue::push": { latency: { value: 150 } } })],
  });
  const events = async () => ((await (await request.get(`/v0/projects/${slug}/events`)).json()) as object[]).length;
  await expect.poll(events).toBe(1);
  // The pages of the event and of the alert link to the mutes.
  await make(request, `/v0/projects/${slug}/mutes`, { benchmark: "queue::push", reason: "Flaky" });
  await page.context().clearCookies();
  const refused: string[] = [];
  page.on("response", (response) => {
    if (response.status() >= 400) refused.push(`${response.status()} ${response.url()} on ${page.url()}`);
  });
  const base = `/perf/${slug}`;
  const queue = [`${base}/plots`];
  const seen = new Set(queue);
  const kinds = new Map<string, number>();
  for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
    await test.step(path, async () => {
      await page.goto(path);
      await settled(page);
      await fits(page);
      expect(new URL(page.url()).pathname).not.toMatch(/^\/(auth|console)/);
      await expect(page.getByRole("heading", { name: /No page at this URL|Project not found/ })).toHaveCount(0);
      await expect(page.getByRole("main").getByRole("link", { name: /^(Add|Get started|Send)/ })).toHaveCount(0);
      await expect(
        page.getByRole("button", { name: /^(Dismiss|Apply|Save|Delete|Edit|Archive|Mute|Unmute)/ }),
      ).toHaveCount(0);
      const links = await page
        .locator("main a[href], nav.sections a[href]")
        .evaluateAll((all) => all.map((link) => (link as HTMLAnchorElement).href));
      for (const link of links) {
        const url = new URL(link);
        if (url.origin !== new URL(page.url()).origin) continue;
        expect(`${url.pathname}/`, `a link on ${path}`).toContain(`${base}/`);
        const kind = url.pathname.slice(base.length).replace(/^(\/\w+)\/.*/, "$1/:item") + [...url.searchParams.keys()];
        const number = kinds.get(kind) ?? 0;
        const next = url.pathname + url.search;
        if (seen.has(next) || number >= PER_KIND) continue;
        kinds.set(kind, number + 1);
        seen.add(next);
        queue.push(next);
      }
    });
  }
  expect(refused).toEqual([]);
  const reached = new Set([...seen].map((path) => path.slice(base.length).split(/[/?]/)[1]));
  expect([...reached]).toEqual(expect.arrayContaining(REACHED));
});

test("former URLs of changes lead to the regressions", async ({ page }) => {
  for (const path of ["/perf/demo/changes", "/perf/demo/changes/0190a000-0000-7000-8000-000000000000"]) {
    await page.goto(path);
    await expect(page).toHaveURL(/\/perf\/demo\/regressions$/);
    await expect(page.getByRole("heading", { level: 1, name: "Regressions" })).toBeVisible();
  }
});
