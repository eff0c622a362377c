//! Who may do what. A handler gets hold of a user, an organization or the server only through these extractors:
//! they read the credential, load the row and check the right, in one read of the database. 401, 403 and the 404 of
//! what must stay hidden come from here and nowhere else.

use std::{marker::PhantomData, net::IpAddr};

use axum::{extract::FromRequestParts, http::request::Parts};
use tidemark_api::{
    self as api, Actor, OrganizationPermission, OrganizationRole, ProjectPermission, ResourceId, Visibility,
};
use tidemark_store::{Fresh, OrganizationId, ProjectId, Tx, audit, member, organization, project, user};

use super::{
    body::segment,
    error::{Error, Result},
};
use crate::{
    App,
    auth::caller::{Caller, Credential, SignedIn, record_token},
    limits::{Rule, address_key},
};

/// The address a request came from, as far as it can be trusted; put there by the frame.
#[derive(Clone, Copy, Debug)]
pub struct ClientAddress(pub Option<IpAddr>);

/// Who asked and from where, for the audit log and for rate limits.
#[derive(Clone, Debug)]
pub struct Origin {
    /// Who asked.
    pub actor: Actor,
    /// From where.
    pub address: Option<IpAddr>,
}

impl Origin {
    /// Remembers a change in the transaction that makes it.
    pub fn audit(
        &self,
        tx: &mut Tx<'_>,
        fresh: &Fresh,
        action: &str,
        target: &str,
        organization: Option<OrganizationId>,
        detail: &[(&str, &str)],
    ) -> Result<()> {
        let address = self.address.map(|address| address.to_string());
        let entry = audit::New {
            actor: &self.actor,
            address: address.as_deref(),
            action,
            target,
            organization,
            detail,
        };
        Ok(audit::add(tx, fresh, &entry)?)
    }

    /// The address as the key of a rate limit.
    pub fn key(&self) -> String {
        address_name(self.address)
    }
}

impl FromRequestParts<App> for Origin {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self> {
        Ok(Self { actor: Caller::Anonymous.actor(), address: address(parts) })
    }
}

fn address_name(address: Option<IpAddr>) -> String {
    address.map_or_else(|| "unknown".into(), address_key)
}

fn address(parts: &Parts) -> Option<IpAddr> {
    parts.extensions.get::<ClientAddress>().and_then(|address| address.0)
}

/// Finds the caller and loads what the request is about, on one snapshot, and counts the request.
async fn enter<T, F>(parts: &Parts, app: &App, load: F) -> Result<(Caller, T)>
where
    F: FnOnce(&mut Tx<'_>, &Caller) -> Result<T> + Send + 'static,
    T: Send + 'static,
{
    let now = app.clock.now();
    let credential = Credential::read(&parts.headers, &app.signer, &app.config.security.key_prefix, now);
    let looked_up = credential.clone();
    let (caller, first_use, loaded) = app
        .db
        .read(move |tx| {
            let (caller, first_use) = Caller::find(tx, &looked_up, now)?;
            let loaded = load(tx, &caller)?;
            Ok::<_, Error>((caller, first_use, loaded))
        })
        .await?;
    let (rule, key) = match &caller {
        Caller::User(signed_in) => (Rule::UserRequests, signed_in.found.user.uuid.to_string()),
        Caller::Project(key) => (Rule::ProjectRequests, key.project_uuid.to_string()),
        _ => (Rule::PublicRequests, address_name(address(parts))),
    };
    app.limits.check(rule, &key, now).await?;
    if let (true, Caller::User(signed_in), Credential::Token(claims, hash)) = (first_use, &caller, credential)
    {
        let (fresh, found) = (app.fresh(), signed_in.found.clone());
        app.db.write(move |tx| record_token(tx, &fresh, &found, &claims, &hash)).await?;
    }
    Ok((caller, loaded))
}

/// The user behind the call, or the reason why there is none.
fn signed_in(caller: Caller) -> Result<SignedIn> {
    match caller {
        Caller::User(signed_in) => Ok(signed_in),
        Caller::Anonymous => Err(Error::Unauthorized(
            "This needs a credential: send the header Authorization: Bearer with a session token or a user's key."
                .into(),
        )),
        Caller::Unknown => Err(Error::Unauthorized(
            "The credential is not valid: it is unknown, revoked, locked or has run out; sign in again or use another."
                .into(),
        )),
        Caller::Locked => Err(Error::Forbidden(LOCKED.into())),
        Caller::Project(_) => Err(Error::Forbidden(
            "A project's key does not reach this; use a session token or a user's key.".into(),
        )),
    }
}

/// The same for something that is hidden from those who may not see it, as it is from every project's key.
fn signed_in_for(caller: Caller, noun: &str) -> Result<SignedIn> {
    match caller {
        Caller::Project(_) => Err(Error::NotFound(format!(
            "There is no such {noun}, or you may not see it: this is reached by a session token or a user's key, \
             not by a project's key."
        ))),
        caller => signed_in(caller),
    }
}

/// Any signed-in user.
#[derive(Clone, Debug)]
pub struct Signed {
    /// The user.
    pub by: SignedIn,
    /// Who asked and from where.
    pub origin: Origin,
}

impl FromRequestParts<App> for Signed {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        let (caller, ()) = enter(parts, app, |_, _| Ok(())).await?;
        let by = signed_in(caller)?;
        Ok(Self { origin: Origin { actor: by.actor(), address: address(parts) }, by })
    }
}

