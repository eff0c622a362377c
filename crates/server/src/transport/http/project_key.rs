//! `/v0/projects/{project}/keys`

use axum::{Json, extract::State};
use serde::Deserialize;
use tidemark_api::{
    KeyFilter, MemberKeys, NewProjectKey, Page, ProjectKey, ProjectKeyCreated, ProjectKeyPatch,
    ProjectKeyUuid, ProjectPermission, ResourceId, Timestamp,
};
use tidemark_store::{Lock, OrganizationId, Tx, UserId, key::NewKeyRow, project_key};
use utoipa::IntoParams;

use super::{
    access::{self, Manage, ProjectByUser},
    answer::{Created, Deleted, Paged},
    body::{Body, Path, Query},
    error::{Error, Result},
    project::ProjectPath,
};
use crate::{
    domain::{
        app::App,
        auth::{
            caller::AuthMethod,
            key::{KeyKind, generate, hash},
        },
    },
    infra::limits::Rule,
};

/// Path parameters: project and key.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct KeyPath {
    /// The slug or UUID of a project.
    #[serde(rename = "project")]
    #[param(rename = "project")]
    _project: ResourceId,
    /// The UUID of a key.
    #[param(inline)]
    key: ProjectKeyUuid,
}

/// List the keys of a project.
#[utoipa::path(get, path = "/v0/projects/{project}/keys", operation_id = "proj_keys_get", tag = "projects",
    params(ProjectPath, KeyFilter, Page), responses((status = 200, body = Vec<ProjectKey>)),
    extensions(("x-right" = json!("project:manage:by_user"))))]
pub(super) async fn list(
    State(app): State<App>,
    ProjectByUser { project, .. }: ProjectByUser<Manage>,
    Query(filter): Query<KeyFilter>,
    Query(page): Query<Page>,
) -> Result<Paged<ProjectKey>> {
    Ok(Paged(app.db.read(move |tx| project_key::list(tx, project.id, &filter, &page)).await?))
}

/// Create a key for one project.
///
/// Only this response contains the key.
#[utoipa::path(post, path = "/v0/projects/{project}/keys", operation_id = "proj_key_post", tag = "projects",
    params(ProjectPath), request_body = NewProjectKey, responses((status = 201, body = ProjectKeyCreated)),
    extensions(("x-right" = json!("project:manage:by_session"))))]
pub(super) async fn create(
    State(app): State<App>,
    ProjectByUser { project, by }: ProjectByUser<Manage>,
    Body(new): Body<NewProjectKey>,
) -> Result<Created<ProjectKeyCreated>> {
    if by.via != AuthMethod::Session && !app.config.access.user_keys_create_project_keys {
        return Err(Error::Forbidden(
            "A user key cannot create keys; sign in to create keys, or ask the operator of the server to set \
             access.user_keys_create_project_keys."
                .into(),
        ));
    }
    let fresh = app.fresh();
    app.limits.check(Rule::UserCredentials, &by.found.user.uuid.to_string(), fresh.now).await?;
    let plain = generate(&fresh, &app.config.security.key_prefix, KeyKind::Project);
    let hashed = hash(plain.as_str());
    let expires = fresh.now.plus_seconds(new.ttl.map_or(i64::from(u32::MAX), |ttl| i64::from(ttl.get())));
    let write = move |tx: &mut Tx<'_>| {
        // The body can arrive long after the right was checked.
        tx.lock(Lock::Organization(project.organization.get()))?;
        let id = ResourceId::Uuid(project.project.uuid.uuid());
        access::project_for(tx, &project.caller, &id, ProjectPermission::Manage)?;
        let new = NewKeyRow { name: &new.name, hash: &hashed, expires };
        let created = project_key::create(tx, &fresh, project.id, by.found.id, new)?;
        let uuid = created.uuid.to_string();
        let detail = [("project", project.project.slug.as_str()), ("name", created.name.as_str())];
        project.origin.audit(tx, &fresh, "project_key.create", &uuid, Some(project.organization), &detail)?;
        Ok::<_, Error>(created)
    };
    let ProjectKey { uuid, project, name, creation, expiration, .. } = app.db.write(write).await?;
    Ok(Created(ProjectKeyCreated { uuid, project, name, key: plain, creation, expiration }))
}

