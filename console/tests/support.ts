// Shared helpers of the browser tests: a page without console messages, mail from files, and accessibility rules. No
// helper depends on the speed of the machine.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  type APIRequestContext,
  type BrowserContext,
  test as base,
  expect,
  type Locator,
  type Page,
  type Request,
} from "@playwright/test";

/** The administrator of the server: the first account, created by first.spec.ts. */
export const ADMIN = "admin@example.org";

/** The script that defines `axe`; the minified file loads in half the time. */
const AXE = readFileSync(join(import.meta.dirname, "../node_modules/axe-core/axe.min.js"), "utf8");

const DATA = process.env.TIDEMARK_CONSOLE_DATA ?? "";
/** The session of the administrator, stored with the data of the server. */
export const ADMIN_SESSION = join(DATA, "admin-session.json");

/** A test that fails if the page logs an error, a warning or a violation of the content security policy. */
export const test = base.extend<{ complaints: string[] }>({
  complaints: [
    async ({ page }, use) => {
      const complaints: string[] = [];
      trackRequests(page);
      await page.addInitScript(extendToasts);
      await page.addInitScript(countFetches);
      page.on("pageerror", (error) => complaints.push(error.message));
      page.on("console", (message) => {
        // The browser logs 4xx responses here; the test decides whether they are expected.
        if (["error", "warning"].includes(message.type()) && !message.text().startsWith("Failed to load resource"))
          complaints.push(message.text());
      });
      await use(complaints);
      // The page may send a request as the test ends; ignore the failure of its route.
      await page.unrouteAll({ behavior: "ignoreErrors" });
      expect(complaints).toEqual([]);
    },
    { auto: true },
  ],
});

export { expect };

/** Pauses between the attempts of `expect.poll`, in milliseconds; the last one repeats. */
const INTERVALS = [10, 20, 50, 100, 250];

/** The requests of a page. */
interface Traffic {
  pending: Set<Request>;
  /** Number of requests sent so far. */
  sent: number;
}

const TRAFFIC = new WeakMap<Page, Traffic>();

/** Tracks the requests of a page from now on. */
function trackRequests(page: Page): void {
  const traffic: Traffic = { pending: new Set(), sent: 0 };
  TRAFFIC.set(page, traffic);
  page.on("request", (request) => {
    // Navigation aborts the requests of the previous document, and the browser does not report all of them as failed.
    if (request.isNavigationRequest()) traffic.pending.clear();
    traffic.pending.add(request);
    traffic.sent++;
  });
  page.on("requestfinished", (request) => traffic.pending.delete(request));
  page.on("requestfailed", (request) => traffic.pending.delete(request));
}

/** Runs in the page: shows toasts for minutes instead of 4 s and 10 s, so that a slow machine does not miss them. */
function extendToasts(): void {
  const original = window.setTimeout;
  const extended = (run: TimerHandler, delay?: number, ...rest: unknown[]) =>
    original(run, delay === 4_000 || delay === 10_000 ? delay * 100 : delay, ...rest);
  window.setTimeout = extended as typeof window.setTimeout;
}

/**
 * Runs in the page: counts the fetches whose response the page has not handled yet. The browser reports a request as
 * finished before the page has its body.
 */
function countFetches(): void {
  const original = window.fetch;
  const counter = window as { pendingFetches?: number };
  counter.pendingFetches = 0;
  const add = (number: number) => (counter.pendingFetches = (counter.pendingFetches ?? 0) + number);
  window.fetch = async (...request) => {
    add(1);
    const handled = () => setTimeout(() => add(-1));
    try {
      const response = await original(...request);
      void response.clone().arrayBuffer().then(handled, handled);
      return response;
    } catch (error) {
      handled();
      throw error;
    }
  };
}

