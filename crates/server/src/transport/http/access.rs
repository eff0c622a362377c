//! Access control. A handler gets a user, an organization, a project or the server only through these extractors: they read the
//! credential, load the row and check the right, in one read of the database. All decisions about rights and visibility are
//! made here.

mod organization;
mod project;

use std::net::IpAddr;

use axum::{extract::FromRequestParts, http::request::Parts};
use tidemark_api::{OrganizationPermission, ProjectPermission, ProjectUuid, ResourceId};
use tidemark_store::{Tx, project_key, user};

pub use self::{
    organization::{Organization, allowed, organization_for},
    project::{
        AcceptedCredentials, Project, ProjectByUser, hidden_project, project_by_key, project_for,
        project_for_run,
    },
};
use super::{
    body::segment,
    error::{Error, Result},
    origin::Origin,
};
use crate::{
    domain::{
        app::App,
        auth::caller::{Caller, Credential, SignedIn, record_token},
    },
    infra::limits::{Rule, address_key},
};

/// Authenticates the caller, loads the resource of the request on the same snapshot, and counts the request for the rate
/// limits.
async fn authenticate<T, F>(parts: &Parts, app: &App, load: F) -> Result<(Caller, T)>
where
    F: FnOnce(&mut Tx<'_>, &Caller) -> Result<T> + Send + 'static,
    T: Send + 'static,
{
    let credential = match Credential::read(parts, app, app.clock.now()) {
        Credential::None if app.embedded => Credential::Database,
        credential => credential,
    };
    authenticate_with(parts, app, credential, load).await
}

/// Same as [`authenticate`], with a credential that the request does not carry in the usual header.
pub(crate) async fn authenticate_with<T, F>(
    parts: &Parts,
    app: &App,
    credential: Credential,
    load: F,
) -> Result<(Caller, T)>
where
    F: FnOnce(&mut Tx<'_>, &Caller) -> Result<T> + Send + 'static,
    T: Send + 'static,
{
    let now = app.clock.now();
    let looked_up = credential.clone();
    let (caller, first_use, loaded) = app
        .db
        .read(move |tx| {
            let (caller, first_use) = Caller::find(tx, &looked_up, now)?;
            let loaded = load(tx, &caller)?;
            Ok::<_, Error>((caller, first_use, loaded))
        })
        .await?;
    count_request(parts, app, &caller).await?;
    if let (true, Caller::User(signed_in), Credential::Token(claims, hash)) = (first_use, &caller, credential)
    {
        let (fresh, found) = (app.fresh(), signed_in.found.clone());
        app.db.write(move |tx| record_token(tx, &fresh, &found, &claims, &hash)).await?;
    }
    Ok((caller, loaded))
}

/// Counts a request of this caller for the rate limits.
pub(crate) async fn count_request(parts: &Parts, app: &App, caller: &Caller) -> Result<()> {
    let (rule, key) = match caller {
        Caller::User(signed_in) => (Rule::UserRequests, signed_in.found.user.uuid.to_string()),
        Caller::Project(key) => (Rule::ProjectRequests, key.project_uuid.to_string()),
        _ => (Rule::PublicRequests, Origin::of(parts, caller.actor()).key()),
    };
    Ok(app.limits.check(rule, &key, app.clock.now()).await?)
}

/// Counts a run for the rate limits of its caller and, if known, of its project.
pub(crate) async fn count_run(
    app: &App,
    caller: &Caller,
    address: Option<IpAddr>,
    project: Option<ProjectUuid>,
) -> Result<()> {
    let now = app.clock.now();
    match caller {
        Caller::User(by) => app.limits.check(Rule::UserRuns, &by.found.user.uuid.to_string(), now).await?,
        Caller::Project(_) => {}
        Caller::Anonymous | Caller::Owner | Caller::Unknown | Caller::Locked => {
            let key = address.map_or_else(|| "unknown".into(), address_key);
            app.limits.check(Rule::PublicRuns, &key, now).await?;
        }
    }
    let project = match caller {
        Caller::Project(key) => Some(key.project_uuid),
        _ => project.map(ProjectUuid::uuid),
    };
    if let Some(project) = project {
        app.limits.check(Rule::ProjectRuns, &project.to_string(), now).await?;
    }
    Ok(())
}

/// Returns the signed-in user, or the reason why the caller is not a signed-in user.
fn signed_in(caller: Caller) -> Result<SignedIn> {
    match caller {
        Caller::User(signed_in) => Ok(signed_in),
        Caller::Anonymous | Caller::Owner => Err(Error::Unauthorized(
            "This operation requires a credential; send the header Authorization: Bearer with a session \
             token or a user key."
                .into(),
        )),
        Caller::Unknown => Err(Error::Unauthorized(
            "The credential is not valid: it is unknown, revoked, locked or expired; sign in again or use \
             another credential."
                .into(),
        )),
        Caller::Locked => Err(Error::Forbidden(LOCKED.into())),
        Caller::Project(_) => Err(Error::Forbidden(
            "This operation does not accept a project key; use a session token or a user key.".into(),
        )),
    }
}

/// Same as [`signed_in`] for a resource that is hidden from callers without the right to view it, and from every project key.
fn signed_in_for(caller: Caller, noun: &str) -> Result<SignedIn> {
    match caller {
        Caller::Project(_) => Err(Error::NotFound(format!(
            "The {noun} does not exist, or you do not have permission to view it. This operation accepts a \
             session token or a user key, not a project key."
        ))),
        caller => signed_in(caller),
    }
}

/// Any signed-in user.
#[derive(Clone, Debug)]
pub struct SignedInUser {
    /// The user.
    pub by: SignedIn,
    /// User and address of the request.
    pub origin: Origin,
}

impl FromRequestParts<App> for SignedInUser {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        let (caller, ()) = authenticate(parts, app, |_, _| Ok(())).await?;
        let by = signed_in(caller)?;
        Ok(Self { origin: Origin::of(parts, by.actor()), by })
    }
}

/// A caller with a valid credential: a user or a project key.
#[derive(Clone, Debug)]
pub enum AuthenticatedCaller {
    /// A user.
    User(SignedIn),
    /// A project key.
    Project(project_key::ProjectKeyRow),
}

impl FromRequestParts<App> for AuthenticatedCaller {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        let (caller, ()) = authenticate(parts, app, |_, _| Ok(())).await?;
        match caller {
            Caller::Project(key) => Ok(Self::Project(key)),
            caller => signed_in(caller).map(Self::User),
        }
    }
}

