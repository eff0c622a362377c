// Checks the load until the first plot of the demo project is drawn: sizes and counts, because times depend on the
// machine. scripts/size.test.js checks the files of every page against the same limit, without a browser.

import type { Request } from "@playwright/test";
import { expect, settled, test } from "./support";

/** Transferred bytes of files and data. */
const [FILES, DATA] = [150_000, 50_000];
/** Number of requests for files and data. */
const [FILE_REQUESTS, API_REQUESTS] = [9, 10];

test("the first plot needs few requests and few bytes", async ({ page }) => {
  const requests: Request[] = [];
  page.on("requestfinished", (request) => requests.push(request));
  await page.goto("/perf/demo");
  await expect(
    page.getByRole("group", { name: /[1-9]\d* lines? with [1-9][\d,]* points/ }).locator("canvas"),
  ).toBeVisible();
  await settled(page);
  const all = await Promise.all(
    requests.map(async (request) => {
      const { responseBodySize, responseHeadersSize } = await request.sizes();
      return { url: request.url(), size: responseBodySize + responseHeadersSize };
    }),
  );
  // The browser requests the icon any number of times.
  const files = all.filter(({ url }) => !/^\/(v0\/|icon)/.test(new URL(url).pathname));
  const sum = (of: typeof all) => of.reduce((total, { size }) => total + size, 0);
  const data = all.filter(({ url }) => new URL(url).pathname.startsWith("/v0/"));
  console.log(
    `The first plot loads ${files.length} files with ${sum(files)} bytes ` +
      `and ${data.length} responses with ${sum(data)} bytes.`,
  );
  // Includes the requests of the worker.
  expect(data.some(({ url }) => url.includes("/perf?"))).toBe(true);
  expect(files.length).toBeLessThanOrEqual(FILE_REQUESTS);
  expect(data.length).toBeLessThanOrEqual(API_REQUESTS);
  expect(sum(files)).toBeLessThan(FILES);
  expect(sum(data)).toBeLessThan(DATA);
});
