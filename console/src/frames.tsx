// Layouts of pages that do not belong to a project: organizations, accounts, the server.

import { Navigate, type RouteSectionProps, useLocation, useParams } from "@solidjs/router";
import { createContext, type JSX, Show, useContext } from "solid-js";
import { call, type JsonOrganization } from "./api";
import { type Loaded, load } from "./load";
import { signInPath, user } from "./session";
import { Page } from "./ui/Page";
import { type SectionGroup, Shell } from "./ui/Shell";
import { Failure, Skeleton } from "./ui/State";

/** Redirects visitors without a session to the sign-in page. */
export function Guard(props: RouteSectionProps): JSX.Element {
  const location = useLocation();
  return (
    <Show
      when={user() !== undefined}
      fallback={
        <Shell>
          <Skeleton lines={6} />
        </Shell>
      }
    >
      <Show when={user()} fallback={<Navigate href={signInPath(location.pathname + location.search)} />}>
        {props.children}
      </Show>
    </Show>
  );
}

/** A layout without a sidebar. */
export function BareFrame(props: RouteSectionProps): JSX.Element {
  return <Shell>{props.children}</Shell>;
}

const Organization = createContext<Loaded<JsonOrganization>>();

/** The organization of the page; undefined while loading. */
export function useOrganization(): Loaded<JsonOrganization> {
  const here = useContext(Organization);
  if (!here) throw new Error("useOrganization is for pages of an organization.");
  return here;
}

/** Layout of `/console/organizations/:organization`. */
export function OrganizationFrame(props: RouteSectionProps): JSX.Element {
  const params = useParams<{ organization: string }>();
  const organization = load(
    () => ({ organization: params.organization }),
    (path, signal) => call("get", "/v0/organizations/{organization}", { path, signal }),
  );
  const base = () => `/console/organizations/${encodeURIComponent(params.organization)}`;
  const groups = (): SectionGroup[] => [
    {
      label: organization()?.name ?? "Organization",
      sections: [
        { href: `${base()}/projects`, label: "Projects", icon: "benchmark", keys: "g p" },
        {
          href: `${base()}/members`,
          label: "Members",
          icon: "people",
          keys: "g e",
          contains: `${base()}/invitations/`,
        },
        { href: `${base()}/usage`, label: "Usage", icon: "chart", keys: "g u" },
        { href: `${base()}/audit`, label: "Audit", icon: "report", keys: "g a" },
        { href: `${base()}/settings`, label: "Settings", icon: "settings", keys: "g ," },
      ],
    },
    { sections: [{ href: "/console/organizations", label: "All organizations", icon: "left", end: true }] },
  ];
  return (
    <Organization.Provider value={organization}>
      <Shell groups={groups()}>
        <Show when={organization.error()} fallback={props.children}>
          {(error) => (
            <Page title="Organization">
              <Failure error={error()} retry={organization.refresh} />
            </Page>
          )}
        </Show>
      </Shell>
    </Organization.Provider>
  );
}

/** Layout of the list of organizations. */
export function OrganizationsFrame(props: RouteSectionProps): JSX.Element {
  return <Shell groups={personal()}>{props.children}</Shell>;
}

/** Layout of `/console/users/:user`. */
export function AccountFrame(props: RouteSectionProps): JSX.Element {
  return <Shell groups={personal()}>{props.children}</Shell>;
}

function personal(): SectionGroup[] {
  const base = `/console/users/${user()?.slug ?? ""}`;
  return [
    { sections: [{ href: "/console/organizations", label: "Organizations", icon: "people", keys: "g z" }] },
    {
      label: "Account",
      sections: [
        { href: `${base}/keys`, label: "Keys", icon: "key", keys: "g k" },
        { href: `${base}/notices`, label: "Notifications", icon: "bell", keys: "g i" },
        { href: `${base}/tokens`, label: "Legacy tokens", icon: "key" },
        { href: `${base}/settings`, label: "Settings", icon: "settings", keys: "g ," },
        { href: `${base}/help`, label: "Help", icon: "book" },
      ],
    },
  ];
}

/** Layout of `/console/server`, for administrators. */
export function ServerFrame(props: RouteSectionProps): JSX.Element {
  const groups: SectionGroup[] = [
    {
      label: "This server",
      sections: [
        { href: "/console/server", label: "Statistics", icon: "chart", end: true },
        { href: "/console/server/users", label: "Users", icon: "people", keys: "g u" },
        { href: "/console/server/runners", label: "Runners", icon: "runner", keys: "g r" },
        { href: "/console/server/specs", label: "Specs", icon: "testbed", keys: "g t" },
        { href: "/console/server/config", label: "Configuration", icon: "settings", keys: "g ," },
        { href: "/console/server/backup", label: "Backup", icon: "server" },
        { href: "/console/server/audit", label: "Audit", icon: "report", keys: "g a" },
      ],
    },
  ];
  return <Shell groups={groups}>{props.children}</Shell>;
}
