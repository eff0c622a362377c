//! `/v0/organizations/{organization}/plan`, and the webhook of the payment provider.

use axum::{Json, body::Bytes, extract::State, http::HeaderMap};
use serde::Deserialize;
use tidemark_api::{NewPlan, Plan, PlanPatch, PlanRemoval};
use tidemark_store::{Tx, outbox, plan};

use super::{
    access::{Manage, Organization},
    answer::{Created, Deleted},
    body::{Body, Query},
    error::{Error, Result},
    organization::OrganizationPath,
};
use crate::domain::{
    app::App,
    auth::caller::AuthMethod,
    billing::{self, Billing},
};

/// Returns the billing of this server. Without billing, these paths return 404.
pub(super) fn require_billing(app: &App) -> Result<&Billing> {
    app.billing.as_ref().ok_or_else(billing::not_configured)
}

/// View the plan of an organization.
#[utoipa::path(get, path = "/v0/organizations/{organization}/plan", operation_id = "org_plan_get", tag = "plans",
    params(OrganizationPath), responses((status = 200, body = Plan)),
    extensions(("x-right" = json!("organization:manage:billed"))))]
pub(super) async fn view(State(app): State<App>, organization: Organization<Manage>) -> Result<Json<Plan>> {
    require_billing(&app)?;
    let found = app.db.read(move |tx| plan::view(tx, organization.id)).await?;
    found.map(Json).ok_or_else(billing::no_plan)
}

/// Activate a plan after its checkout was paid.
#[utoipa::path(post, path = "/v0/organizations/{organization}/plan", operation_id = "org_plan_post", tag = "plans",
    params(OrganizationPath), request_body = NewPlan, responses((status = 201, body = Plan)),
    extensions(("x-right" = json!("organization:manage:billed"))))]
pub(super) async fn create(
    State(app): State<App>,
    organization: Organization<Manage>,
    Body(new): Body<NewPlan>,
) -> Result<Created<Plan>> {
    let plan = require_billing(&app)?.start_plan(organization.id, &organization.organization, &new).await?;
    audit(&app, organization, "plan.create", ("level", plan.level.as_str())).await?;
    Ok(Created(plan))
}

/// Cancel a plan at the end of the paid period, or undo the cancellation.
#[utoipa::path(patch, path = "/v0/organizations/{organization}/plan", operation_id = "org_plan_patch", tag = "plans",
    params(OrganizationPath), request_body = PlanPatch, responses((status = 200, body = Plan)),
    extensions(("x-right" = json!("organization:manage:billed"))))]
pub(super) async fn update(
    State(app): State<App>,
    organization: Organization<Manage>,
    Body(patch): Body<PlanPatch>,
) -> Result<Json<Plan>> {
    let billing = require_billing(&app)?;
    if organization.by.via != AuthMethod::Session {
        return Err(Error::Forbidden("An API key cannot change a plan; sign in and use a session.".into()));
    }
    let plan = billing.cancel_at_period_end(organization.id, patch.cancel_at_period_end).await?;
    let value = if patch.cancel_at_period_end { "true" } else { "false" };
    audit(&app, organization, "plan.update", ("cancel_at_period_end", value)).await?;
    Ok(Json(plan))
}

/// Cancel a plan immediately. The usage so far is billed.
#[utoipa::path(delete, path = "/v0/organizations/{organization}/plan", operation_id = "org_plan_delete", tag = "plans",
    params(OrganizationPath, PlanRemoval), responses((status = 204)),
    extensions(("x-right" = json!("organization:manage:billed"))))]
pub(super) async fn delete(
    State(app): State<App>,
    organization: Organization<Manage>,
    Query(removal): Query<PlanRemoval>,
) -> Result<Deleted> {
    let remote = removal.remote.unwrap_or(true);
    require_billing(&app)?.end_plan(organization.id, remote).await?;
    audit(&app, organization, "plan.delete", ("remote", if remote { "true" } else { "false" })).await?;
    Ok(Deleted)
}

async fn audit(
    app: &App,
    organization: Organization<Manage>,
    action: &'static str,
    detail: (&'static str, &str),
) -> Result<()> {
    let (fresh, value) = (app.fresh(), detail.1.to_owned());
    let write = move |tx: &mut Tx<'_>| {
        let slug = organization.organization.slug.as_str();
        let detail = [(detail.0, value.as_str())];
        organization.origin.audit(tx, &fresh, action, slug, Some(organization.id), &detail)
    };
    app.db.write(write).await
}

/// The used fields of an event of the payment provider.
#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    data: EventData,
}

#[derive(Deserialize)]
struct EventData {
    object: EventObject,
}

#[derive(Deserialize)]
struct EventObject {
    id: Option<String>,
    subscription: Option<String>,
}

/// Receive an event of the payment provider about a subscription.
///
/// The server uses only the identifier of the subscription in the event and reads its state from the payment provider.
#[utoipa::path(post, path = "/v0/billing/events", operation_id = "billing_events_post", tag = "plans",
    request_body(content = String, description = "An event of the payment provider, signed in the header \
    Stripe-Signature.", content_type = "application/json"), responses((status = 202)),
    extensions(("x-right" = json!("provider"))))]
pub(super) async fn receive_event(
    State(app): State<App>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<axum::http::StatusCode> {
    let now = app.clock.now();
    let signature = headers.get("stripe-signature").and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !billing::is_valid_signature(require_billing(&app)?.webhook_secret(), signature, &body, now) {
        return Err(Error::Unauthorized(
            "The signature of the event is invalid or too old; check plus.billing.webhook_secret.".into(),
        ));
    }
    let event: Event = serde_json::from_slice(&body)
        .map_err(|error| Error::Invalid(format!("The event is invalid: {error}.")))?;
    let object = event.data.object;
    let subscription =
        if event.kind.starts_with("customer.subscription.") { object.id } else { object.subscription };
    if let Some(subscription) = subscription {
        app.db.write(move |tx| outbox::add(tx, plan::SYNC, &subscription, None, now)).await?;
        app.background.wake();
    }
    Ok(axum::http::StatusCode::ACCEPTED)
}
