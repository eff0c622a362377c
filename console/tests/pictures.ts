// Not a test: takes the screenshots of docs/console.md on a fresh server with the demo project, each in light and dark
// and on a phone, and those of docs/statistics.md and docs/changes.md. Run `cargo xtask console pictures`.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { ADMIN, expect, settled, signIn, test } from "./support";

const FOLDER = join(import.meta.dirname, "../../docs/images");
const DESK = { width: 1280, height: 800 };
const PHONE = { width: 360, height: 740 };
const DEMO = "/console/projects/demo";

/** Saves a screenshot of the page. */
async function keep(page: Page, name: string): Promise<void> {
  const png = await page.screenshot({ animations: "disabled", caret: "hide" });
  // The browser compresses it to a fifth of the size, without another tool.
  const packer = await page.context().newPage();
  const webp = await packer.evaluate(
    async (source) => {
      const image = await createImageBitmap(await (await fetch(source)).blob());
      const canvas = new OffscreenCanvas(image.width, image.height);
      canvas.getContext("2d")?.drawImage(image, 0, 0);
      const packed = await canvas.convertToBlob({ type: "image/webp", quality: 0.82 });
      return Array.from(new Uint8Array(await packed.arrayBuffer()));
    },
    `data:image/png;base64,${png.toString("base64")}`,
  );
  await packer.close();
  writeFileSync(join(FOLDER, `${name}.webp`), Uint8Array.from(webp));
}

/** The three screenshots of a page; `ready` waits until it has loaded. */
async function pictures(page: Page, name: string, ready: () => Promise<void>): Promise<void> {
  const sights = [
    ["light", DESK, name],
    ["dark", DESK, `${name}-dark`],
    ["light", PHONE, `${name}-phone`],
  ] as const;
  for (const [colorScheme, size, file] of sights) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(size);
    await ready();
    await settled(page);
    await keep(page, file);
  }
  await page.setViewportSize(DESK);
}

// Both tests sign in the same user, and two parallel sign-ins would invalidate each other's links.
test.describe.configure({ mode: "serial" });

test("the pictures of the manual", async ({ page }) => {
  mkdirSync(FOLDER, { recursive: true });
  const { request } = page.context();
  const first = async <T>(path: string): Promise<T> => ((await (await request.get(path)).json()) as T[])[0] as T;
  const canvas = () => expect(page.locator("canvas").first()).toBeVisible();

  await signIn(page, "Ada Lovelace", ADMIN);
  await page.goto("/console/onboard");
  await page.getByLabel("Name").fill("Widget Lab");
  await page.getByRole("button", { name: "Create project" }).click();
  await page.getByRole("button", { name: "Create key" }).click();
  await pictures(page, "start", () => expect(page.getByText(/^svc_run_\w{30}$/)).toBeVisible());

  await page.goto(`${DEMO}/plots`);
  await pictures(page, "home", async () => {
    await expect(page.getByRole("region", { name: "Recent changes" }).getByRole("link").first()).toBeVisible();
    await settled(page);
  });

  const plots = (await (await request.get("/v0/projects/demo/plots")).json()) as { uuid: string; title: string }[];
  await page.goto(`${DEMO}/perf?plot=${plots.find(({ title }) => title.startsWith("JSON"))?.uuid}&tab=benchmarks`);
  await pictures(page, "perf", async () => {
    await expect(page.getByRole("region", { name: "Legend" }).getByRole("button", { name: "4 lines" })).toBeVisible();
    const plot = page.getByRole("group", { name: /with [\d,]+ points/ });
    await plot.press("Escape");
    if (page.viewportSize()?.width !== DESK.width) return plot.scrollIntoViewIfNeeded();
    await page.keyboard.press("End");
    for (let step = 0; step < 40; step++) await page.keyboard.press("ArrowLeft");
    await expect(page.locator(".readout")).toBeVisible();
  });

  const alert = await first<{ uuid: string }>("/v0/projects/demo/alerts?status=active&sort=created&direction=desc");
  await page.goto(`${DEMO}/alerts/${alert.uuid}`);
  await pictures(page, "alert", canvas);

  const threshold = await first<{ uuid: string }>(
    "/v0/projects/demo/thresholds?branch=main&testbed=ci-linux-x64&measure=latency",
  );
  await page.goto(`${DEMO}/thresholds/${threshold.uuid}/edit`);
  await pictures(page, "threshold", async () => {
    await canvas();
    await expect(page.getByRole("region", { name: "Preview" }).getByRole("status")).toContainText(/\d of \d/);
    await page.getByRole("region", { name: "Preview" }).scrollIntoViewIfNeeded();
  });

  await page.goto(`${DEMO}/reports`);
  await pictures(page, "reports", () => expect(page.getByRole("row").nth(8)).toBeVisible());

  await page.goto(`${DEMO}/compare?from=branch:main&to=branch:feature-simd-parser&testbed=ci-linux-x64`);
  await pictures(page, "compare", () =>
    expect(page.getByRole("region", { name: "Comparison" }).getByRole("row").nth(3)).toBeVisible(),
  );

  await page.goto("/console/api/proj_alerts_get");
  await pictures(page, "reference", () => settled(page));
});

interface Change {
  branch: { uuid: string };
  testbed: { uuid: string; slug: string };
  benchmark: { uuid: string; name: string };
  measure: { uuid: string; slug: string };
}

test("the pictures of changes", async ({ page }) => {
  mkdirSync(FOLDER, { recursive: true });
  const { request } = page.context();
  await signIn(page, "Ada Lovelace", ADMIN);
  const list = async <T>(path: string): Promise<T[]> =>
    (await (await request.get(`/v0/projects/demo/${path}`)).json()) as T[];
  const all: Change[] = [];
  await expect.poll(async () => all.push(...(await list<Change>("changes?per_page=255")))).toBeGreaterThan(100);
  const plot = (change: Change | undefined) =>
    `${DEMO}/perf?branches=${change?.branch.uuid}&testbeds=${change?.testbed.uuid}` +
    `&benchmarks=${change?.benchmark.uuid}&measures=${change?.measure.uuid}`;
  const sight = async (name: string, address: string, wanted: () => Promise<void>) => {
    await page.setViewportSize({ width: 1100, height: 620 });
    for (const [colorScheme, file] of [
      ["light", name],
      ["dark", `${name}-dark`],
    ] as const) {
      await page.emulateMedia({ colorScheme });
      await page.goto(address);
      await wanted();
      await settled(page);
      await keep(page, file);
    }
  };
  const drawn = async () => page.getByRole("group", { name: /with [\d,]+ points/ }).scrollIntoViewIfNeeded();
  const on = (name: string) =>
    all.find(
      ({ benchmark, testbed, measure }) =>
        benchmark.name === name && testbed.slug === "ci-linux-x64" && measure.slug === "latency",
    );
  await sight("change", plot(on("parser::json::large")), drawn);
  const [newest] = await list<{ uuid: string }>("reports?per_page=1");
  await sight("verdict", `${DEMO}/reports/${newest?.uuid}`, () =>
    expect(page.getByRole("heading", { name: "Comparison with the baseline" })).toBeVisible(),
  );
  await sight("backtest", `${DEMO}/detection`, async () => {
    await expect(page.getByRole("region", { name: "Results of the backtest" })).toContainText(/\d/);
    await page.getByText("fewer notifications").evaluate((label) => label.scrollIntoView({ block: "start" }));
    await page.mouse.wheel(0, -90);
  });
});
