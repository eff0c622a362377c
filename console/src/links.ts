// Addresses that several pages lead to.

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

/** Where a forge shows a commit; undefined when the project's website is no forge that we know. */
export function commitUrl(website: string | null | undefined, hash: string): string | undefined {
  if (!website || !URL.canParse(website)) return undefined;
  const { protocol, host, pathname } = new URL(website);
  if (protocol !== "https:" && protocol !== "http:") return undefined;
  const repository = /^\/[^/]+\/[^/]+/.exec(pathname)?.[0].replace(/\.git$/, "");
  if (!repository) return undefined;
  if (/(^|\.)(github|gitea|codeberg|forgejo)\./.test(host)) return `${protocol}//${host}${repository}/commit/${hash}`;
  // Its repositories may be in groups of groups.
  if (/(^|\.)gitlab\./.test(host)) return `${protocol}//${host}${pathname.replace(/\/$|\.git$/, "")}/-/commit/${hash}`;
  if (/(^|\.)bitbucket\./.test(host)) return `${protocol}//${host}${repository}/commits/${hash}`;
  return undefined;
}
