//! `/v0/projects/{project}/changes`

use axum::{Json, extract::State};
use serde::Deserialize;
use tidemark_api::{Change, ChangeDirection, ChangeFilter, ChangeUuid, Page, ResourceId};
use tidemark_store::{Tx, change, report};
use utoipa::IntoParams;

use super::{
    access::{Project, View},
    answer::Paged,
    body::{Path, Query},
    error::{Error, Result},
    project::ProjectPath,
    series_filter::SeriesNames,
};
use crate::domain::{app::App, mute::Mutes};

/// Path parameters: project and change.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct ChangePath {
    /// The slug or UUID of a project.
    #[serde(rename = "project")]
    #[param(rename = "project")]
    _project: ResourceId,
    /// The UUID of a change.
    change: ChangeUuid,
}

/// List the changes of a project, the newest or the largest first.
///
/// Detection does not require thresholds.
#[utoipa::path(get, path = "/v0/projects/{project}/changes", operation_id = "proj_changes_get", tag = "changes",
    params(ProjectPath, ChangeFilter, Page), responses((status = 200, body = Vec<Change>)),
    extensions(("x-right" = json!("project:view"))))]
pub(super) async fn list(
    State(app): State<App>,
    project: Project<View>,
    Query(filter): Query<ChangeFilter>,
    Query(page): Query<Page>,
) -> Result<Paged<Change>> {
    let now = app.clock.now();
    let read = move |tx: &mut Tx<'_>| {
        let id = project.id;
        let names = SeriesNames {
            branch: filter.branch.as_ref(),
            testbed: filter.testbed.as_ref(),
            benchmark: filter.benchmark.as_ref(),
            measure: filter.measure.as_ref(),
        };
        let which = change::ChangeFilter {
            status: filter.status,
            worse: filter.change_direction.map(ChangeDirection::number),
            part: names.find(tx, id)?,
            report: filter.report.map(|uuid| report::find(tx, id, uuid)).transpose()?,
        };
        let (mut changes, total) = change::list(tx, id, &which, filter.sort.unwrap_or_default(), &page)?;
        Mutes::read(tx, id, now)?.mark_changes(&mut changes);
        Ok::<_, Error>((changes, total))
    };
    Ok(Paged(app.db.read(read).await?))
}

/// View a change.
#[utoipa::path(get, path = "/v0/projects/{project}/changes/{change}", operation_id = "proj_change_get",
    tag = "changes", params(ChangePath), responses((status = 200, body = Change)),
    extensions(("x-right" = json!("project:view"))))]
pub(super) async fn view(
    State(app): State<App>,
    project: Project<View>,
    Path(path): Path<ChangePath>,
) -> Result<Json<Change>> {
    let now = app.clock.now();
    let read = move |tx: &mut Tx<'_>| {
        let mut change = change::view(tx, project.id, path.change)?;
        Mutes::read(tx, project.id, now)?.mark_changes([&mut change]);
        Ok::<_, Error>(change)
    };
    Ok(Json(app.db.read(read).await?))
}
