import { ask, enlist, Runner } from "./runner";
import { lab } from "./seed";
import { accessible, expect, fits, test } from "./support";

const RESULTS = JSON.stringify({ "text::parse": { latency: { value: 1234 } } });

test("a project without jobs says how to ask for one", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `No-jobs-${project.name}`);
  await page.goto(`/console/projects/${slug}/jobs`);
  await expect(page.getByRole("heading", { name: "No jobs yet" })).toBeVisible();
  await expect(page.getByText(`--project ${slug}`)).toBeVisible();
  await accessible(page);
  await fits(page);
});

test("a job is watched from the queue to its report", async ({ page }, { project }) => {
  const { spec, runner: name, key } = await enlist();
  const { project: slug } = await lab(page, `Watched-${project.name}`);
  const { job, report } = await ask(page, slug, spec);
  await page.goto(`/console/projects/${slug}/reports/${report}`);
  await expect(page.getByText("Position 1 in the queue.")).toBeVisible();
  await accessible(page);
  await fits(page);
  await page.getByRole("link", { name: "View job" }).click();
  const step = page.getByRole("list", { name: "Progress" }).locator("[aria-current]");
  await expect(step).toHaveText("Queued");
  await accessible(page);
  await fits(page);

  // The page updates without interaction from here on.
  const runner = await Runner.connect(name, key);
  expect(await runner.say("ready", { poll_timeout: 60 })).toBe("job");
  await expect(step).toHaveText("Preparing");
  expect(await runner.say("running")).toBe("ack");
  await expect(step).toHaveText("Running");
  await expect(page.getByText("of at most 10 min")).toBeVisible();
  expect(await runner.say("heartbeat", { job, printed: "warming up\n1 of 2" })).toBe("ack");
  const live = page.getByRole("log", { name: "Output so far" });
  await expect(live).toContainText("1 of 2");
  expect(await runner.say("heartbeat", { job, printed: "warming up\n1 of 2\n2 of 2" })).toBe("ack");
  await expect(live).toContainText("2 of 2");
  await accessible(page);
  await fits(page);
  const results = [
    { exit_code: 0, stdout: RESULTS, stderr: "warming up", noise: { before: 0.004, after: 0.011 } },
    { exit_code: 0, stdout: RESULTS },
  ];
  expect(await runner.say("completed", { job, results })).toBe("ack");
  await expect(page.getByText("done", { exact: true })).toBeVisible();
  await expect(live).toHaveCount(0);
  await expect(page.getByRole("region", { name: "Standard output of iteration 2" })).toContainText("text::parse");
  await expect(page.getByRole("region", { name: "Standard error" })).toHaveText("warming up");
  await expect(page.getByText("0.4 % before, 1.1 % after")).toBeVisible();
  await accessible(page);
  await fits(page);
  await page.getByRole("link", { name: "View run" }).click();
  await expect(page.getByRole("row").nth(1)).toContainText("text::parse");
  await expect(page.getByRole("link", { name: "done" })).toHaveAttribute("href", new RegExp(job));
  runner.socket.close();

  // The status is public, the output is not.
  await page.context().clearCookies();
  await page.goto(`/perf/${slug}/jobs/${job}`);
  await expect(page.getByText("Only members of the project can view the output")).toBeVisible();
});

test("a report says why its job failed, and a job that waits is canceled", async ({ page }, { project }) => {
  const { spec, runner: name, key } = await enlist();
  const { project: slug } = await lab(page, `Failing-${project.name}`);
  const failing = await ask(page, slug, spec);
  const runner = await Runner.connect(name, key);
  expect(await runner.say("ready", { poll_timeout: 60 })).toBe("job");
  expect(await runner.say("running")).toBe("ack");
  await page.goto(`/console/projects/${slug}/reports/${failing.report}`);
  await expect(page.getByRole("link", { name: "View job" })).toBeVisible();
  const error = "The command ended with exit code 3; see what it printed.";
  expect(
    await runner.say("failed", { job: failing.job, error, results: [{ exit_code: 3, stderr: "no such file" }] }),
  ).toBe("ack");
  runner.socket.close();
  await expect(page.getByText(error)).toBeVisible();
  await accessible(page);
  await fits(page);
  await page.getByRole("link", { name: "View job output" }).click();
  await expect(page.getByText(error)).toBeVisible();
  await expect(page.getByText("exit code 3", { exact: true })).toBeVisible();
  await expect(page.getByRole("region", { name: "Standard error" })).toHaveText("no such file");
  await accessible(page);
  await fits(page);

  const waiting = await ask(page, slug, spec);
  await page.goto(`/console/projects/${slug}/jobs`);
  const rows = page.getByRole("row");
  await expect(rows).toHaveCount(3);
  await expect(rows.nth(1)).toContainText("queued");
  await accessible(page);
  await fits(page);
  await page.getByRole("combobox", { name: "Status" }).selectOption("failed");
  await expect(rows).toHaveCount(2);
  await expect(page).toHaveURL(/status=failed/);
  await page.goto(`/console/projects/${slug}/jobs/${waiting.job}`);
  await page.getByRole("button", { name: "Cancel job" }).click();
  await accessible(page);
  await page.getByRole("dialog").getByRole("button", { name: "Cancel job" }).click();
  await expect(page.getByText("canceled", { exact: true })).toBeVisible();
  await expect(page.getByRole("button", { name: "Cancel job" })).toHaveCount(0);
});
