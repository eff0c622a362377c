// What one may do in the organization around a page.

import { createSignal } from "solid-js";
import { call } from "./api";
import { user } from "./session";

/** What one may be allowed to do in an organization. */
export type OrganizationPermission =
  | "view"
  | "create"
  | "edit"
  | "delete"
  | "manage"
  | "view_role"
  | "create_role"
  | "edit_role"
  | "delete_role";

/** Asks the server, once for each permission; false until it has answered. */
export function mayIn(organization: () => string): (permission: OrganizationPermission) => boolean {
  const [rights, setRights] = createSignal<Readonly<Record<string, boolean>>>({});
  const asked = new Set<string>();
  return (permission) => {
    const key = `${organization()} ${permission}`;
    if (user() && !asked.has(key)) {
      asked.add(key);
      call("get", "/v0/organizations/{organization}/allowed/{permission}", {
        path: { organization: organization(), permission },
      })
        .then(({ allowed }) => setRights((old) => ({ ...old, [key]: allowed })))
        .catch(() => asked.delete(key));
    }
    return rights()[key] === true;
  };
}
