// The default branch of a project. Pure.

import type { JsonBranch, JsonReport } from "./api.gen";

/** The default branch: main, master, trunk or develop, or the branch with the most reports. */
export function mainBranch(reports: readonly JsonReport[]): JsonBranch | undefined {
  const counts = new Map<string, { branch: JsonBranch; count: number }>();
  for (const { branch } of reports) {
    const known = counts.get(branch.uuid);
    if (known) known.count++;
    else counts.set(branch.uuid, { branch, count: 1 });
  }
  const all = [...counts.values()];
  const named = ["main", "master", "trunk", "develop"]
    .map((name) => all.find(({ branch }) => branch.name === name))
    .find(Boolean);
  return (named ?? all.sort((left, right) => right.count - left.count)[0])?.branch;
}
