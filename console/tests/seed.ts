// What tests of several pages need: somebody with a project, and reports in it.

import type { APIRequestContext, Page } from "@playwright/test";
import { make, signIn } from "./support";

/** A project of its own for one test; answers its slug and that of its organization. */
export async function lab(page: Page, name: string): Promise<{ project: string; organization: string }> {
  await signIn(page, "Grace Hopper", `${name.toLowerCase()}@example.org`);
  const { request } = page.context();
  const [organization] = (await (await request.get("/v0/organizations")).json()) as { slug: string }[];
  const { slug } = await make<{ slug: string }>(request, `/v0/organizations/${organization?.slug}/projects`, { name });
  return { project: slug, organization: organization?.slug ?? "" };
}

/** Values around one, the same in every run. */
const WOBBLE = [1.004, 0.996, 1.001, 0.998, 1.006, 0.995, 1.002, 0.999, 1.003, 0.997];

/** Reports of two benchmarks, a day apart until now; of the last five, `parse::large` is slower by a quarter. */
export async function reports(request: APIRequestContext, project: string, branch: string, count: number, factor = 1): Promise<void> {
  for (let place = 0; place < count; place++) {
    const start = Date.now() - (count - place) * 86_400_000;
    const wobble = WOBBLE[place % WOBBLE.length] as number;
    const large = 1000 * wobble * factor * (branch === "main" && place >= count - 5 ? 1.25 : 1);
    const metric = (value: number) => ({ value, lower_value: value * 0.99, upper_value: value * 1.01 });
    const results = { "parse::large": { latency: metric(large) }, "parse::small": { latency: metric(10 * (2 - wobble)) } };
    await make(request, `/v0/projects/${project}/reports`, {
      branch, testbed: "ci", hash: (place + 1).toString(16).padStart(2, "0").repeat(20),
      start_time: new Date(start).toISOString(), end_time: new Date(start + 60_000).toISOString(),
      results: [JSON.stringify(results)], settings: { adapter: "json" },
      thresholds: { models: { latency: { test: "percentage", upper_boundary: 0.1, min_sample_size: 2 } } },
    });
  }
}
