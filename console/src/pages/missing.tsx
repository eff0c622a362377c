// The page for unknown URLs.

import { useLocation } from "@solidjs/router";
import { type JSX, Show } from "solid-js";
import { user } from "../session";
import { LinkButton } from "../ui/Button";
import { Page } from "../ui/Page";
import { Empty } from "../ui/State";

export function Missing(): JSX.Element {
  const location = useLocation();
  return (
    <Page title="Page not found">
      <Empty
        title="No page at this URL"
        action={
          <>
            <LinkButton href={user() ? "/console" : "/"} primary>
              Go to the home page
            </LinkButton>
            <LinkButton href="/perf">Public projects</LinkButton>
            <Show when={user()}>
              <LinkButton href="/console/organizations">Your organizations</LinkButton>
            </Show>
          </>
        }
      >
        <code class="break">{location.pathname}</code> does not exist. The link may be incomplete. Press <kbd>/</kbd> to
        search for a page or a project.
      </Empty>
    </Page>
  );
}
