// A project with a history, for the tests of pages that show one.

import type { APIRequestContext, Page } from "@playwright/test";
import { make, signIn } from "./support";

/** A project of its own for one test, by its slug. */
export async function lab(page: Page, name: string): Promise<string> {
  await signIn(page, "Grace Hopper", `${name}@example.org`);
  const { request } = page.context();
  const [organization] = (await (await request.get("/v0/organizations")).json()) as { slug: string }[];
  const project = await make<{ slug: string }>(request, `/v0/organizations/${organization?.slug}/projects`, { name });
  return project.slug;
}

export interface Report {
  uuid: string;
  alerts: { uuid: string; benchmark: { name: string }; metric: { uuid: string } }[];
  branch: { uuid: string; slug: string };
}

const DAY = 864e5;

/** Reports of `parse` and `scan`, one a day until today: steady, and the last of `parse` twice as slow, which raises an alert. */
export async function history(request: APIRequestContext, slug: string, { days = 20, branch = "main" } = {}): Promise<Report> {
  let last: Report | undefined;
  for (let day = 0; day < days; day++) {
    const time = new Date(Date.now() - (days - day) * DAY).toISOString();
    const wobble = ((day * 7) % 5) - 2;
    const parse = day === days - 1 ? 2000 : 1000 + wobble;
    const results = [JSON.stringify({ "text::parse": { latency: { value: parse } }, "text::scan": { latency: { value: 500 + wobble }, throughput: { value: 90 + wobble } } })];
    const thresholds = { models: { latency: { test: "t_test", upper_boundary: 0.999, min_sample_size: 5, max_sample_size: 64 } } };
    const hash = day.toString(16).padStart(40, "a");
    last = await make<Report>(request, `/v0/projects/${slug}/reports`, { branch, hash, testbed: "laptop", start_time: time, end_time: time, results, ...(day === 0 ? { thresholds } : {}) });
  }
  return last as Report;
}
