// The alerts of an event: values outside the configured threshold.

import { type JSX, Show } from "solid-js";
import type { JsonEvent, JsonEventAlert } from "../api";
import { Share } from "../change";
import { alertShare, limitOf } from "../event";
import { nameOf } from "../history";
import { useProject } from "../project";
import { Badge } from "../ui/Badge";
import { Button } from "../ui/Button";
import { Table } from "../ui/Table";
import { Name, Time, Value } from "../ui/Value";
import { Version } from "../ui/Version";
import "./lists.css";

/** The newest alerts of an event, with value and limit. */
export function AlertTable(props: {
  event: JsonEvent;
  /** The alert in the plot. */
  shown: JsonEventAlert | undefined;
  onShow: (alert: JsonEventAlert) => void;
}): JSX.Element {
  const project = useProject();
  return (
    <div class="stack tight">
      <h2>Outside the configured threshold</h2>
      <Table<JsonEventAlert>
        label="Outside the configured threshold"
        rows={props.event.alerts}
        first={16}
        href={(alert) => project.path("alerts", alert.uuid)}
        columns={[
          {
            title: "Series",
            cell: (alert) => (
              <>
                <Name of={nameOf(alert)} />
                <span class="subtext">
                  {alert.measure.name} · {alert.testbed.name}
                </span>
                <span class="subtext on-phone">
                  <Version version={alert.version} /> <Time at={alert.start_time} />
                </span>
              </>
            ),
          },
          {
            title: "Value",
            end: true,
            cell: (alert) => (
              <>
                <Value value={alert.value} units={alert.measure.units} />
                <span class="subtext on-phone">
                  <Limit of={alert} />
                </span>
              </>
            ),
          },
          { title: "Limit", wide: true, end: true, cell: (alert) => <Limit of={alert} /> },
          { title: "Commit", wide: true, end: true, cell: (alert) => <Version version={alert.version} /> },
          { title: "Run", wide: true, end: true, cell: (alert) => <Time at={alert.start_time} /> },
          {
            title: "Plot",
            end: true,
            cell: (alert) => (
              <span class="above-row-link">
                <Button disabled={props.shown?.uuid === alert.uuid} onClick={() => props.onShow(alert)}>
                  Show
                </Button>
              </span>
            ),
          },
        ]}
      />
      <Show when={props.event.total_alerts > props.event.alerts.length}>
        <p class="small muted">
          The {props.event.alerts.length} newest of {props.event.total_alerts} alerts.
        </p>
      </Show>
    </div>
  );
}

function Limit(props: { of: JsonEventAlert }): JSX.Element {
  return (
    <span class="nowrap">
      {props.of.limit === "upper" ? "≤ " : "≥ "}
      <Value value={limitOf(props.of) ?? props.of.value} units={props.of.measure.units} />
    </span>
  );
}

/** The newest value of an event without changes, relative to its baseline or limit. */
export function AlertEffect(props: { alert: JsonEventAlert | undefined; isMuted: boolean }): JSX.Element {
  return (
    <Show when={props.alert}>
      {(alert) => (
        <>
          <Share of={alertShare(alert())} direction={props.isMuted ? "unknown" : "regression"} />
          <span class="subtext">
            <Badge tone={props.isMuted ? "neutral" : "alert"}>outside threshold</Badge>
          </span>
        </>
      )}
    </Show>
  );
}
