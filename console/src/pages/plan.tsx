// The plan of an organization, on a server with billing: subscribe and cancel. The user pays at the payment provider,
// which redirects to Checkout.

import { Navigate, useNavigate, useParams, useSearchParams } from "@solidjs/router";
import { createSignal, For, type JSX, onMount, Show } from "solid-js";
import { ApiError, call, type JsonPlan, type PlanLevel } from "../api";
import { day } from "../format";
import { useOrganization } from "../frames";
import { load } from "../load";
import { organizationCrumbs } from "../organization";
import { Badge, type Tone } from "../ui/Badge";
import { Button } from "../ui/Button";
import { Confirm } from "../ui/Dialog";
import { Fact, Facts } from "../ui/Facts";
import { Page } from "../ui/Page";
import { Failure, Notice, Skeleton } from "../ui/State";
import { toast, toastFailure } from "../ui/Toast";
import "./admin.css";

const LEVELS: Readonly<Record<PlanLevel, { title: string; about: string }>> = {
  free: { title: "Free", about: "Public projects." },
  pro: { title: "Pro", about: "Private projects for one user, and job priority." },
  team: { title: "Team", about: "Private projects for a team, and job priority." },
  enterprise: { title: "Enterprise", about: "For a company, with individual terms." },
};

const TONES: Readonly<Record<JsonPlan["status"], Tone>> = {
  active: "good",
  trialing: "good",
  past_due: "warn",
  unpaid: "alert",
  incomplete: "warn",
  incomplete_expired: "alert",
  paused: "warn",
  canceled: "neutral",
};

const WORDS: Readonly<Record<JsonPlan["status"], string>> = {
  active: "active",
  trialing: "on trial",
  past_due: "payment overdue",
  unpaid: "not paid",
  incomplete: "payment incomplete",
  incomplete_expired: "never paid",
  paused: "paused",
  canceled: "ended",
};

export function Billing(): JSX.Element {
  const organization = useOrganization();
  const params = useParams<{ organization: string }>();
  const path = () => ({ organization: params.organization });
  const setup = load(
    () => ({}),
    (_, signal) => call("get", "/v0/server/setup", { signal }),
  );
  const plan = load(path, async (path, signal): Promise<{ is: JsonPlan | null }> => {
    try {
      return { is: await call("get", "/v0/organizations/{organization}/plan", { path, signal }) };
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return { is: null };
      throw error;
    }
  });
  const [ending, setEnding] = createSignal(false);
  const isOver = (one: JsonPlan) => one.status === "canceled" || one.status === "incomplete_expired";
  const choose = async (level: PlanLevel) => {
    try {
      const { url } = await call("post", "/v0/checkout", {
        body: { organization: params.organization, level, entitlements: null, self_hosted: null },
      });
      window.location.assign(url);
    } catch (error) {
      toastFailure(error);
    }
  };
  const change = async (cancel_at_period_end: boolean) => {
    try {
      plan.set({
        is: await call("patch", "/v0/organizations/{organization}/plan", {
          path: path(),
          body: { cancel_at_period_end },
        }),
      });
      toast(cancel_at_period_end ? "The plan ends with the paid period." : "The plan continues.");
    } catch (error) {
      toastFailure(error);
    }
  };
  const end = async () => {
    await call("delete", "/v0/organizations/{organization}/plan", { path: path() });
    toast("The plan has ended.");
    await plan.refresh();
  };
  return (
    <Page title="Billing" crumbs={organizationCrumbs(params.organization, organization()?.name)}>
      <Show when={plan.error() ?? setup.error()}>
        {(error) => <Failure error={error()} retry={() => Promise.all([plan.refresh(), setup.refresh()])} />}
      </Show>
      <Show
        when={setup() && plan()}
        fallback={
          <Show when={!plan.error()}>
            <Skeleton lines={6} />
          </Show>
        }
      >
        <Show when={plan()?.is}>
          {(shown) => (
            <>
              <Facts>
                <Fact label="Plan">
                  <span class="row">
                    {LEVELS[shown().level].title} <Badge tone={TONES[shown().status]}>{WORDS[shown().status]}</Badge>
                  </span>
                </Fact>
                <Fact label="Period">
                  {day(shown().current_period_start)} to {day(shown().current_period_end)}
                  {shown().cancel_at_period_end && !isOver(shown()) ? ", then it ends" : ""}
                </Fact>
                <Fact label="Paid by">
                  {shown().customer.name} <span class="muted break">{shown().customer.email}</span>
                </Fact>
                <Fact label="Payment method">
                  <Show when={shown().card.brand !== "unknown"} fallback="not a card">
                    {shown().card.brand} …{shown().card.last_four}, until {shown().card.exp_month}/
                    {shown().card.exp_year}
                  </Show>
                </Fact>
                <Show when={shown().license}>
                  {(license) => (
                    <Fact label="License" copy={license().key}>
                      for {license().entitlements} metrics
                    </Fact>
                  )}
                </Show>
              </Facts>
              <Show when={TONES[shown().status] !== "good"}>
                <Notice tone="warn">
                  The plan is inactive: private projects accept no reports, and the limits of the free plan apply.{" "}
                  {isOver(shown()) ? "Choose a plan to continue." : "Complete the payment at the provider to continue."}
                </Notice>
              </Show>
              <Show when={!isOver(shown())}>
                <div class="row">
                  <Show when={!shown().license}>
                    <Show
                      when={shown().cancel_at_period_end}
                      fallback={<Button onClick={() => change(true)}>Cancel at period end</Button>}
                    >
                      <Button kind="primary" onClick={() => change(false)}>
                        Resume plan
                      </Button>
                    </Show>
                  </Show>
                  <Button kind="danger" onClick={() => setEnding(true)}>
                    Cancel now
                  </Button>
                </div>
              </Show>
              <Confirm
                open={ending()}
                title="Cancel plan now?"
                action="Cancel plan"
                onConfirm={end}
                onClose={() => setEnding(false)}
              >
                <p>
                  The usage up to now is billed. Private projects stay private and readable, but accept no reports
                  without a plan.
                </p>
              </Confirm>
            </>
          )}
        </Show>
        <Show when={!plan()?.is || isOver(plan()?.is as JsonPlan)}>
          <Show
            when={setup()?.plans.length}
            fallback={<Notice tone="neutral">This server has no billing and no plans.</Notice>}
          >
            <Show when={!plan()?.is}>
              <p class="muted">This organization has no plan. Public projects need no plan.</p>
            </Show>
            <dl class="tiles">
              <For each={setup()?.plans}>
                {(level) => (
                  <div class="stack tight">
                    <dt>{LEVELS[level].title}</dt>
                    <dd>{LEVELS[level].about}</dd>
                    <dd>
                      <Button kind="primary" onClick={() => choose(level)}>
                        Choose {LEVELS[level].title}
                      </Button>
                    </dd>
                  </div>
                )}
              </For>
            </dl>
            <p class="small muted">The payment provider shows the price before you pay.</p>
          </Show>
        </Show>
      </Show>
    </Page>
  );
}

