// Notices of a project and of a user: add, deliver, deliver again and disable.

import { createServer, type Server } from "node:http";
import type { Page } from "@playwright/test";
import { lab } from "./seed";
import { listen } from "./server";
import { accessible, expect, fits, make, test } from "./support";

/** A receiver that records the events. */
interface Receiver {
  server: Server;
  address: string;
  events: string[];
}

async function receive(): Promise<Receiver> {
  const events: string[] = [];
  const server = createServer((request, answer) => {
    events.push(String(request.headers["webhook-id"]));
    request.resume().on("end", () => answer.writeHead(204).end());
  });
  return { server, address: `http://127.0.0.1:${await listen(server)}/hook`, events };
}

/** Sends a report that raises an alert, in a project with a notice. */
async function raise(page: Page, project: string): Promise<void> {
  const time = new Date().toISOString();
  const chosen = await page.context().request.patch(`/v0/projects/${project}/detection`, {
    data: { notifies: "alerts" },
    headers: { "x-tidemark-console": "1" },
  });
  expect(chosen.ok()).toBe(true);
  await make(page.context().request, `/v0/projects/${project}/reports`, {
    branch: "main",
    testbed: "ci",
    start_time: time,
    end_time: time,
    results: [JSON.stringify({ parse: { latency: { value: 1 } } })],
    thresholds: { models: { latency: { test: "static", upper_boundary: 0 } } },
  });
}

test("a project notifies a chat of alerts", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `Notice-${project.name}`);
  await page.goto(`/console/projects/${slug}/settings`);
  await page.getByRole("link", { name: "Notices" }).click();
  await expect(page.getByRole("heading", { name: "No notices yet" })).toBeVisible();
  await accessible(page);
  await page.getByRole("link", { name: "Add a notice" }).first().click();
  await page.getByLabel("Name").fill("Team chat");
  await page.getByLabel("URL").fill("https://chat.example.org/hooks/x");
  await page.getByLabel("Quiet hours from").fill("22:00");
  await page.getByLabel("Quiet hours until").fill("06:00");
  await accessible(page);
  await fits(page);
  await page.getByRole("button", { name: "Add the notice" }).click();
  await expect(page.getByRole("heading", { name: "Team chat" })).toBeVisible();
  await expect(page.getByText("22:00–06:00")).toBeVisible();
  await expect(page.getByRole("heading", { name: "No deliveries yet" })).toBeVisible();
  await page.getByRole("combobox", { name: "Frequency" }).selectOption("daily");
  await expect(page.getByText("Notice saved.")).toBeVisible();
  await accessible(page);
  await fits(page);
  await page.getByRole("button", { name: "Disable" }).click();
  await expect(page.getByText("disabled", { exact: true })).toBeVisible();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await expect(page.getByRole("heading", { name: "No notices yet" })).toBeVisible();
});

test("the secret of a webhook is shown once, and a delivery can be repeated", async ({ page }, { project }) => {
  const receiver = await receive();
  const { project: slug } = await lab(page, `Webhook-${project.name}`);
  await page.goto(`/console/projects/${slug}/notices/add`);
  await page.getByLabel("Kind").selectOption("webhook");
  await page.getByLabel("Name").fill("Robot");
  await page.getByLabel("URL").fill(receiver.address);
  await page.getByRole("button", { name: "Add the notice" }).click();
  await expect(page.getByText(/^whsec_\w{40}$/)).toBeVisible();
  await accessible(page);
  await fits(page);
  await page.getByRole("link", { name: "Done" }).click();
  await expect(page.getByText(/whsec_/)).toBeHidden();
  await raise(page, slug);
  await page.reload();
  await expect(page.getByText("delivered", { exact: true })).toBeVisible();
  await accessible(page);
  await fits(page);
  await page.getByRole("button", { name: "Deliver again" }).click();
  await expect(page.getByText("delivered", { exact: true })).toHaveCount(2);
  expect(receiver.events).toHaveLength(2);
  expect(new Set(receiver.events).size).toBe(1);
  receiver.server.close();
});

test("people set up notices of their own", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `Own-${project.name}`);
  const session = (await (await page.context().request.get("/v0/auth/session")).json()) as { user: { slug: string } };
  const person = session.user.slug;
  await page.goto(`/console/users/${person}/notices`);
  await expect(page.getByRole("heading", { name: "Your notices" })).toBeVisible();
  await accessible(page);
  await page.getByRole("link", { name: "Add a notice" }).first().click();
  await page.getByLabel("Name").fill("To me");
  await page.getByRole("textbox", { name: "Project" }).fill(slug);
  await accessible(page);
  await fits(page);
  await page.getByRole("button", { name: "Add the notice" }).click();
  await expect(page.getByRole("heading", { name: "To me" })).toBeVisible();
  await raise(page, slug);
  await page.reload();
  await expect(page.getByText("delivered", { exact: true })).toBeVisible();
  await accessible(page);
  await fits(page);
});
