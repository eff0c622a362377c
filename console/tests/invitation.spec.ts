import { lab } from "./seed";
import { accessible, expect, fits, mailedToken, signInBy, test } from "./support";

test("a leader copies the link, and the invited user joins with it", async ({ page, browser }, info) => {
  const { organization } = await lab(page, `Link-${info.project.name}`);
  const email = `linked-${info.project.name}@example.org`;
  await page.goto(`/console/organizations/${organization}/members/invite`);
  await page.getByLabel("E-mail address").fill(email.toUpperCase());
  await page.getByRole("button", { name: "Invite", exact: true }).click();
  await expect(page.getByRole("heading", { level: 1, name: `Invitation for ${email}` })).toBeVisible();
  await expect(page.getByText("No mail server is configured. Send this link to")).toBeVisible();
  const link = await page.getByRole("group", { name: "Invitation link" }).textContent();
  await accessible(page);
  await fits(page);
  // The link stays available.
  await page.getByRole("link", { name: "Members" }).last().click();
  await page.getByRole("region", { name: "Invited" }).getByRole("link", { name: email }).click();
  await expect(page.getByRole("group", { name: "Invitation link" })).toHaveText(link ?? "");

  // The leader has another address.
  const target = new URL(link ?? "");
  await page.goto(target.pathname + target.search);
  await expect(page.getByText("You are signed in as")).toBeVisible();
  await expect(page.getByRole("button", { name: "Join" })).toHaveCount(0);

  const other = await browser.newContext();
  const guest = await other.newPage();
  await guest.goto(target.pathname + target.search);
  await expect(guest.getByText("Grace Hopper invites you to the organization")).toBeVisible();
  await accessible(guest);
  await fits(guest);
  await guest.getByRole("link", { name: "Sign up" }).click();
  await expect(guest.getByText("Grace Hopper invites you to the organization")).toBeVisible();
  await expect(guest.getByLabel("Your e-mail address")).toHaveValue(email);
  await guest.getByLabel("Your name").fill("Linked Guest");
  await guest.getByLabel("I agree").check();
  const invitation = await mailedToken(email);
  await guest.getByRole("button", { name: "Sign up" }).click();
  await guest.getByLabel("Or paste the token").fill(await mailedToken(email, invitation));
  await guest.getByRole("button", { name: "Confirm" }).click();
  await expect(guest.getByRole("button", { name: "Account of Linked Guest" })).toBeVisible();
  await guest.goto(target.pathname + target.search);
  await expect(guest.getByText("was already used")).toBeVisible();
  await accessible(guest);
  await other.close();
});

test("an existing user signs in and joins", async ({ page, browser }, info) => {
  const { organization } = await lab(page, `Join-${info.project.name}`);
  const email = `joining-${info.project.name}@example.org`;
  const other = await browser.newContext();
  const guest = await other.newPage();
  await signInBy(other.request, "Joining", email);
  const sent = await page.context().request.post(`/v0/organizations/${organization}/members`, {
    data: { email, role: "member" },
    headers: { "x-tidemark-console": "1" },
  });
  expect(sent.status()).toBe(202);
  await page.goto(`/console/organizations/${organization}/members`);
  await page.getByRole("link", { name: email }).click();
  const link = new URL((await page.getByRole("group", { name: "Invitation link" }).textContent()) ?? "");
  await guest.goto(link.pathname + link.search);
  await guest.getByRole("button", { name: "Join", exact: true }).click();
  await expect(guest).toHaveURL("/console/organizations");
  await expect(guest.getByRole("region", { name: "List of organizations" })).toContainText("Grace Hopper");
  await other.close();
});

test("an invitation that ended says so and what to do", async ({ page, browser }, info) => {
  const { organization } = await lab(page, `Ended-${info.project.name}`);
  await page.goto(`/console/organizations/${organization}/members/invite`);
  await page.getByLabel("E-mail address").fill(`ended-guest-${info.project.name}@example.org`);
  await page.getByRole("button", { name: "Invite", exact: true }).click();
  const link = new URL((await page.getByRole("group", { name: "Invitation link" }).textContent()) ?? "");
  await page.getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await expect(page.getByText("Invitation revoked.")).toBeVisible();

  const other = await browser.newContext();
  const guest = await other.newPage();
  for (const path of ["invitation", "signup", "login"]) {
    await guest.goto(`/auth/${path}${link.search}`);
    await expect(guest.getByText("was revoked")).toBeVisible();
    await expect(guest.getByText("Ask Grace Hopper for a new invitation.")).toBeVisible();
    await expect(guest.getByRole("button", { name: /Sign up|Send sign-in link/ })).toHaveCount(0);
    await accessible(guest);
    await fits(guest);
  }
  await guest.route("**/v0/auth/invitation", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ json: { ...(await response.json()), status: "expired", expires: "2026-01-02T03:04:05Z" } });
  });
  await guest.goto(`/auth/invitation${link.search}`);
  await expect(guest.getByText(/expired .+\./)).toBeVisible();
  await guest.unrouteAll();
  await guest.goto(`/auth/invitation${link.search.slice(0, -4)}`);
  await expect(guest.getByText("This invitation link is not valid.")).toBeVisible();
  await guest.goto("/auth/invitation");
  await expect(guest.getByText("This invitation link is not valid.")).toBeVisible();
  await other.close();
});

test("a server with a mail server says that it mails the link", async ({ page }, info) => {
  const { organization } = await lab(page, `Mailed-${info.project.name}`);
  await page.route("**/v0/server/setup", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ json: { ...(await response.json()), mail: true } });
  });
  await page.goto(`/console/organizations/${organization}/members/invite`);
  await page.getByLabel("E-mail address").fill(`mailed-guest-${info.project.name}@example.org`);
  await page.getByRole("button", { name: "Invite", exact: true }).click();
  await expect(page.getByText("The server mails this link to")).toBeVisible();
  await expect(page.getByText("No mail server is configured")).toHaveCount(0);
});
