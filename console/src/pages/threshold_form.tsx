// The form for the settings of a model. Sliders update the preview.

import { createUniqueId, For, type JSX, Show } from "solid-js";
import type { ModelTest } from "../api";
import { boundaryText, isShare, TESTS } from "../model";
import { FACTS, type Model } from "../stats/limits";
import type { Worse } from "../stats/worse";
import "./threshold.css";

const UNITS = [
  { seconds: 604800, label: "weeks" },
  { seconds: 86400, label: "days" },
  { seconds: 3600, label: "hours" },
  { seconds: 1, label: "seconds" },
] as const;

/** Maps slider positions to boundaries and back. */
interface Track {
  most: number;
  at: (place: number) => number;
  place: (boundary: number) => number;
}

const TRACKS: Readonly<Record<Exclude<ModelTest, "static">, Track>> = (() => {
  // Each step divides the error probability by the same factor: 0.9, 0.99, 0.999.
  const probability: Track = {
    most: 80,
    at: (place) => {
      const rest = 0.5 * 10 ** (-place / 20);
      const digits = 2 - Math.floor(Math.log10(rest));
      return Number((1 - rest).toFixed(digits));
    },
    place: (boundary) => Math.round(-20 * Math.log10((1 - boundary) / 0.5)),
  };
  // Smaller steps for small values.
  const share: Track = {
    most: 100,
    at: (place) => Number(((place / 100) ** 2).toFixed(4)),
    place: (share) => Math.round(Math.sqrt(Math.max(share, 0)) * 100),
  };
  const multiple: Track = { most: 80, at: (place) => place / 8, place: (factor) => Math.round(factor * 8) };
  return {
    percentage: share,
    z_score: probability,
    t_test: probability,
    log_normal: probability,
    iqr: multiple,
    delta_iqr: multiple,
  };
})();

/** The default model: the boundary is in the worse direction of the measure. */
export function defaultModel(test: ModelTest, worse: Worse | undefined): Model {
  const boundary = { finite: null, factor: test === "percentage" ? 0.1 : 3, probability: 0.99 }[FACTS[test].range];
  return {
    test,
    lower_boundary: worse === "up" ? null : boundary,
    upper_boundary: worse === "down" ? null : boundary,
    min_sample_size: test === "static" ? null : test === "percentage" ? 1 : 10,
    max_sample_size: test === "static" ? null : 64,
    window: null,
  };
}

export function ModelForm(props: {
  model: Model;
  onChange: (model: Model) => void;
  worse: Worse | undefined;
  /** The range of the existing values, for static limits. */
  values?: { least: number; most: number } | undefined;
}): JSX.Element {
  const change = (part: Partial<Model>) => props.onChange({ ...props.model, ...part });
  const words = () => TESTS[props.model.test];
  const setTest = (test: ModelTest) => {
    const begun = defaultModel(test, props.worse);
    const same =
      FACTS[test].range === FACTS[props.model.test].range &&
      (test === "percentage") === (props.model.test === "percentage");
    const sample = test !== "static" && props.model.test !== "static";
    const { lower_boundary, upper_boundary, min_sample_size, max_sample_size, window } = props.model;
    // Keep the settings that have the same meaning in the new test.
    props.onChange({
      ...begun,
      ...(same ? { lower_boundary, upper_boundary } : {}),
      ...(sample ? { min_sample_size, max_sample_size, window } : {}),
    });
  };
  return (
    <div class="form model-form">
      <Labeled label="Test" hint={words().about}>
        {(id, hint) => (
          <select id={id} aria-describedby={hint} onChange={(event) => setTest(event.currentTarget.value as ModelTest)}>
            <For each={Object.entries(TESTS)}>
              {([test, { name }]) => (
                <option value={test} selected={test === props.model.test}>
                  {name}
                </option>
              )}
            </For>
          </select>
        )}
      </Labeled>
      <fieldset class="sides">
        <legend>Limits</legend>
        <Side
          side="upper"
          model={props.model}
          values={props.values}
          onChange={(upper_boundary) => change({ upper_boundary })}
        />
        <Side
          side="lower"
          model={props.model}
          values={props.values}
          onChange={(lower_boundary) => change({ lower_boundary })}
        />
        <span class="small muted">{words().boundary}</span>
      </fieldset>
      <Show when={props.model.test !== "static"}>
        <fieldset class="sample">
          <legend>Sample</legend>
          <Labeled label="At least">
            {(id) => (
              <input
                id={id}
                type="number"
                min={FACTS[props.model.test].smallestSample}
                max={props.model.max_sample_size ?? 4096}
                step="1"
                placeholder="any"
                value={props.model.min_sample_size ?? ""}
                onInput={(event) => change({ min_sample_size: whole(event.currentTarget.value) })}
              />
            )}
          </Labeled>
          <Labeled label="At most">
            {(id) => (
              <input
                id={id}
                type="number"
                min={FACTS[props.model.test].smallestSample}
                max="4096"
                step="1"
                placeholder="4096"
                value={props.model.max_sample_size ?? ""}
                onInput={(event) => change({ max_sample_size: whole(event.currentTarget.value) })}
              />
            )}
          </Labeled>
          <span class="small muted full-width">
            The minimum and maximum number of earlier values. With more values, the newest are used.
          </span>
          <Window seconds={props.model.window ?? null} onChange={(window) => change({ window })} />
        </fieldset>
      </Show>
    </div>
  );
}

