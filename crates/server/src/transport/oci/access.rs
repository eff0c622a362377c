//! Access control of the registry. Every request has a token. This module checks that the holder still has the right, by the
//! same rules as the rest of the API, and that the scope of the token includes the action.

use std::fmt;

use axum::http::{header, request::Parts};
use tidemark_api::{JobUuid, ProjectPermission, ResourceName, Slug, Timestamp};
use tidemark_store::{OrganizationId, ProjectId, Tx, job, key, project, project_key, user};

use super::{
    error::{Error, Result},
    quota,
    route::Name,
    scope::{Action, Audience, Claims, Scope},
};
use crate::{
    domain::{
        app::App,
        auth::caller::{Caller, SignedIn, Via},
        error::Error as House,
        quota::Quota,
    },
    infra::config::Config,
    transport::http::{
        access,
        origin::Origin,
        project_creation::{self, Sender},
    },
};

/// Path of the token endpoint.
pub(crate) const TOKEN_PATH: &str = "/v0/auth/oci/token";

/// Challenge for a client without a valid token: where to get a token, and with which scope.
#[derive(Clone, Debug)]
pub(super) struct Challenge {
    realm: String,
    service: String,
    scope: Option<String>,
    fault: Option<Fault>,
}

/// Why a token is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The token was not signed by this server, has expired, or its holder no longer exists.
    Invalid,
    /// The scope of the token does not include the action.
    Scope,
}

impl Challenge {
    /// Creates a challenge that refers to the token endpoint.
    pub(super) fn new(config: &Config, scope: Option<String>, fault: Option<Fault>) -> Self {
        let url = config.registry_url().as_str();
        let parsed = url::Url::parse(url).ok();
        let realm = parsed.as_ref().map_or_else(String::new, |url| {
            let mut realm = url.clone();
            realm.set_path(&format!("{}{TOKEN_PATH}", url.path().trim_end_matches('/')));
            realm.to_string()
        });
        let service = parsed.as_ref().and_then(|url| {
            let host = url.host_str()?;
            Some(url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
        });
        Self { realm, service: service.unwrap_or_default(), scope, fault }
    }

    /// Returns the message of the error.
    pub(super) fn message(&self) -> &'static str {
        match self.fault {
            None => {
                "This needs a registry token; log in, or get one from the address in the www-authenticate header."
            }
            Some(Fault::Invalid) => {
                "The credential is not valid: it is unknown, revoked, locked or has run out; log in again."
            }
            Some(Fault::Scope) => {
                "The registry token is not good for this; log in as somebody who may do it."
            }
        }
    }
}

impl fmt::Display for Challenge {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { realm, service, scope, fault } = self;
        write!(formatter, "Bearer realm=\"{realm}\",service=\"{service}\"")?;
        if let Some(scope) = scope {
            write!(formatter, ",scope=\"{scope}\"")?;
        }
        match fault {
            None => Ok(()),
            Some(Fault::Invalid) => formatter.write_str(",error=\"invalid_token\""),
            Some(Fault::Scope) => formatter.write_str(",error=\"insufficient_scope\""),
        }
    }
}

/// A repository, for a caller who has the right to the requested action.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// Name of the repository in the request.
    pub(super) name: Name,
    /// The project of the repository.
    pub(super) project: ProjectId,
    /// The organization of the project.
    pub(super) organization: OrganizationId,
    /// Whether the organization is claimed.
    pub(super) claimed: bool,
    /// The caller and its token.
    pub(super) visitor: Visitor,
}

impl Place {
    fn new(name: Name, found: &project::ProjectRow, visitor: Visitor) -> Self {
        let claimed = found.project.claimed.is_some();
        Self { name, project: found.id, organization: found.organization, claimed, visitor }
    }
}

/// The holder of a token.
#[derive(Clone, Debug)]
pub(super) struct Visitor {
    /// The caller.
    pub(super) caller: Caller,
    claims: Claims,
}

/// Checks that the caller has a valid token of any scope.
pub(super) async fn enter(app: &App, parts: &Parts) -> Result<()> {
    let claims = claims(app, parts, None)?;
    let now = app.clock.now();
    let caller = app.db.read(move |tx| holder(tx, &claims, now)).await?;
    access::count(parts, app, &caller).await?;
    match caller {
        Caller::Unknown => Err(Error::Unauthorized(Challenge::new(&app.config, None, Some(Fault::Invalid)))),
        _ => Ok(()),
    }
}

