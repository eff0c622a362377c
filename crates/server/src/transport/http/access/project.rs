//! The project in the path, and the permissions of callers in projects.

use std::{
    marker::PhantomData,
    sync::{Arc, OnceLock},
};

use axum::{extract::FromRequestParts, http::request::Parts};
use tidemark_api::{self as api, ProjectPermission, ResourceId, Visibility};
use tidemark_store::{OrganizationId, ProjectId, Tx, project};

use super::{LOCKED, Right, authenticate, found_or_none, may_create_unclaimed, signed_in};
use crate::{
    domain::{
        app::App,
        auth::caller::{Caller, SignedIn},
        error::{Error, Result},
    },
    transport::http::{body::segment, origin::Origin},
};

const WITH_KEY: &str = "a session token, a user key or a key of this project";
const WITHOUT_KEY: &str = "a session token or a user key";

/// The types of credentials that the operation accepts, set when a request opens a project. The middleware adds them to the
/// message of a 404 inside the project, because a missing credential can be the reason.
#[derive(Clone, Debug, Default)]
pub struct AcceptedCredentials(Arc<OnceLock<&'static str>>);

impl AcceptedCredentials {
    /// Returns the hint for a 404, or `None` for a request outside of projects.
    pub fn hint(&self) -> Option<String> {
        self.0.get().map(|kinds| format!("This operation accepts {kinds}."))
    }
}

/// The project in the path, for a caller with the right `R` in it: a user or a key of the project. Every caller can view a
/// public project; callers who may not view a private project get 404.
#[derive(Clone, Debug)]
pub struct Project<R> {
    /// Database key.
    pub id: ProjectId,
    /// The organization of the project.
    pub organization: OrganizationId,
    /// The project.
    pub project: api::Project,
    /// The caller.
    pub caller: Caller,
    /// User and address of the request.
    pub origin: Origin,
    /// Whether the caller may view the project by a role or a project key, not only because the project is public.
    pub is_inside: bool,
    right: PhantomData<R>,
}

impl<R> Project<R> {
    /// Checks that the caller may rename a dimension. A project key may change every field except the name and the slug.
    pub fn may_rename(&self, renames: bool) -> Result<()> {
        match self.caller {
            Caller::Project(_) if renames => {
                Err(Error::Forbidden(format!("A project key cannot rename resources; use {WITHOUT_KEY}.")))
            }
            _ => Ok(()),
        }
    }
}

/// Same as [`Project`], for operations that do not accept project keys.
#[derive(Clone, Debug)]
pub struct ProjectByUser<R> {
    /// The project.
    pub project: Project<R>,
    /// The user who sent the request.
    pub by: SignedIn,
}

/// Whether a caller has a permission in a project.
fn project_allows(
    caller: &Caller,
    found: &project::ProjectRow,
    roles: project::ProjectRoles,
    permission: ProjectPermission,
) -> bool {
    let public = permission == ProjectPermission::View && found.project.visibility == Visibility::Public;
    public || is_granted(caller, found, roles, permission)
}

/// Whether the caller has the permission by a role or a key, not because the project is public.
fn is_granted(
    caller: &Caller,
    found: &project::ProjectRow,
    roles: project::ProjectRoles,
    permission: ProjectPermission,
) -> bool {
    use ProjectPermission::{Create, Edit, View};
    match caller {
        Caller::User(by) => {
            by.found.user.admin
                || roles.organization.is_some_and(|role| role.grants_in_projects(permission))
                || roles.project.is_some_and(|role| role.grants(permission))
        }
        Caller::Project(key) => key.project == found.id && matches!(permission, View | Create | Edit),
        // The owner of a local database has all rights in unclaimed projects and none in claimed projects.
        Caller::Owner => found.project.claimed.is_none(),
        Caller::Anonymous | Caller::Unknown | Caller::Locked => false,
    }
}

fn project_not_found(kinds: &str) -> Error {
    Error::NotFound(format!(
        "The project does not exist, or you do not have permission to view it. A private project requires \
         {kinds}."
    ))
}

/// Returns the error for a project that does not exist, which is the same as for a hidden project.
pub fn hidden_project() -> Error {
    project_not_found(WITH_KEY)
}

/// Returns the project with this slug or UUID, unless it is deleted, if the caller may view it and has the permission. `kinds`
/// names the credentials that the operation accepts.
fn check_project(
    caller: &Caller,
    found: Option<(project::ProjectRow, project::ProjectRoles)>,
    permission: ProjectPermission,
    kinds: &str,
) -> Result<project::ProjectRow> {
    let visible =
        found.filter(|(found, roles)| project_allows(caller, found, *roles, ProjectPermission::View));
    let Some((found, roles)) = visible else { return Err(project_not_found(kinds)) };
    if project_allows(caller, &found, roles, permission) {
        return Ok(found);
    }
    Err(match caller {
        Caller::Anonymous | Caller::Owner => Error::Unauthorized(format!(
            "This operation requires a credential; send the header Authorization: Bearer with {kinds}."
        )),
        Caller::Unknown => Error::Unauthorized(format!(
            "The credential is not valid: it is unknown, revoked or expired; use {kinds}."
        )),
        Caller::Locked => Error::Forbidden(LOCKED.into()),
        Caller::Project(key) if key.project != found.id => {
            Error::Forbidden(format!("This key belongs to another project; use {kinds}."))
        }
        Caller::Project(_) => {
            Error::Forbidden(format!("This operation does not accept a project key; use {WITHOUT_KEY}."))
        }
        Caller::User(_) => Error::Forbidden(format!(
            "This operation requires the permission `{permission}` in the project; ask a maintainer of the \
             project."
        )),
    })
}

fn look_up_project(
    tx: &mut Tx<'_>,
    caller: &Caller,
    wanted: &ResourceId,
) -> Result<Option<(project::ProjectRow, project::ProjectRoles)>> {
    let user = match caller {
        Caller::User(by) => Some(by.found.id),
        _ => None,
    };
    Ok(found_or_none(project::find(tx, wanted, user))?)
}

/// Finds a project inside a transaction instead of by its extractor, for users only.
pub fn project_for(
    tx: &mut Tx<'_>,
    caller: &Caller,
    wanted: &ResourceId,
    permission: ProjectPermission,
) -> Result<project::ProjectRow> {
    let found = look_up_project(tx, caller, wanted)?;
    check_project(caller, found, permission, WITHOUT_KEY)
}

/// Same as [`project_for`], for users and project keys.
pub fn project_by_key(
    tx: &mut Tx<'_>,
    caller: &Caller,
    wanted: &ResourceId,
    permission: ProjectPermission,
) -> Result<project::ProjectRow> {
    let found = look_up_project(tx, caller, wanted)?;
    check_project(caller, found, permission, WITH_KEY)
}

/// Returns the project of a run, if it exists. An unclaimed project accepts runs of every caller; a claimed project requires
/// the permission to create.
pub fn project_for_run(
    tx: &mut Tx<'_>,
    caller: &Caller,
    wanted: &ResourceId,
) -> Result<Option<project::ProjectRow>> {
    match look_up_project(tx, caller, wanted)? {
        None if !matches!(caller, Caller::Project(_)) => Ok(None),
        Some((found, _)) if found.project.claimed.is_none() && !matches!(caller, Caller::Project(_)) => {
            may_create_unclaimed(caller)?;
            Ok(Some(found))
        }
        found => check_project(caller, found, ProjectPermission::Create, WITH_KEY).map(Some),
    }
}

async fn open_project<R: Right>(parts: &mut Parts, app: &App, kinds: &'static str) -> Result<Project<R>> {
    let wanted: ResourceId = segment(parts, "project").await?;
    let (caller, found) =
        authenticate(parts, app, move |tx, caller| look_up_project(tx, caller, &wanted)).await?;
    let is_inside = found
        .as_ref()
        .is_some_and(|(found, roles)| is_granted(&caller, found, *roles, ProjectPermission::View));
    let found = check_project(&caller, found, R::PROJECT, kinds)?;
    if let Some(AcceptedCredentials(accepted)) = parts.extensions.get() {
        accepted.get_or_init(|| kinds);
    }
    let origin = Origin::of(parts, caller.actor());
    let (id, organization) = (found.id, found.organization);
    Ok(Project { id, organization, project: found.project, caller, origin, is_inside, right: PhantomData })
}

impl<R: Right> FromRequestParts<App> for Project<R> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        open_project(parts, app, WITH_KEY).await
    }
}

impl<R: Right> FromRequestParts<App> for ProjectByUser<R> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        let project = open_project(parts, app, WITHOUT_KEY).await?;
        let by = signed_in(project.caller.clone())?;
        Ok(Self { project, by })
    }
}
