// CAPTCHA with a mock of the service: its script in the page, and its verification by the server.

import { createServer, type Server } from "node:http";
import { listen, startServer, type TestServer } from "./server";
import { expect, test } from "./support";

let server: TestServer | undefined;
let service: Server | undefined;
/** Whether the mock accepts the response. */
let isHuman = false;

/** The script of the mock; its response is the action. */
const SCRIPT =
  "window.grecaptcha = { ready: (then) => then(), execute: async (site, { action }) => site + ' ' + action };";

test.beforeAll(async () => {
  service = createServer((request, response) => {
    if (request.method === "GET") {
      response.setHeader("content-type", "text/javascript").end(SCRIPT);
      return;
    }
    let body = "";
    request.on("data", (part: Buffer) => (body += part.toString()));
    request.on("end", () => {
      const [site, action] = (new URLSearchParams(body).get("response") ?? "").split(" ");
      response
        .setHeader("content-type", "application/json")
        .end(JSON.stringify({ success: isHuman && site === "site", action }));
    });
  });
  const url = `http://127.0.0.1:${await listen(service)}`;
  server = await startServer(
    `[plus.captcha]\nurl = "${url}/siteverify"\nscript = "${url}/api.js"\nsite_key = "site"\nsecret = "s3cret"\n`,
  );
});

test.afterAll(() => {
  server?.stop();
  service?.close();
});

test("sign-up requires a captcha", async ({ page }) => {
  await page.goto(`${server?.base ?? ""}/auth/signup`);
  await page.getByLabel("Name").fill("Ada");
  await page.getByLabel("E-mail address").fill("ada@example.org");
  await page.getByRole("checkbox").check();
  const send = page.getByRole("button", { name: /sign up|create/i });
  await send.click();
  await expect(page.getByRole("alert")).toContainText("The CAPTCHA check failed");
  isHuman = true;
  await send.click();
  await expect(page.getByText("ada@example.org")).toBeVisible();
  await expect(page.getByRole("alert")).toBeHidden();
});
