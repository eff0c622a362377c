import { defineConfig } from "@playwright/test";

const desktop = { viewport: { width: 1280, height: 800 } };
const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };

// `cargo xtask console test` starts the server; TIDEMARK_CONSOLE_URL says where it is, TIDEMARK_CONSOLE_DATA where its mail is.
export default defineConfig({
  testDir: "tests",
  outputDir: "test-results",
  reporter: process.env.CI ? "line" : "list",
  // One server for all: what a test changes, it has made itself.
  workers: 2,
  // Of a machine that has other things to do.
  expect: { timeout: 30_000 },
  forbidOnly: true,
  timeout: 300_000,
  retries: 1,
  use: {
    baseURL: process.env.TIDEMARK_CONSOLE_URL ?? "http://localhost:6610",
    screenshot: "only-on-failure",
    launchOptions: {
      executablePath: process.env.TIDEMARK_TEST_CHROMIUM ?? "/usr/bin/chromium",
      // Of a container, where its own sandbox cannot be made.
      args: ["--no-sandbox"],
    },
  },
  projects: [
    { name: "first", testMatch: "first.spec.ts", use: desktop },
    { name: "desktop", testIgnore: "first.spec.ts", dependencies: ["first"], use: desktop },
    // Every page is walked on a phone, too; beyond that, what is drawn or laid out in another way there.
    { name: "phone", testMatch: /(alert|branch|change|compare|detection|home|job|notice|palette|perf|report|threshold|walk)\.spec\.ts/, dependencies: ["first"], use: phone },
    // For the manual, on a server of its own.
    { name: "pictures", testMatch: "pictures.ts", use: desktop },
  ],
});
