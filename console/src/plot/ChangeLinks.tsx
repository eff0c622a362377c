// Links on the marks of changes: the tooltip describes the change, a click opens the page of its event. marks.ts draws
// the marks.

import { A } from "@solidjs/router";
import { createMemo, createSignal, For, type JSX, Show } from "solid-js";
import type { JsonChange } from "../api";
import { Effect, Levels } from "../change";
import { StatusBadge } from "../event";
import { moment, ratio, shortHash } from "../format";
import { nameOf } from "../history";
import { type Line, type Point, pointOf } from "./line";
import { isOpen } from "./marks";
import type { Links } from "./Readout";
import { type Spot, Tooltip } from "./Tooltip";

/** Maximum number of links: open changes first, then the newest. All changes are drawn. */
const MOST_LINKS = 100;

export function ChangeLinks(props: {
  lines: readonly Line[];
  isolated: number | undefined;
  spotOf: (point: Point) => Spot | undefined;
  links: Links;
  /** Reports the line of the change under the pointer. */
  onFocus: (line: number | undefined) => void;
}): JSX.Element {
  const [hovered, setHovered] = createSignal<string>();
  const marks = createMemo(() =>
    props.lines
      .flatMap((line, place) =>
        props.isolated !== undefined && props.isolated !== place
          ? []
          : (line.changes ?? []).flatMap((mark) => {
              const at = pointOf(line, mark);
              return at === undefined ? [] : [{ change: mark.change, x: mark.x, point: { line: place, at } }];
            }),
      )
      .sort((a, b) => Number(isOpen(b.change)) - Number(isOpen(a.change)) || b.x - a.x)
      .slice(0, MOST_LINKS),
  );
  const enter = (uuid: string | undefined, line?: number) => {
    setHovered(uuid);
    props.onFocus(line);
  };
  return (
    <For each={marks()}>
      {({ change, point }) => (
        <Show when={props.spotOf(point)}>
          {(spot) => (
            <>
              <A
                class="plot-change"
                // The keyboard reaches the link in the tooltip of the point and in the legend.
                tabindex="-1"
                href={props.links.path("regressions", change.event)}
                target={props.links.target}
                aria-label={describe(change)}
                style={{ left: `${spot().left}px`, top: `${spot().top}px` }}
                onPointerEnter={() => enter(change.uuid, point.line)}
                onPointerLeave={() => enter(undefined)}
              />
              <Show when={hovered() === change.uuid}>
                <Tooltip spot={spot()} picked={false} dot={false}>
                  <ChangeSummary change={change} />
                </Tooltip>
              </Show>
            </>
          )}
        </Show>
      )}
    </For>
  );
}

/** Formats a change as one phrase: `Regression of +12 % in parser::json, open`. */
export function describe(change: JsonChange): string {
  const kind = { regression: "Regression", improvement: "Improvement", unknown: "Change" }[change.direction];
  const size = typeof change.effect === "number" ? ` of ${ratio(change.effect)}` : "";
  return `${kind}${size} in ${nameOf(change)}, ${change.status.replace("_", " ")}`;
}

function ChangeSummary(props: { change: JsonChange }): JSX.Element {
  const version = () => props.change.at.version;
  return (
    <>
      <div class="row between">
        <span>
          <Effect change={props.change} />
        </span>
        <StatusBadge of={props.change} />
      </div>
      <strong class="break">{nameOf(props.change)}</strong>
      <dl class="readout-facts small">
        <dt>Level</dt>
        <dd>
          <Levels before={props.change.before} after={props.change.after} units={props.change.measure.units} />
        </dd>
        <dt>Commit</dt>
        <dd>
          <span class="number">#{version().number}</span> <span class="mono">{shortHash(version().hash ?? "")}</span>
        </dd>
        <dt>Began</dt>
        <dd>{moment(props.change.at.start_time)}</dd>
      </dl>
      <span class="small muted">Click to open the event.</span>
    </>
  );
}
