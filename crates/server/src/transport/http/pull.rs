//! `/v0/projects/{project}/pulls`: branches with a start point, and their newest reports.

use axum::extract::State;
use tidemark_api::{Page, Pull};
use tidemark_store::{Tx, pull};

use super::{
    access::{Project, View},
    answer::Paged,
    body::Query,
    error::{Error, Result},
    project::ProjectPath,
};
use crate::domain::app::App;

/// List the branches that start from another branch, for example those of pull requests, with the newest report of each testbed.
///
/// The branch with the newest report is first. Request the verdict of each report to compare it with the start point.
#[utoipa::path(get, path = "/v0/projects/{project}/pulls", operation_id = "proj_pulls_get", tag = "branches",
    params(ProjectPath, Page), responses((status = 200, body = Vec<Pull>)),
    extensions(("x-right" = json!("project:view"))))]
pub(super) async fn list(
    State(app): State<App>,
    project: Project<View>,
    Query(page): Query<Page>,
) -> Result<Paged<Pull>> {
    let read = move |tx: &mut Tx<'_>| Ok::<_, Error>(pull::list(tx, (project.id, &project.project), &page)?);
    Ok(Paged(app.db.read(read).await?))
}
