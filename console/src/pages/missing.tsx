// The page for unknown URLs.

import { useLocation } from "@solidjs/router";
import { type JSX, Show } from "solid-js";
import { user } from "../session";
import { Page } from "../ui/Page";
import { Empty, LinkButton } from "../ui/parts";

export function Missing(): JSX.Element {
  const location = useLocation();
  return (
    <Page title="There is nothing here">
      <Empty
        title="No page has this address"
        action={
          <>
            <LinkButton href={user() ? "/console" : "/"} primary>
              Go to the start
            </LinkButton>
            <LinkButton href="/perf">Public projects</LinkButton>
            <Show when={user()}>
              <LinkButton href="/console/organizations">Your organizations</LinkButton>
            </Show>
          </>
        }
      >
        <code class="break">{location.pathname}</code> may have been moved, or the link may be incomplete. Press{" "}
        <kbd>/</kbd> to find a page or a project by its name.
      </Empty>
    </Page>
  );
}