function Side(props: {
  side: "lower" | "upper";
  model: Model;
  values: { least: number; most: number } | undefined;
  onChange: (boundary: number | null) => void;
}): JSX.Element {
  const id = createUniqueId();
  const boundary = () => (props.side === "lower" ? props.model.lower_boundary : props.model.upper_boundary) ?? null;
  const track = (): Track | undefined => {
    if (props.model.test !== "static") return TRACKS[props.model.test];
    if (!props.values) return undefined;
    const { least, most } = props.values;
    const room = (most - least) * 0.5 || Math.abs(most) * 0.5 || 1;
    const step = (most - least + 2 * room) / 200;
    return {
      most: 200,
      at: (place) => Number((least - room + place * step).toPrecision(4)),
      place: (limit) => Math.round((limit - least + room) / step),
    };
  };
  const toggle = (on: boolean) => {
    const begun =
      defaultModel(props.model.test, undefined).upper_boundary ??
      (props.side === "upper" ? props.values?.most : props.values?.least) ??
      0;
    props.onChange(on ? begun : null);
  };
  const range = () => FACTS[props.model.test].range;
  return (
    <div class="side-limit">
      <label class="check">
        <input
          type="checkbox"
          checked={boundary() !== null}
          onChange={(event) => toggle(event.currentTarget.checked)}
        />
        <span>{props.side === "lower" ? "Lower" : "Upper"}</span>
      </label>
      <input
        type="number"
        aria-label={`${props.side === "lower" ? "Lower" : "Upper"} limit`}
        aria-describedby={isShare(props.model.test) ? `${id}-share` : undefined}
        id={id}
        step="any"
        disabled={boundary() === null}
        required={boundary() !== null}
        min={range() === "probability" ? 0.5 : range() === "factor" ? 0 : undefined}
        max={range() === "probability" ? 0.9999999 : undefined}
        value={boundary() ?? ""}
        onInput={(event) => {
          if (event.currentTarget.value !== "") props.onChange(Number(event.currentTarget.value));
        }}
      />
      <input
        type="range"
        aria-label={`Move the ${props.side} limit`}
        aria-valuetext={boundary() === null ? "none" : boundaryText(props.model.test, boundary() ?? 0)}
        min="0"
        max={track()?.most ?? 1}
        disabled={boundary() === null || !track()}
        value={boundary() === null ? 0 : (track()?.place(boundary() ?? 0) ?? 0)}
        onInput={(event) => {
          const on = track();
          if (on) props.onChange(on.at(Number(event.currentTarget.value)));
        }}
      />
      <Show when={isShare(props.model.test)}>
        <span class="small muted number share" id={`${id}-share`}>
          {boundary() === null ? "\u00a0" : `= ${boundaryText(props.model.test, boundary() ?? 0)}`}
        </span>
      </Show>
    </div>
  );
}

function Window(props: { seconds: number | null; onChange: (seconds: number | null) => void }): JSX.Element {
  const unit = () =>
    props.seconds === null ? UNITS[0] : (UNITS.find(({ seconds }) => (props.seconds ?? 0) % seconds === 0) ?? UNITS[3]);
  let select: HTMLSelectElement | undefined;
  let field: HTMLInputElement | undefined;
  const set = () => {
    const number = whole(field?.value ?? "");
    props.onChange(number === null ? null : number * Number(select?.value ?? 1));
  };
  return (
    <Labeled label="Window" hint="The maximum age of values before the run." wide>
      {(id, hint) => (
        <div class="row window">
          <input
            id={id}
            ref={field}
            type="number"
            min="1"
            step="1"
            placeholder="no limit"
            aria-describedby={hint}
            value={props.seconds === null ? "" : props.seconds / unit().seconds}
            onInput={set}
          />
          <select ref={select} aria-label="Unit of the window" onChange={set}>
            <For each={UNITS}>
              {({ seconds, label }) => (
                <option value={seconds} selected={seconds === unit().seconds}>
                  {label}
                </option>
              )}
            </For>
          </select>
        </div>
      )}
    </Labeled>
  );
}

function Labeled(props: {
  label: string;
  hint?: JSX.Element;
  wide?: boolean;
  children: (id: string, hint: string | undefined) => JSX.Element;
}): JSX.Element {
  const id = createUniqueId();
  return (
    <div class="field" classList={{ "full-width": props.wide ?? false }}>
      <label for={id}>{props.label}</label>
      {props.children(id, props.hint ? `${id}-hint` : undefined)}
      <Show when={props.hint}>
        <span class="small muted" id={`${id}-hint`}>
          {props.hint}
        </span>
      </Show>
    </div>
  );
}

function whole(text: string): number | null {
  const number = Math.round(Number(text));
  return text.trim() === "" || !Number.isFinite(number) || number < 0 ? null : number;
}
