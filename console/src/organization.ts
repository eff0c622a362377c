// The organization of a page: permissions and breadcrumbs.

import { createSignal } from "solid-js";
import { call, type JsonMember } from "./api";
import { user } from "./session";
import type { Crumb } from "./ui/Page";

/** A permission in an organization. */
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

type Role = JsonMember["role"];

export const ROLES: readonly { value: Role; label: string; about: string }[] = [
  { value: "member", label: "Member", about: "views the organization and its projects" },
  { value: "leader", label: "Leader", about: "has all rights" },
];

export function roleLabel(role: Role): string {
  return ROLES.find(({ value }) => value === role)?.label ?? role;
}

/** Requests each permission once; false until the response arrives. */
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

/** The breadcrumbs of a page of an organization. */
export function organizationCrumbs(slug: string, name: string | undefined): Crumb[] {
  const base = "/console/organizations";
  return [
    { href: base, label: "Organizations" },
    { href: `${base}/${encodeURIComponent(slug)}/projects`, label: name ?? slug },
  ];
}
