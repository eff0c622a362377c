// The tooltip of one point of a perf plot.

import { A } from "@solidjs/router";
import { type JSX, Show } from "solid-js";
import { colorDirection } from "../answer";
import { DIRECTIONS, Share } from "../change";
import { STATUSES } from "../event";
import { change, moment, shortHash, value } from "../format";
import { Badge } from "../ui/Badge";
import { metricUuid } from "./columns";
import { pointOf } from "./line";
import { commitUrl, type PerfLine, placeIn } from "./lines";

/** The targets of the links of a point. */
export interface Links {
  /** A path in the project. */
  path: (...segments: string[]) => string;
  /** The URL of the perf page of a series. */
  url: string | null | undefined;
  /** The link target: `_blank` inside a frame. */
  target?: string | undefined;
}

export function Readout(props: { line: PerfLine; at: number; links: Links }): JSX.Element {
  const series = () => props.line.series;
  const place = () => placeIn(props.line, props.at);
  const run = () => series().run[place()] as number;
  const number = () => series().value[place()] as number;
  const of = (numbers: Float64Array | undefined) => {
    const found = numbers?.[place()];
    return found === undefined || Number.isNaN(found) ? undefined : found;
  };
  const units = () => series().measure.units;
  const before = () => (props.at > 0 ? props.line.y[props.at - 1] : undefined);
  const began = () => props.line.changes.find((mark) => pointOf(props.line, mark) === props.at)?.change;
  const hash = () => series().runs.hash[run()];
  const commit = () => commitUrl(props.links.url, hash());
  const alert = () => series().alerts.find((alert) => alert.at === place());
  const report = () => series().runs.uuid[run()] ?? "";
  return (
    <>
      <div class="row between">
        <A
          class="readout-value number"
          target={props.links.target}
          href={props.links.path("metrics", metricUuid(series(), place()))}
        >
          {value(number(), units())}
        </A>
        <Show when={alert()}>
          {(alert) => (
            <A target={props.links.target} href={props.links.path("alerts", alert().uuid)}>
              <Badge tone={alert().status === "active" ? "alert" : "neutral"}>
                {alert().status === "active" ? "alert" : `alert, ${alert().status}`}
              </Badge>
            </A>
          )}
        </Show>
      </div>
      <strong class="break">{series().benchmark.name}</strong>
      <dl class="readout-facts small">
        <Show when={props.line.reference}>
          {(reference) => (
            <>
              <dt>Relative</dt>
              <dd class="number">
                {value(props.line.y[props.at] as number, "%")} of {value(reference().value, units())}{" "}
                <span class="muted">({reference().about})</span>
              </dd>
            </>
          )}
        </Show>
        <Show when={began()}>
          {(change) => (
            <>
              <dt>Event</dt>
              <dd>
                <A target={props.links.target} href={props.links.path("regressions", change().event)}>
                  <Share of={change().effect} direction={colorDirection(change())} />{" "}
                  {DIRECTIONS[change().direction].word}, {STATUSES[change().status].word}
                </A>
              </dd>
            </>
          )}
        </Show>
        <Show when={before() !== undefined}>
          <dt>Change from previous</dt>
          <dd class="number">{change(before() as number, props.line.y[props.at] as number)}</dd>
        </Show>
        <Show when={of(series().baseline) !== undefined}>
          <dt>Change from baseline</dt>
          <dd class="number">
            {change(of(series().baseline) as number, number())}{" "}
            <span class="muted">of {value(of(series().baseline) as number, units())}</span>
          </dd>
        </Show>
        <Show when={of(series().lower) !== undefined && of(series().upper) !== undefined}>
          <dt>Range</dt>
          <dd class="number">
            {value(of(series().lower) as number, units())} – {value(of(series().upper) as number, units())}
          </dd>
        </Show>
        <Show when={of(series().lowerLimit) !== undefined || of(series().upperLimit) !== undefined}>
          <dt>Limits</dt>
          <dd class="number">
            {[of(series().lowerLimit), of(series().upperLimit)]
              .map((limit) => (limit === undefined ? "none" : value(limit, units())))
              .join(" – ")}
          </dd>
        </Show>
        <dt>Measure</dt>
        <dd class="break">{series().measure.name}</dd>
        <dt>Version</dt>
        <dd>
          <span class="number">#{series().runs.number[run()]}</span>{" "}
          <Show when={hash()}>
            {(hash) => (
              <Show when={commit()} fallback={<span class="mono">{shortHash(hash())}</span>}>
                {(commit) => (
                  <a class="mono" href={commit()} target="_blank" rel="noreferrer">
                    {shortHash(hash())}
                  </a>
                )}
              </Show>
            )}
          </Show>
        </dd>
        <dt>Branch</dt>
        <dd class="break">{series().branch.name}</dd>
        <dt>Testbed</dt>
        <dd class="break">
          {series().testbed.name}
          <Show when={series().testbed.spec}>{(spec) => <span class="muted"> ({spec().name})</span>}</Show>
        </dd>
        <dt>Run</dt>
        <dd>
          <A target={props.links.target} href={props.links.path("reports", report())}>
            {moment(series().runs.start[run()] as number)}
          </A>
          <Show when={series().iteration[place()]}>
            {(iteration) => <span class="muted"> run {iteration() + 1}</span>}
          </Show>
        </dd>
      </dl>
    </>
  );
}
