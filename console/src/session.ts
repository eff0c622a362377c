// Who is signed in. The session itself is in a cookie that only the server reads.

import { createSignal } from "solid-js";
import { call, type JsonSessionProof, type JsonUser } from "./api";

const [user, setUser] = createSignal<JsonUser | null>();
/** How often somebody signed in or out on this page. */
let changes = 0;

export { user };

/** Asks the server who is signed in; `user()` is undefined until then, and null for nobody. */
export async function loadSession(): Promise<void> {
  const before = changes;
  const session = await call("get", "/v0/auth/session");
  // A mailed link may have signed somebody in while this answer was on its way.
  if (changes === before) setUser(session.user ?? null);
}

/** Exchanges the token of a mailed link, or the answer of an identity provider, for a session. */
export async function openSession(proof: JsonSessionProof): Promise<JsonUser | null> {
  const session = await call("post", "/v0/auth/session", { body: proof });
  changes += 1;
  return setUser(session.user ?? null);
}

/** Ends the session, on the server as well. */
export async function endSession(): Promise<void> {
  await call("delete", "/v0/auth/session");
  changes += 1;
  setUser(null);
}

/** After the user has changed something about themselves. */
export function updateUser(changed: JsonUser): void {
  setUser(changed);
}

/** The page to sign in, which leads back to here. */
export function signInPath(back: string): string {
  return back === "/" || back === "/console" ? "/auth/login" : `/auth/login?back=${encodeURIComponent(back)}`;
}

/** Where a sign-in leads back to: only a path of this server. */
export function backPath(back: string | string[] | undefined): string {
  return typeof back === "string" && /^\/(?![/\\])/.test(back) ? back : "/console";
}
