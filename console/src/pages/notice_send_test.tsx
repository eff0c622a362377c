// Sends a test of a notice and shows the result.

import { createSignal, type JSX, onCleanup, Show } from "solid-js";
import { type JsonDelivery, type JsonNotice, sentence } from "../api";
import { Button } from "../ui/Button";
import { Notice as Remark } from "../ui/State";
import type { NoticeOwner } from "./notice_owner";

/** Pause between two requests for the result, in milliseconds. */
const PAUSE = 500;

/** The latest test of a notice. */
export interface NoticeTest {
  send: () => Promise<void>;
  /** The latest state of the delivery. */
  delivery: () => JsonDelivery | undefined;
  failure: () => string | undefined;
}

/** Sends tests of a notice and polls the delivery until it has ended. */
export function createNoticeTest(owner: NoticeOwner, notice: () => string): NoticeTest {
  const [delivery, setDelivery] = createSignal<JsonDelivery>();
  const [failure, setFailure] = createSignal<string>();
  const abort = new AbortController();
  onCleanup(() => abort.abort());
  const send = async () => {
    setFailure(undefined);
    setDelivery(undefined);
    try {
      const uuid = notice();
      let sent = await owner.test(uuid);
      setDelivery(sent);
      while (sent.status === "waiting") {
        await new Promise((resolve) => setTimeout(resolve, PAUSE));
        if (abort.signal.aborted) return;
        sent = await owner.delivery(uuid, sent.uuid, abort.signal);
      }
      setDelivery(sent);
    } catch (error) {
      if (!abort.signal.aborted) setFailure(sentence(error));
    }
  };
  return { send, delivery, failure };
}

export function SendTest(props: { test: NoticeTest }): JSX.Element {
  return <Button onClick={() => props.test.send()}>Send test</Button>;
}

/** The result of the latest test. */
export function TestResult(props: { test: NoticeTest; notice: JsonNotice }): JSX.Element {
  const result = (): { text: string; tone: "good" | "alert" | "brand" } | undefined => {
    const failure = props.test.failure();
    if (failure) return { text: failure, tone: "alert" };
    const delivery = props.test.delivery();
    switch (delivery?.status) {
      case undefined:
        return undefined;
      case "waiting":
        return { text: "Sending the test …", tone: "brand" };
      case "delivered":
        return {
          text:
            props.notice.kind === "email" ? "The server sends the test mail." : "The destination accepted the test.",
          tone: "good",
        };
      default:
        return { text: `The test was not delivered. ${delivery?.error ?? ""}`, tone: "alert" };
    }
  };
  return (
    <div role="status" class="test-result">
      <Show when={result()}>{(shown) => <Remark tone={shown().tone}>{shown().text}</Remark>}</Show>
    </div>
  );
}
