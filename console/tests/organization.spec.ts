import { fresh } from "./runner";
import { lab } from "./seed";
import { accessible, asAdmin, expect, fits, make, test } from "./support";

test("an organization is made, renamed, looked at and deleted", async ({ page }, info) => {
  await lab(page, `Org-${info.project.name}`);
  const name = `Team ${info.project.name}`;
  await page.goto("/console/organizations");
  await expect(page.getByRole("row")).toHaveCount(2);
  await accessible(page);
  await fits(page);
  await page.getByRole("link", { name: "Add an organization" }).click();
  await page.getByLabel("Name").fill(name);
  await accessible(page);
  await page.getByRole("button", { name: "Add the organization" }).click();
  await expect(page).toHaveURL(/\/console\/organizations\/team-\w+\/projects/);

  const base = new URL(page.url()).pathname.replace("/projects", "");
  await page.goto(`${base}/settings`);
  await page.getByRole("button", { name: "Edit: Name" }).click();
  await page.getByRole("textbox", { name: "Name" }).fill(`${name} renamed`);
  await page.keyboard.press("Enter");
  await expect(page.getByRole("link", { name: `${name} renamed` })).toBeVisible();
  await accessible(page);
  await fits(page);
  await page.goto(`${base}/usage`);
  await expect(page.getByText("There are no quotas")).toBeVisible();
  await accessible(page);
  await fits(page);
  await page.goto(`${base}/audit`);
  await expect(page.getByText("organization: create")).toBeVisible();
  await accessible(page);
  await fits(page);

  await page.goto(`${base}/settings`);
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("button", { name: "Delete" })).toBeDisabled();
  await dialog.getByRole("textbox").fill(base.split("/").at(-1) ?? "");
  await dialog.getByRole("button", { name: "Delete" }).click();
  await expect(page).toHaveURL("/console/organizations");
  await expect(page.getByRole("row")).toHaveCount(2);
});

test("a user is invited, and the invitation is revoked", async ({ page }, info) => {
  const { organization } = await lab(page, `Invite-${info.project.name}`);
  await page.goto(`/console/organizations/${organization}/members`);
  await expect(page.getByRole("row")).toHaveCount(2);
  await page.getByRole("link", { name: "Invite member" }).click();
  await accessible(page);
  await fits(page);
  await page.getByLabel("E-mail address").fill(`guest-${info.project.name}@example.org`);
  await page.getByRole("radio", { name: /^Leader/ }).check();
  await page.getByRole("button", { name: "Invite", exact: true }).click();
  await expect(page.getByRole("region", { name: "Invitation link" })).toBeVisible();
  await page.goto(`/console/organizations/${organization}/members`);
  const invited = page.getByRole("region", { name: "Invited" });
  await expect(invited).toContainText("as leader");
  await accessible(page);
  await fits(page);
  await invited.getByRole("button", { name: "Revoke" }).click();
  await expect(invited).toBeHidden();

  await page.getByRole("region", { name: "List of members" }).getByRole("link", { name: "Grace Hopper" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Grace Hopper" })).toBeVisible();
  await page.getByLabel("Role").selectOption("member");
  await expect(page.getByRole("status").filter({ hasText: /leader/ })).toBeVisible();
  await expect(page.getByLabel("Role")).toHaveValue("leader");
  await accessible(page);
  await fits(page);
});

test("a domain is given to an organization, and taken away", async ({ page }) => {
  await asAdmin(page);
  const { slug } = await make<{ slug: string }>(page.context().request, "/v0/organizations", {
    name: fresh("Domains"),
  });
  await page.goto(`/console/organizations/${slug}/settings`);
  const domains = page.getByRole("region", { name: "Domains" });
  await domains.getByLabel("Domain").fill("not a domain");
  await domains.getByRole("button", { name: "Add domain" }).click();
  await expect(domains.getByText("a domain is the part of addresses")).toBeVisible();
  const domain = `${slug}.example.net`;
  await domains.getByLabel("Domain").fill(domain.toUpperCase());
  await domains.getByRole("button", { name: "Add domain" }).click();
  await expect(domains.getByText(domain)).toBeVisible();
  await accessible(page);
  await fits(page);
  await domains.getByRole("button", { name: "Remove" }).click();
  await expect(domains.getByText(domain)).toBeHidden();
});
