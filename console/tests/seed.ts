// Test data: a user with a project and reports.

import type { APIRequestContext, Page } from "@playwright/test";
import { make, signIn } from "./support";

/** A project for one test; returns its slug and the slug of its organization. */
export async function lab(
  page: Page,
  name: string,
  more: object = {},
): Promise<{ project: string; organization: string }> {
  await signIn(page, "Grace Hopper", `${name.toLowerCase()}@example.org`);
  const { request } = page.context();
  const [organization] = (await (await request.get("/v0/organizations")).json()) as { slug: string }[];
  const { slug } = await make<{ slug: string }>(request, `/v0/organizations/${organization?.slug}/projects`, {
    name,
    ...more,
  });
  return { project: slug, organization: organization?.slug ?? "" };
}

/** Deterministic values around 1. */
const WOBBLE = [1.004, 0.996, 1.001, 0.998, 1.006, 0.995, 1.002, 0.999, 1.003, 0.997];

/** Reports of two benchmarks, one per day until now; `parse::large` is 25 % slower in the last five on main. */
export async function reports(
  request: APIRequestContext,
  project: string,
  branch: string,
  count: number,
  factor = 1,
  more: object = {},
): Promise<void> {
  for (let place = 0; place < count; place++) {
    const start = Date.now() - (count - place) * 86_400_000;
    const wobble = WOBBLE[place % WOBBLE.length] as number;
    const large = 1000 * wobble * factor * (branch === "main" && place >= count - 5 ? 1.25 : 1);
    const metric = (value: number) => ({ value, lower_value: value * 0.99, upper_value: value * 1.01 });
    const results = {
      "parse::large": { latency: metric(large) },
      "parse::small": { latency: metric(10 * (2 - wobble)) },
    };
    await make(request, `/v0/projects/${project}/reports`, {
      branch,
      testbed: "ci",
      hash: (place + 1).toString(16).padStart(2, "0").repeat(20),
      start_time: new Date(start).toISOString(),
      end_time: new Date(start + 60_000).toISOString(),
      results: [JSON.stringify(results)],
      settings: { adapter: "json" },
      thresholds: { models: { latency: { test: "percentage", upper_boundary: 0.1, min_sample_size: 2 } } },
      ...more,
    });
  }
}

/** The fields of a report that the tests use. */
export interface Report {
  uuid: string;
  alerts: { uuid: string; benchmark: { name: string }; metric: { uuid: string } }[];
  branch: { uuid: string; slug: string };
}

const DAY = 864e5;

/**
 * Reports of `parse` and `scan`, one per day until today. The last value of `parse` is twice as high and raises an
 * alert.
 */
export async function history(
  request: APIRequestContext,
  slug: string,
  { days = 20, branch = "main" } = {},
): Promise<Report> {
  let last: Report | undefined;
  for (let day = 0; day < days; day++) {
    const time = new Date(Date.now() - (days - day) * DAY).toISOString();
    const wobble = ((day * 7) % 5) - 2;
    const parse = day === days - 1 ? 2000 : 1000 + wobble;
    const results = [
      JSON.stringify({
        "text::parse": { latency: { value: parse } },
        "text::scan": { latency: { value: 500 + wobble }, throughput: { value: 90 + wobble } },
      }),
    ];
    const thresholds = {
      models: { latency: { test: "t_test", upper_boundary: 0.999, min_sample_size: 5, max_sample_size: 64 } },
    };
    const hash = day.toString(16).padStart(40, "a");
    last = await make<Report>(request, `/v0/projects/${slug}/reports`, {
      branch,
      hash,
      testbed: "laptop",
      start_time: time,
      end_time: time,
      results,
      ...(day === 0 ? { thresholds } : {}),
    });
  }
  return last as Report;
}

/** Reports of one benchmark, one per day until now: forty around 100 ns, then twenty around 120 ns. */
export async function step(request: APIRequestContext, project: string): Promise<void> {
  const [before, after] = [40, 20];
  for (let place = 0; place < before + after; place++) {
    const time = new Date(Date.now() - (before + after - place) * DAY).toISOString();
    // About 1 % noise, without the period of a short list.
    const noise = Math.sin(place * place) * 1.4;
    const value = (place < before ? 100 : 120) + noise;
    const results = [JSON.stringify({ "queue::push": { latency: { value } } })];
    await make(request, `/v0/projects/${project}/reports`, {
      branch: "main",
      testbed: "ci",
      hash: (place + 1).toString(16).padStart(40, "b"),
      start_time: time,
      end_time: time,
      results,
    });
  }
}
