// Sign up, sign in and sign out. There are no passwords: a mailed link authenticates the user once.

import { A, Navigate, useNavigate, useSearchParams } from "@solidjs/router";
import { createSignal, For, type JSX, onCleanup, onMount, Show } from "solid-js";
import { begin, call, type JsonProvider, type JsonSetup, type PlanLevel, sentence } from "../api";
import { load } from "../load";
import { backPath, endSession, loadSession, openSession, user } from "../session";
import { Button, LinkButton } from "../ui/Button";
import { CheckField, Form, TextField } from "../ui/Form";
import { Page } from "../ui/Page";
import { Failure, Notice, Skeleton } from "../ui/State";
import { toast } from "../ui/Toast";
import { Invited, useOffer } from "./auth_invitation";

/** The query of links in mails and on other pages; `goal` is the return path, `address` the e-mail address. */
function useInvitation(): {
  invite: () => string | undefined;
  claim: () => string | undefined;
  plan: () => PlanLevel | undefined;
  goal: () => string;
  query: () => string;
  address: () => string;
} {
  const [params] = useSearchParams();
  const text = (name: string) => (typeof params[name] === "string" ? params[name] : undefined);
  const query = () => {
    const kept = new URLSearchParams();
    for (const name of ["invite", "claim", "plan", "back", "email"]) {
      const value = text(name);
      if (value) kept.set(name, value);
    }
    return kept.size ? `?${kept}` : "";
  };
  const plan = () => PLANS.find((level) => level === text("plan"));
  const goal = () => backPath(text("back") ?? (plan() && plan() !== "free" ? "/console/plan" : undefined));
  return {
    invite: () => text("invite"),
    claim: () => text("claim"),
    plan,
    goal,
    query,
    address: () => text("email") ?? "",
  };
}

/** The plans that a visitor can select before signing up. */
const PLANS: readonly PlanLevel[] = ["free", "pro", "team", "enterprise"];

/** The page after the link was sent. */
function sentPath(email: string, back: string): string {
  const query = new URLSearchParams({ email });
  if (back !== "/console") query.set("back", back);
  return `/auth/confirm?${query}`;
}

export function SignUp(): JSX.Element {
  const { invite, claim, plan, goal, query, address } = useInvitation();
  const offer = useOffer(invite);
  const navigate = useNavigate();
  const setup = load(
    () => ({}),
    (_, signal) => call("get", "/v0/server/setup", { signal }),
  );
  const isNew = () => setup()?.accounts === "none";
  return (
    <Page title={offer.ended() ? "Invitation" : isNew() ? "Welcome to Tidemark" : "Sign up"} narrow>
      <Show when={setup() || setup.error()} fallback={<Skeleton lines={6} />}>
        <Show when={isNew()}>
          <p>This server has no accounts. The first account becomes the administrator.</p>
        </Show>
        <Show when={setup()?.sign_up === "invitation" && !isNew() && !invite()}>
          <Notice tone="warn">
            This server requires an invitation to sign up. Ask a leader of an organization to invite you.
          </Notice>
        </Show>
        <Invited invite={invite()} offer={offer}>
          {(email) => (
            <>
              <Form
                action={isNew() ? "Create administrator account" : "Sign up"}
                onSubmit={async ({ name = "", email = "" }) => {
                  const recaptcha_token = await captchaResponse(setup(), "signup");
                  await call("post", "/v0/auth/signup", {
                    body: {
                      name,
                      email,
                      i_agree: true,
                      invite: invite() ?? null,
                      claim: claim() ?? null,
                      plan: plan() ?? null,
                      recaptcha_token,
                    },
                  });
                  navigate(sentPath(email, goal()));
                }}
              >
                <TextField name="name" label="Your name" required maxLength={64} autocomplete="name" autofocus />
                <TextField
                  name="email"
                  label="Your e-mail address"
                  type="email"
                  required
                  autocomplete="email"
                  value={email ?? address()}
                  hint="You will receive a confirmation link. There are no passwords."
                />
                <CheckField name="i_agree" required label="I agree to the terms of the operator of this server." />
              </Form>
              <Providers of={setup()?.providers} agreed />
              <Show when={!isNew()}>
                <p class="muted">
                  Already have an account? <A href={`/auth/login${query()}`}>Sign in</A>
                </p>
              </Show>
            </>
          )}
        </Invited>
      </Show>
    </Page>
  );
}

