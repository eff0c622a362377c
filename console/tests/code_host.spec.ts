// Connection of a project to a code host: connect, show the secret once, change and disconnect.

import { lab } from "./seed";
import { accessible, expect, fits, test } from "./support";

test("a project is connected to a code host", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `CodeHost-${project.name}`);
  await page.goto(`/console/projects/${slug}/settings`);
  await page.getByRole("main").getByRole("link", { name: "Code host" }).click();
  await expect(page.getByRole("heading", { name: "Commands in pull requests" })).toBeVisible();
  await accessible(page);
  await page.getByLabel("Repository").fill("acme/widget");
  await page.getByLabel("Token").fill("s3cret");
  await page.getByRole("button", { name: "Connect", exact: true }).click();
  await expect(page.getByText("It is shown only once.")).toBeVisible();
  await expect(page.getByText("/code_host/webhook")).toBeVisible();
  await accessible(page);
  await fits(page);

  await page.reload();
  await expect(page.getByText("/code_host/webhook")).toBeVisible();
  await expect(page.getByText("It is shown only once.")).toHaveCount(0);
  await expect(page.getByLabel("Repository")).toHaveValue("acme/widget");
  await expect(page.getByLabel("Token")).toHaveValue("");
  await page.getByLabel("Run commands in comments").uncheck();
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("disabled", { exact: true })).toBeVisible();

  await page.getByRole("button", { name: "Disconnect" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Disconnect" }).click();
  await expect(page.getByRole("button", { name: "Connect", exact: true })).toBeVisible();
  await expect(page.getByText("/code_host/webhook")).toHaveCount(0);
});
