//! `/v0/projects` and `/v0/organizations/{organization}/projects`

use axum::{Json, extract::State};
use serde::Deserialize;
use tidemark_api::{
    Allowed, NewProject, Page, Project as Wire, ProjectFilter, ProjectPatch, ProjectPermission, ProjectRole,
    ResourceId, Visibility,
};
use tidemark_store::{
    Tx,
    project::{self, Viewer},
    project_member,
    quota::QuotaScope,
};
use utoipa::IntoParams;

use super::{
    access::{self, AnyCaller, Create, Edit, Organization, Project, ProjectByUser, SignedInUser, View},
    answer::{Created, Deleted, Paged},
    body::{Body, Path, Query},
    error::{Error, Result},
    organization::OrganizationPath,
    origin::Origin,
};
use crate::domain::{app::App, auth::caller::Caller, quota::Quota};

/// Path parameter: project.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct ProjectPath {
    /// The slug or UUID of a project.
    pub(super) project: ResourceId,
}

/// List the projects that you may view.
#[utoipa::path(get, path = "/v0/projects", operation_id = "projects_get", tag = "projects",
    params(ProjectFilter, Page), responses((status = 200, body = Vec<Wire>)),
    extensions(("x-right" = json!("public"))))]
pub(super) async fn list(
    State(app): State<App>,
    anyone: AnyCaller,
    Query(filter): Query<ProjectFilter>,
    Query(page): Query<Page>,
) -> Result<Paged<Wire>> {
    let viewer = viewer(&anyone.caller);
    Ok(Paged(app.db.read(move |tx| project::list(tx, viewer, None, &filter, &page)).await?))
}

fn viewer(caller: &Caller) -> Viewer {
    match caller {
        Caller::User(by) if by.found.user.admin => Viewer::Admin,
        Caller::User(by) => Viewer::User(by.found.id),
        Caller::Project(key) => Viewer::Key(key.project),
        Caller::Anonymous | Caller::Owner | Caller::Unknown | Caller::Locked => Viewer::Public,
    }
}

/// List the projects of an organization.
#[utoipa::path(get, path = "/v0/organizations/{organization}/projects", operation_id = "org_projects_get",
    tag = "projects", params(OrganizationPath, ProjectFilter, Page),
    responses((status = 200, body = Vec<Wire>)), extensions(("x-right" = json!("organization:view"))))]
pub(super) async fn list_of_organization(
    State(app): State<App>,
    organization: Organization<View>,
    Query(filter): Query<ProjectFilter>,
    Query(page): Query<Page>,
) -> Result<Paged<Wire>> {
    // Users who may view the organization may view all its projects.
    let read = move |tx: &mut Tx<'_>| project::list(tx, Viewer::Admin, Some(organization.id), &filter, &page);
    Ok(Paged(app.db.read(read).await?))
}

/// Create a project.
///
/// The project is empty. The first report creates the branch, testbed, benchmarks and measures that it names.
#[utoipa::path(post, path = "/v0/organizations/{organization}/projects", operation_id = "org_project_post",
    tag = "projects", params(OrganizationPath), request_body = NewProject,
    responses((status = 201, body = Wire)), extensions(("x-right" = json!("organization:create"))))]
pub(super) async fn create(
    State(app): State<App>,
    organization: Organization<Create>,
    Body(new): Body<NewProject>,
) -> Result<Created<Wire>> {
    let (fresh, quota) = (app.fresh(), Quota::new(&app.config));
    let write = move |tx: &mut Tx<'_>| {
        let claimed = organization.organization.claimed.is_some();
        quota.check(tx, QuotaScope::Projects(organization.id), claimed, fresh.now)?;
        let visibility = new.visibility.unwrap_or(Visibility::Public);
        quota.billing_status(tx, organization.id)?.check(visibility)?;
        let new = project::NewProjectRow {
            organization: organization.id,
            uuid: None,
            name: &new.name,
            slug: new.slug.as_ref(),
            url: new.url.as_ref(),
            visibility,
        };
        let found = project::create(tx, &fresh, &new)?;
        project_member::add(tx, found.id, organization.by.found.id, ProjectRole::Maintainer, fresh.now)?;
        let detail = [("visibility", visibility.as_str())];
        let slug = found.project.slug.as_str();
        organization.origin.audit(tx, &fresh, "project.create", slug, Some(organization.id), &detail)?;
        Ok::<_, Error>(found.project)
    };
    Ok(Created(app.db.write(write).await?))
}

