// One invitation of an organization: its link, to send it to the invited user, and its status.

import { useNavigate, useParams } from "@solidjs/router";
import { createSignal, type JSX, Show } from "solid-js";
import { call } from "../api";
import { useOrganization } from "../frames";
import { load } from "../load";
import { mayIn, organizationCrumbs, roleLabel } from "../organization";
import { Badge } from "../ui/Badge";
import { Button, LinkButton } from "../ui/Button";
import { Code } from "../ui/Code";
import { Confirm } from "../ui/Dialog";
import { Fact, Facts } from "../ui/Facts";
import { LoadingPage, Page } from "../ui/Page";
import { Failure, Notice, Skeleton } from "../ui/State";
import { toast } from "../ui/Toast";
import { Time } from "../ui/Value";
import "./admin.css";

export function View(): JSX.Element {
  const organization = useOrganization();
  const params = useParams<{ organization: string; invitation: string }>();
  const navigate = useNavigate();
  const may = mayIn(() => params.organization);
  const [revoking, setRevoking] = createSignal(false);
  const members = () => `/console/organizations/${encodeURIComponent(params.organization)}/members`;
  const path = () => ({ organization: params.organization, invitation: params.invitation });
  const invitation = load(path, (path, signal) =>
    call("get", "/v0/organizations/{organization}/invitations/{invitation}", { path, signal }),
  );
  const crumbs = () => [
    ...organizationCrumbs(params.organization, organization()?.name),
    { href: members(), label: "Members" },
  ];
  const isPending = () => invitation()?.status === "pending";
  const revoke = async () => {
    await call("delete", "/v0/organizations/{organization}/invitations/{invitation}", { path: path() });
    toast("Invitation revoked.");
    navigate(members());
  };
  return (
    <Show
      when={invitation()}
      fallback={<LoadingPage title="Invitation" crumbs={crumbs()} lines={8} item={invitation} />}
    >
      {(shown) => (
        <Page
          title={`Invitation for ${shown().email}`}
          aside={<Badge tone={isPending() ? "brand" : "neutral"}>{shown().status}</Badge>}
          crumbs={crumbs()}
          actions={
            <Show when={may("create_role")}>
              <Show
                when={isPending()}
                fallback={
                  <LinkButton href={`${members()}/invite`} icon="plus" primary>
                    Invite again
                  </LinkButton>
                }
              >
                <Button kind="danger" onClick={() => setRevoking(true)}>
                  Revoke
                </Button>
              </Show>
            </Show>
          }
        >
          <Show when={isPending() && may("create_role")}>
            <Link path={path()} email={shown().email} />
          </Show>
          <Facts>
            <Fact label="E-mail" copy={shown().email}>
              {shown().email}
            </Fact>
            <Fact label="Role">{roleLabel(shown().role)}</Fact>
            <Fact label="Invited by">{shown().inviter?.name ?? <span class="muted">a deleted user</span>}</Fact>
            <Fact label="Created">
              <Time at={shown().created} />
            </Fact>
            <Fact label={shown().status === "expired" ? "Expired" : "Expires"}>
              <Time at={shown().expires} />
            </Fact>
          </Facts>
          <Confirm
            open={revoking()}
            title="Revoke invitation?"
            action="Revoke"
            onConfirm={revoke}
            onClose={() => setRevoking(false)}
          >
            <p>
              The link of <strong class="break">{shown().email}</strong> stops working.
            </p>
          </Confirm>
        </Page>
      )}
    </Show>
  );
}

/** The link, and whether the server mailed it. */
function Link(props: { path: { organization: string; invitation: string }; email: string }): JSX.Element {
  const link = load(
    () => props.path,
    (path, signal) => call("get", "/v0/organizations/{organization}/invitations/{invitation}/link", { path, signal }),
  );
  const setup = load(
    () => ({}),
    (_, signal) => call("get", "/v0/server/setup", { signal }),
  );
  return (
    <section class="card stack tight" aria-labelledby="link">
      <h2 id="link">Invitation link</h2>
      <Show
        when={link() && setup() ? { url: link()?.url ?? "", sendsMail: setup()?.mail ?? false } : undefined}
        fallback={
          <Show when={link.error() ?? setup.error()} fallback={<Skeleton lines={4} />}>
            {(error) => <Failure error={error()} retry={() => Promise.all([link.refresh(), setup.refresh()])} />}
          </Show>
        }
      >
        {(shown) => (
          <>
            <Show
              when={shown().sendsMail}
              fallback={
                <Notice tone="warn">
                  <p>
                    <strong>No mail server is configured.</strong> Send this link to{" "}
                    <strong class="break">{props.email}</strong>.
                  </p>
                  <p>
                    The server does not mail sign-in links either: it writes them to files. Unless the user signs in
                    with an identity provider, the operator must forward the sign-in link, too.
                  </p>
                </Notice>
              }
            >
              <p>
                The server mails this link to <strong class="break">{props.email}</strong>. You can also send it
                yourself.
              </p>
            </Show>
            <Code text={shown().url} label="Invitation link" />
            <p class="small muted">
              The link works once, and only for a user who signs in as <span class="break">{props.email}</span>.
            </p>
          </>
        )}
      </Show>
    </section>
  );
}
