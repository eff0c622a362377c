//! `/v0/projects/{project}/detection`

use axum::{Json, extract::State};
use tidemark_api::{Detection, DetectionPatch, ObservedAlarms, Timestamp};
use tidemark_store::{ProjectId, Tx, detection};

use super::{
    access::{Manage, Project, View},
    body::Body,
    error::{Error, Result},
    project::ProjectPath,
};
use crate::domain::{app::App, changes::MONTH_SECONDS};

/// Period over which alarms are counted, in seconds.
const COUNTED_SECONDS: i64 = 3 * MONTH_SECONDS;

/// View the detection settings of a project, and its observed false alarms.
#[utoipa::path(get, path = "/v0/projects/{project}/detection", operation_id = "proj_detection_get", tag = "changes",
    params(ProjectPath), responses((status = 200, body = Detection)),
    extensions(("x-right" = json!("project:view"))))]
pub(super) async fn view(State(app): State<App>, project: Project<View>) -> Result<Json<Detection>> {
    let (id, created, now) = (project.id, project.project.created, app.clock.now());
    Ok(Json(app.db.read(move |tx| read(tx, id, created, now)).await?))
}

/// Change the detection settings of a project: the kind of notifications and the false-alarm budget per month.
#[utoipa::path(patch, path = "/v0/projects/{project}/detection", operation_id = "proj_detection_patch",
    tag = "changes", params(ProjectPath), request_body = DetectionPatch,
    responses((status = 200, body = Detection)), extensions(("x-right" = json!("project:manage"))))]
pub(super) async fn update(
    State(app): State<App>,
    project: Project<Manage>,
    Body(patch): Body<DetectionPatch>,
) -> Result<Json<Detection>> {
    let (id, created, now) = (project.id, project.project.created, app.clock.now());
    let write = move |tx: &mut Tx<'_>| {
        detection::update(tx, id, &patch)?;
        read(tx, id, created, now)
    };
    Ok(Json(app.db.write(write).await?))
}

fn read(tx: &mut Tx<'_>, project: ProjectId, created: Timestamp, now: Timestamp) -> Result<Detection> {
    let settings = detection::settings(tx, project)?;
    let runs = detection::runs(tx, project, now.plus_seconds(-MONTH_SECONDS))?;
    let since = created.max(now.plus_seconds(-COUNTED_SECONDS));
    let raised = detection::raised(tx, project, since)?;
    // At least one month: the first days alone would give an unreliable monthly rate.
    let months = ((now.seconds() - since.seconds()) as f64 / MONTH_SECONDS as f64).max(1.0);
    let number = |number: i64| u32::try_from(number).unwrap_or(u32::MAX);
    Ok::<_, Error>(Detection {
        notifies: settings.notifies,
        false_alarms_per_month: settings.budget,
        notifies_host: settings.notifies_host,
        confirm: settings.confirm,
        runs_per_month: number(runs),
        observed: ObservedAlarms {
            since,
            raised: number(raised.total),
            false_alarms: number(raised.false_alarms),
            refuted: number(raised.refuted),
            false_alarms_per_month: raised.false_alarms as f64 / months,
        },
    })
}
