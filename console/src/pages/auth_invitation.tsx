// The invitation of a link: what it offers, how to accept it, and what to do if it can no longer be accepted.

import { useNavigate, useSearchParams } from "@solidjs/router";
import { createSignal, type JSX, Match, Show, Switch } from "solid-js";
import { ApiError, call, type JsonInvitationOffer } from "../api";
import { type Loaded, load } from "../load";
import { endSession, user } from "../session";
import { Button, LinkButton } from "../ui/Button";
import { Page } from "../ui/Page";
import { Failure, Notice, Skeleton } from "../ui/State";
import { toast } from "../ui/Toast";
import { Time } from "../ui/Value";

/** The invitation of a token. */
export interface Offer {
  loaded: Loaded<JsonInvitationOffer>;
  /** The invitation, if it can be accepted. */
  pending: () => JsonInvitationOffer | undefined;
  /** Whether the invitation can no longer be accepted, or the token is invalid. */
  ended: () => boolean;
}

/** Loads the invitation of a token. */
export function useOffer(invite: () => string | undefined): Offer {
  const loaded = load(invite, (invite, signal) => call("post", "/v0/auth/invitation", { body: { invite }, signal }));
  const isRejected = () => {
    const error = loaded.error();
    return error instanceof ApiError && (error.status === 400 || error.status === 401);
  };
  const offer = () => (loaded.error() ? undefined : loaded());
  return {
    loaded,
    pending: () => (offer()?.status === "pending" ? offer() : undefined),
    ended: () => isRejected() || (offer() !== undefined && offer()?.status !== "pending"),
  };
}

/** A section of the sign-up and sign-in pages: the invitation, then the form with the invited address. */
export function Invited(props: {
  invite: string | undefined;
  offer: Offer;
  children: (email: string | undefined) => JSX.Element;
}): JSX.Element {
  return (
    <Switch fallback={<Skeleton lines={6} />}>
      <Match when={!props.invite}>{props.children(undefined)}</Match>
      <Match when={props.offer.ended()}>
        <Ended offer={props.offer.loaded()} />
      </Match>
      <Match when={props.offer.pending()}>
        {(offer) => (
          <>
            <Notice>
              <p>
                <Summary offer={offer()} />
              </p>
            </Notice>
            {props.children(offer().email)}
          </>
        )}
      </Match>
      <Match when={props.offer.loaded.error()}>
        {(error) => <Failure error={error()} retry={props.offer.loaded.refresh} />}
      </Match>
    </Switch>
  );
}

/** `/auth/invitation`: the page of a link that a leader copied. */
export function Invitation(): JSX.Element {
  const [params] = useSearchParams();
  const invite = () => (typeof params.invite === "string" ? params.invite : undefined);
  const offer = useOffer(invite);
  const query = (offer: JsonInvitationOffer) =>
    `?${new URLSearchParams({ invite: invite() ?? "", email: offer.email })}`;
  return (
    <Page title="Invitation" narrow>
      <Switch fallback={<Skeleton lines={5} />}>
        <Match when={!invite() || offer.ended()}>
          <Ended offer={offer.loaded()} />
        </Match>
        <Match when={user() !== undefined && offer.pending()}>
          {(pending) => (
            <>
              <p>
                <Summary offer={pending()} />
              </p>
              <p class="muted">
                The invitation is for <strong class="break">{pending().email}</strong> and expires{" "}
                <Time at={pending().expires} />.
              </p>
              <Show
                when={user()}
                fallback={
                  <div class="row">
                    <LinkButton href={`/auth/signup${query(pending())}`} primary>
                      Sign up
                    </LinkButton>
                    <LinkButton href={`/auth/login${query(pending())}`}>Sign in</LinkButton>
                  </div>
                }
              >
                {(user) => <Accept invite={invite() ?? ""} offer={pending()} email={user().email} />}
              </Show>
            </>
          )}
        </Match>
        <Match when={offer.loaded.error()}>{(error) => <Failure error={error()} retry={offer.loaded.refresh} />}</Match>
      </Switch>
    </Page>
  );
}

