import { accessible, expect, fits, signIn, test } from "./support";

test("an operation is searched, read and tried", async ({ page }, info) => {
  await signIn(page, "Reader", `reader-${info.project.name}@example.org`);
  await page.goto("/console/api");
  await expect(page.getByRole("heading", { name: "API reference" })).toBeVisible();
  await accessible(page);
  await fits(page);
  await page.getByRole("searchbox", { name: "Search the API" }).fill("your organizations");
  await page.getByRole("navigation", { name: "Operations" }).getByRole("link").first().click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("List your organizations");
  await page.getByRole("button", { name: "Send" }).click();
  await expect(page.getByText("200", { exact: true }).last()).toBeVisible();
  await expect(page.getByLabel("Response", { exact: true })).toContainText('"name": "Reader"');
  await accessible(page);
  await fits(page);

  await page.goto("/console/api/organization_post");
  await page.getByRole("textbox", { name: "Body" }).fill("{");
  await expect(page.getByText("The body is not valid JSON")).toBeVisible();
  await expect(page.getByRole("button", { name: "Send" })).toBeDisabled();
  await page.getByRole("textbox", { name: "Body" }).fill('{"name": ""}');
  await page.getByRole("button", { name: "Send" }).click();
  await expect(page.getByLabel("Response", { exact: true })).toContainText('"message"');
  await page.getByRole("link", { name: "JsonOrganization" }).first().click();
  await expect(page.getByRole("heading", { name: "JsonOrganization" })).toBeVisible();
  await accessible(page);
  await fits(page);
  await page.goto("/console/api/nonsense");
  await expect(page.getByRole("heading", { name: "Operation not found" })).toBeVisible();
});