/// View a key of a project.
#[utoipa::path(get, path = "/v0/projects/{project}/keys/{key}", operation_id = "proj_key_get", tag = "projects",
    params(KeyPath), responses((status = 200, body = ProjectKey)),
    extensions(("x-right" = json!("project:manage:by_user"))))]
pub(super) async fn view(
    State(app): State<App>,
    ProjectByUser { project, .. }: ProjectByUser<Manage>,
    Path(path): Path<KeyPath>,
) -> Result<Json<ProjectKey>> {
    Ok(Json(app.db.read(move |tx| project_key::view(tx, project.id, path.key)).await?))
}

/// Rename a key of a project.
#[utoipa::path(patch, path = "/v0/projects/{project}/keys/{key}", operation_id = "proj_key_patch",
    tag = "projects", params(KeyPath), request_body = ProjectKeyPatch,
    responses((status = 200, body = ProjectKey)),
    extensions(("x-right" = json!("project:manage:by_user"))))]
pub(super) async fn update(
    State(app): State<App>,
    ProjectByUser { project, .. }: ProjectByUser<Manage>,
    Path(path): Path<KeyPath>,
    Body(patch): Body<ProjectKeyPatch>,
) -> Result<Json<ProjectKey>> {
    let fresh = app.fresh();
    let write = move |tx: &mut Tx<'_>| {
        if let Some(name) = &patch.name {
            project_key::rename(tx, project.id, path.key, name)?;
            let (uuid, detail) = (path.key.to_string(), [("name", name.as_str())]);
            let organization = Some(project.organization);
            project.origin.audit(tx, &fresh, "project_key.rename", &uuid, organization, &detail)?;
        }
        Ok::<_, Error>(project_key::view(tx, project.id, path.key)?)
    };
    Ok(Json(app.db.write(write).await?))
}

/// Revoke a key of a project permanently.
#[utoipa::path(delete, path = "/v0/projects/{project}/keys/{key}", operation_id = "proj_key_delete",
    tag = "projects", params(KeyPath), responses((status = 204)),
    extensions(("x-right" = json!("project:manage:by_user"))))]
pub(super) async fn revoke(
    State(app): State<App>,
    ProjectByUser { project, .. }: ProjectByUser<Manage>,
    Path(path): Path<KeyPath>,
) -> Result<Deleted> {
    let fresh = app.fresh();
    let write = move |tx: &mut Tx<'_>| {
        project_key::view(tx, project.id, path.key)?;
        if !project_key::revoke(tx, project.id, path.key, fresh.now)? {
            return Err(Error::Conflict("The key is already revoked.".into()));
        }
        let uuid = path.key.to_string();
        project.origin.audit(tx, &fresh, "project_key.revoke", &uuid, Some(project.organization), &[])?;
        Ok(Deleted)
    };
    app.db.write(write).await
}

/// Revokes the keys that a user created in projects of an organization and may no longer create, unless they are to be kept.
/// Called after a role was removed. Returns the audit log entry that lists these keys.
pub(super) fn revoke_orphans(
    tx: &mut Tx<'_>,
    organization: OrganizationId,
    creator: UserId,
    query: MemberKeys,
    now: Timestamp,
) -> Result<Option<(&'static str, String)>> {
    let keys = project_key::orphaned(tx, organization, creator, now)?;
    if keys.is_empty() {
        return Ok(None);
    }
    let list: Vec<_> =
        keys.iter().map(|key| format!("{}/{} ({})", key.project, key.name, key.uuid)).collect();
    let list = list.join(", ");
    if query.keep_keys.unwrap_or(false) {
        return Ok(Some(("keys_kept", list)));
    }
    project_key::revoke_all(tx, &keys, now)?;
    Ok(Some(("keys_revoked", list)))
}
