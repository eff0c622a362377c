// The deliveries of a notice.

import { A } from "@solidjs/router";
import { type JSX, Show } from "solid-js";
import type { JsonDelivery, JsonNotice } from "../api";
import { Badge, type Tone } from "../ui/Badge";
import { Button } from "../ui/Button";
import { List as Listing } from "../ui/List";
import { Empty } from "../ui/State";
import { toast, toastFailure } from "../ui/Toast";
import { Time } from "../ui/Value";
import type { NoticeOwner } from "./notice_owner";

const TONES: Readonly<Record<JsonDelivery["status"], Tone>> = {
  waiting: "warn",
  delivered: "good",
  failed: "alert",
  dropped: "neutral",
};
const STATUSES = [
  { value: "", label: "All" },
  { value: "waiting", label: "Waiting" },
  { value: "delivered", label: "Delivered" },
  { value: "failed", label: "Failed" },
  { value: "dropped", label: "Dropped" },
];

/** The deliveries of a notice, with their repetition. Reloads when `again` changes. */
export function Deliveries(props: { owner: NoticeOwner; notice: JsonNotice; again: unknown }): JSX.Element {
  const repeat = async (delivery: JsonDelivery, done: () => Promise<void>) => {
    try {
      await props.owner.repeat(props.notice.uuid, delivery.uuid);
      toast("Delivery enqueued.");
      await done();
    } catch (error) {
      toastFailure(error);
    }
  };
  return (
    <Listing<JsonDelivery>
      noun="delivery"
      filters={[{ name: "status", label: "Status", options: STATUSES }]}
      load={(query, signal) => props.owner.deliveries(props.notice.uuid, query, signal)}
      again={[props.notice.modified, props.again]}
      changing={(rows) => rows.some((row) => row.status === "waiting")}
      columns={[
        {
          title: "Run",
          cell: (row) => (
            <Show
              when={row.report}
              fallback={
                <span class="muted">
                  {row.test ? (
                    <>
                      Test, <Time at={row.created} />
                    </>
                  ) : (
                    "deleted"
                  )}
                </span>
              }
            >
              {(report) => (
                <A href={`/console/projects/${row.project}/reports/${report()}`}>
                  <Time at={row.created} />
                </A>
              )}
            </Show>
          ),
        },
        { title: "Status", cell: (row) => <Badge tone={TONES[row.status]}>{row.status}</Badge> },
        { title: "Attempts", wide: true, end: true, cell: (row) => <span class="number">{row.attempts}</span> },
        { title: "Error", wide: true, cell: (row) => <span class="muted break">{row.error ?? ""}</span> },
      ]}
      rowActions={(row, rows) => (
        <Show when={row.status !== "waiting" && !row.test && !props.notice.archived}>
          <Button onClick={() => void repeat(row, rows.refresh)}>Deliver again</Button>
        </Show>
      )}
      empty={<Empty title="No deliveries yet">This list shows the deliveries of the last 30 days.</Empty>}
    />
  );
}