/** The token in the newest mail to an address, once it differs from the used one. */
export async function mailedToken(address: string, spent?: string, data = DATA): Promise<string> {
  let token: string | undefined;
  await expect
    .poll(
      () => {
        token = newestToken(address, data);
        return token !== undefined && token !== spent;
      },
      { intervals: INTERVALS },
    )
    .toBe(true);
  return token ?? "";
}

/** The text of each mail file; the server never changes one. */
const MAILS = new Map<string, string>();

function readMail(file: string): string {
  const text = MAILS.get(file) ?? readFileSync(file, "utf8").replaceAll("=\r\n", "");
  MAILS.set(file, text);
  return text;
}

function newestToken(address: string, data: string): string | undefined {
  const email = address.toLowerCase();
  const outbox = join(data, "outbox");
  const names = existsSync(outbox) ? readdirSync(outbox).filter((name) => name.endsWith(".eml")) : [];
  for (const name of names.sort().reverse()) {
    const mail = readMail(join(outbox, name));
    if (mail.includes(`To: ${email}`) || mail.includes(`<${email}>`)) {
      // The random MIME boundary may look like the start of a token; the token of a link follows `=`.
      return /=(?:3D)?(eyJ[\w.-]+)/.exec(mail)?.[1];
    }
  }
  return undefined;
}

const HEADERS = { "x-tidemark-console": "1" };

/**
 * Signs a user in, and creates the account if needed. Returns the used token. The requests of the page have the session
 * afterwards.
 */
export async function signIn(
  page: Page,
  name: string,
  email: string,
  server = { base: "", data: DATA },
): Promise<string> {
  return signInBy(page.context().request, name, email, server);
}

/** Signs a user in without a page. */
export async function signInBy(
  request: APIRequestContext,
  name: string,
  email: string,
  { base, data } = { base: "", data: DATA },
): Promise<string> {
  const body = { name, email, i_agree: true };
  const spent = newestToken(email, data);
  expect((await request.post(`${base}/v0/auth/signup`, { data: body })).status()).toBe(202);
  const token = await mailedToken(email, spent, data);
  const session = await request.post(`${base}/v0/auth/session`, { data: { token }, headers: HEADERS });
  expect(session.status()).toBe(200);
  return token;
}

/** Reuses the session of the administrator: two parallel sign-ins would invalidate each other's links. */
export async function asAdmin(page: Page): Promise<void> {
  const { cookies } = JSON.parse(readFileSync(ADMIN_SESSION, "utf8")) as Awaited<
    ReturnType<BrowserContext["storageState"]>
  >;
  await page.context().addCookies(cookies);
}

/** Creates a resource with the API as the signed-in user, and returns it. */
export async function make<T>(request: APIRequestContext, path: string, body: object): Promise<T> {
  const answer = await request.post(path, { data: body, headers: HEADERS });
  expect(answer.ok(), await answer.text()).toBe(true);
  return (await answer.json()) as T;
}

/** Waits until the visible part of the page has loaded; the rest may load when the user scrolls. */
export async function settled(page: Page): Promise<void> {
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await idle(page);
}

/** Waits until no request is pending and the page has rendered all responses. */
export async function idle(page: Page): Promise<void> {
  await expect.poll(() => countPending(page), { intervals: INTERVALS }).toBe(0);
}

/** Number of pending requests, and of visible parts of the page that wait for one. */
async function countPending(page: Page): Promise<number> {
  const traffic = TRAFFIC.get(page) ?? { pending: new Set(), sent: 0 };
  const { sent } = traffic;
  const countBusy = async () => {
    // Lets the page handle the responses it has, send the next requests, and render.
    await new Promise((resolve) => setTimeout(resolve));
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    const busy = [...document.querySelectorAll('.skeleton, [aria-busy="true"]')].filter((part) => {
      const { top, bottom } = part.getBoundingClientRect();
      return bottom > 0 && top < innerHeight;
    });
    return busy.length + ((window as { pendingFetches?: number }).pendingFetches ?? 0);
  };
  // Fails if the page navigates meanwhile.
  const busy = await page.evaluate(countBusy).catch(() => 1);
  return busy + traffic.pending.size + traffic.sent - sent;
}

