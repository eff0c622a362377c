// Paths and titles of the pages of an account.

import { user } from "./session";

/** A path in the account of a user. */
export function userPath(slug: string, ...segments: string[]): string {
  return ["/console/users", encodeURIComponent(slug), ...segments].join("/");
}

/** The title of a page of an account. An administrator also sees the accounts of other users. */
export function userTitle(slug: string, noun: string): string {
  return slug === user()?.slug ? `Your ${noun}` : `${noun.charAt(0).toUpperCase()}${noun.slice(1)} of ${slug}`;
}
