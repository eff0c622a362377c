// The API response for the item of the page.

import { createSignal, type JSX } from "solid-js";
import { Button } from "./Button";
import { Code } from "./Code";
import { Dialog } from "./Dialog";

export function Raw(props: { value: unknown }): JSX.Element {
  const [open, setOpen] = createSignal(false);
  return (
    <>
      <Button onClick={() => setOpen(true)}>JSON</Button>
      <Dialog open={open()} title="API response" onClose={() => setOpen(false)} wide>
        <div class="raw">
          <Code text={JSON.stringify(props.value, null, 2)} label="JSON" />
        </div>
      </Dialog>
    </>
  );
}
