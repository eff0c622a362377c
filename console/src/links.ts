// URLs that several pages use.

import type { JsonBranch, JsonReport, JsonVerdict, JsonVerdictComparison } from "./api";
import type { ProjectHere } from "./project";

/** The UUIDs of the dimensions of a series. */
export interface Series {
  branch: string;
  head?: string | undefined;
  testbed: string;
  spec?: string | undefined;
  benchmark: string;
  measure: string;
}

/** The perf page with one series. */
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
  return `${project.perfPath()}?${query}`;
}

/** The dimensions of a change, an alert or a metric. */
interface Measured {
  branch: JsonBranch;
  testbed: { uuid: string; spec?: { uuid: string } | null };
  benchmark: { uuid: string };
  measure: { uuid: string };
}

/** The plot of a series with its limits. */
export function perfWithLimits(project: ProjectHere, { branch, testbed, benchmark, measure }: Measured): string {
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
    { lower_boundary: "true", upper_boundary: "true" },
  );
}

const DAY = 86_400_000;
/** Minimum and maximum time that a plot shows before and after a point. */
const MARGIN = { least: 30 * DAY, most: 180 * DAY };

/** The plot of a series, centered on a time. */
export function perfAround(
  project: ProjectHere,
  { branch, testbed, benchmark, measure }: Measured,
  time: string,
): string {
  const began = Date.parse(time);
  const around = Math.min(Math.max(Date.now() - began, MARGIN.least), MARGIN.most);
  // A plot up to now has no end time.
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

/** The plot of a series of a report, ending at the report. */
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

/** The plot of a comparison: the series on the branches and testbeds of the report and of its baseline. */
export function perfOfComparison(
  project: ProjectHere,
  { branch, testbed, baseline }: JsonVerdict,
  { benchmark, measure }: JsonVerdictComparison,
  time: string,
): string {
  const both = (one: { uuid: string }, other: { uuid: string } | undefined) =>
    [...new Set([one.uuid, other?.uuid ?? one.uuid])].join();
  return perfPath(
    project,
    {
      branch: both(branch, baseline?.branch),
      testbed: both(testbed, baseline?.testbed),
      benchmark: benchmark.uuid,
      measure: measure.uuid,
    },
    { start_time: String(Date.parse(time) - 90 * DAY) },
  );
}

/** The URL to share a page of a project: the public one, which requires no sign-in, if the project is public. */
export function sharedUrl(project: ProjectHere, ...segments: string[]): string {
  const base = project().visibility === "public" ? "perf" : "console/projects";
  return [location.origin, base, ...[project().slug, ...segments].map(encodeURIComponent)].join("/");
}

/** The comparison of a report with its default baseline. */
export function comparePath(project: ProjectHere, report: string): string {
  return `${project.path("compare")}?${new URLSearchParams({ from: "baseline", to: `report:${report}` })}`;
}

/** The website of a project if it is an HTTP URL; the server stores URLs of any scheme. */
export function webAddress(website: string | null | undefined): string | undefined {
  if (!website || !URL.canParse(website)) return undefined;
  return /^https?:$/.test(new URL(website).protocol) ? website : undefined;
}

/** A repository at a code host; undefined if the website of the project is not a known code host. */
function repositoryOf(
  website: string | null | undefined,
): { kind: "github" | "gitlab" | "bitbucket"; base: string } | undefined {
  const address = webAddress(website);
  if (!address) return undefined;
  const { origin, host, pathname } = new URL(address);
  const repository = /^\/[^/]+\/[^/]+/.exec(pathname)?.[0].replace(/\.git$/, "");
  if (!repository) return undefined;
  if (/(^|\.)(github|gitea|codeberg|forgejo)\./.test(host)) return { kind: "github", base: origin + repository };
  // Repositories can be in nested groups.
  if (/(^|\.)gitlab\./.test(host)) return { kind: "gitlab", base: origin + pathname.replace(/\/$|\.git$/, "") };
  if (/(^|\.)bitbucket\./.test(host)) return { kind: "bitbucket", base: origin + repository };
  return undefined;
}

/** The URL of a commit at a code host; undefined if the website of the project is not a known code host. */
export function commitUrl(website: string | null | undefined, hash: string): string | undefined {
  const repository = repositoryOf(website);
  const segment = { github: "commit", gitlab: "-/commit", bitbucket: "commits" };
  return repository && `${repository.base}/${segment[repository.kind]}/${hash}`;
}

/** The URL with all commits after the good commit up to the bad one, at a code host. */
export function compareUrl(website: string | null | undefined, good: string, bad: string): string | undefined {
  const repository = repositoryOf(website);
  const segment = {
    github: `compare/${good}...${bad}`,
    gitlab: `-/compare/${good}...${bad}`,
    // Bitbucket expects the newer commit first.
    bitbucket: `branches/compare/${bad}..${good}`,
  };
  return repository && `${repository.base}/${segment[repository.kind]}`;
}