/// Opens a repository to read from it, and reads on the same snapshot.
pub(super) async fn pull<T, F>(app: &App, parts: &Parts, name: Name, load: F) -> Result<(Place, T)>
where
    F: FnOnce(&mut Tx<'_>, &Place) -> Result<T> + Send + 'static,
    T: Send + 'static,
{
    let desk = Desk::new(app, parts, &name, Action::Pull)?;
    let (caller, outcome) = app
        .db
        .read(move |tx| {
            let visitor = desk.receive(tx)?;
            let caller = visitor.caller.clone();
            let outcome = desk.permit(tx, &visitor, ProjectPermission::View).and_then(|found| {
                let place = Place::new(desk.name.clone(), &found, visitor);
                let loaded = load(tx, &place)?;
                Ok((place, loaded))
            });
            Ok::<_, Error>((caller, outcome))
        })
        .await?;
    access::count(parts, app, &caller).await?;
    outcome
}

/// Opens a repository to delete from it.
pub(super) async fn delete(app: &App, parts: &Parts, name: Name) -> Result<Place> {
    let desk = Desk::new(app, parts, &name, Action::Delete)?;
    let (caller, outcome) = app
        .db
        .read(move |tx| {
            let visitor = desk.receive(tx)?;
            let caller = visitor.caller.clone();
            let found = desk.permit(tx, &visitor, ProjectPermission::Delete);
            Ok::<_, Error>((caller, found.map(|found| Place::new(name, &found, visitor))))
        })
        .await?;
    access::count(parts, app, &caller).await?;
    outcome
}

/// A permitted push. The project may have to be created.
pub(super) struct Push {
    desk: Desk,
    visitor: Visitor,
    found: Option<project::ProjectRow>,
}

/// Opens a repository to push to it. Like a run, a push creates a project that does not exist, and claims an unclaimed project
/// for the user.
pub(super) async fn push(app: &App, parts: &Parts, name: Name) -> Result<Place> {
    permit_push(app, parts, name).await?.open(app, parts).await
}

/// Opens a repository of an existing project to push to it.
pub(super) async fn push_to_existing(app: &App, parts: &Parts, name: Name) -> Result<Place> {
    let Push { desk, visitor, found } = permit_push(app, parts, name).await?;
    Ok(Place::new(desk.name, &found.ok_or(Error::UploadUnknown)?, visitor))
}

/// Checks that the caller may push to a repository, without creating anything.
pub(super) async fn permit_push(app: &App, parts: &Parts, name: Name) -> Result<Push> {
    let desk = Desk::new(app, parts, &name, Action::Push)?;
    let read = desk.clone();
    let (visitor, outcome) = app
        .db
        .read(move |tx| {
            let visitor = read.receive(tx)?;
            let outcome = read.permit_push(tx, &visitor);
            Ok::<_, Error>((visitor, outcome))
        })
        .await?;
    access::count(parts, app, &visitor.caller).await?;
    if is_closed(app, &visitor.caller) {
        return Err(Error::Unauthorized(Challenge::new(&app.config, None, Some(Fault::Scope))));
    }
    Ok(Push { desk, visitor, found: outcome? })
}

impl Push {
    /// Returns the repository after a possible claim, if its project exists.
    pub(super) fn existing(&self) -> Option<Place> {
        let found = self.found.as_ref()?;
        let mut place = Place::new(self.desk.name.clone(), found, self.visitor.clone());
        place.claimed |= may_claim(&self.visitor.caller, found);
        Some(place)
    }

    /// Opens the repository, and creates or claims its project.
    pub(super) async fn open(self, app: &App, parts: &Parts) -> Result<Place> {
        let Self { desk, visitor, found } = self;
        let name = desk.name.clone();
        let found = match found {
            Some(found) if !may_claim(&visitor.caller, &found) => found,
            found => {
                let origin = Origin::of(parts, visitor.caller.actor());
                if found.is_none() {
                    access::count_run(app, &visitor.caller, origin.address, None).await?;
                }
                let (fresh, quota, by) = (app.fresh(), Quota::new(&app.config), visitor.clone());
                let claims = app.config.access.claims;
                let total = app.config.access.unclaimed.total_image_bytes;
                app.db
                    .write(move |tx| {
                        if matches!(by.caller, Caller::Anonymous) {
                            quota::check_total(tx, total)?;
                        }
                        let sender = Sender { caller: &by.caller, origin: &origin, quota, claims };
                        project_creation::find_or_make(tx, &fresh, &sender, desk.name.project(), project_name)
                            .map(|founded| founded.project)
                            .map_err(|error| desk.refuse(&by, error))
                    })
                    .await?
            }
        };
        Ok(Place::new(name, &found, visitor))
    }
}

/// Whether the configuration rejects pushes of this caller, who has not signed in.
pub(super) fn is_closed(app: &App, caller: &Caller) -> bool {
    matches!(caller, Caller::Anonymous) && !app.config.access.anonymous_pushes
}

/// Returns the requested scope with the actions that the caller has a right to.
pub(super) fn grant(
    tx: &mut Tx<'_>,
    caller: &Caller,
    asked: &Scope,
    is_closed: bool,
) -> Result<Scope, House> {
    let project = asked.name.project();
    let may = |tx: &mut Tx<'_>, permission| allowed(access::project_by_key(tx, caller, project, permission));
    let push = match access::project_for_run(tx, caller, project) {
        // For a project that the caller may not view, the scope is the same as for a project that does not exist.
        Err(House::NotFound(_)) => Some(None),
        found => allowed(found)?,
    };
    let may_push = match &push {
        _ if is_closed => false,
        Some(Some(_)) => true,
        Some(None) => allowed(project_creation::may_make(caller, project))?.is_some(),
        None => false,
    };
    let mut actions = Vec::new();
    for action in &asked.actions {
        let granted = match action {
            // Clients check for existing content before a push creates a project.
            Action::Pull => {
                may(tx, ProjectPermission::View)?.is_some() || matches!(push, Some(None)) && may_push
            }
            Action::Push => may_push,
            Action::Delete => may(tx, ProjectPermission::Delete)?.is_some(),
        };
        if granted {
            actions.push(*action);
        }
    }
    Ok(Scope { name: asked.name.clone(), actions })
}

/// Turns a rejection into `None`. Returns other errors unchanged.
fn allowed<T>(outcome: Result<T, House>) -> Result<Option<T>, House> {
    match outcome {
        Ok(value) => Ok(Some(value)),
        Err(House::NotFound(_) | House::Forbidden(_) | House::Unauthorized(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether a push claims this project for the caller.
fn may_claim(caller: &Caller, found: &project::ProjectRow) -> bool {
    found.project.claimed.is_none() && matches!(caller, Caller::User(by) if by.found.confirmed.is_some())
}

/// Returns the name of a project that is created by a push.
fn project_name(slug: &Slug) -> Result<ResourceName, House> {
    slug.as_str()
        .parse()
        .map_err(|error| House::Invalid(format!("The name of the repository is wrong: {error}.")))
}

/// Returns the claims of the token of a request, if this server signed it and it has not expired.
fn claims(app: &App, parts: &Parts, scope: Option<&str>) -> Result<Claims> {
    let refuse = |fault| Error::Unauthorized(Challenge::new(&app.config, scope.map(str::to_owned), fault));
    let token = parts.headers.get(header::AUTHORIZATION).and_then(|value| {
        let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    let token = token.ok_or_else(|| refuse(None))?;
    let claims: Option<Claims> = app.signer.verify_claims(token);
    claims.filter(|claims| claims.is_fresh(app.clock.now())).ok_or_else(|| refuse(Some(Fault::Invalid)))
}

/// Returns the holder of a token, if the account still exists and the key that the token was requested with is still valid.
fn holder(tx: &mut Tx<'_>, claims: &Claims, now: Timestamp) -> Result<Caller> {
    let user = match (claims.aud, claims.jti) {
        (Audience::Public, _) => return Ok(Caller::Anonymous),
        (Audience::Project, Some(jti)) => {
            let found = project_key::by_uuid(tx, jti.into(), now)?;
            return Ok(found.map_or(Caller::Unknown, Caller::Project));
        }
        (Audience::Runner, Some(jti)) => return runner(tx, claims, jti.into()),
        (Audience::Project | Audience::Runner, None) => None,
        (Audience::User, Some(jti)) => {
            key::owner(tx, jti.into(), now)?.map(|found| (found, Via::Key(jti.into())))
        }
        (Audience::User, None) => match claims.sub.as_deref().and_then(|email| email.parse().ok()) {
            // If the address was given up after the token was issued, it may belong to another user now.
            Some(email) => match user::email_given_up(tx, &email)? {
                Some(given_up) if given_up.seconds() >= claims.iat => None,
                _ => user::by_email(tx, &email)?.map(|found| (found, Via::Token)),
            },
            None => None,
        },
    };
    Ok(match user {
        Some((found, via)) if !found.user.locked => Caller::User(SignedIn { found, via }),
        _ => Caller::Unknown,
    })
}

/// Returns the caller for a runner: it can read like a key of the project, while its job is active.
fn runner(tx: &mut Tx<'_>, claims: &Claims, job: JobUuid) -> Result<Caller> {
    let found = match job::find(tx, job) {
        Ok(found)
            if found.job.status.is_under_way()
                && found.job.runner.map(|runner| runner.to_string()) == claims.sub =>
        {
            found
        }
        Ok(_) | Err(tidemark_store::Error::NotFound(_)) => return Ok(Caller::Unknown),
        Err(error) => return Err(error.into()),
    };
    let name = "runner".parse().expect("a plain name");
    let (uuid, project, project_uuid) = (job.uuid().into(), found.project, found.config.project.uuid());
    Ok(Caller::Project(project_key::ProjectKeyRow { uuid, name, project, project_uuid }))
}

/// Checks the rights of one request.
#[derive(Clone)]
struct Desk {
    name: Name,
    action: Action,
    claims: Claims,
    challenge: Challenge,
    now: Timestamp,
}

impl Desk {
    fn new(app: &App, parts: &Parts, name: &Name, action: Action) -> Result<Self> {
        // A client that pushes also checks for existing content.
        let actions = match action {
            Action::Push => vec![Action::Pull, Action::Push],
            action => vec![action],
        };
        let scope = Scope { name: name.clone(), actions }.to_string();
        let claims = claims(app, parts, Some(&scope))?;
        let challenge = Challenge::new(&app.config, Some(scope), Some(Fault::Scope));
        Ok(Self { name: name.clone(), action, claims, challenge, now: app.clock.now() })
    }

    /// Returns the holder of the token.
    fn receive(&self, tx: &mut Tx<'_>) -> Result<Visitor> {
        let caller = holder(tx, &self.claims, self.now)?;
        if matches!(caller, Caller::Unknown) {
            let challenge = Challenge { fault: Some(Fault::Invalid), ..self.challenge.clone() };
            return Err(Error::Unauthorized(challenge));
        }
        Ok(Visitor { caller, claims: self.claims.clone() })
    }

    /// Returns the project, if the caller has the permission in it and the scope of the token includes it.
    fn permit(
        &self,
        tx: &mut Tx<'_>,
        visitor: &Visitor,
        permission: ProjectPermission,
    ) -> Result<project::ProjectRow> {
        let found = access::project_by_key(tx, &visitor.caller, self.name.project(), permission)
            .map_err(|error| self.refuse(visitor, error))?;
        self.insist(visitor, Some(&found))?;
        Ok(found)
    }

    /// Same as [`Desk::permit`] for a push, where the project may not exist yet.
    fn permit_push(&self, tx: &mut Tx<'_>, visitor: &Visitor) -> Result<Option<project::ProjectRow>> {
        let found = access::project_for_run(tx, &visitor.caller, self.name.project())
            .and_then(|found| {
                if found.is_none() {
                    project_creation::may_make(&visitor.caller, self.name.project())?;
                }
                Ok(found)
            })
            .map_err(|error| self.refuse(visitor, error))?;
        self.insist(visitor, found.as_ref())?;
        Ok(found)
    }

    /// Checks that the scope of the token includes the action.
    fn insist(&self, visitor: &Visitor, found: Option<&project::ProjectRow>) -> Result<()> {
        if visitor.claims.grants(&self.name, found, self.action) {
            return Ok(());
        }
        Err(Error::Unauthorized(self.challenge.clone()))
    }

    /// Converts an error for the registry. A caller without a credential gets a challenge. Reading from a project that the
    /// caller could create returns 404, the same for hidden and missing projects.
    fn refuse(&self, visitor: &Visitor, error: House) -> Error {
        let anonymous = matches!(visitor.caller, Caller::Anonymous);
        match error {
            House::NotFound(_) if !anonymous => Error::NameUnknown,
            House::NotFound(_)
                if self.action == Action::Pull && visitor.claims.grants(&self.name, None, Action::Pull) =>
            {
                Error::NameUnknown
            }
            House::NotFound(_) | House::Unauthorized(_) => Error::Unauthorized(self.challenge.clone()),
            error => error.into(),
        }
    }
}

impl Visitor {
    /// Returns the project of another repository that a blob can be mounted from, if the caller may read it. Public
    /// repositories can be read with every token.
    pub(super) fn source(&self, tx: &mut Tx<'_>, name: &Name) -> Result<Option<ProjectId>> {
        let found =
            allowed(access::project_by_key(tx, &self.caller, name.project(), ProjectPermission::View))?;
        Ok(found
            .filter(|found| {
                found.project.visibility == tidemark_api::Visibility::Public
                    || self.claims.grants(name, Some(found), Action::Pull)
            })
            .map(|found| found.id))
    }
}
