// The audit log of an organization or of the server, newest first.

import { For, type JSX, Show } from "solid-js";
import type { JsonAuditEntry, Page } from "../api";
import { List, type ListQuery } from "./List";
import { Empty } from "./State";
import { Time } from "./Value";

const ACTORS: Readonly<Record<string, string>> = {
  user: "a deleted user",
  project_key: "a project key",
  system: "the server",
};

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function Audit(props: {
  load: (query: ListQuery, signal: AbortSignal) => Promise<Page<JsonAuditEntry>>;
}): JSX.Element {
  return (
    <List<JsonAuditEntry>
      noun="entry"
      load={(query, signal) => props.load(query, signal)}
      columns={[
        {
          title: "Action",
          cell: (entry) => (
            <>
              <span class="strong">{words(entry.action)}</span> <span class="break">{named(entry)}</span>
              <Show when={entry.target !== named(entry)}>
                <div class="small muted break">{entry.target}</div>
              </Show>
              <Detail of={entry.target === named(entry) ? entry.detail : { ...entry.detail, name: "" }} />
            </>
          ),
        },
        {
          title: "User",
          cell: (entry) => (
            <>
              {entry.actor.name ?? ACTORS[entry.actor.kind] ?? entry.actor.kind}
              <Show when={entry.actor.kind === "project_key"}>
                <span class="muted"> (key)</span>
              </Show>
            </>
          ),
        },
        { title: "Address", wide: true, cell: (entry) => <span class="mono muted">{entry.address ?? "–"}</span> },
        { title: "When", end: true, cell: (entry) => <Time at={entry.created} /> },
      ]}
      empty={
        <Empty title="No entries yet">The audit log records changes to members, keys, settings and projects.</Empty>
      }
    />
  );
}

/** The name of the target; its slug or UUID if the entry has no name. */
function named({ target, detail }: JsonAuditEntry): string {
  return (UUID.test(target) && detail.name) || target;
}

/** Formats an action: `project_key.create` is `project key: create`. */
function words(action: string): string {
  const [noun = "", ...verbs] = action.split(".");
  return verbs.length ? `${noun.replaceAll("_", " ")}: ${verbs.join(" ").replaceAll("_", " ")}` : noun;
}

function Detail(props: { of: object }): JSX.Element {
  const entries = () => Object.entries(props.of as Record<string, unknown>).filter(([, value]) => value !== "");
  return (
    <Show when={entries().length}>
      <div class="small muted break">
        <For each={entries()}>
          {([name, value], place) => (
            <>
              {place() ? ", " : ""}
              {name.replaceAll("_", " ")}: {typeof value === "string" ? value : JSON.stringify(value)}
            </>
          )}
        </For>
      </div>
    </Show>
  );
}
