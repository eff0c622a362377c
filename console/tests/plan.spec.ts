// Subscribes to a plan, cancels it and subscribes again, with a mock of the payment provider.

import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { startServer, type TestServer } from "./server";
import { accessible, expect, fits, mailedToken, signIn, signInBy, test } from "./support";

// One worker: the tests share the servers.
test.describe.configure({ mode: "default" });

let server: TestServer | undefined;
let provider: ChildProcess | undefined;

test.beforeAll(async ({ request }) => {
  const script = join(import.meta.dirname, "../../crates/server/tests/it/payments.py");
  const now = Math.floor(Date.now() / 1000);
  const started = spawn(process.env.TIDEMARK_TEST_LOCALSTRIPE ?? "python3", [script, String(now)], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  provider = started;
  const port = await new Promise<string>((resolve, reject) => {
    started.stdout.once("data", (line: Buffer) => resolve(line.toString().trim()));
    started.once("close", (code) => reject(new Error(`payments.py ended with ${code}`)));
  });
  const url = `http://127.0.0.1:${port}`;
  for (const id of ["price_pro", "price_team"]) {
    const body = new URLSearchParams({ id, amount: "2000", currency: "eur", interval: "month", "product[name]": id });
    await fetch(`${url}/v1/plans`, { method: "POST", headers: { authorization: "Bearer sk_test_1" }, body });
  }
  server = await startServer(
    `[plus.billing]\nurl = "${url}"\nsecret_key = "sk_test_1"\nwebhook_secret = "whsec_test"\n` +
      `[plus.billing.levels.pro]\nprices = ["price_pro"]\n[plus.billing.levels.team]\nprices = ["price_team"]\n`,
  );
  // The first account is the administrator and signs up differently.
  await signInBy(request, "Root", "root@example.org", server);
});

test.afterAll(() => {
  server?.stop();
  provider?.kill("SIGKILL");
});

test("a plan is paid for, ended and begun again", async ({ page }) => {
  if (!server) throw new Error("the server was not started");
  await signIn(page, "Ada", "ada@example.org", server);
  const organization = `${server.base}/console/organizations/ada`;
  await page.goto(`${organization}/usage`);
  await page.getByRole("link", { name: "Plan and payment" }).click();
  await expect(page.getByText("This organization has no plan")).toBeVisible();
  await accessible(page);
  await fits(page);
  await page.getByRole("button", { name: "Choose Team" }).click();
  await page.getByRole("button", { name: "Pay" }).click();
  await expect(page).toHaveURL(`${organization}/billing`);
  await expect(page.getByText("visa …4242")).toBeVisible();
  await expect(page.getByText("active", { exact: true })).toBeVisible();
  await accessible(page);
  await fits(page);
  await page.getByRole("button", { name: "Cancel at period end" }).click();
  await expect(page.getByText("then it ends")).toBeVisible();
  await page.getByRole("button", { name: "Resume plan" }).click();
  await expect(page.getByText("then it ends")).toBeHidden();
  await page.getByRole("button", { name: "Cancel now" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel plan" }).click();
  await expect(page.getByText("This organization has no plan")).toBeVisible();
  // An unpaid checkout starts no plan and says so.
  await page.goto(`${organization}/checkout?checkout=cs_unknown&level=team`);
  await expect(page.getByRole("alert")).toContainText("does not exist at the provider");
  await accessible(page);
  await page.setViewportSize({ width: 360, height: 740 });
  await page.goto(`${organization}/billing`);
  await page.getByRole("button", { name: "Choose Pro" }).click();
  await page.getByRole("button", { name: "Pay" }).click();
  await expect(page.getByText("visa …4242")).toBeVisible();
  await fits(page);
});

test("sign-in keeps the selected plan", async ({ page }) => {
  if (!server) throw new Error("the server was not started");
  await page.goto(`${server.base}/auth/login?plan=team`);
  await page.getByRole("link", { name: "Sign up" }).click();
  await page.getByLabel("Your name").fill("Grace");
  await page.getByLabel("Your e-mail address").fill("grace@example.org");
  await page.getByLabel("I agree").check();
  await page.getByRole("button", { name: "Sign up" }).click();
  await page.getByLabel("Or paste the token").fill(await mailedToken("grace@example.org", undefined, server.data));
  await page.getByRole("button", { name: "Confirm" }).click();
  await expect(page).toHaveURL(`${server.base}/console/organizations/grace/billing`);
  await expect(page.getByRole("button", { name: "Choose Team" })).toBeVisible();
});
