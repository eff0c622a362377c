import type { Page } from "@playwright/test";
import { lab } from "./seed";
import { accessible, expect, fits, idle, mailedToken, settled, test } from "./support";

const REQUEST_ID = "0a1b2c3d-0000-4000-8000-000000000001";

/** Lets requests with a method to a path fail as in an internal error of the server. */
async function breakServer(page: Page, path: string, method: string): Promise<void> {
  await page.route(path, (route) =>
    route.request().method() === method
      ? route.fulfill({
          status: 500,
          json: { message: "The server failed.", error_code: "internal", request_id: REQUEST_ID },
        })
      : route.fallback(),
  );
}

test("an expired session is renewed without loss of input", async ({ page }, info) => {
  const email = `expired-${info.project.name}@example.org`;
  const { project } = await lab(page, `Expired-${info.project.name}`);
  const spent = await mailedToken(email);
  await page.goto(`/console/projects/${project}/benchmarks/add`);
  await page.getByLabel("Name").fill("a benchmark with a long name");
  await page.context().clearCookies();
  await page.getByRole("button", { name: /^Add/ }).click();
  const dialog = page.getByRole("dialog", { name: "Your session has expired" });
  await expect(dialog).toContainText("Sign in again.");
  await accessible(page);
  await fits(page);
  await dialog.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByLabel("Your e-mail address")).toHaveValue(email);
  await page.getByRole("button", { name: "Send sign-in link" }).click();
  await page.getByLabel("Or paste the token").fill(await mailedToken(email, spent));
  await page.getByRole("button", { name: "Confirm" }).click();
  await expect(page).toHaveURL(`/console/projects/${project}/benchmarks/add`);
  await expect(page.getByLabel("Name")).toHaveValue("a benchmark with a long name");
  await expect.poll(() => page.evaluate(() => sessionStorage.getItem("tidemark-drafts"))).toBeNull();
  await page.getByRole("button", { name: /^Add/ }).click();
  await expect(page.getByRole("heading", { level: 1, name: "a benchmark with a long name" })).toBeVisible();
});

test("a sign-in in another tab continues the work in this one", async ({ page }, info) => {
  const { project } = await lab(page, `Tabs-${info.project.name}`);
  await page.goto(`/console/projects/${project}/benchmarks/add`);
  await page.getByLabel("Name").fill("typed before");
  const cookies = await page.context().cookies();
  await page.context().clearCookies();
  await page.getByRole("button", { name: /^Add/ }).click();
  const dialog = page.getByRole("dialog", { name: "Your session has expired" });
  await expect(dialog).toBeVisible();
  await page.context().addCookies(cookies);
  await page.evaluate(() => window.dispatchEvent(new Event("focus")));
  await expect(dialog).toBeHidden();
  await expect(page.getByLabel("Name")).toHaveValue("typed before");
});

