import { defineConfig } from "@playwright/test";

const desktop = { viewport: { width: 1280, height: 800 } };
const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };

// `cargo xtask test` starts the server; TIDEMARK_CONSOLE_URL says where it is, TIDEMARK_CONSOLE_DATA where its mail is.
export default defineConfig({
  testDir: "tests",
  outputDir: "test-results",
  reporter: process.env.CI ? "line" : "list",
  // One server for all: the tests follow each other.
  workers: 1,
  forbidOnly: true,
  timeout: 60_000,
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
    { name: "phone", testIgnore: "first.spec.ts", dependencies: ["first"], use: phone },
  ],
});
