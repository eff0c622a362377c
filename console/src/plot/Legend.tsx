// The legend of a plot: common dimensions once, then the distinct ones per line. Toggles the visibility of lines.

import { For, type JSX, Show } from "solid-js";
import { plural } from "../format";
import { Icon } from "../ui/Icon";
import { colorOf } from "./colors";
import type { Labels, PerfLine } from "./lines";

export function Legend(props: {
  lines: readonly PerfLine[];
  labels: Labels;
  hidden: readonly string[];
  open: boolean;
  onOpen?: ((open: boolean) => void) | undefined;
  onHide: (hidden: readonly string[]) => void;
  onFocus: (id: string | undefined) => void;
}): JSX.Element {
  const isShown = (id: string) => !props.hidden.includes(id);
  const toggle = (id: string, alone: boolean) => {
    if (alone) {
      const others = props.lines.map((line) => line.id).filter((other) => other !== id);
      props.onHide(others.every((other) => !isShown(other)) && isShown(id) ? [] : others);
    } else props.onHide(isShown(id) ? [...props.hidden, id] : props.hidden.filter((other) => other !== id));
  };
  return (
    <section class="plot-legend" aria-label="Legend">
      <header class="row">
        <span class="plot-shared small muted break">{props.labels.shared.join(" · ")}</span>
        <span class="grow" />
        <Show when={props.lines.length > 1}>
          <button
            type="button"
            class="button quiet small"
            onClick={() => props.onHide(props.hidden.length ? [] : props.lines.map((line) => line.id))}
          >
            {props.hidden.length ? "Show all" : "Hide all"}
          </button>
        </Show>
        <Show when={props.onOpen}>
          {(onOpen) => (
            <button
              type="button"
              class="button quiet small"
              aria-expanded={props.open}
              onClick={() => onOpen()(!props.open)}
            >
              {plural(props.lines.length, "line")}
              <Icon name="down" size={14} />
            </button>
          )}
        </Show>
      </header>
      <Show when={props.open}>
        <ul onPointerLeave={() => props.onFocus(undefined)}>
          <For each={props.lines}>
            {(line, place) => (
              <li>
                <button
                  type="button"
                  class="plot-line"
                  aria-pressed={isShown(line.id)}
                  title="Click to show or hide; Shift-click for all others"
                  onClick={(event) => toggle(line.id, event.shiftKey)}
                  onPointerEnter={(event) => {
                    if (event.pointerType === "mouse") props.onFocus(line.id);
                  }}
                  onFocus={() => props.onFocus(line.id)}
                  onBlur={() => props.onFocus(undefined)}
                >
                  <i class="plot-swatch" style={{ "background-color": colorOf(line.color) }} />
                  <span class="break">{props.labels.each[place()]}</span>
                </button>
              </li>
            )}
          </For>
        </ul>
      </Show>
    </section>
  );
}