test("secrets are not stored, and input is not shown to another user", async ({ page }, info) => {
  const { project } = await lab(page, `Secrets-${info.project.name}`);
  await page.goto(`/console/projects/${project}/notices/add`);
  await page.getByLabel("Name").fill("Team chat");
  await page.getByLabel("URL").fill("https://hooks.example.org/secret-path");
  await page.context().clearCookies();
  await page.getByRole("button", { name: "Add the notice" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
  const stored = await page.evaluate(() => JSON.stringify({ ...sessionStorage }));
  expect(stored).toContain("Team chat");
  expect(stored).not.toContain("secret-path");
  // The same page for another user.
  await lab(page, `Another-${info.project.name}`);
  await page.goto(`/console/users/another-${info.project.name}/notices/add`);
  await page.evaluate(() => {
    const drafts = JSON.parse(sessionStorage.getItem("tidemark-drafts") ?? "[]") as { path: string }[];
    for (const draft of drafts) draft.path = location.pathname;
    sessionStorage.setItem("tidemark-drafts", JSON.stringify(drafts));
  });
  await page.reload();
  await expect(page.getByLabel("Name")).toHaveValue("");
});

/** Serves the entry page of another version, and none of the files of this version that were not loaded yet. */
async function upgrade(page: Page): Promise<{ reloads: () => number }> {
  let documents = 0;
  await page.route("**/assets/**", (route) => route.fulfill({ status: 404, body: "" }));
  await page.route(
    (url) => url.pathname === "/",
    async (route) => {
      if (route.request().isNavigationRequest()) return route.fallback();
      const response = await route.fetch();
      const html = (await response.text()).replace(/src="\/assets\/[^"]+\.js"/, 'src="/assets/index-newer.js"');
      await route.fulfill({ response, body: html });
    },
  );
  page.on("request", (request) => {
    if (!request.isNavigationRequest()) return;
    documents++;
    // The reload gets the new version.
    void page.unroute("**/assets/**");
  });
  return { reloads: () => documents };
}

test("after an upgrade of the server, the page reloads once by itself", async ({ page }, info) => {
  const { project } = await lab(page, `Upgraded-${info.project.name}`);
  await page.goto(`/console/projects/${project}/settings`);
  await settled(page);
  const { reloads } = await upgrade(page);
  await page.getByRole("link", { name: "Jobs" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Jobs" })).toBeVisible();
  await expect(page).toHaveURL(`/console/projects/${project}/jobs`);
  expect(reloads()).toBe(1);
});

test("after an upgrade of the server, the page does not reload in a loop", async ({ page }, info) => {
  const { project } = await lab(page, `Loop-${info.project.name}`);
  await page.goto(`/console/projects/${project}/settings`);
  await settled(page);
  // The tab reloaded for this version before, and the server still delivered the files of another one.
  await page.evaluate(() => sessionStorage.setItem("tidemark-reloaded", "/assets/index-newer.js"));
  const { reloads } = await upgrade(page);
  await page.getByRole("link", { name: "Jobs" }).click();
  await expect(page.getByText("A new version of Tidemark is available.")).toBeVisible();
  await idle(page);
  expect(reloads()).toBe(0);
  await accessible(page);
  await fits(page);
  await page.getByRole("button", { name: "Reload" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Jobs" })).toBeVisible();
  expect(reloads()).toBe(1);
});

test("a file that cannot be loaded without a connection is loaded later", async ({ page }, info) => {
  const { project } = await lab(page, `Offline-${info.project.name}`);
  await page.goto(`/console/projects/${project}/settings`);
  await settled(page);
  await page.route(
    (url) => url.pathname === "/" || url.pathname.startsWith("/assets/"),
    (route) => route.abort("connectionrefused"),
  );
  await page.getByRole("link", { name: "Jobs" }).click();
  await expect(page.getByText("The server is unreachable.").last()).toBeVisible();
  await accessible(page);
  await page.unrouteAll();
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Jobs" })).toBeVisible();
});

test("a page without a connection says what to do, and input stays", async ({ page }, info) => {
  const { project } = await lab(page, `Unreachable-${info.project.name}`);
  await page.goto(`/console/projects/${project}/benchmarks/add`);
  await page.getByLabel("Name").fill("typed offline");
  await page.route("**/v0/**", (route) => route.abort("connectionrefused"));
  await page.getByRole("button", { name: /^Add/ }).click();
  await expect(page.getByRole("alert")).toContainText("The server is unreachable. Check the connection and try again.");
  await expect(page.getByRole("alert")).toContainText("Your input is still here.");
  await expect(page.getByLabel("Name")).toHaveValue("typed offline");
  await accessible(page);
  await fits(page);
  await page.unrouteAll();
  await page.getByRole("button", { name: /^Add/ }).click();
  await expect(page.getByRole("heading", { level: 1, name: "typed offline" })).toBeVisible();

  // A server that is unreachable from the start.
  await page.clock.install();
  await page.route("**/v0/**", (route) => route.abort("connectionrefused"));
  await page.goto(`/console/projects/${project}/settings`);
  const retry = page.getByRole("button", { name: "Try again" });
  await expect(async () => {
    await page.clock.runFor(5_000);
    await expect(retry).toBeVisible({ timeout: 100 });
  }).toPass();
  await page.unrouteAll();
  // The browser reports that it is online again.
  await page.evaluate(() => window.dispatchEvent(new Event("online")));
  await expect(page.getByRole("heading", { level: 1, name: "Settings" })).toBeVisible();
});

test("an error of the server has a request ID for the operator, and input stays", async ({ page }, info) => {
  const { project } = await lab(page, `Broken-${info.project.name}`);
  await breakServer(page, `**/v0/projects/${project}/benchmarks`, "POST");
  await page.goto(`/console/projects/${project}/benchmarks/add`);
  await page.getByLabel("Name").fill("typed before the error");
  await page.getByRole("button", { name: /^Add/ }).click();
  const alert = page.getByRole("alert");
  await expect(alert).toContainText("The server failed.");
  await expect(alert).toContainText(REQUEST_ID);
  await expect(page.getByLabel("Name")).toHaveValue("typed before the error");
  await accessible(page);
  await fits(page);

  await breakServer(page, `**/v0/projects/${project}/jobs?*`, "GET");
  await page.goto(`/console/projects/${project}/jobs`);
  await expect(alert).toContainText("send this request ID to the operator of the server");
  await expect(alert.getByRole("button", { name: "Copy: Request ID" })).toBeVisible();
  await accessible(page);
  await fits(page);
  await page.unrouteAll();
  await alert.getByRole("button", { name: "Try again" }).click();
  await expect(alert).toHaveCount(0);
});
