import { accessible, expect, mailedToken, signIn, test } from "./support";

test("a link works once, and a used one says what to do", async ({ page }, { project }) => {
  const email = `once-${project.name}@example.org`;
  const used = await signIn(page, "Once", email);
  await page.context().clearCookies();
  await page.goto(`/auth/confirm?token=${used}`);
  await expect(page.getByRole("alert")).toContainText("The link is not valid");
  await page.getByRole("link", { name: "Send another link" }).click();
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
});

test("a visitor signs in and returns to the page", async ({ page }, { project }) => {
  const email = `back-${project.name}@example.org`;
  const spent = await signIn(page, "Back", email);
  await page.context().clearCookies();
  await page.goto("/console/organizations?search=x");
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
  await accessible(page);
  await page.getByLabel("Your e-mail address").fill(email);
  await page.getByRole("button", { name: "Send sign-in link" }).click();
  await expect(page.getByRole("heading", { name: "Check your e-mail" })).toBeVisible();
  await page.getByLabel("Or paste the token").fill(await mailedToken(email, spent));
  await page.getByRole("button", { name: "Confirm" }).click();
  await expect(page).toHaveURL("/console/organizations?search=x");
});

test("a link signs in, even if the session request is answered late", async ({ page }, { project }) => {
  const email = `late-${project.name}@example.org`;
  const spent = await signIn(page, "Late", email);
  await page.context().clearCookies();
  const { request } = page.context();
  const anonymous = (await (await request.get("/v0/auth/session")).json()) as object;
  expect((await request.post("/v0/auth/login", { data: { email } })).status()).toBe(202);
  const token = await mailedToken(email, spent);
  const opened = page.waitForResponse(
    (answer) => answer.request().method() === "POST" && answer.url().endsWith("/v0/auth/session"),
  );
  await page.route("**/v0/auth/session", async (route) => {
    if (route.request().method() !== "GET") return route.continue();
    await opened;
    await route.fulfill({ json: anonymous });
  });
  const late = page.waitForResponse(
    (answer) => answer.request().method() === "GET" && answer.url().endsWith("/v0/auth/session"),
  );
  await page.goto(`/auth/confirm?token=${token}`);
  await late;
  await expect(page).toHaveURL(/^[^?]*\/console\//);
  await expect(page.getByRole("button", { name: "Account of Late" })).toBeVisible();
});

test("signing out ends the session on the server", async ({ page }, { project }) => {
  await signIn(page, "Leaving", `leaving-${project.name}@example.org`);
  await page.goto("/console/onboard");
  await page.getByRole("button", { name: "Account of Leaving" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
  const session = await page.context().request.get("/v0/auth/session");
  expect(await session.json()).toEqual({ user: null });
});

test("an incomplete link says what to do", async ({ page }) => {
  await page.goto("/auth/confirm?token=eyJ0eXAi");
  await expect(page.getByRole("alert")).toContainText("The token is not complete.");
  await expect(page.getByRole("link", { name: "Send another link" })).toBeVisible();
  await page.getByLabel("Paste the link or the token from the mail").fill("eyJ0eXAi.x");
  await page.getByRole("button", { name: "Confirm" }).click();
  await expect(page.getByText("The token is not complete.")).toHaveCount(2);
  await accessible(page);
});

test("a project that does not exist has no sections", async ({ page }) => {
  await page.goto("/perf/no-project-has-this-slug/plots");
  await expect(page.getByRole("heading", { name: "Project not found" })).toBeVisible();
  await expect(page.getByRole("navigation", { name: "Sections" })).toHaveCount(0);
  await accessible(page);
});
