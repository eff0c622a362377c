// The mutes of a project: patterns of benchmarks, branches and testbeds without notifications.

import { createSignal, type JSX, Show } from "solid-js";
import { type JsonMute, list } from "../api";
import { MuteDialog, unmute } from "../mute";
import { useProject } from "../project";
import { Badge } from "../ui/Badge";
import { Button } from "../ui/Button";
import { List as Rows } from "../ui/List";
import { Page } from "../ui/Page";
import { Empty } from "../ui/State";
import { toast, toastFailure } from "../ui/Toast";
import { Name, Time } from "../ui/Value";
import "./lists.css";

export function List(): JSX.Element {
  const project = useProject();
  const [adding, setAdding] = createSignal(false);
  const [changes, setChanges] = createSignal(0);
  const changed = () => {
    setChanges((number) => number + 1);
    void project.regressions.refresh();
  };
  const add = () => (
    <Show when={project.may("edit")}>
      <Button icon="plus" kind="primary" onClick={() => setAdding(true)}>
        Mute a benchmark
      </Button>
    </Show>
  );
  const remove = (mute: JsonMute) =>
    unmute(project.slug(), mute.uuid).then(() => {
      changed();
      toast("Unmuted.");
    }, toastFailure);
  return (
    <Page title="Mutes" crumbs={project.crumbs()} actions={add()}>
      <Rows<JsonMute>
        noun="mute"
        again={changes()}
        filters={[
          {
            name: "expired",
            label: "Period",
            options: [
              { value: "", label: "All" },
              { value: "false", label: "Active" },
              { value: "true", label: "Expired" },
            ],
          },
        ]}
        load={(query, signal) =>
          list("/v0/projects/{project}/mutes", { path: { project: project.slug() }, query, signal })
        }
        columns={[
          { title: "Muted", cell: (mute) => <Muted mute={mute} /> },
          { title: "Reason", wide: true, cell: (mute) => <span class="break">{mute.reason}</span> },
          { title: "By", wide: true, cell: (mute) => <span class="muted break">{actorOf(mute)}</span> },
          { title: "Until", end: true, cell: (mute) => <Until mute={mute} /> },
        ]}
        rowActions={(mute) => (
          <Show when={project.may("edit")}>
            <Button onClick={() => void remove(mute)}>{isExpired(mute) ? "Delete" : "Unmute"}</Button>
          </Show>
        )}
        empty={
          <Empty title="No mutes" action={add()}>
            Mute a flaky benchmark for a period: it causes no notifications and no failing checks, and is still
            measured.
          </Empty>
        }
      />
      <MuteDialog open={adding()} onClose={() => setAdding(false)} onChange={changed} />
    </Page>
  );
}

function isExpired({ expires }: JsonMute): boolean {
  return typeof expires === "string" && Date.parse(expires) <= Date.now();
}

function actorOf({ actor }: JsonMute): string {
  return actor.name ?? "a deleted user";
}

function Muted(props: { mute: JsonMute }): JSX.Element {
  const where = () =>
    [props.mute.branch && `branch ${props.mute.branch}`, props.mute.testbed && `testbed ${props.mute.testbed}`].filter(
      Boolean,
    );
  return (
    <>
      <span class="break">
        <Show when={props.mute.benchmark} fallback="All benchmarks">
          {(benchmark) => <Name of={benchmark()} />}
        </Show>
      </span>
      <Show when={where().length}>
        <span class="subtext break">{where().join(" · ")}</span>
      </Show>
      <span class="subtext on-phone break">
        {props.mute.reason} · {actorOf(props.mute)}
      </span>
    </>
  );
}

function Until(props: { mute: JsonMute }): JSX.Element {
  return (
    <Show when={props.mute.expires} fallback={<span class="muted">unmuted</span>}>
      {(expires) => (
        <Show when={!isExpired(props.mute)} fallback={<Badge>expired</Badge>}>
          <span class="muted">
            <Time at={expires()} />
          </span>
        </Show>
      )}
    </Show>
  );
}
