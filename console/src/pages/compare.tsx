// Compares a report with its baseline or with another branch, version or report. The server computes the verdict.

import { useSearchParams } from "@solidjs/router";
import { createEffect, createMemo, type JSX, Show } from "solid-js";
import { list } from "../api";
import { pollUntilSettled } from "../comparison";
import { load } from "../load";
import { useProject } from "../project";
import { IconButton, LinkButton } from "../ui/Button";
import { Page } from "../ui/Page";
import { Select, toOption } from "../ui/Select";
import { Empty, Failure, Skeleton } from "../ui/State";
import { type Choice, compareSides, parseChoice, writeChoice } from "./compare_choice";
import { Comparison, type ComparisonParams } from "./compare_result";
import { SidePicker } from "./compare_side";
import "./compare.css";

interface Params extends ComparisonParams {
  from?: string;
  to?: string;
  testbed?: string;
}

export function Compare(): JSX.Element {
  const project = useProject();
  const [params, setParams] = useSearchParams<Params>();
  const change = (next: Params) => setParams(next, { replace: true, scroll: false });
  const reports = load(
    () => ({ project: project.slug() }),
    (path, signal) => list("/v0/projects/{project}/reports", { path, query: { per_page: 255 }, signal }),
  );
  const from = (): Choice => parseChoice(params.from) ?? { kind: "baseline" };
  const to = (): Choice | undefined => {
    const choice = parseChoice(params.to);
    return choice?.kind === "baseline" ? undefined : choice;
  };
  // The default is the branch of the newest report.
  createEffect(() => {
    const newest = reports()?.rows[0];
    if (newest && !to()) change({ to: `branch:${newest.branch.slug}` });
  });
  const compared = load(() => {
    const chosen = to();
    return chosen && { project: project.slug(), from: from(), to: chosen, testbed: params.testbed };
  }, compareSides);
  const found = () => {
    const known = compared();
    return known && "verdict" in known ? known : undefined;
  };
  const missing = () => {
    const known = compared();
    return known && "missing" in known ? known.missing : undefined;
  };
  pollUntilSettled(() => found()?.verdict, compared.refresh);
  const testbeds = createMemo(() => [
    ...new Map((reports()?.rows ?? []).map(({ testbed }) => [testbed.slug, testbed])).values(),
  ]);
  const isSelectable = () => [from(), to()].some((choice) => choice?.kind === "branch" || choice?.kind === "version");
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
            baseline
            choice={from()}
            found={found()?.verdict.baseline}
            reports={reports()?.rows ?? []}
            onChange={(choice) => change({ from: writeChoice(choice) })}
          />
          <Show when={from().kind !== "baseline"} fallback={<span />}>
            <IconButton icon="swap" label="Swap sides" onClick={() => change({ from: params.to, to: params.from })} />
          </Show>
          <SidePicker
            label="To"
            choice={to()}
            found={found()?.verdict}
            reports={reports()?.rows ?? []}
            onChange={(choice) => change({ to: writeChoice(choice) })}
          />
        </div>
        <Show when={isSelectable()}>
          <div class="row compare-options">
            <label class="row small">
              <span class="muted">Testbed</span>
              <Select
                short
                label="Testbed"
                value={params.testbed ?? ""}
                options={[{ value: "", label: "of the newest run" }, ...testbeds().map(toOption)]}
                onChange={(slug) => change({ testbed: slug || undefined })}
              />
            </label>
          </div>
        </Show>
        <Show when={compared.error()}>{(error) => <Failure error={error()} retry={compared.refresh} />}</Show>
        <Show when={missing()}>
          {(side) => (
            <Empty title="No run to compare">
              There is no run of {writeChoice(side()).replace(/^\w+:/, "")} on this testbed. Select another testbed or
              another side.
            </Empty>
          )}
        </Show>
        <Show
          when={found()}
          fallback={
            <Show when={!compared.error() && !missing()}>
              <Skeleton lines={12} />
            </Show>
          }
        >
          {(found) => (
            <Comparison
              verdict={found().verdict}
              report={found().report}
              stale={compared.pending()}
              params={params}
              change={change}
            />
          )}
        </Show>
      </Show>
    </Page>
  );
}
