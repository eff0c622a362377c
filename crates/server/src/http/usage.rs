//! `/v0/organizations/{organization}/usage`

use axum::{Json, extract::State};
use tidemark_api::{Usage, UsageKind};
use tidemark_store::{Error, job, repository, usage};

use super::{
    access::{Manage, Organization},
    error::Result,
    organization::OrganizationPath,
};
use crate::{App, license};

/// How far back usage is counted: thirty days.
const SECONDS: i64 = 30 * 24 * 60 * 60;

/// Tell how much an organization has used within the last thirty days, or within the time of its license.
#[utoipa::path(get, path = "/v0/organizations/{organization}/usage", operation_id = "org_usage_get",
    tag = "organizations", params(OrganizationPath), responses((status = 200, body = Usage)),
    extensions(("x-right" = json!("organization:manage"))))]
pub(super) async fn view(State(app): State<App>, organization: Organization<Manage>) -> Result<Json<Usage>> {
    let now = app.clock.now();
    let home = &organization.organization;
    // One that the key of the server does not fit any more is none.
    let license = home.license.as_ref().and_then(|key| license::read(&app.config, key, home.uuid).ok()?);
    let (kind, start_time, end_time) = match &license {
        Some(license) if license.expiration > now => {
            (UsageKind::SelfHostedLicensed, license.issued_at, license.expiration)
        }
        _ => (UsageKind::SelfHostedFree, now.plus_seconds(-SECONDS), now),
    };
    let id = organization.id;
    let (metrics, stored, minutes) = app
        .db
        .read(move |tx| {
            let metrics = usage::measured(tx, id, start_time, end_time)?;
            let minutes = job::minutes(tx, id, start_time, end_time)?;
            Ok::<_, Error>((metrics, repository::stored(tx, id)?, minutes))
        })
        .await?;
    Ok(Json(Usage {
        organization: organization.organization.uuid,
        kind,
        plan: None,
        license,
        start_time,
        end_time,
        metrics: Some(u32::try_from(metrics).unwrap_or(u32::MAX)),
        active_series: None,
        stored_bytes: Some(stored),
        runner_minutes: Some(u32::try_from(minutes).unwrap_or(u32::MAX)),
    }))
}
