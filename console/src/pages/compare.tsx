// Compares two reports, branches or versions: changes and their confidence intervals.

import { useSearchParams } from "@solidjs/router";
import { createEffect, createMemo, type JSX, Show } from "solid-js";
import { type JsonReport, list } from "../api";
import { plural } from "../format";
import { load } from "../load";
import { mainBranch } from "../main_branch";
import { useProject } from "../project";
import { type Choice, compareSides, fetchSide, parseChoice, type Side, writeChoice } from "../stats/sides";
import { IconButton, LinkButton } from "../ui/Button";
import { Page } from "../ui/Page";
import { Select, toOption } from "../ui/Select";
import { Empty, Failure, Skeleton } from "../ui/State";
import { Comparison, type ComparisonParams } from "./compare_result";
import { SidePicker } from "./compare_side";
import "./compare.css";

interface Params extends ComparisonParams {
  from?: string;
  to?: string;
  testbed?: string;
  last?: string;
}

const LAST = 10;

export function Compare(): JSX.Element {
  const project = useProject();
  const [params, setParams] = useSearchParams<Params>();
  const change = (next: Params) => setParams(next, { replace: true, scroll: false });
  const reports = load(
    () => ({ project: project.slug() }),
    (path, signal) => list("/v0/projects/{project}/reports", { path, query: { per_page: 255 }, signal }),
  );
  const from = () => parseChoice(params.from);
  const to = () => parseChoice(params.to);
  const last = () => Math.min(Math.max(Number(params.last ?? LAST) || LAST, 1), 50);
  createEffect(() => {
    const known = reports()?.rows;
    if (!known?.length || (from() && to())) return;
    change(defaultSides(known, params));
  });
  const side = (choice: () => Choice | undefined) =>
    load(
      () => {
        const chosen = choice();
        return (
          chosen && {
            project: project.slug(),
            chosen,
            testbed: chosen.kind === "report" ? undefined : params.testbed,
            last: chosen.kind === "branch" ? last() : 0,
          }
        );
      },
      ({ project, chosen, testbed, last }, signal) => fetchSide(project, chosen, testbed, last, signal),
    );
  const [left, right] = [side(from), side(to)];
  const compared = createMemo(() => {
    const [base, next] = [left(), right()];
    return base && next ? compareSides(base, next) : undefined;
  });
  const error = () => left.error() ?? right.error();
  const testbeds = createMemo(() => [
    ...new Map((reports()?.rows ?? []).map(({ testbed }) => [testbed.slug, testbed])).values(),
  ]);
  const choices = (): [Choice | undefined, Choice | undefined] => [from(), to()];
  return (
    <Page title="Compare" crumbs={project.crumbs()}>
      <Show when={reports.error()}>{(error) => <Failure error={error()} retry={reports.refresh} />}</Show>
      <Show
        when={reports()?.total !== 0}
        fallback={
          <Empty
            title="Nothing to compare yet"
            action={
              <Show when={!project.isPublic}>
                <LinkButton href="/console/onboard/run" primary>
                  Send a run
                </LinkButton>
              </Show>
            }
          >
            A comparison needs at least two runs.
          </Empty>
        }
      >
        <div class="sides">
          <SidePicker
            label="From"
            choice={from()}
            side={left()}
            reports={reports()?.rows ?? []}
            onChange={(choice) => change({ from: writeChoice(choice) })}
          />
          <IconButton icon="swap" label="Swap sides" onClick={() => change({ from: params.to, to: params.from })} />
          <SidePicker
            label="To"
            choice={to()}
            side={right()}
            reports={reports()?.rows ?? []}
            onChange={(choice) => change({ to: writeChoice(choice) })}
          />
        </div>
        <div class="row compare-options">
          <Show when={choices().some((choice) => choice && choice.kind !== "report")}>
            <label class="row small">
              <span class="muted">on</span>
              <Select
                short
                label="Testbed"
                value={params.testbed ?? ""}
                options={[{ value: "", label: "any testbed" }, ...testbeds().map(toOption)]}
                onChange={(slug) => change({ testbed: slug || undefined })}
              />
            </label>
          </Show>
          <Show when={choices().some((choice) => choice?.kind === "branch")}>
            <label class="row small">
              <span class="muted">per branch, the last</span>
              <Select
                short
                label="Runs of a branch"
                value={String(last())}
                options={[1, 5, 10, 20, 50].map((number) => ({
                  value: String(number),
                  label: plural(number, "run"),
                }))}
                onChange={(number) => change({ last: number === String(LAST) ? undefined : number })}
              />
            </label>
          </Show>
        </div>
        <Show when={error()}>
          {(error) => (
            <Failure
              error={error()}
              retry={() => {
                void left.refresh();
                void right.refresh();
              }}
            />
          )}
        </Show>
        <Show
          when={compared()}
          fallback={
            <Show when={!error()}>
              <Skeleton lines={12} />
            </Show>
          }
        >
          {(compared) => (
            <Comparison
              compared={compared()}
              from={left() as Side}
              to={right() as Side}
              stale={left.pending() || right.pending()}
              params={params}
              change={change}
            />
          )}
        </Show>
      </Show>
    </Page>
  );
}

/** The default comparison: the newest branch with the main branch, or the two newest versions. */
function defaultSides(reports: readonly JsonReport[], params: Params): Params {
  const main = mainBranch(reports) as JsonReport["branch"];
  const other = reports.find(({ branch }) => branch.uuid !== main.uuid);
  const testbed = params.testbed ?? (other ?? reports[0])?.testbed.slug;
  if (other)
    return { from: params.from ?? `branch:${main.slug}`, to: params.to ?? `branch:${other.branch.slug}`, testbed };
  const numbers = [
    ...new Set(
      reports.filter(({ testbed: own }) => own.slug === testbed).map(({ branch }) => branch.head.version?.number ?? 0),
    ),
  ];
  return {
    from: params.from ?? `version:${main.slug}@${numbers[1] ?? numbers[0]}`,
    to: params.to ?? `version:${main.slug}@${numbers[0]}`,
    testbed,
  };
}
