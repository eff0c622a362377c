// Addresses that several pages lead to.

import type { JsonBranch, JsonReport } from "./api";
import type { ProjectHere } from "./project";

/** What a line of a plot is made of: UUIDs. */
export interface Series {
  branch: string;
  head?: string | undefined;
  testbed: string;
  spec?: string | undefined;
  benchmark: string;
  measure: string;
}

/** The perf page with one line, and the limits it was held against. */
export function perfPath(project: ProjectHere, series: Series, more: Record<string, string> = {}): string {
  const query = new URLSearchParams({
    branches: series.branch,
    ...(series.head ? { heads: series.head } : {}),
    testbeds: series.testbed,
    ...(series.spec ? { specs: series.spec } : {}),
    benchmarks: series.benchmark,
    measures: series.measure,
    ...more,
  });
  return `${project.isPublic ? project.path() : project.path("perf")}?${query}`;
}

/** What something was measured of: a change, an alarm. */
interface Measured {
  branch: JsonBranch;
  testbed: { uuid: string };
  benchmark: { uuid: string };
  measure: { uuid: string };
}

const DAY = 86_400_000;
/** How much time before and after a moment its plot shows, at the least and at the most. */
const AROUND = { least: 30 * DAY, most: 180 * DAY };

/** The plot of a series, with as much before a moment as after it. */
export function perfAround(
  project: ProjectHere,
  { branch, testbed, benchmark, measure }: Measured,
  time: string,
): string {
  const began = Date.parse(time);
  const around = Math.min(Math.max(Date.now() - began, AROUND.least), AROUND.most);
  // A plot that goes up to now needs no end.
  const end: Record<string, string> = began + around < Date.now() ? { end_time: String(began + around) } : {};
  return perfPath(
    project,
    {
      branch: branch.uuid,
      head: branch.head.uuid,
      testbed: testbed.uuid,
      benchmark: benchmark.uuid,
      measure: measure.uuid,
    },
    { start_time: String(began - around), ...end },
  );
}

/** The plot of a series of a report, up to it. */
export function perfUpTo(
  project: ProjectHere,
  { branch, testbed, end_time }: JsonReport,
  benchmark: { uuid: string },
  measure: { uuid: string },
): string {
  const end = Date.parse(end_time);
  return perfPath(
    project,
    {
      branch: branch.uuid,
      head: branch.head.uuid,
      testbed: testbed.uuid,
      spec: testbed.spec?.uuid,
      benchmark: benchmark.uuid,
      measure: measure.uuid,
    },
    { start_time: String(end - 90 * DAY), end_time: String(end), lower_boundary: "true", upper_boundary: "true" },
  );
}

/** The address of a project's website if a browser may follow it: the server stores URLs of any scheme. */
export function webAddress(website: string | null | undefined): string | undefined {
  if (!website || !URL.canParse(website)) return undefined;
  return /^https?:$/.test(new URL(website).protocol) ? website : undefined;
}

/** Where a forge shows a commit; undefined when the project's website is no forge that we know. */
export function commitUrl(website: string | null | undefined, hash: string): string | undefined {
  const address = webAddress(website);
  if (!address) return undefined;
  const { protocol, host, pathname } = new URL(address);
  const repository = /^\/[^/]+\/[^/]+/.exec(pathname)?.[0].replace(/\.git$/, "");
  if (!repository) return undefined;
  if (/(^|\.)(github|gitea|codeberg|forgejo)\./.test(host)) return `${protocol}//${host}${repository}/commit/${hash}`;
  // Its repositories may be in groups of groups.
  if (/(^|\.)gitlab\./.test(host)) return `${protocol}//${host}${pathname.replace(/\/$|\.git$/, "")}/-/commit/${hash}`;
  if (/(^|\.)bitbucket\./.test(host)) return `${protocol}//${host}${repository}/commits/${hash}`;
  return undefined;
}