function Summary(props: { offer: JsonInvitationOffer }): JSX.Element {
  return (
    <>
      <Show when={props.offer.inviter} fallback="You are invited">
        {(inviter) => (
          <>
            <strong class="break">{inviter()}</strong> invites you
          </>
        )}
      </Show>{" "}
      to the organization <strong class="break">{props.offer.organization}</strong> as a {props.offer.role}.
    </>
  );
}

/** The invitation for a signed-in user. */
function Accept(props: { invite: string; offer: JsonInvitationOffer; email: string }): JSX.Element {
  const navigate = useNavigate();
  const [failure, setFailure] = createSignal<unknown>();
  const accept = async () => {
    try {
      await call("post", "/v0/auth/accept", { body: { invite: props.invite } });
      toast(`You joined ${props.offer.organization}.`);
      navigate("/console/organizations");
    } catch (error) {
      setFailure(error);
    }
  };
  const signOut = () => endSession().catch(setFailure);
  return (
    <Show
      when={props.email === props.offer.email}
      fallback={
        <>
          <Notice tone="warn">
            You are signed in as <strong class="break">{props.email}</strong>. To accept the invitation, sign out, then
            sign in as <strong class="break">{props.offer.email}</strong>.
          </Notice>
          <Show when={failure()}>{(error) => <Failure error={error()} />}</Show>
          <div class="row">
            <Button kind="primary" onClick={signOut}>
              Sign out
            </Button>
            <LinkButton href="/console">Not now</LinkButton>
          </div>
        </>
      }
    >
      <Show when={failure()}>{(error) => <Failure error={error()} />}</Show>
      <div class="row">
        <Button kind="primary" onClick={accept}>
          Join
        </Button>
        <LinkButton href="/console">Not now</LinkButton>
      </div>
    </Show>
  );
}

/** What happened to an invitation that cannot be accepted, and the next step. */
function Ended(props: { offer: JsonInvitationOffer | undefined }): JSX.Element {
  const organization = () => props.offer?.organization ?? "the organization";
  const from = () => props.offer?.inviter ?? `a leader of ${organization()}`;
  return (
    <Switch
      fallback={
        <>
          <Notice tone="warn">This invitation link is not valid.</Notice>
          <p>Check that you opened the complete link, or ask a leader of the organization for a new invitation.</p>
        </>
      }
    >
      <Match when={props.offer?.status === "accepted"}>
        <Notice tone="warn">
          The invitation to <strong class="break">{organization()}</strong> was already used.
        </Notice>
        <p>
          If you accepted it, sign in as <strong class="break">{props.offer?.email}</strong>. Otherwise, ask {from()}{" "}
          for a new invitation.
        </p>
        <SignIn email={props.offer?.email} />
      </Match>
      <Match when={props.offer?.status === "expired" && props.offer}>
        {(offer) => (
          <>
            <Notice tone="warn">
              The invitation to <strong class="break">{organization()}</strong> expired <Time at={offer().expires} />.
            </Notice>
            <p>Ask {from()} for a new invitation.</p>
          </>
        )}
      </Match>
      <Match when={props.offer?.status === "revoked"}>
        <Notice tone="warn">
          The invitation to <strong class="break">{organization()}</strong> was revoked.
        </Notice>
        <p>Ask {from()} for a new invitation.</p>
      </Match>
    </Switch>
  );
}

function SignIn(props: { email: string | undefined }): JSX.Element {
  return (
    <div class="row">
      <LinkButton
        href={user() ? "/console" : `/auth/login?${new URLSearchParams({ email: props.email ?? "" })}`}
        primary
      >
        {user() ? "Open the console" : "Sign in"}
      </LinkButton>
    </div>
  );
}
