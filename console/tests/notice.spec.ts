// Notices of a project and of a user: add, filter, test, deliver, deliver again and disable.

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
  /** The status of its responses. */
  status: number;
}

async function receive(): Promise<Receiver> {
  const server = createServer((request, answer) => {
    receiver.events.push(String(request.headers["webhook-id"]));
    request.resume().on("end", () => answer.writeHead(receiver.status).end());
  });
  const address = `http://127.0.0.1:${await listen(server)}/hooks/0123456789abcdefx7Qz`;
  const receiver: Receiver = { server, address, events: [], status: 204 };
  return receiver;
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
  await page.getByRole("main").getByRole("link", { name: "Notifications" }).click();
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
  await expect(page.getByText("Sends a message when a report on branch main raises changes")).toBeVisible();
  await expect(page.getByText("https://chat.example.org/…", { exact: true })).toBeVisible();
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

test("a notice is filtered and tested", async ({ page }, { project }) => {
  const receiver = await receive();
  const { project: slug } = await lab(page, `Filter-${project.name}`);
  await page.goto(`/console/projects/${slug}/notices/add`);
  await page.getByLabel("Name").fill("Parser");
  await page.getByLabel("URL").fill(receiver.address);
  await page.getByLabel("Branch").fill("release/*");
  await page.getByLabel("Benchmark").fill("parser::*");
  await page.getByLabel("Direction").selectOption("regression");
  await page.getByLabel("Minimum size in percent").fill("7");
  await page.getByRole("button", { name: "Add the notice" }).click();
  const sentence = (branch: string) =>
    page.getByText(
      `Sends a message when a report on ${branch} raises regressions of at least 7 % in a benchmark matching parser::*.`,
      { exact: true },
    );
  await expect(sentence("a branch matching release/*")).toBeVisible();
  await expect(page.getByText(receiver.address)).toBeHidden();
  await expect(page.getByText(receiver.address.replace(/hooks.*/, "…/x7Qz"), { exact: true })).toBeVisible();

  await page.getByRole("button", { name: "Send test" }).click();
  await expect(page.getByText("The destination accepted the test.")).toBeVisible();
  await expect(page.getByText("delivered", { exact: true })).toHaveCount(1);
  await expect(page.getByRole("cell", { name: /^Test,/ })).toBeVisible();
  await expect(page.getByRole("button", { name: "Deliver again" })).toBeHidden();
  expect(receiver.events).toHaveLength(1);
  await accessible(page);
  await fits(page);
  receiver.status = 410;
  await page.getByRole("button", { name: "Send test" }).click();
  const failed = "The test was not delivered. The receiver answered with the status 410.";
  await expect(page.getByText(failed)).toBeVisible();
  await expect(page.getByText("failed", { exact: true })).toBeVisible();

  await page.getByRole("button", { name: "Edit: Branch" }).click();
  await expect(page.getByText("If empty: the default branch. * matches all branches.")).toBeVisible();
  await accessible(page);
  await fits(page);
  await page.getByRole("textbox", { name: "Branch" }).fill("*");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(sentence("any branch")).toBeVisible();
  // As on creation, an empty text is the default branch.
  await page.getByRole("button", { name: "Edit: Branch" }).click();
  await page.getByRole("textbox", { name: "Branch" }).fill("");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(sentence("branch main")).toBeVisible();
  await page.getByRole("button", { name: "Edit: Minimum size in percent" }).click();
  await page.getByRole("textbox", { name: "Minimum size in percent" }).fill("-1");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("0.05 is 5 %")).toBeVisible();
  await page.getByRole("textbox", { name: "Minimum size in percent" }).fill("12.5");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("12.5 %", { exact: true })).toBeVisible();
  receiver.server.close();
});

test("people set up notices of their own", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `Own-${project.name}`);
  const session = (await (await page.context().request.get("/v0/auth/session")).json()) as { user: { slug: string } };
  const person = session.user.slug;
  await page.goto(`/console/users/${person}/notices`);
  await expect(page.getByRole("heading", { name: "Your notifications" })).toBeVisible();
  await accessible(page);
  await page.getByRole("link", { name: "Add a notice" }).first().click();
  await page.getByLabel("Name").fill("To me");
  await page.getByRole("combobox", { name: "Project" }).fill(`Own-${project.name}`);
  await page.getByRole("option", { name: `Own-${project.name}` }).click();
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