/// View a project.
#[utoipa::path(get, path = "/v0/projects/{project}", operation_id = "project_get", tag = "projects",
    params(ProjectPath), responses((status = 200, body = Wire)), extensions(("x-right" = json!("project:view"))))]
pub(super) async fn view(project: Project<View>) -> Json<Wire> {
    Json(project.project)
}

/// Change the name, the slug, the URL or the visibility of a project.
#[utoipa::path(patch, path = "/v0/projects/{project}", operation_id = "project_patch", tag = "projects",
    params(ProjectPath), request_body = ProjectPatch, responses((status = 200, body = Wire)),
    extensions(("x-right" = json!("project:edit:by_user"))))]
pub(super) async fn update(
    State(app): State<App>,
    ProjectByUser { project, .. }: ProjectByUser<Edit>,
    Body(patch): Body<ProjectPatch>,
) -> Result<Json<Wire>> {
    let (fresh, quota) = (app.fresh(), Quota::new(&app.config));
    let write = move |tx: &mut Tx<'_>| {
        if let Some(visibility) = patch.visibility {
            quota.billing_status(tx, project.organization)?.check(visibility)?;
        }
        let change = project::ProjectUpdate {
            name: patch.name,
            slug: patch.slug,
            url: patch.url,
            visibility: patch.visibility,
        };
        let found = project::update(tx, project.id, &change, fresh.now)?;
        let mut detail = Vec::new();
        if change.name.is_some() {
            detail.push(("name", found.project.name.as_str()));
        }
        if change.slug.is_some() {
            detail.push(("slug", found.project.slug.as_str()));
        }
        if let Some(visibility) = change.visibility {
            detail.push(("visibility", visibility.as_str()));
        }
        let slug = project.project.slug.as_str();
        project.origin.audit(tx, &fresh, "project.update", slug, Some(project.organization), &detail)?;
        Ok::<_, Error>(found.project)
    };
    Ok(Json(app.db.write(write).await?))
}

/// Query parameters of a deletion.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct DeleteQuery {
    /// Delete permanently instead of hiding; only for administrators of the server.
    hard: Option<bool>,
}

/// Delete a project.
#[utoipa::path(delete, path = "/v0/projects/{project}", operation_id = "project_delete", tag = "projects",
    params(ProjectPath, DeleteQuery), responses((status = 204)),
    extensions(("x-right" = json!("project:delete:by_user"))))]
pub(super) async fn delete(
    State(app): State<App>,
    anyone: AnyCaller,
    origin: Origin,
    Path(path): Path<ProjectPath>,
    Query(query): Query<DeleteQuery>,
) -> Result<Deleted> {
    let fresh = app.fresh();
    let hard = query.hard.unwrap_or(false);
    let caller = anyone.caller;
    let origin = Origin { actor: caller.actor(), ..origin };
    if hard {
        access::may_delete_permanently(&caller)?;
    }
    let write = move |tx: &mut Tx<'_>| {
        let found = if hard {
            project::find_any(tx, &path.project)?
        } else {
            access::project_for(tx, &caller, &path.project, ProjectPermission::Delete)?
        };
        let action = if hard { "project.destroy" } else { "project.delete" };
        let slug = found.project.slug.as_str();
        origin.audit(tx, &fresh, action, slug, Some(found.organization), &[])?;
        if hard {
            project::destroy(tx, found.id)?;
        } else {
            project::delete(tx, found.id, fresh.now)?;
        }
        Ok::<_, Error>(Deleted)
    };
    app.db.write(write).await
}

/// Path parameters: project and permission.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct AllowedPath {
    /// The slug or UUID of a project.
    project: ResourceId,
    /// The permission to check.
    #[param(inline)]
    permission: ProjectPermission,
}

/// Check whether you have a permission in a project.
///
/// The result is `false` for a project that you may not view.
#[utoipa::path(get, path = "/v0/projects/{project}/allowed/{permission}", operation_id = "proj_allowed_get",
    tag = "projects", params(AllowedPath), responses((status = 200, body = Allowed)),
    extensions(("x-right" = json!("user"))))]
pub(super) async fn allowed(
    State(app): State<App>,
    signed: SignedInUser,
    Path(path): Path<AllowedPath>,
) -> Result<Json<Allowed>> {
    let caller = Caller::User(signed.by);
    let read = move |tx: &mut Tx<'_>| match access::project_for(tx, &caller, &path.project, path.permission) {
        Ok(_) => Ok(true),
        Err(Error::NotFound(_) | Error::Forbidden(_)) => Ok(false),
        Err(error) => Err(error),
    };
    Ok(Json(Allowed { allowed: app.db.read(read).await? }))
}
