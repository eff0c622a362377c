// The values of a plot as tables, for screen readers and for exact numbers.

import { A } from "@solidjs/router";
import { createMemo, createSignal, For, type JSX, Show } from "solid-js";
import { change, count, moment, shortHash, value } from "../format";
import { lowerBound, type Range, upperBound } from "./line";
import { type Labels, type PerfLine, placeIn } from "./lines";
import type { Links } from "./Readout";

const MORE = 50;

export function Values(props: {
  lines: readonly PerfLine[];
  labels: Labels;
  zoom: Range | undefined;
  links: Links;
}): JSX.Element {
  const [open, setOpen] = createSignal(false);
  const [chosen, setChosen] = createSignal("");
  const [most, setMost] = createSignal(MORE);
  const part = (line: PerfLine): Range =>
    props.zoom ? [lowerBound(line.x, props.zoom[0]), upperBound(line.x, props.zoom[1])] : [0, line.x.length];
  const line = createMemo(() => props.lines.find(({ id }) => id === chosen()) ?? props.lines[0]);
  return (
    <details class="plot-values" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Values as a table</summary>
      <Show when={open()}>
        <div class="stack">
          <div class="table-wrap" tabindex="0" role="region" aria-label="Lines">
            <table class="rows small">
              <thead>
                <tr>
                  <th scope="col">Line</th>
                  <th scope="col" class="end">
                    Points
                  </th>
                  <th scope="col" class="end">
                    Newest
                  </th>
                  <th scope="col" class="end">
                    Change from previous
                  </th>
                  <th scope="col" class="end wide">
                    Lowest
                  </th>
                  <th scope="col" class="end wide">
                    Highest
                  </th>
                  <th scope="col" class="end wide">
                    Alerts
                  </th>
                </tr>
              </thead>
              <tbody>
                <For each={props.lines}>
                  {(line, place) => {
                    const facts = createMemo(() => summary(line, part(line)));
                    return (
                      <tr>
                        <th scope="row" class="first break">
                          {props.labels.each[place()]}
                        </th>
                        <td class="end number">{count(facts().points)}</td>
                        <td class="end number">{value(facts().newest, line.units)}</td>
                        <td class="end number">{change(facts().before, facts().newest)}</td>
                        <td class="end number wide">{value(facts().low, line.units)}</td>
                        <td class="end number wide">{value(facts().high, line.units)}</td>
                        <td class="end number wide">{count(facts().alerts)}</td>
                      </tr>
                    );
                  }}
                </For>
              </tbody>
            </table>
          </div>
          <Show when={line()}>
            {(line) => (
              <>
                <label class="field">
                  <span>The points of</span>
                  <select
                    onChange={(event) => {
                      setChosen(event.currentTarget.value);
                      setMost(MORE);
                    }}
                  >
                    <For each={props.lines}>
                      {(each, place) => (
                        <option value={each.id} selected={each.id === line().id}>
                          {props.labels.each[place()]}
                        </option>
                      )}
                    </For>
                  </select>
                </label>
                <Points line={line()} part={part(line())} most={most()} links={props.links} />
                <Show when={part(line())[1] - part(line())[0] > most()}>
                  <div>
                    <button type="button" class="button" onClick={() => setMost((old) => old + 4 * MORE)}>
                      Show older points
                    </button>
                  </div>
                </Show>
              </>
            )}
          </Show>
        </div>
      </Show>
    </details>
  );
}

function Points(props: { line: PerfLine; part: Range; most: number; links: Links }): JSX.Element {
  const places = () =>
    Array.from({ length: Math.min(props.most, props.part[1] - props.part[0]) }, (_, back) => props.part[1] - 1 - back);
  return (
    <div class="table-wrap" tabindex="0" role="region" aria-label="Points">
      <table class="rows small">
        <thead>
          <tr>
            <th scope="col">Run</th>
            <th scope="col" class="end">
              Version
            </th>
            <th scope="col" class="end">
              Value
            </th>
            <th scope="col" class="end">
              Change from previous
            </th>
            <th scope="col" class="end wide">
              Change from baseline
            </th>
          </tr>
        </thead>
        <tbody>
          <For each={places()}>
            {(at) => {
              const { series, y, units } = props.line;
              const place = placeIn(props.line, at);
              const run = series.run[place] as number;
              const hash = series.runs.hash[run];
              return (
                <tr>
                  <td>
                    <A href={props.links.path("reports", series.runs.uuid[run] ?? "")}>
                      {moment(series.runs.start[run] as number)}
                    </A>
                  </td>
                  <td class="end number nowrap">
                    #{series.runs.number[run]} <span class="mono muted">{hash && shortHash(hash)}</span>
                  </td>
                  <td class="end number nowrap">{value(y[at] as number, units)}</td>
                  <td class="end number nowrap">{at ? change(y[at - 1] as number, y[at] as number) : "–"}</td>
                  <td class="end number nowrap wide">{change(series.baseline?.[place] ?? NaN, y[at] as number)}</td>
                </tr>
              );
            }}
          </For>
        </tbody>
      </table>
    </div>
  );
}

function summary({ y, marks }: PerfLine, [from, to]: Range) {
  let [low, high] = [Infinity, -Infinity];
  for (let at = from; at < to; at++) {
    low = Math.min(low, y[at] as number);
    high = Math.max(high, y[at] as number);
  }
  const none = to <= from;
  return {
    points: to - from,
    newest: none ? NaN : (y[to - 1] as number),
    before: to - 2 >= from ? (y[to - 2] as number) : NaN,
    low: none ? NaN : low,
    high: none ? NaN : high,
    alerts: (marks ?? []).filter(({ at }) => at >= from && at < to).length,
  };
}
