// A version of a branch: its number, and its commit as a link if the website of the project is a code host.

import { type JSX, Show } from "solid-js";
import type { JsonVersion } from "../api";
import { shortHash } from "../format";
import { commitUrl } from "../links";
import { useProject } from "../project";

export function Version(props: { version: JsonVersion | null | undefined }): JSX.Element {
  const project = useProject();
  return (
    <Show when={props.version} fallback={<span class="muted">none</span>}>
      {(version) => (
        <span class="nowrap">
          <span class="number">#{version().number}</span>
          <Show when={version().hash}>
            {(hash) => (
              <>
                {" "}
                <Show
                  when={commitUrl(project().url, hash())}
                  fallback={
                    <code class="muted" title={hash()}>
                      {shortHash(hash())}
                    </code>
                  }
                >
                  {(href) => (
                    <a class="above-row-link" href={href()} target="_blank" rel="noreferrer" title={hash()}>
                      <code>{shortHash(hash())}</code>
                    </a>
                  )}
                </Show>
              </>
            )}
          </Show>
        </span>
      )}
    </Show>
  );
}
