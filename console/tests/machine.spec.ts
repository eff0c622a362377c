// Runners and specs, for administrators.

import { fresh, Runner } from "./runner";
import { accessible, asAdmin, expect, fits, test, undo } from "./support";

test("a spec is added, made the fallback, renamed, archived and deleted", async ({ page }) => {
  const name = fresh("Metal");
  await asAdmin(page);
  await page.goto("/console/server/specs");
  await page.getByRole("link", { name: "Add a spec" }).first().click();
  await page.getByRole("textbox", { name: "Name" }).fill(name);
  await page.getByLabel("Processors").fill("8");
  await page.getByLabel("Memory in GB").fill("16");
  await accessible(page);
  await fits(page);
  await page.getByRole("button", { name: "Add the spec" }).click();
  await expect(page.getByText("Linux on x86_64, 8 CPUs, 16 GB of memory, 10 GB of disk, no network")).toBeVisible();
  await page.getByRole("button", { name: "Set as fallback" }).click();
  await expect(
    page.getByText(/for jobs without a spec, since (just now|.* minutes? ago|in .* minutes?)/),
  ).toBeVisible();
  await accessible(page);
  await fits(page);
  await undo(page, "The spec now serves jobs without a spec.");
  await expect(page.getByText("no: only jobs with this spec")).toBeVisible();
  await page.getByRole("button", { name: "Edit: Name" }).click();
  await page.getByRole("textbox", { name: "Name" }).fill(`${name} old`);
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: `${name} old` })).toBeVisible();
  await page.getByRole("button", { name: "Archive" }).click();
  await expect(page.getByText("archived", { exact: true })).toBeVisible();
  await expect(page.getByText("The spec was archived.")).toBeVisible();
  await page.goto("/console/server/specs?archived=true");
  await page.getByRole("searchbox").fill(name);
  await page.getByRole("link", { name: `${name} old` }).click();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await expect(page.getByText("The spec was deleted.")).toBeVisible();
});

test("a runner is added, connects, serves a spec, gets another key and is archived", async ({ page }) => {
  const name = fresh("Box");
  await asAdmin(page);
  const made = await page.context().request.post("/v0/specs", {
    headers: { "x-tidemark-console": "1" },
    data: { name: `For ${name}`, os: "linux", architecture: "aarch64", cpu: 4, memory: 8e9, disk: 2e10 },
  });
  expect(made.status()).toBe(201);
  await page.goto("/console/server/runners");
  await page.getByRole("link", { name: "Add a runner" }).first().click();
  await page.getByLabel("Name").fill(name);
  await accessible(page);
  await page.getByRole("button", { name: "Add the runner" }).click();
  const shown = page.getByText(/^svc_runner_\w+$/);
  await expect(shown).toBeVisible();
  const first = (await shown.textContent()) ?? "";
  await expect(page.getByText("tidemark runner up --runner")).toBeVisible();
  await accessible(page);
  await fits(page);
  await page.getByRole("link", { name: "Done" }).click();
  await expect(page.getByRole("heading", { name: "No specs" })).toBeVisible();
  await expect(page.getByText("offline", { exact: true })).toBeVisible();
  await accessible(page);

  const picker = page.getByRole("combobox", { name: "Add a spec" });
  await picker.fill(`For ${name}`);
  await page.getByRole("option", { name: `For ${name}` }).click();
  await expect(page.getByRole("heading", { name: "Specs 1", exact: true })).toBeVisible();
  await page.getByRole("button", { name: "Remove" }).click();
  await expect(page.getByRole("heading", { name: "Specs 0", exact: true })).toBeVisible();
  await undo(page, `The runner no longer serves For ${name}.`);
  await expect(page.getByText("Linux on aarch64, 4 CPUs")).toBeVisible();
  await accessible(page);
  await fits(page);

  const slug = new URL(page.url()).pathname.split("/").at(-1) ?? "";
  const runner = await Runner.connect(slug, first);
  expect(
    await runner.say("ready", { poll_timeout: 1, runner: { os: "linux", arch: "x86_64", version: "1.2.3" } }),
  ).toBe("no_job");
  await expect(page.getByText("idle", { exact: true })).toBeVisible();
  await expect(page.getByText("1.2.3", { exact: true })).toBeVisible();

  const closed = new Promise((resolve) => runner.socket.once("close", resolve));
  await page.getByRole("button", { name: "New key" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Create new key" }).click();
  await expect(shown).toBeVisible();
  expect(await shown.textContent()).not.toBe(first);
  await accessible(page);
  await fits(page);
  await closed;
  await expect(Runner.connect(slug, first)).rejects.toThrow("401");
  await page.getByRole("button", { name: "Close" }).click();

  await page.getByRole("button", { name: "Archive" }).click();
  await expect(page.getByText("The runner was archived.")).toBeVisible();
  await expect(page.getByRole("button", { name: "New key" })).toBeHidden();
  await page.goto("/console/server/runners");
  await page.getByRole("searchbox").fill(name);
  await expect(page.getByRole("heading", { name: "No matches" })).toBeVisible();
  await accessible(page);
  await page.getByLabel("Archived").check();
  await expect(page.getByRole("link", { name })).toBeVisible();
  await fits(page);
});