/** Redirects a user who selected a plan before signing in to the plan of their organization. */
export function SelectedPlan(): JSX.Element {
  const organizations = load(
    () => ({}),
    (_, signal) => call("get", "/v0/organizations", { query: { per_page: 2 }, signal }),
  );
  const page = (found: readonly { slug: string }[]) =>
    found.length === 1 && found[0] ? `/${found[0].slug}/billing` : "";
  return (
    <Page title="Your plan" narrow>
      <Show when={organizations.error()}>{(error) => <Failure error={error()} retry={organizations.refresh} />}</Show>
      <Show when={organizations()} fallback={<Skeleton lines={2} />}>
        {(found) => <Navigate href={`/console/organizations${page(found())}`} />}
      </Show>
    </Page>
  );
}

/** The page to which the payment provider redirects: starts the plan. */
export function Checkout(): JSX.Element {
  const organization = useOrganization();
  const params = useParams<{ organization: string }>();
  const [query] = useSearchParams<{ checkout: string; level: PlanLevel; entitlements: string; self_hosted: string }>();
  const navigate = useNavigate();
  const [failure, setFailure] = createSignal<unknown>();
  const begin = async () => {
    setFailure(undefined);
    try {
      const { checkout = "", level = "pro", entitlements, self_hosted } = query;
      const body = {
        checkout,
        level,
        entitlements: entitlements ? Number(entitlements) : null,
        self_hosted: self_hosted ?? null,
        remote: null,
      };
      await call("post", "/v0/organizations/{organization}/plan", {
        path: { organization: params.organization },
        body,
      });
      toast("The plan has started.");
      navigate(`/console/organizations/${params.organization}/billing`, { replace: true });
    } catch (error) {
      setFailure(error);
    }
  };
  onMount(() => void begin());
  return (
    <Page title="Starting the plan" crumbs={organizationCrumbs(params.organization, organization()?.name)}>
      <Show when={failure()} fallback={<Skeleton lines={4} />}>
        {(error) => <Failure error={error()} retry={begin} />}
      </Show>
    </Page>
  );
}
