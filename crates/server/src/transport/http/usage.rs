//! `/v0/organizations/{organization}/usage`

use axum::{Json, extract::State};
use tidemark_api::{PlanLevel, Usage, UsageKind};
use tidemark_store::{Error, Tx, job, plan, repository, usage};

use super::{
    access::{Manage, Organization},
    error::Result,
    organization::OrganizationPath,
};
use crate::domain::{app::App, license};

/// Default period of the usage: 30 days, in seconds.
const SECONDS: i64 = 30 * 24 * 60 * 60;

/// View the usage of an organization.
///
/// The period is the last 30 days, the period of the plan, or the validity of the license.
#[utoipa::path(get, path = "/v0/organizations/{organization}/usage", operation_id = "org_usage_get",
    tag = "organizations", params(OrganizationPath), responses((status = 200, body = Usage)),
    extensions(("x-right" = json!("organization:manage"))))]
pub(super) async fn view(State(app): State<App>, organization: Organization<Manage>) -> Result<Json<Usage>> {
    let now = app.clock.now();
    let (id, home) = (organization.id, organization.organization);
    let bills = app.billing.is_some();
    let plan = if bills { app.db.read(move |tx| plan::view(tx, id)).await? } else { None };
    // A license that does not match the public key of the server does not count.
    let signed = home.license.as_ref().and_then(|key| license::read(&app.config, key, home.uuid).ok()?);
    let license = plan.as_ref().and_then(|plan| plan.license.clone()).or(signed);
    let lately = (now.plus_seconds(-SECONDS), now);
    let running = plan.as_ref().filter(|plan| !plan.status.has_ended());
    let (kind, (start_time, end_time)) = match (running, &license) {
        (Some(plan), _) => {
            let kind = if plan.license.is_some() {
                UsageKind::CloudSelfHostedLicensed
            } else {
                UsageKind::CloudMetered
            };
            (kind, (plan.current_period_start, plan.current_period_end))
        }
        (None, _) if bills => (UsageKind::CloudFree, lately),
        (None, Some(license)) if license.expiration > now => {
            (UsageKind::SelfHostedLicensed, (license.issued_at, license.expiration))
        }
        (None, _) => (UsageKind::SelfHostedFree, lately),
    };
    let counts_series = running.is_some_and(|plan| plan.level == PlanLevel::Pro);
    let counted = move |tx: &mut Tx<'_>| {
        let active = counts_series.then(|| usage::active_series(tx, id, start_time, end_time)).transpose()?;
        Ok::<_, Error>(UsageCounts {
            metrics: usage::measured(tx, id, start_time, end_time)?,
            active_series: active,
            stored_bytes: repository::stored(tx, id)?,
            runner_minutes: job::runner_minutes(tx, id, start_time, end_time)?,
        })
    };
    let counted = app.db.read(counted).await?;
    let small = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
    // The metrics of a licensed server are not on this server.
    let here = kind != UsageKind::CloudSelfHostedLicensed;
    Ok(Json(Usage {
        organization: home.uuid,
        kind,
        plan,
        license,
        start_time,
        end_time,
        metrics: (here && !counts_series).then_some(small(counted.metrics)),
        active_series: counted.active_series.filter(|_| here).map(small),
        stored_bytes: Some(counted.stored_bytes),
        runner_minutes: here.then_some(small(counted.runner_minutes)),
    }))
}

/// Usage of an organization.
struct UsageCounts {
    metrics: u64,
    active_series: Option<u64>,
    stored_bytes: u64,
    runner_minutes: u64,
}
