//! `/v0/projects/{project}/branches`

use axum::{Json, extract::State};
use serde::Deserialize;
use tidemark_api::{
    Branch, BranchFilter, BranchPatch, DEFAULT_MAX_VERSIONS, HeadQuery, ListedBranch, NewBranch, Page,
    ResourceId,
};
use tidemark_store::{Dimension, Tx, head, quota::QuotaScope, threshold};
use utoipa::IntoParams;

use super::{
    access::{Create, Delete, Edit, Project, ProjectByUser, View},
    answer::{Created, Deleted, Paged},
    body::{Body, Path, Query},
    error::{Error, Result},
    project::ProjectPath,
};
use crate::domain::{app::App, quota::Quota};

/// Path parameters: project and branch.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct BranchPath {
    /// The slug or UUID of a project.
    #[serde(rename = "project")]
    #[param(rename = "project")]
    _project: ResourceId,
    /// The slug or UUID of a branch.
    branch: ResourceId,
}

/// List the branches of a project.
#[utoipa::path(get, path = "/v0/projects/{project}/branches", operation_id = "proj_branches_get",
    tag = "branches", params(ProjectPath, BranchFilter, Page), responses((status = 200, body = Vec<ListedBranch>)),
    extensions(("x-right" = json!("project:view"))))]
pub(super) async fn list(
    State(app): State<App>,
    project: Project<View>,
    Query(filter): Query<BranchFilter>,
    Query(page): Query<Page>,
) -> Result<Paged<ListedBranch>> {
    Ok(Paged(app.db.read(move |tx| Branch::list_with_runs(tx, project.id, &filter, &page)).await?))
}

/// Create a branch, empty or with a start point.
#[utoipa::path(post, path = "/v0/projects/{project}/branches", operation_id = "proj_branch_post",
    tag = "branches", params(ProjectPath), request_body = NewBranch, responses((status = 201, body = Branch)),
    extensions(("x-right" = json!("project:create"))))]
pub(super) async fn create(
    State(app): State<App>,
    project: Project<Create>,
    Body(new): Body<NewBranch>,
) -> Result<Created<Branch>> {
    let (fresh, quota) = (app.fresh(), Quota::new(&app.config));
    let write = move |tx: &mut Tx<'_>| {
        quota.check(tx, QuotaScope::Branches(project.id), project.project.claimed.is_some(), fresh.now)?;
        let start_point = new.start_point.as_ref();
        let start = match start_point {
            Some(wanted) => head::resolve(tx, project.id, &wanted.branch, wanted.hash.as_ref())?,
            None => None,
        };
        let id = Branch::create(tx, &fresh, project.id, &new.name, new.slug.as_ref(), ())?;
        let max_versions = start_point.and_then(|wanted| wanted.max_versions).unwrap_or(DEFAULT_MAX_VERSIONS);
        head::create(tx, &fresh, id, start.as_ref(), max_versions)?;
        if let (Some(start), Some(true)) = (&start, start_point.and_then(|wanted| wanted.clone_thresholds)) {
            threshold::copy_models(tx, &fresh, project.id, start.branch, id)?;
        }
        Ok::<_, Error>(Branch::view(tx, id)?)
    };
    Ok(Created(app.db.write(write).await?))
}

/// View a branch with its current head or with an earlier head.
#[utoipa::path(get, path = "/v0/projects/{project}/branches/{branch}", operation_id = "proj_branch_get",
    tag = "branches", params(BranchPath, HeadQuery), responses((status = 200, body = Branch)),
    extensions(("x-right" = json!("project:view"))))]
pub(super) async fn view(
    State(app): State<App>,
    project: Project<View>,
    Path(path): Path<BranchPath>,
    Query(query): Query<HeadQuery>,
) -> Result<Json<Branch>> {
    let read = move |tx: &mut Tx<'_>| {
        let id = Branch::find(tx, project.id, &path.branch)?;
        let mut found = Branch::view(tx, id)?;
        if let Some(wanted) = query.head {
            found.head = head::find(tx, id, wanted)?;
        }
        Ok::<_, Error>(found)
    };
    Ok(Json(app.db.read(read).await?))
}

/// Change a branch.
///
/// A new start point creates a new head.
#[utoipa::path(patch, path = "/v0/projects/{project}/branches/{branch}", operation_id = "proj_branch_patch",
    tag = "branches", params(BranchPath), request_body = BranchPatch, responses((status = 200, body = Branch)),
    extensions(("x-right" = json!("project:edit"))))]
pub(super) async fn update(
    State(app): State<App>,
    project: Project<Edit>,
    Path(path): Path<BranchPath>,
    Body(patch): Body<BranchPatch>,
) -> Result<Json<Branch>> {
    project.may_rename(patch.name.is_some() || patch.slug.is_some())?;
    let (fresh, quota) = (app.fresh(), Quota::new(&app.config));
    let write = move |tx: &mut Tx<'_>| {
        let id = Branch::find(tx, project.id, &path.branch)?;
        if let Some(wanted) = &patch.start_point {
            let claimed = project.project.claimed.is_some();
            quota.check(tx, QuotaScope::Heads(id), claimed, fresh.now)?;
            head::start_from(tx, &fresh, project.id, id, wanted)?;
        }
        Branch::update(tx, project.id, id, &patch, fresh.now)?;
        Ok::<_, Error>(Branch::view(tx, id)?)
    };
    Ok(Json(app.db.write(write).await?))
}

/// Delete a branch that is not in use.
#[utoipa::path(delete, path = "/v0/projects/{project}/branches/{branch}", operation_id = "proj_branch_delete",
    tag = "branches", params(BranchPath), responses((status = 204)),
    extensions(("x-right" = json!("project:delete:by_user"))))]
pub(super) async fn delete(
    State(app): State<App>,
    ProjectByUser { project, .. }: ProjectByUser<Delete>,
    Path(path): Path<BranchPath>,
) -> Result<Deleted> {
    let write = move |tx: &mut Tx<'_>| {
        let id = Branch::find(tx, project.id, &path.branch)?;
        Branch::delete(tx, project.id, id)?;
        Ok::<_, Error>(Deleted)
    };
    app.db.write(write).await
}
