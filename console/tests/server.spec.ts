import { accessible, asAdmin, expect, fits, signIn, test } from "./support";

test("whoever is no administrator is told so", async ({ page }, info) => {
  await signIn(page, "Nobody", `nobody-${info.project.name}@example.org`);
  await page.goto("/console/server");
  await expect(page.getByRole("alert").first()).toBeVisible();
  await accessible(page);
});

test("an administrator sees the numbers, the configuration and what happened", async ({ page }) => {
  await asAdmin(page);
  await page.goto("/console/server");
  await expect(page.getByRole("heading", { name: "Administrators" })).toBeVisible();
  await expect(page.getByRole("link", { name: "Metrics for Prometheus" })).toHaveAttribute("href", "/metrics");
  await page.goto("/console/server/config");
  await expect(page.getByRole("heading", { name: "security" })).toBeVisible();
  await expect(page.getByText("****").first()).toBeVisible();
  await page.goto("/console/server/audit");
  await expect(page.getByText("session: open").first()).toBeVisible();
});

test("an administrator locks and unlocks an account, and makes a backup", async ({ page, browser }, info) => {
  const name = `Lockable ${info.project.name}`;
  const other = await browser.newPage();
  await signIn(other, name, `lockable-${info.project.name}@example.org`);
  await other.close();
  await asAdmin(page);
  await page.goto("/console/server/users");
  await page.getByRole("searchbox").fill(name);
  await page.getByRole("link", { name }).click();
  await expect(page.getByRole("heading", { name })).toBeVisible();
  await page.getByRole("button", { name: "Lock", exact: true }).click();
  await accessible(page);
  await page.getByRole("dialog").getByRole("button", { name: "Lock" }).click();
  await expect(page.getByText("locked", { exact: true })).toBeVisible();
  await accessible(page);
  await fits(page);
  await page.getByRole("button", { name: "Unlock" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Unlock" }).click();
  await expect(page.getByText("locked", { exact: true })).toBeHidden();
  await page.goto("/console/server/backup");
  await page.getByRole("button", { name: "Make a backup" }).click();
  await expect(page.getByRole("heading", { name: "Made just now" })).toBeVisible();
});
