// Shares a plot: a link, an image that is always current, and a frame for another page.

import { createSignal, type JSX, Show } from "solid-js";
import { type JsonProject, url } from "../api";
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
  const [title, setTitle] = createSignal("");
  const isPublic = () => props.project.visibility === "public";
  const base = () => `${location.origin}/${isPublic() ? "perf" : "console/projects"}/${props.project.slug}`;
  const asked = () => search({ ...props.query, tab: undefined, key: true, clear: false, plot: undefined });
  const link = () => `${base()}${isPublic() ? "" : "/perf"}?${asked()}`;
  const image = () =>
    location.origin +
    url("/v0/projects/{project}/perf/img", {
      path: { project: props.project.slug },
      query: { ...pictured(props.query), ...(title() ? { title: title() } : {}), format: "svg" },
    });
  const name = () => title() || props.project.name;
  const frame = () => {
    const titled = title() ? `&embed_title=${encodeURIComponent(title())}` : "";
    return `${location.origin}/perf/${props.project.slug}/embed?${asked()}${titled}`;
  };
  const iframe = () => {
    const size = 'width="100%" height="560" frameborder="0"';
    return `<iframe src="${attribute(frame())}" title="${attribute(name())}" ${size} loading="lazy"></iframe>`;
  };
  return (
    <Dialog open={props.open} title="Share this plot" onClose={props.onClose} wide>
      <div class="stack">
        <Show when={!isPublic()}>
          <Notice tone="warn">
            The project is private: only its members can open the link. Other pages cannot embed it as an image or a
            frame.
          </Notice>
        </Show>
        <h3>Link</h3>
        <Code label="Link" text={link()} />
        <Show when={isPublic()}>
          <label class="field">
            <span>Title of the image and the frame</span>
            <input
              value={title()}
              maxLength={64}
              placeholder={props.project.name}
              onInput={(event) => setTitle(event.currentTarget.value)}
            />
          </label>
          <h3>Image</h3>
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
