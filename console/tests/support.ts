// What every browser test shares: a page that may say nothing on the console, mail that is read from files, and the
// rules of accessibility.

import { expect, test as base, type APIRequestContext, type BrowserContext, type Page } from "@playwright/test";
import axe from "axe-core";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Who administers the server: the first account, made by first.spec.ts. */
export const ADMIN = "admin@example.org";

const DATA = process.env.TIDEMARK_CONSOLE_DATA ?? "";
/** Its session, which goes with the server. */
export const ADMIN_SESSION = join(DATA, "admin-session.json");

/** A test whose page must not complain: no error, no warning, no broken rule of the content policy. */
export const test = base.extend<{ complaints: string[] }>({
  complaints: [
    async ({ page }, use) => {
      const complaints: string[] = [];
      page.on("pageerror", (error) => complaints.push(error.message));
      page.on("console", (message) => {
        // A request that is answered 4xx is reported here; whether that is right is for the test to say.
        if (["error", "warning"].includes(message.type()) && !message.text().startsWith("Failed to load resource")) complaints.push(message.text());
      });
      await use(complaints);
      expect(complaints).toEqual([]);
    },
    { auto: true },
  ],
});

export { expect };

/** The token in the newest mail to an address, once it is another than the one that is spent. */
export async function mailedToken(address: string, spent?: string, data = DATA): Promise<string> {
  let token: string | undefined;
  await expect.poll(() => (token = newestToken(address, data)) !== undefined && token !== spent).toBe(true);
  return token ?? "";
}

function newestToken(address: string, data: string): string | undefined {
  const email = address.toLowerCase();
  const outbox = join(data, "outbox");
  const names = existsSync(outbox) ? readdirSync(outbox).filter((name) => name.endsWith(".eml")) : [];
  for (const name of names.sort().reverse()) {
    const mail = readFileSync(join(outbox, name), "utf8").replaceAll("=\r\n", "");
    if (mail.includes(`To: ${email}`) || mail.includes(`<${email}>`)) {
      // The boundary between its parts is random and may look like the start of a token; that of a link follows `=`.
      return /=(?:3D)?(eyJ[\w.-]+)/.exec(mail)?.[1];
    }
  }
  return undefined;
}

const HEADERS = { "x-tidemark-console": "1" };

/** Signs somebody in, with an account that is made if need be; answers the token that is spent on it. The page's requests
 *  carry the session from then on. */
export async function signIn(page: Page, name: string, email: string, { base, data } = { base: "", data: DATA }): Promise<string> {
  const { request } = page.context();
  const body = { name, email, i_agree: true };
  const spent = newestToken(email, data);
  expect((await request.post(`${base}/v0/auth/signup`, { data: body })).status()).toBe(202);
  const token = await mailedToken(email, spent, data);
  const session = await request.post(`${base}/v0/auth/session`, { data: { token }, headers: HEADERS });
  expect(session.status()).toBe(200);
  return token;
}

/** Takes over the session of the administrator: two tests at once would spend each other's links. */
export async function asAdmin(page: Page): Promise<void> {
  const { cookies } = JSON.parse(readFileSync(ADMIN_SESSION, "utf8")) as Awaited<ReturnType<BrowserContext["storageState"]>>;
  await page.context().addCookies(cookies);
}

/** Makes something by the API as whoever is signed in, and answers it. */
export async function make<T>(request: APIRequestContext, path: string, body: object): Promise<T> {
  const answer = await request.post(path, { data: body, headers: HEADERS });
  expect(answer.ok(), await answer.text()).toBe(true);
  return (await answer.json()) as T;
}

/** Waits until everything is there that one sees; what is below the edge may come only when one scrolls there. */
export async function settled(page: Page): Promise<void> {
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  const waiting = () =>
    page.evaluate(() => [...document.querySelectorAll('.skeleton, [aria-busy="true"]')].filter((part) => part.getBoundingClientRect().top < innerHeight).length);
  await expect.poll(waiting, { timeout: 90_000 }).toBe(0);
}

/** Holds the page against the rules of accessibility. On a phone, the walk through all pages does that once. */
export async function accessible(page: Page): Promise<void> {
  if (test.info().project.name !== "phone") await audit(page);
}

/** Holds the page against all rules, or against some of them. */
export async function audit(page: Page, ...rules: string[]): Promise<void> {
  // A page that is not drawn yet breaks the rules.
  await page.locator("h1").first().waitFor();
  // By hand: the package for it opens a page for each time.
  await page.evaluate(`window.axe ?? (() => { ${axe.source} })()`);
  const found = await page.evaluate(async (rules) => {
    const { axe } = window as unknown as { axe: typeof import("axe-core") };
    const { violations } = await axe.run(document, { resultTypes: ["violations"], ...(rules.length ? { runOnly: rules } : {}) });
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`);
  }, rules);
  expect(found).toEqual([]);
}

/** Takes back what a message tells of; one of before may still be there. */
export async function undo(page: Page, message: string): Promise<void> {
  await page.getByText(message, { exact: true }).locator("..").getByRole("button", { name: "Undo" }).click();
}

/** Nothing may be wider than the screen. */
export async function fits(page: Page): Promise<void> {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect(wide).toBeLessThanOrEqual(0);
}