/// An administrator of the server.
#[derive(Clone, Debug)]
pub struct Admin {
    /// The administrator.
    pub by: SignedIn,
    /// User and address of the request.
    pub origin: Origin,
}

impl FromRequestParts<App> for Admin {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        let SignedInUser { by, origin } = SignedInUser::from_request_parts(parts, app).await?;
        if by.found.user.admin {
            Ok(Self { by, origin })
        } else {
            Err(Error::Forbidden("Only an administrator of this server may do this.".into()))
        }
    }
}

/// The account in the path, for its owner or an administrator. Other users get 404.
#[derive(Clone, Debug)]
pub struct Account {
    /// The account in the path.
    pub found: user::UserRow,
    /// The user who sent the request.
    pub by: SignedIn,
    /// User and address of the request.
    pub origin: Origin,
}

impl FromRequestParts<App> for Account {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        let wanted: ResourceId = segment(parts, "user").await?;
        let (caller, found) =
            authenticate(parts, app, move |tx, _| Ok(found_or_none(user::find(tx, &wanted))?)).await?;
        let by = signed_in_for(caller, "user")?;
        let found = found
            .filter(|found| found.id == by.found.id || by.found.user.admin)
            .ok_or_else(|| Error::not_found("user"))?;
        Ok(Self { found, origin: Origin::of(parts, by.actor()), by })
    }
}

/// Turns a missing row into `None`, so that the rights of the caller are checked before the 404.
pub(super) fn found_or_none<T>(found: tidemark_store::Result<T>) -> tidemark_store::Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(tidemark_store::Error::NotFound(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A right as a type: the signature of a handler says which right it requires.
pub trait Right: Send + Sync + 'static {
    /// The required permission in an organization.
    const ORGANIZATION: OrganizationPermission;
    /// The required permission in a project.
    const PROJECT: ProjectPermission;
}

macro_rules! rights {
    ($($name:ident),* $(,)?) => {$(
        #[doc = concat!("The right `", stringify!($name), "`.")]
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl Right for $name {
            const ORGANIZATION: OrganizationPermission = OrganizationPermission::$name;
            const PROJECT: ProjectPermission = ProjectPermission::$name;
        }
    )*};
}
rights!(View, Create, Edit, Delete, Manage, ViewRole, CreateRole, EditRole, DeleteRole);

/// Any caller. What the caller can see depends on the credential.
#[derive(Clone, Debug)]
pub struct AnyCaller {
    /// The caller.
    pub caller: Caller,
}

impl FromRequestParts<App> for AnyCaller {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        let (caller, ()) = authenticate(parts, app, |_, _| Ok(())).await?;
        Ok(Self { caller })
    }
}

const LOCKED: &str = "This account is locked; an administrator of the server can unlock it.";
/// Checks that the caller may create unclaimed resources: every caller may, except one with an invalid credential.
pub fn may_create_unclaimed(caller: &Caller) -> Result<()> {
    match caller {
        Caller::Anonymous | Caller::Owner | Caller::User(_) => Ok(()),
        caller => signed_in(caller.clone()).map(drop),
    }
}

/// Checks that the caller may delete permanently: only an administrator may.
pub fn may_delete_permanently(caller: &Caller) -> Result<()> {
    if signed_in(caller.clone())?.found.user.admin {
        return Ok(());
    }
    Err(Error::Forbidden(
        "Only an administrator of this server may delete permanently; leave `hard` out for a soft delete."
            .into(),
    ))
}