/// A user who administers the server.
#[derive(Clone, Debug)]
pub struct Admin {
    /// The administrator.
    pub by: SignedIn,
    /// Who asked and from where.
    pub origin: Origin,
}

impl FromRequestParts<App> for Admin {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        let Signed { by, origin } = Signed::from_request_parts(parts, app).await?;
        if by.found.user.admin {
            Ok(Self { by, origin })
        } else {
            Err(Error::Forbidden("Only an administrator of this server may do this.".into()))
        }
    }
}

/// The account in the path, opened by its owner or an administrator. Other people's accounts are hidden.
#[derive(Clone, Debug)]
pub struct Account {
    /// The account in the path.
    pub found: user::Found,
    /// Who asks for it.
    pub by: SignedIn,
    /// Who asked and from where.
    pub origin: Origin,
}

impl FromRequestParts<App> for Account {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        let wanted: ResourceId = segment(parts, "user").await?;
        let (caller, found) =
            enter(parts, app, move |tx, _| Ok(found_or_none(user::find(tx, &wanted))?)).await?;
        let by = signed_in_for(caller, "user")?;
        let found = found
            .filter(|found| found.id == by.found.id || by.found.user.admin)
            .ok_or_else(|| Error::not_found("user"))?;
        Ok(Self { found, origin: Origin { actor: by.actor(), address: address(parts) }, by })
    }
}

