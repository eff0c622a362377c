// Texts of the API reference: methods, prose with code, and links.

import { For, type JSX } from "solid-js";
import "./reference.css";

/** The path of the API reference. */
export const BASE = "/console/api";

export const CRUMBS = [{ href: BASE, label: "API reference" }];

/** The HTTP method of an operation. */
export function Method(props: { of: string }): JSX.Element {
  return <span class={`method ${props.of}`}>{props.of === "delete" ? "DEL" : props.of.toUpperCase()}</span>;
}

/** Renders code between backticks, and paragraphs. */
export function Prose(props: { text: string | undefined }): JSX.Element {
  const paragraphs = () => (props.text ?? "").split(/\n\s*\n/).filter(Boolean);
  return (
    <For each={paragraphs()}>
      {(paragraph) => (
        <p class="prose">
          <InlineCode text={paragraph} />
        </p>
      )}
    </For>
  );
}

/** A text with code between backticks. */
export function InlineCode(props: { text: string }): JSX.Element {
  return <For each={props.text.split("`")}>{(part, place) => (place() % 2 ? <code>{part}</code> : part)}</For>;
}
