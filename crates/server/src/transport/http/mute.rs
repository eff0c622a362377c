//! `/v0/projects/{project}/mutes`

use axum::{Json, extract::State};
use serde::Deserialize;
use tidemark_api::{Mute, MuteFilter, MuteUuid, NamePattern, NewMute, Page, ResourceId};
use tidemark_store::{Lock, Tx, WriteContext, mute};
use utoipa::IntoParams;

use super::{
    access::{Edit, Project, View},
    answer::{Created, Deleted, Paged},
    body::{Body, Path, Query},
    error::{Error, Result},
    project::ProjectPath,
};
use crate::domain::app::App;

/// Path parameters: project and mute.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct MutePath {
    /// The slug or UUID of a project.
    #[serde(rename = "project")]
    #[param(rename = "project")]
    _project: ResourceId,
    /// The UUID of a mute.
    #[param(inline)]
    mute: MuteUuid,
}

/// List the mutes of a project, newest first.
#[utoipa::path(get, path = "/v0/projects/{project}/mutes", operation_id = "proj_mutes_get", tag = "mutes",
    params(ProjectPath, MuteFilter, Page), responses((status = 200, body = Vec<Mute>)),
    extensions(("x-right" = json!("project:view"))))]
pub(super) async fn list(
    State(app): State<App>,
    project: Project<View>,
    Query(filter): Query<MuteFilter>,
    Query(page): Query<Page>,
) -> Result<Paged<Mute>> {
    let now = app.clock.now();
    Ok(Paged(app.db.read(move |tx| mute::list(tx, project.id, &filter, now, &page)).await?))
}

/// Mute benchmarks, branches or testbeds.
///
/// Matching series cause no notifications and no failing gates until the mute expires or is deleted. The server still measures
/// and analyzes them, and marks their results as muted.
#[utoipa::path(post, path = "/v0/projects/{project}/mutes", operation_id = "proj_mute_post", tag = "mutes",
    params(ProjectPath), request_body = NewMute, responses((status = 201, body = Mute)),
    extensions(("x-right" = json!("project:edit"))))]
pub(super) async fn create(
    State(app): State<App>,
    project: Project<Edit>,
    Body(new): Body<NewMute>,
) -> Result<Created<Mute>> {
    let fresh = app.fresh();
    if new.benchmark.is_none() && new.branch.is_none() && new.testbed.is_none() {
        return Err(Error::Invalid("A mute requires `benchmark`, `branch` or `testbed`.".into()));
    }
    let write = move |tx: &mut Tx<'_>| {
        tx.lock(Lock::Project(project.id.get()))?;
        if mute::count_active(tx, project.id, fresh.now)? >= mute::MAX_ACTIVE_MUTES {
            return Err(Error::Conflict(format!(
                "A project has at most {} active mutes; delete one before you create another.",
                mute::MAX_ACTIVE_MUTES
            )));
        }
        let created = mute::create(tx, &fresh, project.id, &new, &project.origin.actor)?;
        audit(tx, &fresh, &project, "mute.create", &created)?;
        Ok::<_, Error>(created)
    };
    Ok(Created(app.db.write(write).await?))
}

/// View a mute.
#[utoipa::path(get, path = "/v0/projects/{project}/mutes/{mute}", operation_id = "proj_mute_get", tag = "mutes",
    params(MutePath), responses((status = 200, body = Mute)), extensions(("x-right" = json!("project:view"))))]
pub(super) async fn view(
    State(app): State<App>,
    project: Project<View>,
    Path(path): Path<MutePath>,
) -> Result<Json<Mute>> {
    Ok(Json(app.db.read(move |tx| mute::find(tx, project.id, path.mute)).await?.mute))
}

/// Delete a mute.
///
/// Alerts that were raised while it was active are no longer muted.
#[utoipa::path(delete, path = "/v0/projects/{project}/mutes/{mute}", operation_id = "proj_mute_delete",
    tag = "mutes", params(MutePath), responses((status = 204)), extensions(("x-right" = json!("project:edit"))))]
pub(super) async fn delete(
    State(app): State<App>,
    project: Project<Edit>,
    Path(path): Path<MutePath>,
) -> Result<Deleted> {
    let fresh = app.fresh();
    let write = move |tx: &mut Tx<'_>| {
        // Reports that are being recorded refer to the mute.
        tx.lock(Lock::Project(project.id.get()))?;
        let found = mute::find(tx, project.id, path.mute)?;
        mute::delete(tx, found.id)?;
        audit(tx, &fresh, &project, "mute.delete", &found.mute)?;
        Ok::<_, Error>(Deleted)
    };
    app.db.write(write).await
}

fn audit(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    project: &Project<Edit>,
    action: &str,
    mute: &Mute,
) -> Result<()> {
    let text =
        |pattern: &'_ Option<NamePattern>| pattern.as_ref().map_or("*", NamePattern::as_str).to_owned();
    let (benchmark, branch, testbed) = (text(&mute.benchmark), text(&mute.branch), text(&mute.testbed));
    let detail = [
        ("project", project.project.slug.as_str()),
        ("benchmark", &benchmark),
        ("branch", &branch),
        ("testbed", &testbed),
        ("reason", mute.reason.as_str()),
    ];
    let target = mute.uuid.to_string();
    project.origin.audit(tx, fresh, action, &target, Some(project.organization), &detail)
}