/// Turns a missing row into `None`, so that who asks is judged before what is missing.
fn found_or_none<T>(found: tidemark_store::Result<T>) -> tidemark_store::Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(tidemark_store::Error::NotFound(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A right, as a type, so that a handler's signature says what it needs.
pub trait Right: Send + Sync + 'static {
    /// The permission in an organization.
    const ORGANIZATION: OrganizationPermission;
    /// The permission in a project.
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

/// The organization in the path, opened by somebody who has the right `R` in it. It is hidden from those who may not
/// even view it.
#[derive(Clone, Debug)]
pub struct Organization<R> {
    /// The key.
    pub id: OrganizationId,
    /// The organization; its licence is blanked for those who may not manage it.
    pub organization: api::Organization,
    /// Who asks for it.
    pub by: SignedIn,
    /// Who asked and from where.
    pub origin: Origin,
    role: Option<OrganizationRole>,
    right: PhantomData<R>,
}

impl<R> Organization<R> {
    /// Whether the caller has a right beyond the one of the signature.
    pub fn allows(&self, permission: OrganizationPermission) -> bool {
        allowed(&self.by, self.role, permission)
    }

    /// Insists on a right beyond the one of the signature.
    pub fn require(&self, permission: OrganizationPermission) -> Result<()> {
        require_permission(self.allows(permission), permission)
    }
}

/// Insists on a permission in an organization found by other means than its extractor: it stays hidden from those who
/// may not view it.
pub fn require(
    by: &SignedIn,
    role: Option<OrganizationRole>,
    permission: OrganizationPermission,
) -> Result<()> {
    if !allowed(by, role, OrganizationPermission::View) {
        return Err(Error::not_found("organization"));
    }
    require_permission(allowed(by, role, permission), permission)
}

/// Whether a user with this role has the permission; an administrator of the server has them all.
pub fn allowed(by: &SignedIn, role: Option<OrganizationRole>, permission: OrganizationPermission) -> bool {
    by.found.user.admin || role.is_some_and(|role| role.grants(permission))
}

fn require_permission(allowed: bool, permission: OrganizationPermission) -> Result<()> {
    if allowed {
        return Ok(());
    }
    Err(Error::Forbidden(format!(
        "This needs the permission `{permission}` in the organization; ask one of its leaders."
    )))
}

impl<R: Right> FromRequestParts<App> for Organization<R> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        let wanted: ResourceId = segment(parts, "organization").await?;
        let (caller, found) = enter(parts, app, move |tx, caller| {
            let Some(found) = found_or_none(organization::find(tx, &wanted))? else { return Ok(None) };
            let role = match caller {
                Caller::User(signed_in) => member::role(tx, found.id, signed_in.found.id)?,
                _ => None,
            };
            Ok(Some((found, role)))
        })
        .await?;
        let by = signed_in_for(caller, "organization")?;
        let (found, role) = found.ok_or_else(|| Error::not_found("organization"))?;
        require(&by, role, R::ORGANIZATION)?;
        let mut organization = found.organization;
        if !allowed(&by, role, OrganizationPermission::Manage) {
            organization.license = None;
        }
        Ok(Self {
            id: found.id,
            organization,
            origin: Origin { actor: by.actor(), address: address(parts) },
            by,
            role,
            right: PhantomData,
        })
    }
}

/// Anybody: what they see depends on who they are.
#[derive(Clone, Debug)]
pub struct Anyone {
    /// Who asks.
    pub caller: Caller,
}

impl FromRequestParts<App> for Anyone {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        let (caller, ()) = enter(parts, app, |_, _| Ok(())).await?;
        Ok(Self { caller })
    }
}

/// The project in the path, opened by somebody who has the right `R` in it: a user or the project's own key. A public
/// project can be viewed by anybody; a private one is hidden from those who may not view it.
#[derive(Clone, Debug)]
pub struct Project<R> {
    /// The key.
    pub id: ProjectId,
    /// The organization it belongs to.
    pub organization: OrganizationId,
    /// The project.
    pub project: api::Project,
    /// Who asks for it.
    pub caller: Caller,
    /// Who asked and from where.
    pub origin: Origin,
    right: PhantomData<R>,
}

impl<R> Project<R> {
    /// A key changes everything about a dimension but what it is called.
    pub fn may_rename(&self, renames: bool) -> Result<()> {
        match self.caller {
            Caller::Project(_) if renames => {
                Err(Error::Forbidden(format!("A project's key cannot rename; use {WITHOUT_KEY}.")))
            }
            _ => Ok(()),
        }
    }
}

/// A project as [`Project`] finds it, for operations that no key reaches.
#[derive(Clone, Debug)]
pub struct ProjectByUser<R> {
    /// The project.
    pub project: Project<R>,
    /// The user who asks for it.
    pub by: SignedIn,
}

const LOCKED: &str = "This account is locked; an administrator of the server can unlock it.";
const WITH_KEY: &str = "a session token, a user's key or the project's own key";
const WITHOUT_KEY: &str = "a session token or a user's key";

/// What a caller may do in a project.
pub fn project_allows(
    caller: &Caller,
    found: &project::Found,
    roles: project::Roles,
    permission: ProjectPermission,
) -> bool {
    use ProjectPermission::{Create, Edit, View};
    let public = permission == View && found.project.visibility == Visibility::Public;
    public
        || match caller {
            Caller::User(by) => {
                by.found.user.admin
                    || roles.organization.is_some_and(|role| role.grants_in_projects(permission))
                    || roles.project.is_some_and(|role| role.grants(permission))
            }
            Caller::Project(key) => key.project == found.id && matches!(permission, View | Create | Edit),
            Caller::Anonymous | Caller::Unknown | Caller::Locked => false,
        }
}

fn no_project(kinds: &str) -> Error {
    Error::NotFound(format!("There is no such project, or you may not see it: a private one needs {kinds}."))
}

