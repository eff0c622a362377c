// Runs before all other specs: creates the administrator of the server.

import { ADMIN, ADMIN_SESSION, accessible, expect, fits, mailedToken, test } from "./support";

test("the first visitor is led from an empty server to the first report", async ({ page }) => {
  const setup = (await (await page.request.get("/v0/server/setup")).json()) as { accounts: string };
  const isFresh = setup.accounts === "none";
  await page.goto(isFresh ? "/auth/signup" : "/auth/login");
  if (isFresh) {
    await expect(page.getByText("The first account becomes the administrator.")).toBeVisible();
    await accessible(page);
    await page.getByLabel("Your name").fill("Ada Lovelace");
    await page.getByLabel("I agree").check();
  }
  await page.getByLabel("Your e-mail address").fill(ADMIN);
  await page.getByRole("button", { name: isFresh ? "Create administrator account" : "Send sign-in link" }).click();
  await expect(page.getByRole("heading", { name: "Check your e-mail" })).toBeVisible();
  await expect(page.getByText("This server does not send mail")).toBeVisible();
  await accessible(page);
  await fits(page);

  await page.goto(`/auth/confirm?token=${await mailedToken(ADMIN)}`);
  if (isFresh) await expect(page).toHaveURL("/console/onboard/project");
  else await page.goto("/console/onboard");
  await expect(page.getByRole("heading", { name: "Get started" })).toBeVisible();
  const name = `Widget Lab ${Date.now()}`;
  const slug = name.toLowerCase().replaceAll(" ", "-");
  await page.getByLabel("Name").fill(name);
  await expect(page.getByRole("radio", { name: /^Private/ })).toBeChecked();
  await accessible(page);
  await page.getByRole("button", { name: "Create project" }).click();
  await page.getByRole("button", { name: "Create key" }).click();
  await expect(page.getByText(/^svc_run_\w{30}$/)).toBeVisible();
  await expect(page.getByText(`tidemark run --project ${slug}`).first()).toBeVisible();
  await accessible(page);
  await fits(page);
  await page.getByRole("link", { name: "Open project" }).click();
  await expect(page).toHaveURL(`/console/projects/${slug}/plots`);
  await page.context().storageState({ path: ADMIN_SESSION });
});
