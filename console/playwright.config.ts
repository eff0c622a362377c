import { defineConfig, type ReporterDescription } from "@playwright/test";

const desktop = { viewport: { width: 1280, height: 800 } };
const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };

// Reports with the duration of each test, for tools. Playwright reads the names of the report files from these
// variables.
const reporters: ReporterDescription[] = [[process.env.CI ? "line" : "list"]];
if (process.env.PLAYWRIGHT_JSON_OUTPUT_FILE) reporters.push(["json"]);
if (process.env.PLAYWRIGHT_JUNIT_OUTPUT_FILE) reporters.push(["junit", { includeProjectInTestName: true }]);

// `cargo xtask console test` starts the server. TIDEMARK_CONSOLE_URL is its address, TIDEMARK_CONSOLE_DATA the folder
// with its mail.
export default defineConfig({
  testDir: "tests",
  outputDir: "test-results",
  reporter: reporters,
  // All tests share one server: a test changes only data that it created.
  workers: 2,
  fullyParallel: true,
  forbidOnly: true,
  retries: 0,
  // The timeouts only stop a test that hangs. No test may depend on the speed of the machine.
  expect: { timeout: 120_000 },
  timeout: 600_000,
  use: {
    baseURL: process.env.TIDEMARK_CONSOLE_URL ?? "http://localhost:6610",
    screenshot: "only-on-failure",
    contextOptions: { reducedMotion: "reduce" },
    launchOptions: {
      executablePath: process.env.TIDEMARK_TEST_CHROMIUM ?? "/usr/bin/chromium",
      args: [
        // The sandbox of Chromium cannot be created in a container.
        "--no-sandbox",
        // Saves the GPU process, which would render in software.
        "--disable-gpu",
      ],
    },
  },
  projects: [
    { name: "first", testMatch: "first.spec.ts", use: desktop },
    { name: "desktop", testIgnore: "first.spec.ts", dependencies: ["first"], use: desktop },
    // The walk covers every page on a phone. The other specs cover pages with a different layout on a phone.
    {
      name: "phone",
      testMatch:
        /(alert|anonymous|branch|compare|detection|event|explore|home|job|manual|mute|notice|palette|perf|pull|report|threshold|walk)\.spec\.ts/,
      dependencies: ["first"],
      use: phone,
    },
    // Takes the screenshots of the manual, on a separate server.
    { name: "pictures", testMatch: "pictures.ts", use: desktop },
  ],
});