export function LogIn(): JSX.Element {
  const { invite, plan, goal, query, address } = useInvitation();
  const offer = useOffer(invite);
  const navigate = useNavigate();
  const setup = load(
    () => ({}),
    (_, signal) => call("get", "/v0/server/setup", { signal }),
  );
  return (
    <Show when={!user() || invite()} fallback={<Navigate href={goal()} />}>
      <Show when={!(user() && invite())} fallback={<Navigate href={`/auth/invitation${query()}`} />}>
        <Page title={offer.ended() ? "Invitation" : "Sign in"} narrow>
          <Invited invite={invite()} offer={offer}>
            {(email) => (
              <>
                <Form
                  action="Send sign-in link"
                  onSubmit={async ({ email = "" }) => {
                    const recaptcha_token = await captchaResponse(setup(), "login");
                    await call("post", "/v0/auth/login", {
                      body: { email, invite: invite() ?? null, plan: plan() ?? null, recaptcha_token },
                    });
                    navigate(sentPath(email, goal()));
                  }}
                >
                  <TextField
                    name="email"
                    label="Your e-mail address"
                    type="email"
                    required
                    autocomplete="email"
                    autofocus
                    value={email ?? address()}
                    hint="You will receive a sign-in link. There are no passwords."
                  />
                </Form>
                <Providers of={setup()?.providers} />
                <p class="muted">
                  No account yet? <A href={`/auth/signup${query()}`}>Sign up</A>
                </p>
              </>
            )}
          </Invited>
        </Page>
      </Show>
    </Show>
  );
}

/** The interface of a CAPTCHA script. */
interface Prover {
  ready: (then: () => void) => void;
  execute: (site: string, options: { action: string }) => Promise<string>;
}

/** The CAPTCHA response, if the server requires one. Loads the script only then. */
async function captchaResponse(setup: JsonSetup | undefined, action: "signup" | "login"): Promise<string | null> {
  const site = setup?.captcha;
  if (!site) return null;
  const found = () => (window as { grecaptcha?: Prover }).grecaptcha;
  if (!found()) {
    await new Promise((loaded, failed) => {
      const script = document.createElement("script");
      script.src = `${site.script}?render=${encodeURIComponent(site.site_key)}`;
      script.onload = loaded;
      script.onerror = () =>
        failed(new Error("The CAPTCHA could not be loaded. Check whether a browser extension blocks it."));
      document.head.append(script);
    });
  }
  const prover = found();
  if (!prover) return null;
  await new Promise<void>((ready) => prover.ready(ready));
  return prover.execute(site.site_key, { action });
}

/** The return path from an identity provider. */
const BACK = "tidemark.back";

/** The identity providers of this server. */
function Providers(props: { of: readonly JsonProvider[] | undefined; agreed?: boolean }): JSX.Element {
  const { invite, claim, goal } = useInvitation();
  const [failure, setFailure] = createSignal<unknown>();
  const leave = async (provider: JsonProvider) => {
    setFailure(undefined);
    try {
      sessionStorage.setItem(BACK, goal());
      location.assign(await begin(provider.path, { invite: invite(), claim: claim() }));
    } catch (error) {
      setFailure(error);
    }
  };
  return (
    <Show when={props.of?.length}>
      <section class="stack tight" aria-label="Other sign-in methods">
        <For each={props.of}>
          {(provider) => <Button onClick={() => leave(provider)}>Continue with {provider.name}</Button>}
        </For>
        <Show when={props.agreed}>
          <p class="small muted">By continuing, you agree to the terms of the operator of this server.</p>
        </Show>
        <Show when={failure()}>{(error) => <Failure error={error()} />}</Show>
      </section>
    </Show>
  );
}

/** The page to which identity providers redirect. */
export function OAuthCallback(): JSX.Element {
  const [params] = useSearchParams();
  const navigate = useNavigate();
  const [failure, setFailure] = createSignal<unknown>();
  onMount(async () => {
    const { code, state, error } = params;
    // Remove the single-use codes from the browser history.
    window.history.replaceState(null, "", location.pathname);
    const back = backPath(sessionStorage.getItem(BACK) ?? undefined);
    sessionStorage.removeItem(BACK);
    if (typeof code !== "string" || typeof state !== "string") {
      setFailure(
        new Error(
          error === "access_denied"
            ? "You canceled the sign-in at the identity provider."
            : "The response of the identity provider is incomplete. Start again.",
        ),
      );
      return;
    }
    try {
      await openSession({ code, state });
      navigate(back, { replace: true });
    } catch (error) {
      setFailure(error);
    }
  });
  return (
    <Page title={failure() ? "Sign-in failed" : "Signing in"} narrow>
      <Show when={failure()} fallback={<Skeleton lines={2} />}>
        {(error) => (
          <>
            <Failure error={error()} />
            <div class="row">
              <LinkButton href="/auth/login" primary>
                Sign in
              </LinkButton>
            </div>
          </>
        )}
      </Show>
    </Page>
  );
}

