// Walks every page of the demo project on a desktop and on a phone: it renders, logs nothing, fits the screen and
// passes the accessibility rules, in light and dark.

import type { Page } from "@playwright/test";
import { asAdmin, audit, fits, settled, test } from "./support";

const OPEN = [
  "/auth/login",
  "/auth/signup",
  "/perf",
  "/perf/demo",
  "/perf/demo/plots",
  "/perf/demo/benchmarks/parser-json-large",
];

/** The pages of an administrator, in groups that several workers walk in parallel. */
const OWN: Readonly<Record<string, readonly string[]>> = {
  organizations: [
    "/console/organizations",
    "/console/organizations/add",
    "/console/organizations/tidepool/projects",
    "/console/organizations/tidepool/projects/add",
    "/console/organizations/tidepool/members",
    "/console/organizations/tidepool/settings",
    "/console/organizations/tidepool/usage",
    "/console/organizations/tidepool/audit",
  ],
  "the results of a project": [
    "/console/projects/demo/plots",
    "/console/projects/demo/perf",
    "/console/projects/demo/compare",
    "/console/projects/demo/pulls",
    "/console/projects/demo/reports",
    "/console/projects/demo/jobs",
    "/console/projects/demo/alerts",
    "/console/projects/demo/regressions",
    "/console/projects/demo/detection",
  ],
  "the parts of a project": [
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
  ],
  "the settings of a project": [
    "/console/projects/demo/keys",
    "/console/projects/demo/keys/add",
    "/console/projects/demo/mutes",
    "/console/projects/demo/notices",
    "/console/projects/demo/notices/add",
    "/console/projects/demo/members",
    "/console/projects/demo/settings",
  ],
  "an account": [
    "/console/users/ada-lovelace/keys",
    "/console/users/ada-lovelace/keys/add",
    "/console/users/ada-lovelace/notices",
    "/console/users/ada-lovelace/notices/add",
    "/console/users/ada-lovelace/tokens",
    "/console/users/ada-lovelace/settings",
    "/console/users/ada-lovelace/help",
  ],
  "the server": [
    "/console/server",
    "/console/server/users",
    "/console/server/runners",
    "/console/server/runners/add",
    "/console/server/specs",
    "/console/server/specs/add",
    "/console/server/config",
    "/console/server/backup",
    "/console/server/audit",
    "/console/api",
  ],
};

async function walk(page: Page, paths: readonly string[], isDesk: boolean): Promise<void> {
  for (const path of paths) {
    await test.step(path, async () => {
      await page.goto(path);
      await settled(page);
      await audit(page);
      await fits(page);
      if (!isDesk) return;
      // Dark mode changes only the colors, which are the same on a phone.
      await page.emulateMedia({ colorScheme: "dark" });
      await audit(page, "color-contrast");
      await page.emulateMedia({ colorScheme: "light" });
    });
  }
}

test("what everybody sees", async ({ page }, { project }) => {
  await walk(page, OPEN, project.name === "desktop");
});

for (const [what, paths] of Object.entries(OWN)) {
  test(`what an administrator sees of ${what}`, async ({ page }, { project }) => {
    await asAdmin(page);
    await walk(page, paths, project.name === "desktop");
  });
}
