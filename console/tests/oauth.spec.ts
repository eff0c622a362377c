// Sign-in at identity providers: an OpenID Connect provider and a mock of a code host. The spec starts both and a
// server that uses them.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Page } from "@playwright/test";
import Provider from "oidc-provider";
import { listen, startServer, type TestServer } from "./server";
import { accessible, expect, fits, test } from "./support";

// One worker: the tests share the servers.
test.describe.configure({ mode: "default" });

let base = "";
let server: TestServer | undefined;
const others: Server[] = [];
/** The user of the code host, and the e-mail address. */
const host = { id: 7, email: "grace@example.org", verified: true };

/** The mock of the code host; its sign-in page redirects immediately. */
function codeHost(request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? "/", "http://localhost");
  const json = (body: unknown) => response.setHeader("content-type", "application/json").end(JSON.stringify(body));
  if (url.pathname === "/login/oauth/authorize") {
    const back = new URL(url.searchParams.get("redirect_uri") ?? "");
    back.searchParams.set("code", "c0de");
    back.searchParams.set("state", url.searchParams.get("state") ?? "");
    response.writeHead(302, { location: back.href }).end();
  } else if (url.pathname === "/login/oauth/access_token") json({ access_token: "t0ken" });
  else if (url.pathname === "/user") json({ id: host.id, login: "grace", name: "Grace Hopper" });
  else json([{ email: host.email, primary: true, verified: host.verified }]);
}

test.beforeAll(async () => {
  const [openHost, code] = [createServer(), createServer(codeHost)];
  others.push(openHost, code);
  const issuer = `http://127.0.0.1:${await listen(openHost)}`;
  const codeUrl = `http://127.0.0.1:${await listen(code)}`;
  server = await startServer(
    `[plus.github]\nclient_id = "app"\nclient_secret = "s3cret"\nurl = "${codeUrl}"\napi_url = "${codeUrl}"\n` +
      `[plus.oidc.local]\nname = "Example"\nissuer = "${issuer}"\nclient_id = "tidemark"\nclient_secret = "s3cret"\n`,
  );
  ({ base } = server);
  const provider = new Provider(issuer, {
    clients: [{ client_id: "tidemark", client_secret: "s3cret", redirect_uris: [`${base}/auth/oidc/local`] }],
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
    cookies: { keys: ["for a test"] },
    pkce: { required: () => true },
    // The typed name is the account.
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({
        sub: id,
        email: `${id.replace(/-.*/, "")}@example.org`,
        email_verified: !id.endsWith("-unproven"),
        name: id,
      }),
    }),
  });
  openHost.on("request", provider.callback());
});

test.afterAll(() => {
  server?.stop();
  for (const other of others) other.close();
});

/** Signs in at the provider as a user. */
async function signInAt(page: Page, who: string): Promise<void> {
  await page.goto(`${base}/auth/login`);
  await page.getByRole("button", { name: "Continue with Example" }).click();
  await page.locator('input[name="login"]').fill(who);
  await page.locator('input[name="password"]').fill("any");
  await page.getByRole("button", { name: /sign-in/i }).click();
  await page.getByRole("button", { name: /continue/i }).click();
}

test("a new user signs in at a provider and returns to the page", async ({ page }) => {
  await page.goto(`${base}/console/organizations`);
  await expect(page.getByRole("button", { name: "Continue with Example" })).toBeVisible();
  await accessible(page);
  await fits(page);
  await page.getByRole("button", { name: "Continue with Example" }).click();
  await page.locator('input[name="login"]').fill("ada");
  await page.locator('input[name="password"]').fill("any");
  await page.getByRole("button", { name: /sign-in/i }).click();
  await page.getByRole("button", { name: /continue/i }).click();
  await expect(page).toHaveURL(`${base}/console/organizations`);
  await expect(page.getByRole("link", { name: "ada" })).toBeVisible();
  await expect(page.getByRole("button", { name: "Account of ada" })).toBeVisible();
});

test("an answer works once, and only in the browser that asked", async ({ page, browser }) => {
  let answer = "";
  page.on("request", (request) => {
    if (request.url().includes("/auth/oidc/local?")) answer = request.url();
  });
  await signInAt(page, "bea");
  await expect(page.getByRole("button", { name: "Account of bea" })).toBeVisible();
  expect(answer).toContain("code=");
  await page.goto(answer);
  await expect(page.getByRole("alert")).toContainText("The sign-in is not valid");
  await accessible(page);
  // Another browser that received the link.
  const other = await browser.newPage();
  await other.goto(answer);
  await expect(other.getByRole("alert")).toContainText("The sign-in is not valid");
  await other.close();
});

test("an unverified address is refused", async ({ page }) => {
  await signInAt(page, "cid-unproven");
  await expect(page.getByRole("alert")).toContainText("Example has no verified e-mail address for your account");
  await page.getByRole("link", { name: "Sign in" }).last().click();
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
});

test("another account with the same address is refused", async ({ page }) => {
  await signInAt(page, "dora");
  await expect(page.getByRole("button", { name: "Account of dora" })).toBeVisible();
  await page.context().clearCookies();
  await signInAt(page, "dora-other");
  await expect(page.getByRole("alert")).toContainText("is linked to another account at Example");
});

test("a code host signs in, and a changed address is refused", async ({ page }) => {
  await page.goto(`${base}/auth/signup`);
  await page.getByRole("button", { name: "Continue with GitHub" }).click();
  await expect(page.getByRole("button", { name: "Account of Grace Hopper" })).toBeVisible();
  await page.context().clearCookies();
  host.email = "hopper@example.org";
  await page.goto(`${base}/auth/login`);
  await page.getByRole("button", { name: "Continue with GitHub" }).click();
  await expect(page.getByRole("alert")).toContainText(
    "Your address at GitHub differs from the address of your account on this server",
  );
});
