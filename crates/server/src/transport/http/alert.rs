//! `/v0/projects/{project}/alerts`

use axum::{Json, extract::State};
use serde::Deserialize;
use tidemark_api::{
    Alert, AlertFilter, AlertPatch, AlertStatus, AlertUuid, AlertsPatch, AlertsPatched, Page, ResourceId,
};
use tidemark_store::{Lock, Tx, alert, event, report};
use utoipa::IntoParams;

use super::{
    access::{Edit, Project, View},
    answer::Paged,
    body::{Body, Path, Query},
    error::{Error, Result},
    project::ProjectPath,
    series_filter::SeriesNames,
};
use crate::domain::app::App;

/// Path parameters: project and alert.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct AlertPath {
    /// The slug or UUID of a project.
    #[serde(rename = "project")]
    #[param(rename = "project")]
    _project: ResourceId,
    /// The UUID of an alert.
    alert: AlertUuid,
}

/// List the alerts of a project, active alerts first.
#[utoipa::path(get, path = "/v0/projects/{project}/alerts", operation_id = "proj_alerts_get", tag = "alerts",
    params(ProjectPath, AlertFilter, Page), responses((status = 200, body = Vec<Alert>)),
    extensions(("x-right" = json!("project:view"))))]
pub(super) async fn list(
    State(app): State<App>,
    project: Project<View>,
    Query(filter): Query<AlertFilter>,
    Query(page): Query<Page>,
) -> Result<Paged<Alert>> {
    let now = app.clock.now();
    let read = move |tx: &mut Tx<'_>| alert::list(tx, project.id, &filter, &page);
    let (mut alerts, total) = app.db.read(read).await?;
    alerts.iter_mut().for_each(|alert| alert.clear_expired_mute(now));
    Ok(Paged((alerts, total)))
}

/// Dismiss or reactivate several alerts.
///
/// The status of their events follows: an event without changes is dismissed when all its alerts are, and open again when an
/// alert is active again.
#[utoipa::path(patch, path = "/v0/projects/{project}/alerts", operation_id = "proj_alerts_patch", tag = "alerts",
    params(ProjectPath), request_body = AlertsPatch, responses((status = 200, body = AlertsPatched)),
    extensions(("x-right" = json!("project:edit"))))]
pub(super) async fn update_many(
    State(app): State<App>,
    project: Project<Edit>,
    Body(patch): Body<AlertsPatch>,
) -> Result<Json<AlertsPatched>> {
    let fresh = app.fresh();
    let write = move |tx: &mut Tx<'_>| {
        let id = project.id;
        // The statement recounts the alerts. Without the lock it could miss the alerts of a report that is being recorded.
        tx.lock(Lock::Project(id.get()))?;
        let mut which = alert::AlertFilter {
            status: Some(patch.from.unwrap_or(AlertStatus::Active)),
            ..alert::AlertFilter::default()
        };
        if let Some(report) = patch.report {
            which.report = Some(report::find(tx, id, report)?);
        }
        let names = SeriesNames {
            branch: patch.branch.as_ref(),
            testbed: patch.testbed.as_ref(),
            benchmark: patch.benchmark.as_ref(),
            measure: patch.measure.as_ref(),
        };
        which.part = names.find(tx, id)?;
        let status = patch.status.into();
        let updated = alert::update(tx, id, &which, Some(status), fresh.now)?;
        event::follow_alerts(tx, &fresh, &updated.events, status, &project.origin.actor)?;
        Ok::<_, Error>(AlertsPatched { updated: updated.number })
    };
    Ok(Json(app.db.write(write).await?))
}

/// View an alert.
#[utoipa::path(get, path = "/v0/projects/{project}/alerts/{alert}", operation_id = "proj_alert_get", tag = "alerts",
    params(AlertPath), responses((status = 200, body = Alert)), extensions(("x-right" = json!("project:view"))))]
pub(super) async fn view(
    State(app): State<App>,
    project: Project<View>,
    Path(path): Path<AlertPath>,
) -> Result<Json<Alert>> {
    let now = app.clock.now();
    let (_, mut alert) = app.db.read(move |tx| alert::find(tx, project.id, path.alert)).await?;
    alert.clear_expired_mute(now);
    Ok(Json(alert))
}

/// Dismiss or reactivate an alert.
///
/// The status of its event follows: an event without changes is dismissed when all its alerts are, and open again when an alert
/// is active again.
#[utoipa::path(patch, path = "/v0/projects/{project}/alerts/{alert}", operation_id = "proj_alert_patch",
    tag = "alerts", params(AlertPath), request_body = AlertPatch, responses((status = 200, body = Alert)),
    extensions(("x-right" = json!("project:edit"))))]
pub(super) async fn update(
    State(app): State<App>,
    project: Project<Edit>,
    Path(path): Path<AlertPath>,
    Body(patch): Body<AlertPatch>,
) -> Result<Json<Alert>> {
    let fresh = app.fresh();
    let write = move |tx: &mut Tx<'_>| {
        tx.lock(Lock::Project(project.id.get()))?;
        let (id, _) = alert::find(tx, project.id, path.alert)?;
        let which = alert::AlertFilter { id: Some(id), ..alert::AlertFilter::default() };
        let status = patch.status.map(Into::into);
        let updated = alert::update(tx, project.id, &which, status, fresh.now)?;
        if let Some(status) = status {
            event::follow_alerts(tx, &fresh, &updated.events, status, &project.origin.actor)?;
        }
        let (_, mut alert) = alert::find(tx, project.id, path.alert)?;
        alert.clear_expired_mute(fresh.now);
        Ok::<_, Error>(alert)
    };
    Ok(Json(app.db.write(write).await?))
}