export function Confirm(): JSX.Element {
  const { goal } = useInvitation();
  const [params, setParams] = useSearchParams();
  const navigate = useNavigate();
  const [failure, setFailure] = createSignal<unknown>();
  const [opening, setOpening] = createSignal(false);
  const given = typeof params.token === "string" ? params.token : undefined;
  const email = () => (typeof params.email === "string" ? params.email : undefined);
  const title = () =>
    email()
      ? "Check your e-mail"
      : failure()
        ? "Sign-in failed"
        : given
          ? "Signing in"
          : "Confirm your e\u2011mail address";
  const open = async (token: string) => {
    setOpening(true);
    setFailure(undefined);
    try {
      await openSession({ token: checkToken(token) });
      navigate(goal(), { replace: true });
    } catch (error) {
      setFailure(error);
    }
    setOpening(false);
  };
  // The user may open the mailed link in another tab; this tab then continues, with its return path and stored input.
  const resume = async () => {
    if (document.hidden || !email()) return;
    await loadSession();
    if (user()) navigate(goal(), { replace: true });
  };
  onMount(() => document.addEventListener("visibilitychange", resume));
  onCleanup(() => document.removeEventListener("visibilitychange", resume));
  onMount(() => {
    if (given) {
      // Remove the single-use token from the browser history.
      setParams({ token: undefined }, { replace: true });
      void open(given);
    }
  });
  return (
    <Page title={title()} narrow>
      <Show when={!(given && opening())} fallback={<Skeleton lines={2} />}>
        <Show when={failure()}>
          {(error) => (
            <>
              <Failure error={error()} />
              <Show when={!email()}>
                <div class="row">
                  <LinkButton href="/auth/login" primary>
                    Send another link
                  </LinkButton>
                </div>
              </Show>
            </>
          )}
        </Show>
        <Show when={email()}>{(email) => <LinkSent email={email()} />}</Show>
        <Form action="Confirm" onSubmit={({ token = "" }) => openToken(token)}>
          <TextField
            name="token"
            label={email() ? "Or paste the token from the mail" : "Paste the link or the token from the mail"}
            required
            placeholder="eyJ…"
            secret
          />
        </Form>
      </Show>
    </Page>
  );

  async function openToken(token: string): Promise<void> {
    // Extract the token if the user pasted the whole link.
    const found = /[?&]token=([\w.-]+)/.exec(token)?.[1] ?? token;
    await openSession({ token: checkToken(found) });
    navigate(goal(), { replace: true });
  }
}

/** Returns the token, or fails if it is not complete: some mail programs break long links. */
function checkToken(token: string): string {
  if (/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return token;
  throw new Error("The token is not complete. Copy the whole link from the mail, or request another link.");
}

/** Maximum number of further links, and the delay between them. */
const RESENDS = 3;
const PAUSE_SECONDS = 60;

function LinkSent(props: { email: string }): JSX.Element {
  const setup = load(
    () => ({}),
    (_, signal) => call("get", "/v0/server/setup", { signal }),
  );
  const [left, setLeft] = createSignal(PAUSE_SECONDS);
  const [resends, setResends] = createSignal(0);
  const [failure, setFailure] = createSignal<string>();
  const timer = setInterval(() => setLeft((left) => Math.max(left - 1, 0)), 1000);
  onCleanup(() => clearInterval(timer));
  const resend = async () => {
    setFailure(undefined);
    try {
      const recaptcha_token = await captchaResponse(setup(), "login");
      await call("post", "/v0/auth/login", { body: { email: props.email, recaptcha_token } });
      setResends((count) => count + 1);
      setLeft(PAUSE_SECONDS);
      toast("Another link was sent.");
    } catch (error) {
      setFailure(sentence(error));
    }
  };
  return (
    <>
      <p>
        A link was sent to <strong class="break">{props.email}</strong>. It works once and expires after 30 minutes.
      </p>
      <Show when={setup()}>{(setup) => <Outbox setup={setup()} />}</Show>
      <Show when={resends() < RESENDS}>
        <div class="row">
          <Button onClick={resend} disabled={left() > 0}>
            Send another
          </Button>
          <Show when={left() > 0}>
            <span class="muted small number">in {left()} s</span>
          </Show>
        </div>
      </Show>
      <Show when={failure()}>
        {(text) => (
          <p class="field-error" role="alert">
            {text()}
          </p>
        )}
      </Show>
    </>
  );
}

/** Without a mail server, the server writes mail to files that the operator can read. */
function Outbox(props: { setup: JsonSetup }): JSX.Element {
  return (
    <Show when={!props.setup.mail}>
      <Notice tone="warn">
        <p>
          <strong>This server does not send mail.</strong> It writes each message to a file in
        </p>
        <p class="mono break">{props.setup.outbox ?? "the folder “outbox” of the data folder"}</p>
        <p>
          A server in a terminal also prints the link. If you do not operate this server, ask its operator for the link.
        </p>
      </Notice>
    </Show>
  );
}

export function LogOut(): JSX.Element {
  const navigate = useNavigate();
  const [failure, setFailure] = createSignal<unknown>();
  const leave = () => endSession().then(() => navigate("/auth/login", { replace: true }), setFailure);
  onMount(() => void leave());
  return (
    <Page title="Signing out" narrow>
      <Show when={failure()} fallback={<Skeleton lines={2} />}>
        {(error) => <Failure error={error()} retry={leave} />}
      </Show>
    </Page>
  );
}
