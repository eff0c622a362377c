import { accessible, asAdmin, expect, fits, signIn, signInBy, test } from "./support";

test("a user without the administrator role gets an error", async ({ page }, info) => {
  await signIn(page, "Nobody", `nobody-${info.project.name}@example.org`);
  await page.goto("/console/server");
  await expect(page.getByRole("alert").first()).toBeVisible();
  await accessible(page);
});

test("an administrator sees the numbers, the configuration and what happened", async ({ page, request }) => {
  await asAdmin(page);
  await page.goto("/console/server");
  await expect(page.getByRole("heading", { name: "Administrators" })).toBeVisible();
  await expect(page.getByRole("link", { name: "Metrics for Prometheus" })).toHaveAttribute("href", "/metrics");
  const access = page.getByRole("region", { name: "Access" });
  await expect(access.getByText("Sign up", { exact: true })).toBeVisible();
  await expect(access.getByText("Anonymous runs", { exact: true })).toBeVisible();
  await expect(access.getByText("Unclaimed: total metrics", { exact: true })).toBeVisible();
  await expect(access.getByText("16,000,000", { exact: true })).toBeVisible();
  await expect(access.getByText("Unclaimed: idle days", { exact: true })).toBeVisible();
  await page.goto("/console/server/config");
  await expect(page.getByRole("heading", { name: "security" })).toBeVisible();
  await expect(page.getByText("****").first()).toBeVisible();
  // All tests write to the audit log.
  await signInBy(request, "Audited", "audited@example.org");
  await page.goto("/console/server/audit?per_page=255");
  await expect(page.getByText("session: open").first()).toBeVisible();
});

test("an administrator locks and unlocks an account, and makes a backup", async ({ page, request }, info) => {
  const name = `Lockable ${info.project.name}`;
  await signInBy(request, name, `lockable-${info.project.name}@example.org`);
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
  await page.getByRole("button", { name: "Create backup" }).click();
  await expect(page.getByRole("heading", { name: "Created just now" })).toBeVisible();
});
