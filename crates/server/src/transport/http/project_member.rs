//! `/v0/projects/{project}/members`: roles in one project, in addition to the roles in its organization.

use axum::{Json, extract::State};
use serde::Deserialize;
use tidemark_api::{
    MemberKeys, NewProjectMember, Page, ProjectMember, ProjectMemberFilter, ProjectMemberPatch, ResourceId,
};
use tidemark_store::{Lock, Tx, project_member, user};
use utoipa::IntoParams;

use super::{
    access::{CreateRole, DeleteRole, EditRole, ProjectByUser, ViewRole},
    answer::{Created, Deleted, Paged},
    body::{Body, Path, Query},
    error::{Error, Result},
    project::ProjectPath,
    project_key::revoke_orphans,
};
use crate::domain::app::App;

/// Path parameters: project and member.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct MemberPath {
    /// The slug or UUID of a project.
    #[serde(rename = "project")]
    #[param(rename = "project")]
    _project: ResourceId,
    /// The slug or UUID of a user.
    user: ResourceId,
}

/// List the users who have a role in a project.
#[utoipa::path(get, path = "/v0/projects/{project}/members", operation_id = "proj_members_get",
    tag = "projects", params(ProjectPath, ProjectMemberFilter, Page),
    responses((status = 200, body = Vec<ProjectMember>)),
    extensions(("x-right" = json!("project:view_role:by_user"))))]
pub(super) async fn list(
    State(app): State<App>,
    ProjectByUser { project, .. }: ProjectByUser<ViewRole>,
    Query(filter): Query<ProjectMemberFilter>,
    Query(page): Query<Page>,
) -> Result<Paged<ProjectMember>> {
    Ok(Paged(app.db.read(move |tx| project_member::list(tx, project.id, &filter, &page)).await?))
}

/// Give a user a role in a project.
#[utoipa::path(post, path = "/v0/projects/{project}/members", operation_id = "proj_member_post",
    tag = "projects", params(ProjectPath), request_body = NewProjectMember,
    responses((status = 201, body = ProjectMember)),
    extensions(("x-right" = json!("project:create_role:by_user"))))]
pub(super) async fn add(
    State(app): State<App>,
    ProjectByUser { project, .. }: ProjectByUser<CreateRole>,
    Body(new): Body<NewProjectMember>,
) -> Result<Created<ProjectMember>> {
    let fresh = app.fresh();
    let write = move |tx: &mut Tx<'_>| {
        let found = user::find(tx, &new.user)?;
        project_member::add(tx, project.id, found.id, new.role, fresh.now)?;
        let detail = [("project", project.project.slug.as_str()), ("role", new.role.as_str())];
        let (target, organization) = (found.user.slug.as_str(), Some(project.organization));
        project.origin.audit(tx, &fresh, "project_member.add", target, organization, &detail)?;
        let id = ResourceId::Uuid(found.user.uuid.uuid());
        Ok::<_, Error>(project_member::find(tx, project.id, &id)?.member)
    };
    Ok(Created(app.db.write(write).await?))
}

/// View the role of a user in a project.
#[utoipa::path(get, path = "/v0/projects/{project}/members/{user}", operation_id = "proj_member_get",
    tag = "projects", params(MemberPath), responses((status = 200, body = ProjectMember)),
    extensions(("x-right" = json!("project:view_role:by_user"))))]
pub(super) async fn view(
    State(app): State<App>,
    ProjectByUser { project, .. }: ProjectByUser<ViewRole>,
    Path(path): Path<MemberPath>,
) -> Result<Json<ProjectMember>> {
    Ok(Json(app.db.read(move |tx| project_member::find(tx, project.id, &path.user)).await?.member))
}

/// Change the role of a user in a project.
///
/// A maintainer who loses that role loses the keys that this maintainer created in the project, unless `keep_keys` is set.
#[utoipa::path(patch, path = "/v0/projects/{project}/members/{user}", operation_id = "proj_member_patch",
    tag = "projects", params(MemberPath, MemberKeys), request_body = ProjectMemberPatch,
    responses((status = 200, body = ProjectMember)),
    extensions(("x-right" = json!("project:edit_role:by_user"))))]
pub(super) async fn update(
    State(app): State<App>,
    ProjectByUser { project, .. }: ProjectByUser<EditRole>,
    Path(path): Path<MemberPath>,
    Query(query): Query<MemberKeys>,
    Body(patch): Body<ProjectMemberPatch>,
) -> Result<Json<ProjectMember>> {
    let fresh = app.fresh();
    let write = move |tx: &mut Tx<'_>| {
        tx.lock(Lock::Organization(project.organization.get()))?;
        let mut found = project_member::find(tx, project.id, &path.user)?;
        let Some(role) = patch.role.filter(|role| *role != found.member.role) else {
            return Ok(found.member);
        };
        project_member::set_role(tx, project.id, found.user, role, fresh.now)?;
        let revoked = revoke_orphans(tx, project.organization, found.user, query, fresh.now)?;
        let mut detail = vec![
            ("project", project.project.slug.as_str()),
            ("from", found.member.role.as_str()),
            ("to", role.as_str()),
        ];
        detail.extend(revoked.iter().map(|(key, list)| (*key, list.as_str())));
        let (target, organization) = (found.member.slug.as_str(), Some(project.organization));
        project.origin.audit(tx, &fresh, "project_member.role", target, organization, &detail)?;
        found.member.role = role;
        found.member.modified = fresh.now;
        Ok::<_, Error>(found.member)
    };
    Ok(Json(app.db.write(write).await?))
}

/// Remove the role of a user in a project.
///
/// The server also revokes the keys that the user created in the project, unless `keep_keys` is set or the user leads the
/// organization.
#[utoipa::path(delete, path = "/v0/projects/{project}/members/{user}", operation_id = "proj_member_delete",
    tag = "projects", params(MemberPath, MemberKeys), responses((status = 204)),
    extensions(("x-right" = json!("project:delete_role:by_user"))))]
pub(super) async fn remove(
    State(app): State<App>,
    ProjectByUser { project, .. }: ProjectByUser<DeleteRole>,
    Path(path): Path<MemberPath>,
    Query(query): Query<MemberKeys>,
) -> Result<Deleted> {
    let fresh = app.fresh();
    let write = move |tx: &mut Tx<'_>| {
        tx.lock(Lock::Organization(project.organization.get()))?;
        let found = project_member::find(tx, project.id, &path.user)?;
        project_member::remove(tx, project.id, found.user)?;
        let revoked = revoke_orphans(tx, project.organization, found.user, query, fresh.now)?;
        let mut detail = vec![("project", project.project.slug.as_str())];
        detail.extend(revoked.iter().map(|(key, list)| (*key, list.as_str())));
        let (target, organization) = (found.member.slug.as_str(), Some(project.organization));
        project.origin.audit(tx, &fresh, "project_member.remove", target, organization, &detail)?;
        Ok::<_, Error>(Deleted)
    };
    app.db.write(write).await
}
