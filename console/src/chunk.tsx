// Components in separate files, loaded on first use. After an upgrade of the server, the files of the older version no
// longer exist; the page then reloads once, or says that a new version is available.

import { useLocation } from "@solidjs/router";
import { type Component, createSignal, type JSX, lazy, Match, onMount, Show, Switch } from "solid-js";
import { Dynamic } from "solid-js/web";
import { hasInput, saveDrafts } from "./drafts";
import { user } from "./session";
import { Button } from "./ui/Button";
import { Page } from "./ui/Page";
import { Notice, Skeleton } from "./ui/State";

/** A component that is loaded on first use. `frame` contains the message of a failed load. */
export function chunk<P extends Record<string, unknown>>(
  file: () => Promise<Component<P>>,
  frame: Component<P & { children: JSX.Element }> = PageFrame,
): Component<P> {
  return lazy(async () => ({ default: await file().catch(() => retrying(file, frame)) }));
}

function retrying<P extends Record<string, unknown>>(
  file: () => Promise<Component<P>>,
  frame: Component<P & { children: JSX.Element }>,
): Component<P> {
  return (props) => {
    const [loaded, setLoaded] = createSignal<Component<P>>();
    const retry = async () => {
      const component = await file();
      setLoaded(() => component);
    };
    return (
      <Show
        when={loaded()}
        fallback={
          <Dynamic component={frame} {...props}>
            <LoadFailure retry={retry} />
          </Dynamic>
        }
      >
        {(component) => <Dynamic component={component()} {...props} />}
      </Show>
    );
  };
}

function PageFrame(props: { children: JSX.Element }): JSX.Element {
  return (
    <Page title="The page could not be loaded" narrow>
      {props.children}
    </Page>
  );
}

/** The newest version for which this tab reloaded by itself. */
const RELOADED = "tidemark-reloaded";

/** Why a file could not be loaded, and what to do. */
export function LoadFailure(props: { retry: () => Promise<unknown> }): JSX.Element {
  const location = useLocation();
  const [state, setState] = createSignal<"checking" | "outdated" | "offline" | "failed">("checking");
  const reload = () => {
    saveDrafts(user()?.uuid ?? "");
    // The URL of the browser may still be that of the previous page.
    window.location.assign(location.pathname + location.search);
  };
  const check = async () => {
    const newest = await newestScript();
    if (newest === undefined) return setState("offline");
    if (newest === currentScript()) return setState("failed");
    // At most one automatic reload per version: two servers of different versions would cause a loop.
    if (!hasInput() && sessionStorage.getItem(RELOADED) !== newest) {
      sessionStorage.setItem(RELOADED, newest);
      return reload();
    }
    setState("outdated");
  };
  // The browser does not request a file again after a failure, so that only a reload helps.
  const retry = () =>
    props.retry().catch(async () => ((await newestScript()) === undefined ? setState("offline") : reload()));
  onMount(() => void check());
  return (
    <Switch fallback={<Skeleton lines={2} />}>
      <Match when={state() === "outdated"}>
        <Notice tone="warn">
          <p>
            <strong>A new version of Tidemark is available.</strong> The server was upgraded while this page was open.
          </p>
          <p>Reload to continue.{hasInput() ? " The input of forms is kept, except secrets." : ""}</p>
        </Notice>
        <div class="row">
          <Button kind="primary" onClick={reload}>
            Reload
          </Button>
        </div>
      </Match>
      <Match when={state() === "offline"}>
        <Notice tone="warn">
          <strong>The server is unreachable.</strong> Check the connection and try again.
        </Notice>
        <div class="row">
          <Button kind="primary" onClick={retry}>
            Try again
          </Button>
        </div>
      </Match>
      <Match when={state() === "failed"}>
        <Notice tone="warn">
          <strong>A file of the console could not be loaded.</strong> Try again. If the error persists, check whether a
          browser extension or a proxy blocks the file, or contact the operator of the server.
        </Notice>
        <div class="row">
          <Button kind="primary" onClick={retry}>
            Try again
          </Button>
          <Button onClick={reload}>Reload</Button>
        </div>
      </Match>
    </Switch>
  );
}

/** The entry script of this document; its name contains a hash of the version. */
function currentScript(): string | null | undefined {
  return document.querySelector<HTMLScriptElement>("script[type=module][src]")?.getAttribute("src");
}

/** The entry script that the server delivers now; undefined if the server is unreachable. */
async function newestScript(): Promise<string | undefined> {
  try {
    const response = await fetch("/", { cache: "no-store", headers: { accept: "text/html" } });
    const html = new DOMParser().parseFromString(await response.text(), "text/html");
    return html.querySelector("script[type=module][src]")?.getAttribute("src") ?? undefined;
  } catch {
    return undefined;
  }
}

/** Whether an error is the failed load of a file. */
export function isLoadError(error: unknown): boolean {
  return error instanceof TypeError && /import|module|preload/i.test(error.message);
}
