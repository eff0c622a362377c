// Every page of the demo project, on a desk and on a phone: it draws, says nothing on the console, fits the screen and
// keeps the rules of accessibility, in the light and in the dark.

import { accessible, ADMIN, expect, fits, signIn, test } from "./support";

const OPEN = ["/auth/login", "/auth/signup", "/perf", "/perf/demo", "/perf/demo/plots", "/perf/demo/benchmarks/parser-json-large"];

const OWN = [
  "/console/organizations",
  "/console/organizations/add",
  "/console/organizations/tidepool/projects",
  "/console/organizations/tidepool/projects/add",
  "/console/organizations/tidepool/members",
  "/console/organizations/tidepool/settings",
  "/console/organizations/tidepool/usage",
  "/console/organizations/tidepool/audit",
  "/console/projects/demo/plots",
  "/console/projects/demo/perf",
  "/console/projects/demo/compare",
  "/console/projects/demo/reports",
  "/console/projects/demo/alerts",
  "/console/projects/demo/thresholds",
  "/console/projects/demo/thresholds/add",
  "/console/projects/demo/branches",
  "/console/projects/demo/branches/add",
  "/console/projects/demo/branches/main",
  "/console/projects/demo/testbeds",
  "/console/projects/demo/testbeds/ci-linux-x64",
  "/console/projects/demo/benchmarks",
  "/console/projects/demo/benchmarks/parser-json-large",
  "/console/projects/demo/measures",
  "/console/projects/demo/measures/latency",
  "/console/projects/demo/keys",
  "/console/projects/demo/keys/add",
  "/console/projects/demo/members",
  "/console/projects/demo/settings",
  "/console/users/ada-lovelace/keys",
  "/console/users/ada-lovelace/keys/add",
  "/console/users/ada-lovelace/tokens",
  "/console/users/ada-lovelace/settings",
  "/console/users/ada-lovelace/help",
  "/console/server",
  "/console/server/users",
  "/console/server/config",
  "/console/server/backup",
  "/console/server/audit",
  "/console/api",
];

for (const colorScheme of ["light", "dark"] as const) {
  test(`what everybody sees, ${colorScheme}`, async ({ page }, { project }) => {
    test.skip(project.name === "phone" && colorScheme === "dark", "the colors are the same on a desk");
    test.setTimeout(600_000);
    await page.emulateMedia({ colorScheme });
    for (const path of OPEN) {
      await test.step(path, async () => {
        await page.goto(path);
        await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
        await page.waitForLoadState("networkidle");
        await accessible(page);
        await fits(page);
      });
    }
  });

  test(`what an administrator sees, ${colorScheme}`, async ({ page }, { project }) => {
    test.skip(project.name === "phone" && colorScheme === "dark", "the colors are the same on a desk");
    test.setTimeout(600_000);
    await signIn(page, "Ada Lovelace", ADMIN);
    await page.emulateMedia({ colorScheme });
    for (const path of OWN) {
      await test.step(path, async () => {
        await page.goto(path);
        await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
        await page.waitForLoadState("networkidle");
        await accessible(page);
        await fits(page);
      });
    }
  });
}
