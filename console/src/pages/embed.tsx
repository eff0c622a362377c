// An embedded plot for other pages: no navigation; links open in a new tab.

import { useParams, useSearchParams } from "@solidjs/router";
import { createEffect, createMemo, createSignal, type JSX, onCleanup, onMount, Show } from "solid-js";
import { ApiError, call } from "../api";
import { load } from "../load";
import { Chart } from "../plot/Chart";
import { loadChanges } from "../plot/changes";
import { fetchSeries } from "../plot/fetch";
import { isComplete, type PerfQuery, parse, search } from "../plot/query";
import { Empty, Failure, Skeleton } from "../ui/State";

/** Height of the elements above and below the plot, in pixels. */
const [HEADER, LEGEND, EDGES] = [40, 160, 40];

export function Embed(): JSX.Element {
  const params = useParams<{ project: string }>();
  const [address] = useSearchParams();
  const [changed, setChanged] = createSignal<Partial<PerfQuery>>({});
  const query = createMemo((): PerfQuery => ({ ...parse(address), ...changed() }));
  const flag = (name: string) => address[name] !== "false";
  const project = load(
    () => ({ project: params.project }),
    (path, signal) => call("get", "/v0/projects/{project}", { path, signal }),
  );
  const title = () => (typeof address.embed_title === "string" ? address.embed_title : project()?.name) ?? "";
  createEffect(() => {
    document.title = title() ? `${title()} · Tidemark` : "Tidemark";
  });
  const wanted = createMemo(() =>
    project() && isComplete(query())
      ? { ...query(), measures: query().relative ? query().measures : query().measures.slice(0, 2) }
      : undefined,
  );
  const series = fetchSeries(() => params.project, wanted);
  const changes = loadChanges(() => params.project, wanted);
  const [room, setRoom] = createSignal(innerHeight);
  const resize = () => setRoom(innerHeight);
  onMount(() => addEventListener("resize", resize));
  onCleanup(() => removeEventListener("resize", resize));
  const hasLegend = () => flag("embed_key") && query().key;
  const height = () =>
    Math.max(
      room() - EDGES - (flag("embed_header") ? HEADER : 0) - (hasLegend() ? LEGEND : flag("embed_key") ? 40 : 0),
      160,
    );
  const base = () => `/perf/${encodeURIComponent(params.project)}`;
  const isHidden = () => project.error() instanceof ApiError && (project.error() as ApiError).status === 404;
  return (
    <main class="embed">
      <Show when={flag("embed_header")}>
        <header class="row between">
          <h1 class="ellipsis">{title()}</h1>
          <Show when={flag("embed_logo")}>
            <a
              class="brand"
              aria-label="Open in Tidemark"
              href={`${base()}?${search({ ...query(), tab: undefined })}`}
              target="_blank"
              rel="noopener"
            >
              <img src="/icon.svg" alt="" width="20" height="20" />
              <span class="small">Tidemark</span>
            </a>
          </Show>
        </header>
      </Show>
      <Show when={project.error()}>
        {(error) => (
          <Show when={isHidden()} fallback={<Failure error={error()} retry={project.refresh} />}>
            <Empty title="Plot not found">The project is private or was deleted.</Empty>
          </Show>
        )}
      </Show>
      <Show
        when={project()}
        fallback={
          <Show when={!project.error()}>
            <Skeleton lines={8} />
          </Show>
        }
      >
        {(project) => (
          <Show
            when={wanted()}
            fallback={
              <Empty title="Nothing selected">
                The URL of the frame names no branch, testbed, benchmark or measure. Copy it from <em>Share</em> in
                Explore.
              </Empty>
            }
          >
            {(asked) => (
              <Chart
                query={asked()}
                series={series}
                links={{
                  path: (...segments) => [base(), ...segments.map(encodeURIComponent)].join("/"),
                  url: project().url,
                  target: "_blank",
                }}
                label={title() || project().name}
                changes={changes()}
                height={height()}
                legend={flag("embed_key")}
                values={false}
                change={(part) => setChanged((old) => ({ ...old, ...part }))}
              />
            )}
          </Show>
        )}
      </Show>
    </main>
  );
}
