// What a reader waits for until the first plot of the demo project is drawn: as sizes and counts, since times are those of
// the machine. scripts/size.test.js holds every page's files against the same limit, without a browser.

import type { Request } from "@playwright/test";
import { expect, settled, test } from "./support";

/** Bytes of files and of data, as they come over the network. */
const [FILES, DATA] = [150_000, 50_000];
/** Requests for either. */
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
  // A browser asks for the icon as often as it likes.
  const files = all.filter(({ url }) => !/^\/(v0\/|icon)/.test(new URL(url).pathname));
  const sum = (of: typeof all) => of.reduce((total, { size }) => total + size, 0);
  const data = all.filter(({ url }) => new URL(url).pathname.startsWith("/v0/"));
  console.log(
    `The first plot takes ${files.length} files of ${sum(files)} bytes, and ${data.length} answers of ${sum(data)} bytes.`,
  );
  // Those of the worker are among them.
  expect(data.some(({ url }) => url.includes("/perf?"))).toBe(true);
  expect(files.length).toBeLessThanOrEqual(FILE_REQUESTS);
  expect(data.length).toBeLessThanOrEqual(API_REQUESTS);
  expect(sum(files)).toBeLessThan(FILES);
  expect(sum(data)).toBeLessThan(DATA);
});
