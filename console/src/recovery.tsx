// The frame of all pages: an expired session, a server that is unreachable at the start, and errors of the console.

import { type RouteSectionProps, useLocation } from "@solidjs/router";
import { ErrorBoundary, type JSX, onCleanup, onMount, Show } from "solid-js";
import { sentence } from "./api";
import { isLoadError, LoadFailure } from "./chunk";
import { saveDrafts } from "./drafts";
import { checkSession, closeExpired, expired, loadSession, sessionFailure, user } from "./session";
import { Button } from "./ui/Button";
import { Dialog } from "./ui/Dialog";
import { Page } from "./ui/Page";
import { Shell } from "./ui/Shell";
import { Failure, Notice } from "./ui/State";

/** The root of the router. */
export function App(props: RouteSectionProps): JSX.Element {
  return (
    <ErrorBoundary fallback={(error) => <Broken error={error} />}>
      <Show when={sessionFailure()} fallback={props.children}>
        {(error) => (
          <Shell>
            <Page title="Tidemark" narrow>
              <Failure error={error()} retry={loadSession} />
            </Page>
          </Shell>
        )}
      </Show>
      <Expired />
    </ErrorBoundary>
  );
}

/** The session expired while the user worked. The page stays as it is. */
function Expired(): JSX.Element {
  const location = useLocation();
  const signIn = () => {
    saveDrafts(user()?.uuid ?? "");
    const query = new URLSearchParams({ back: location.pathname + location.search, email: user()?.email ?? "" });
    window.location.assign(`/auth/login?${query}`);
  };
  // The user may sign in in another tab.
  const recheck = () => {
    if (expired() && !document.hidden) void checkSession();
  };
  onMount(() => {
    document.addEventListener("visibilitychange", recheck);
    window.addEventListener("focus", recheck);
  });
  onCleanup(() => {
    document.removeEventListener("visibilitychange", recheck);
    window.removeEventListener("focus", recheck);
  });
  return (
    <Dialog open={expired()} title="Your session has expired" onClose={closeExpired}>
      <p>Sign in again. You return to this page, and the input of its forms is kept, except secrets.</p>
      <div class="row">
        <Button kind="primary" onClick={signIn}>
          Sign in
        </Button>
      </div>
    </Dialog>
  );
}

/** The console itself failed. */
function Broken(props: { error: unknown }): JSX.Element {
  return (
    <Shell>
      <Page title="The page failed" narrow>
        <Show when={!isLoadError(props.error)} fallback={<LoadFailure retry={() => Promise.reject(props.error)} />}>
          <Notice tone="alert">
            <p>An error of the console: {sentence(props.error)}</p>
            <p>Reload the page. If the error persists, report it to the operator of the server.</p>
          </Notice>
          <div class="row">
            <Button kind="primary" onClick={() => window.location.reload()}>
              Reload
            </Button>
          </div>
        </Show>
      </Page>
    </Shell>
  );
}