/// The answer for a project that is not there, the same as for one that is hidden.
pub fn hidden_project() -> Error {
    no_project(WITH_KEY)
}

/// The live project of this slug or UUID, if the caller may see it and has the permission in it. `kinds` names the
/// credentials that reach what is asked for.
fn judge_project(
    caller: &Caller,
    found: Option<(project::Found, project::Roles)>,
    permission: ProjectPermission,
    kinds: &str,
) -> Result<project::Found> {
    let visible =
        found.filter(|(found, roles)| project_allows(caller, found, *roles, ProjectPermission::View));
    let Some((found, roles)) = visible else { return Err(no_project(kinds)) };
    if project_allows(caller, &found, roles, permission) {
        return Ok(found);
    }
    Err(match caller {
        Caller::Anonymous => Error::Unauthorized(format!(
            "This needs a credential: send the header Authorization: Bearer with {kinds}."
        )),
        Caller::Unknown => Error::Unauthorized(format!(
            "The credential is not valid: it is unknown, revoked or has run out; use {kinds}."
        )),
        Caller::Locked => Error::Forbidden(LOCKED.into()),
        Caller::Project(key) if key.project != found.id => {
            Error::Forbidden(format!("This key belongs to another project; use {kinds}."))
        }
        Caller::Project(_) => {
            Error::Forbidden(format!("A project's key does not reach this; use {WITHOUT_KEY}."))
        }
        Caller::User(_) => Error::Forbidden(format!(
            "This needs the permission `{permission}` in the project; ask one of its maintainers."
        )),
    })
}

fn look_up_project(
    tx: &mut Tx<'_>,
    caller: &Caller,
    wanted: &ResourceId,
) -> Result<Option<(project::Found, project::Roles)>> {
    let user = match caller {
        Caller::User(by) => Some(by.found.id),
        _ => None,
    };
    Ok(found_or_none(project::find(tx, wanted, user))?)
}

/// A project found inside a transaction rather than by its extractor, for users only.
pub fn project_for(
    tx: &mut Tx<'_>,
    caller: &Caller,
    wanted: &ResourceId,
    permission: ProjectPermission,
) -> Result<project::Found> {
    let found = look_up_project(tx, caller, wanted)?;
    judge_project(caller, found, permission, WITHOUT_KEY)
}

/// The project that a run is for, if there is one. Whoever has not claimed it lets everybody in; a claimed one needs the
/// permission to create.
pub fn project_for_run(
    tx: &mut Tx<'_>,
    caller: &Caller,
    wanted: &ResourceId,
) -> Result<Option<project::Found>> {
    match look_up_project(tx, caller, wanted)? {
        None if !matches!(caller, Caller::Project(_)) => Ok(None),
        Some((found, _)) if found.project.claimed.is_none() && !matches!(caller, Caller::Project(_)) => {
            may_make(caller)?;
            Ok(Some(found))
        }
        found => judge_project(caller, found, ProjectPermission::Create, WITH_KEY).map(Some),
    }
}

/// Whether the caller may make something that nobody owns yet: anybody, except with a credential that is no good.
pub fn may_make(caller: &Caller) -> Result<()> {
    match caller {
        Caller::Anonymous | Caller::User(_) => Ok(()),
        caller => signed_in(caller.clone()).map(drop),
    }
}

/// Why somebody who is not an administrator may not delete for good.
pub fn refuse_hard_delete(caller: Caller) -> Error {
    match signed_in(caller) {
        Err(error) => error,
        Ok(_) => Error::Forbidden(
            "Only an administrator of this server may delete for good; leave `hard` out to hide it instead."
                .into(),
        ),
    }
}

async fn open_project<R: Right>(parts: &mut Parts, app: &App, kinds: &str) -> Result<Project<R>> {
    let wanted: ResourceId = segment(parts, "project").await?;
    let (caller, found) = enter(parts, app, move |tx, caller| look_up_project(tx, caller, &wanted)).await?;
    let found = judge_project(&caller, found, R::PROJECT, kinds)?;
    let origin = Origin { actor: caller.actor(), address: address(parts) };
    let (id, organization) = (found.id, found.organization);
    Ok(Project { id, organization, project: found.project, caller, origin, right: PhantomData })
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
