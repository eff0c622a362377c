// The legend of a perf plot: the common dimensions once, then the lines. Lines with a change come first. A click on a
// name isolates the line, a click on its color hides it.

import { A } from "@solidjs/router";
import { createMemo, createSignal, For, type JSX, Show } from "solid-js";
import type { JsonChange } from "../api";
import { Share } from "../change";
import { plural } from "../format";
import { Icon } from "../ui/Icon";
import { SearchField } from "../ui/SearchField";
import { describe } from "./ChangeLinks";
import { colorOf, palette } from "./colors";
import { changesOf } from "./line";
import { byChange, MOST_EQUAL, mainChange, type PerfLine } from "./lines";
import { isOpen } from "./marks";
import type { Links } from "./Readout";
import { matches } from "./tree";
import "./legend.css";

export function Legend(props: {
  lines: readonly PerfLine[];
  /** The common dimensions of the lines. */
  shared: readonly string[];
  hidden: readonly string[];
  isolated: string | undefined;
  open: boolean;
  links: Links;
  onOpen?: ((open: boolean) => void) | undefined;
  onHide: (hidden: readonly string[]) => void;
  onIsolate: (id: string | undefined) => void;
  onFocus: (id: string | undefined) => void;
}): JSX.Element {
  const [words, setWords] = createSignal("");
  const [order, setOrder] = createSignal<"change" | "name">("change");
  const [isRestOpen, setRestOpen] = createSignal(false);
  const isMany = () => props.lines.length > MOST_EQUAL;
  const found = createMemo(() => {
    const matching = props.lines.filter(({ label }) => matches(label, words()));
    return order() === "name" ? matching.sort((a, b) => a.label.localeCompare(b.label)) : byChange(matching);
  });
  const isGrouped = () => isMany() && order() === "change" && !words();
  const first = createMemo(() => (isGrouped() ? found().filter(mainChange) : found()));
  const rest = createMemo(() => (isGrouped() ? found().filter((line) => !mainChange(line)) : []));
  const isAll = () => !props.hidden.length && props.isolated === undefined;
  const showAll = () => {
    props.onIsolate(undefined);
    props.onHide([]);
  };
  const rows = (lines: readonly PerfLine[]) => (
    <ul classList={{ columns: isMany() }} onPointerLeave={() => props.onFocus(undefined)}>
      <For each={lines}>
        {(line) => (
          <Entry
            line={line}
            change={mainChange(line)}
            isShown={!props.hidden.includes(line.id)}
            isIsolated={props.isolated === line.id}
            isFaded={props.isolated !== undefined && props.isolated !== line.id}
            links={props.links}
            onToggle={() =>
              props.onHide(
                props.hidden.includes(line.id)
                  ? props.hidden.filter((other) => other !== line.id)
                  : [...props.hidden, line.id],
              )
            }
            onIsolate={() => props.onIsolate(props.isolated === line.id ? undefined : line.id)}
            onFocus={props.onFocus}
          />
        )}
      </For>
    </ul>
  );
  return (
    <section class="plot-legend" aria-label="Legend">
      <header class="row">
        <span class="plot-shared small muted break">{props.shared.join(" · ")}</span>
        <span class="grow" />
        <Show when={props.lines.length > 1}>
          <button
            type="button"
            class="button quiet small"
            onClick={() => (isAll() ? props.onHide(props.lines.map((line) => line.id)) : showAll())}
          >
            {isAll() ? "Hide all" : "Show all"}
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
      <MarkKey lines={props.lines} />
      <Show when={props.open}>
        <Show when={isMany()}>
          <div class="row legend-tools">
            <SearchField label="Search lines" value={words()} onInput={setWords} clearOnEscape />
            <div class="perf-segments" role="group" aria-label="Order of the lines">
              <button type="button" aria-pressed={order() === "change"} onClick={() => setOrder("change")}>
                Largest change
              </button>
              <button type="button" aria-pressed={order() === "name"} onClick={() => setOrder("name")}>
                Name
              </button>
            </div>
          </div>
        </Show>
        <Show when={first().length}>
          <Show when={isGrouped()}>
            <h3 class="small">{plural(first().length, "changed line")}</h3>
          </Show>
          {rows(first())}
        </Show>
        <Show when={words() && !found().length}>
          <p class="small muted">No line matches.</p>
        </Show>
        <Show when={rest().length}>
          <button
            type="button"
            class="button quiet small legend-group"
            aria-expanded={isRestOpen()}
            onClick={() => setRestOpen((open) => !open)}
          >
            {plural(rest().length, "line")} without a change
            <Icon name="down" size={14} />
          </button>
          <Show when={isRestOpen()}>{rows(rest())}</Show>
        </Show>
      </Show>
    </section>
  );
}

