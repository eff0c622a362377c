// The table of the keyboard shortcuts of the page.

import { For, type JSX } from "solid-js";
import { bindings } from "../keys";

export function Shortcuts(): JSX.Element {
  return (
    <table class="keys">
      <tbody>
        <For each={bindings()}>
          {(binding) => (
            <tr>
              <td>
                <For each={binding.keys.split(" ")}>
                  {(key) => (
                    <>
                      <kbd>{key}</kbd>{" "}
                    </>
                  )}
                </For>
              </td>
              <td>{binding.label}</td>
            </tr>
          )}
        </For>
      </tbody>
    </table>
  );
}
