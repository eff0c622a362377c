// The sides of a comparison in the URL, and their reports.

import { call, type JsonReport, type JsonVerdict, list } from "../api";

/** A side: `baseline`, `report:UUID`, `branch:SLUG` or `version:SLUG@NUMBER`. */
export type Choice =
  | { kind: "baseline" }
  | { kind: "report"; report: string }
  | { kind: "branch"; branch: string }
  | { kind: "version"; branch: string; number: number };

export function parseChoice(text: string | undefined): Choice | undefined {
  if (text === "baseline") return { kind: text };
  const [, kind, rest = ""] = /^(report|branch|version):(.+)$/.exec(text ?? "") ?? [];
  if (kind === "report") return { kind, report: rest };
  if (kind === "branch") return { kind, branch: rest };
  const [, branch, number] = /^(.+)@(\d+)$/.exec(rest) ?? [];
  return kind === "version" && branch ? { kind, branch, number: Number(number) } : undefined;
}

export function writeChoice(choice: Choice): string {
  if (choice.kind === "baseline") return choice.kind;
  if (choice.kind === "report") return `report:${choice.report}`;
  return choice.kind === "branch" ? `branch:${choice.branch}` : `version:${choice.branch}@${choice.number}`;
}

/** The sides in the URL. */
export interface Sides {
  project: string;
  from: Choice;
  to: Choice;
  /** The slug of a testbed; any testbed if undefined. */
  testbed: string | undefined;
}

/** A comparison by the server; `missing` is the side without a report. */
export type Compared = { verdict: JsonVerdict; report: JsonReport } | { missing: Choice };

/** Requests the verdict of the newest report of a side, with the other side as its baseline. */
export async function compareSides({ project, from, to, testbed }: Sides, signal: AbortSignal): Promise<Compared> {
  const report = await newestReport(project, to, testbed, signal);
  if (!report) return { missing: to };
  let base: JsonReport | undefined;
  if (from.kind !== "baseline") {
    // Prefer the same machine.
    base =
      (await newestReport(project, from, testbed ?? report.testbed.slug, signal)) ??
      (testbed ? undefined : await newestReport(project, from, undefined, signal));
    if (!base) return { missing: from };
  }
  const verdict = await call("get", "/v0/projects/{project}/reports/{report}/verdict", {
    path: { project, report: report.uuid },
    query: base ? { base: base.uuid } : {},
    signal,
  });
  return { verdict, report };
}

/** The newest report of a side. */
async function newestReport(
  project: string,
  side: Choice,
  testbed: string | undefined,
  signal: AbortSignal,
): Promise<JsonReport | undefined> {
  if (side.kind === "baseline") return undefined;
  if (side.kind === "report") {
    const path = { project, report: side.report };
    return call("get", "/v0/projects/{project}/reports/{report}", { path, signal });
  }
  const { rows } = await list("/v0/projects/{project}/reports", {
    path: { project },
    query: { branch: side.branch, ...(testbed ? { testbed } : {}), per_page: side.kind === "branch" ? 1 : 255 },
    signal,
  });
  return side.kind === "branch" ? rows[0] : rows.find(({ branch }) => branch.head.version?.number === side.number);
}