/** Checks the accessibility rules. On a phone, only the walk through all pages checks them. */
export async function accessible(page: Page): Promise<void> {
  if (test.info().project.name !== "phone") await audit(page);
}

/** Checks all accessibility rules, or the given ones. */
export async function audit(page: Page, ...rules: string[]): Promise<void> {
  // A page that is not rendered yet violates the rules.
  await page.locator("h1").first().waitFor();
  let violations: string[];
  let isIdle: boolean;
  do {
    await idle(page);
    const sent = TRAFFIC.get(page)?.sent;
    violations = await runAxe(page, rules);
    // Tables fade while the page refreshes them, which violates the contrast rule: run axe again if that happened.
    isIdle = (await countPending(page)) === 0 && TRAFFIC.get(page)?.sent === sent;
  } while (violations.length > 0 && !isIdle);
  expect(violations).toEqual([]);
}

async function runAxe(page: Page, rules: readonly string[]): Promise<string[]> {
  const run = () =>
    page.evaluate(async (rules) => {
      const { axe } = window as unknown as { axe?: typeof import("axe-core") };
      // The console has neither frames nor stylesheets from other origins.
      const results = await axe?.run(document, {
        resultTypes: ["violations"],
        iframes: false,
        preload: false,
        ...(rules.length ? { runOnly: [...rules] } : {}),
      });
      return results?.violations.flatMap(({ id, nodes }) =>
        nodes.map((node) => `${id}: ${node.html}: ${node.failureSummary}`),
      );
    }, rules);
  const violations = await run();
  if (violations) return violations;
  // Inject axe once per document: the package for Playwright opens a page per run.
  await page.evaluate(AXE);
  return (await run()) ?? ["axe did not load"];
}

/** Clicks Undo in the toast with a message; an earlier toast may still be visible. */
export async function undo(page: Page, message: string): Promise<void> {
  await page.getByText(message, { exact: true }).locator("..").getByRole("button", { name: "Undo" }).click();
}

/** Closes the toast with a message, which covers the end of the page. */
export async function dismiss(page: Page, message: string): Promise<void> {
  await page.getByText(message, { exact: true }).locator("..").getByRole("button", { name: "Dismiss" }).click();
}

/** Checks that nothing is wider than the screen. */
export async function fits(page: Page): Promise<void> {
  await idle(page);
  const wide = () => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  await expect.poll(wide, { intervals: INTERVALS }).toBeLessThanOrEqual(0);
}

/** Presses an option, lets the results of a search for `words` replace it, and releases the pointer. */
export async function pressReplaced(page: Page, field: Locator, words: string, option: Locator): Promise<void> {
  const search = new RegExp(`[?&]search=${words}(&|$)`);
  let release = () => {};
  const pressed = new Promise<void>((resolve) => (release = resolve));
  await page.route(search, async (route) => {
    await pressed;
    await route.continue();
  });
  const asked = page.waitForRequest(search);
  await field.fill(words);
  await asked;
  await option.evaluate((element) => element.setAttribute("data-old", ""));
  await option.hover();
  await page.mouse.down();
  release();
  await expect(page.locator("[data-old]")).toHaveCount(0);
  await page.mouse.up();
}

/** Counts the clicks of a user from now on. Clicks that the keyboard causes do not count. */
export async function countClicks(page: Page): Promise<() => number> {
  let clicks = 0;
  await page.exposeBinding("countClick", () => {
    clicks++;
  });
  await page.addInitScript(() => {
    const count = (event: MouseEvent) => {
      if (event.isTrusted && event.detail > 0) (window as unknown as { countClick: () => void }).countClick();
    };
    addEventListener("click", count, { capture: true });
  });
  return () => clicks;
}
