// A block of code with a copy button.

import type { JSX } from "solid-js";
import { Copy } from "./Button";

/** Text to copy: a command, a token. */
export function Code(props: { text: string; label: string }): JSX.Element {
  return (
    <div class="code">
      <pre tabindex="0" role="group" aria-label={props.label}>
        <code>{props.text}</code>
      </pre>
      <Copy text={props.text} label={`Copy: ${props.label}`} />
    </div>
  );
}
