import { defineConfig } from "@playwright/test";

// `cargo xtask test` starts the server; TIDEMARK_CONSOLE_URL says where it is, TIDEMARK_CONSOLE_DATA where its mail is.
export default defineConfig({
  testDir: "tests",
  outputDir: "test-results",
  reporter: process.env.CI ? "line" : "list",
  // One server for all: the tests follow each other.
  workers: 1,
  forbidOnly: true,
  timeout: 30_000,
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
    { name: "desktop", use: { viewport: { width: 1280, height: 800 } } },
    { name: "phone", use: { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true } },
  ],
});
