// The session: the signed-in user. Only the server can read the session cookie.

import { createSignal } from "solid-js";
import { call, type JsonSessionProof, type JsonUser, onRejection } from "./api";

const [expired, setExpired] = createSignal(false);
const [sessionFailure, setSessionFailure] = createSignal<unknown>();
const [user, setUser] = createSignal<JsonUser | null>();
/** Number of sign-ins and sign-outs on this page. */
let changes = 0;

export { expired, sessionFailure, user };

/**
 * Loads the signed-in user. Until then, `user()` is undefined, and `sessionFailure()` is the error of the request;
 * `user()` is null without a session.
 */
export async function loadSession(): Promise<void> {
  const before = changes;
  try {
    const session = await call("get", "/v0/auth/session");
    setSessionFailure(undefined);
    // A mailed link may have started a session while this request was pending.
    if (changes === before) setUser(session.user ?? null);
  } catch (error) {
    if (user() === undefined) setSessionFailure(error);
  }
}

let checking = false;

/** Checks whether the session of the user still exists; sets `expired()`. */
export async function checkSession(): Promise<void> {
  const before = user();
  if (!before || checking) return;
  checking = true;
  const session = await call("get", "/v0/auth/session").catch(() => undefined);
  checking = false;
  if (!session || user() !== before) return;
  setExpired(!session.user);
  // Another user signed in in another tab: this page shows the data of the previous user.
  if (session.user && session.user.uuid !== before.uuid) location.reload();
}

/** Closes the message that the session has expired. */
export function closeExpired(): void {
  setExpired(false);
}

// The server responds with 404 for a private project if the browser no longer has the cookie.
onRejection((status) => {
  if (status === 401 || status === 404) void checkSession();
});

/** Starts a session with the token of a mailed link or the response of an identity provider. */
export async function openSession(proof: JsonSessionProof): Promise<JsonUser | null> {
  const session = await call("post", "/v0/auth/session", { body: proof });
  changes += 1;
  return setUser(session.user ?? null);
}

/** Ends the session, also on the server. */
export async function endSession(): Promise<void> {
  await call("delete", "/v0/auth/session");
  changes += 1;
  setUser(null);
}

/** Updates the user after a change of the account. */
export function updateUser(changed: JsonUser): void {
  setUser(changed);
}

/** The URL of the sign-in page, with a return path to the current page. */
export function signInPath(back: string): string {
  return back === "/" || back === "/console" ? "/auth/login" : `/auth/login?back=${encodeURIComponent(back)}`;
}

/** The return path of a sign-in: only a path of this server. */
export function backPath(back: string | string[] | undefined): string {
  return typeof back === "string" && /^\/(?![/\\])/.test(back) ? back : "/console";
}
