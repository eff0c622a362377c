import { history, lab } from "./seed";
import { accessible, dismiss, expect, fits, make, test, undo } from "./support";

test("a threshold is tried on the history, made, changed and deleted", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `Thresholds-${project.name}`);
  await history(page.context().request, slug);
  await page.goto(`/console/projects/${slug}/thresholds`);
  await expect(page.getByRole("row")).toHaveCount(2);
  await accessible(page);
  await fits(page);
  await page.getByRole("link", { name: "Add a threshold" }).click();
  for (const [label, name] of [
    ["Branch", "main"],
    ["Testbed", "laptop"],
    ["Measure", "Throughput"],
  ] as const) {
    await page.getByRole("combobox", { name: label }).click();
    await page.getByRole("option", { name }).click();
  }
  // A lower throughput is worse.
  await expect(page.getByRole("spinbutton", { name: "Lower limit" })).toHaveValue("0.99");
  await expect(page.getByRole("spinbutton", { name: "Upper limit" })).toBeDisabled();
  await expect(page.getByRole("button", { name: "text::scan" })).toBeVisible();
  await accessible(page);
  await fits(page);
  await page.getByLabel("Test", { exact: true }).selectOption("percentage");
  await page.getByRole("spinbutton", { name: "Lower limit" }).fill("-1");
  await page.getByRole("button", { name: "Add the threshold" }).click();
  await expect(page.getByRole("heading", { name: "Add a threshold" })).toBeVisible();
  await page.getByRole("spinbutton", { name: "Lower limit" }).fill("0.2");
  await page.getByRole("button", { name: "Add the threshold" }).click();
  await expect(page.getByRole("heading", { name: "Throughput · main · laptop" })).toBeVisible();
  await expect(page.getByText("20 %", { exact: true })).toBeVisible();

  await page.getByRole("link", { name: "Edit model" }).click();
  await page.getByRole("slider", { name: "Move the lower limit" }).press("ArrowRight");
  await page.getByRole("button", { name: "Save model" }).click();
  await expect(page.getByText("current", { exact: true })).toBeVisible();
  await expect(page.getByRole("region", { name: "Models" }).getByRole("row")).toHaveCount(3);
  await dismiss(page, "Threshold added.");
  await dismiss(page, "Model saved.");
  await page.getByRole("link", { name: "Percentage, lower limit 20 %, at least 10 values, newest 64 values" }).click();
  await expect(page.getByText("This model is inactive")).toBeVisible();
  await page.getByRole("link", { name: "Show the current model" }).click();
  await page.getByRole("button", { name: "Remove model" }).click();
  await expect(page.getByText("no model", { exact: true })).toBeVisible();
  await undo(page, "Model removed. The threshold raises no alerts.");
  await expect(page.getByText("no model", { exact: true })).toBeHidden();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await expect(page.getByRole("heading", { name: "Thresholds" })).toBeVisible();
  await expect(page.getByRole("row")).toHaveCount(2);
});

test("the preview counts what the server raised, and follows the parameters", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `Preview-${project.name}`);
  await history(page.context().request, slug);
  const [threshold] = (await (await page.context().request.get(`/v0/projects/${slug}/thresholds`)).json()) as {
    uuid: string;
  }[];
  await page.goto(`/console/projects/${slug}/thresholds/${threshold?.uuid}/edit`);
  const tally = page.getByRole("region", { name: "Preview" }).getByRole("status");
  await expect(tally).toContainText("1 of 1");
  await accessible(page);
  await fits(page);
  // Twice the mean raises no alert if ten times is allowed.
  await page.getByLabel("Test", { exact: true }).selectOption("percentage");
  await page.getByRole("spinbutton", { name: "Upper limit" }).fill("9");
  await expect(tally).toContainText("0 of 1");
  await page.getByRole("spinbutton", { name: "Upper limit" }).fill("0.001");
  await expect(tally).toContainText("1 of 1");
  await page.getByRole("button", { name: "text::scan" }).click();
  await expect(page.getByRole("group", { name: /The history of text::scan/ })).toBeVisible();
});

test("a project without thresholds, and without history, says what to do", async ({ page }, { project }) => {
  const { project: slug } = await lab(page, `Unwatched-${project.name}`);
  const { request } = page.context();
  await page.goto(`/console/projects/${slug}/thresholds`);
  await expect(page.getByRole("heading", { name: "No thresholds yet" })).toBeVisible();
  await make(request, `/v0/projects/${slug}/branches`, { name: "main" });
  await make(request, `/v0/projects/${slug}/testbeds`, { name: "laptop" });
  await make(request, `/v0/projects/${slug}/measures`, { name: "Latency", units: "nanoseconds (ns)" });
  const made = await make<{ uuid: string }>(request, `/v0/projects/${slug}/thresholds`, {
    branch: "main",
    testbed: "laptop",
    measure: "latency",
    test: "t_test",
  });
  await page.goto(`/console/projects/${slug}/thresholds/${made.uuid}`);
  await expect(page.getByRole("heading", { name: "No history yet" })).toBeVisible();
  await accessible(page);
  await fits(page);
});