function Entry(props: {
  line: PerfLine;
  change: JsonChange | undefined;
  isShown: boolean;
  isIsolated: boolean;
  isFaded: boolean;
  links: Links;
  onToggle: () => void;
  onIsolate: () => void;
  onFocus: (id: string | undefined) => void;
}): JSX.Element {
  const color = () => (props.line.quiet && !props.isIsolated ? palette().muted : colorOf(props.line.color));
  return (
    <li
      class="plot-line"
      classList={{ hidden: !props.isShown, faded: props.isFaded, isolated: props.isIsolated }}
      onPointerEnter={(event) => {
        if (event.pointerType === "mouse") props.onFocus(props.line.id);
      }}
      onFocusIn={() => props.onFocus(props.line.id)}
      onFocusOut={() => props.onFocus(undefined)}
    >
      <button
        type="button"
        class="plot-toggle"
        aria-label={`${props.isShown ? "Hide" : "Show"} ${props.line.label}`}
        title={props.isShown ? "Hide the line" : "Show the line"}
        onClick={() => props.onToggle()}
      >
        <i class="plot-swatch" style={{ "background-color": color() }} />
      </button>
      <button
        type="button"
        class="plot-name break"
        aria-pressed={props.isIsolated}
        title={props.isIsolated ? "Show all lines" : "Isolate the line"}
        onClick={() => props.onIsolate()}
      >
        {props.line.label}
      </button>
      <Show when={props.change}>
        {(change) => (
          <A
            class="plot-effect small"
            href={props.links.path("regressions", change().event)}
            target={props.links.target}
            aria-label={describe(change())}
            title={`${describe(change())}. Open the event.`}
          >
            <Share of={change().effect} direction={isOpen(change()) ? change().direction : "unknown"} />
          </A>
        )}
      </Show>
    </li>
  );
}

const DIAMOND = "M7 1 13 7 7 13 1 7z";
const KINDS = [
  { name: "regression", text: "Regression", shape: DIAMOND },
  { name: "improvement", text: "Improvement", shape: DIAMOND },
  { name: "unknown", text: "Change", shape: DIAMOND },
  { name: "host", text: "Machine", shape: "M2 2h10v10H2z" },
  { name: "reviewed", text: "Reviewed or recovered", shape: DIAMOND },
  { name: "alert", text: "Threshold alert", shape: "M7 12 2 3h10z" },
] as const;

/** Explains the marks of the shown lines. marks.ts draws them. */
function MarkKey(props: { lines: readonly PerfLine[] }): JSX.Element {
  const present = createMemo(() => {
    const found = new Set<string>();
    for (const line of props.lines) {
      if (line.marks?.length) found.add("alert");
      for (const { change } of changesOf(line)) {
        if (isOpen(change)) found.add(change.direction);
        else found.add("reviewed");
        if (change.cause === "host") found.add("host");
      }
    }
    return KINDS.filter(({ name }) => found.has(name));
  });
  return (
    <Show when={present().length}>
      <ul class="plot-key small muted" aria-label="Marks">
        <For each={present()}>
          {({ name, text, shape }) => (
            <li>
              <svg class={name} viewBox="0 0 14 14" width="12" height="12" aria-hidden="true">
                <path d={shape} />
              </svg>
              {text}
            </li>
          )}
        </For>
      </ul>
    </Show>
  );
}
