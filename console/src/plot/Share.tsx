// Shares a plot: a link, an image that is always current, and a frame for another page.

import { createSignal, type JSX, Show } from "solid-js";
import { call, type JsonProject, url } from "../api";
import { load } from "../load";
import { isDark } from "../theme";
import { Code } from "../ui/Code";
import { Dialog } from "../ui/Dialog";
import { Notice } from "../ui/State";
import { type PerfQuery, pictured, search } from "./query";

export function ShareDialog(props: {
  project: JsonProject;
  query: PerfQuery;
  open: boolean;
  onClose: () => void;
}): JSX.Element {
  const [typed, setTyped] = createSignal<string>();
  // The title of the pinned or shared plot that is open, until the user types another one.
  const pinned = load(
    () => props.open && props.query.plot !== undefined && { project: props.project.slug, plot: props.query.plot },
    (path, signal) => call("get", "/v0/projects/{project}/plots/{plot}", { path, signal }),
  );
  const field = () => typed() ?? (props.query.plot ? pinned()?.title : undefined) ?? props.query.title ?? "";
  const title = () => field().trim();
  const isPublic = () => props.project.visibility === "public";
  const base = () => `${location.origin}/${isPublic() ? "perf" : "console/projects"}/${props.project.slug}`;
  const asked = () =>
    search({ ...props.query, tab: undefined, key: true, clear: false, plot: undefined, title: undefined });
  const titled = (parameter: string) => (title() ? `&${parameter}=${encodeURIComponent(title())}` : "");
  const link = () => `${base()}${isPublic() ? "" : "/perf"}?${asked()}${titled("title")}`;
  const image = () =>
    location.origin +
    url("/v0/projects/{project}/perf/img", {
      path: { project: props.project.slug },
      query: { ...pictured(props.query), ...(title() ? { title: title() } : {}), format: "svg" },
    });
  const name = () => title() || props.project.name;
  const frame = () => `${location.origin}/perf/${props.project.slug}/embed?${asked()}${titled("embed_title")}`;
  const iframe = () => {
    const size = 'width="100%" height="560" frameborder="0"';
    return `<iframe src="${attribute(frame())}" title="${attribute(name())}" ${size} loading="lazy"></iframe>`;
  };
  return (
    <Dialog open={props.open} title="Share this plot" onClose={props.onClose} wide>
      <div class="stack">
        <Show when={!isPublic()}>
          <Notice tone="warn">
            The project is private: only its members and the members of its organization can open the link. Other pages
            cannot embed it as an image or a frame.
          </Notice>
        </Show>
        <label class="field">
          <span>Title</span>
          <input
            value={field()}
            maxLength={64}
            placeholder={props.project.name}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        </label>
        <h3>Link</h3>
        <Code label="Link" text={link()} />
        <Show when={isPublic()}>
          <h3>Image</h3>
          <Show when={props.query.relative || props.query.layout === "multiples"}>
            <Notice>The image shows all lines in one plot with absolute values.</Notice>
          </Show>
          <img
            class="perf-preview"
            src={`${image()}&theme=${isDark() ? "dark" : "light"}`}
            alt={`Preview: ${name()}`}
            width="1024"
            height="768"
          />
          <Code label="Markdown" text={`[![${name().replaceAll(/[[\]]/g, "")}](${image()})](${link()})`} />
          <Code
            label="HTML"
            text={`<a href="${attribute(link())}"><img src="${attribute(image())}" alt="${attribute(name())}"></a>`}
          />
          <h3>Frame</h3>
          <Code label="Frame" text={iframe()} />
        </Show>
      </div>
    </Dialog>
  );
}

function attribute(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
}
