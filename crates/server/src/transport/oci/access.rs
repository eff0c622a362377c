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
        auth::caller::{AuthMethod, Caller, SignedIn},
        error::Error as DomainError,
        quota::Quota,
    },
    infra::config::Config,
    transport::http::{
        access,
        origin::Origin,
        project_creation::{self, ProjectCreator},
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
    token_error: Option<TokenError>,
}

/// Why a token is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenError {
    /// The token was not signed by this server, has expired, or its holder no longer exists.
    Invalid,
    /// The scope of the token does not include the action.
    InsufficientScope,
}

impl Challenge {
    /// Creates a challenge that refers to the token endpoint.
    pub(super) fn new(config: &Config, scope: Option<String>, token_error: Option<TokenError>) -> Self {
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
        Self { realm, service: service.unwrap_or_default(), scope, token_error }
    }

    /// Returns the message of the error.
    pub(super) fn message(&self) -> &'static str {
        match self.token_error {
            None => {
                "This operation requires a registry token; log in, or get a token from the URL in the \
                 WWW-Authenticate header."
            }
            Some(TokenError::Invalid) => {
                "The credential is not valid: it is unknown, revoked, locked or expired; log in again."
            }
            Some(TokenError::InsufficientScope) => {
                "The registry token does not allow this operation; log in as a user with the required \
                 permission in the project."
            }
        }
    }
}

impl fmt::Display for Challenge {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { realm, service, scope, token_error } = self;
        write!(formatter, "Bearer realm=\"{realm}\",service=\"{service}\"")?;
        if let Some(scope) = scope {
            write!(formatter, ",scope=\"{scope}\"")?;
        }
        match token_error {
            None => Ok(()),
            Some(TokenError::Invalid) => formatter.write_str(",error=\"invalid_token\""),
            Some(TokenError::InsufficientScope) => formatter.write_str(",error=\"insufficient_scope\""),
        }
    }
}

/// A repository, for a caller who has the right to the requested action.
#[derive(Clone, Debug)]
pub(super) struct Repository {
    /// Name of the repository in the request.
    pub(super) name: Name,
    /// The project of the repository.
    pub(super) project: ProjectId,
    /// The organization of the project.
    pub(super) organization: OrganizationId,
    /// Whether the organization is claimed.
    pub(super) claimed: bool,
    /// The caller and its token.
    pub(super) holder: TokenHolder,
}

impl Repository {
    fn new(name: Name, found: &project::ProjectRow, holder: TokenHolder) -> Self {
        let claimed = found.project.claimed.is_some();
        Self { name, project: found.id, organization: found.organization, claimed, holder }
    }
}

/// The holder of a token.
#[derive(Clone, Debug)]
pub(super) struct TokenHolder {
    /// The caller.
    pub(super) caller: Caller,
    claims: Claims,
}

/// Checks that the caller has a valid token of any scope.
pub(super) async fn authenticate(app: &App, parts: &Parts) -> Result<()> {
    let claims = claims(app, parts, None)?;
    let now = app.clock.now();
    let caller = app.db.read(move |tx| find_caller(tx, &claims, now)).await?;
    access::count_request(parts, app, &caller).await?;
    match caller {
        Caller::Unknown => {
            Err(Error::Unauthorized(Challenge::new(&app.config, None, Some(TokenError::Invalid))))
        }
        _ => Ok(()),
    }
}

/// Opens a repository to read from it, and reads on the same snapshot.
pub(super) async fn pull<T, F>(app: &App, parts: &Parts, name: Name, load: F) -> Result<(Repository, T)>
where
    F: FnOnce(&mut Tx<'_>, &Repository) -> Result<T> + Send + 'static,
    T: Send + 'static,
{
    let check = AccessCheck::new(app, parts, &name, Action::Pull)?;
    let (caller, outcome) = app
        .db
        .read(move |tx| {
            let holder = check.authenticate(tx)?;
            let caller = holder.caller.clone();
            let outcome = check.authorize(tx, &holder, ProjectPermission::View).and_then(|found| {
                let opened = Repository::new(check.name.clone(), &found, holder);
                let loaded = load(tx, &opened)?;
                Ok((opened, loaded))
            });
            Ok::<_, Error>((caller, outcome))
        })
        .await?;
    access::count_request(parts, app, &caller).await?;
    outcome
}

/// Opens a repository to delete from it.
pub(super) async fn delete(app: &App, parts: &Parts, name: Name) -> Result<Repository> {
    let check = AccessCheck::new(app, parts, &name, Action::Delete)?;
    let (caller, outcome) = app
        .db
        .read(move |tx| {
            let holder = check.authenticate(tx)?;
            let caller = holder.caller.clone();
            let found = check.authorize(tx, &holder, ProjectPermission::Delete);
            Ok::<_, Error>((caller, found.map(|found| Repository::new(name, &found, holder))))
        })
        .await?;
    access::count_request(parts, app, &caller).await?;
    outcome
}

/// An authorized push. The project may have to be created.
pub(super) struct AuthorizedPush {
    check: AccessCheck,
    holder: TokenHolder,
    found: Option<project::ProjectRow>,
}

/// Opens a repository to push to it. Like a run, a push creates a project that does not exist, and claims an unclaimed project
/// for the user.
pub(super) async fn push(app: &App, parts: &Parts, name: Name) -> Result<Repository> {
    authorize_push(app, parts, name).await?.open(app, parts).await
}

/// Opens a repository of an existing project to push to it.
pub(super) async fn push_to_existing(app: &App, parts: &Parts, name: Name) -> Result<Repository> {
    let AuthorizedPush { check, holder, found } = authorize_push(app, parts, name).await?;
    Ok(Repository::new(check.name, &found.ok_or(Error::UploadUnknown)?, holder))
}

/// Checks that the caller may push to a repository, without creating anything.
pub(super) async fn authorize_push(app: &App, parts: &Parts, name: Name) -> Result<AuthorizedPush> {
    let check = AccessCheck::new(app, parts, &name, Action::Push)?;
    let reading = check.clone();
    let (holder, outcome) = app
        .db
        .read(move |tx| {
            let holder = reading.authenticate(tx)?;
            let outcome = reading.authorize_push(tx, &holder);
            Ok::<_, Error>((holder, outcome))
        })
        .await?;
    access::count_request(parts, app, &holder.caller).await?;
    if is_push_disabled(app, &holder.caller) {
        return Err(Error::Unauthorized(Challenge::new(
            &app.config,
            None,
            Some(TokenError::InsufficientScope),
        )));
    }
    Ok(AuthorizedPush { check, holder, found: outcome? })
}

impl AuthorizedPush {
    /// Returns the repository after a possible claim, if its project exists.
    pub(super) fn existing(&self) -> Option<Repository> {
        let found = self.found.as_ref()?;
        let mut opened = Repository::new(self.check.name.clone(), found, self.holder.clone());
        opened.claimed |= may_claim(&self.holder.caller, found);
        Some(opened)
    }

    /// Opens the repository, and creates or claims its project.
    pub(super) async fn open(self, app: &App, parts: &Parts) -> Result<Repository> {
        let Self { check, holder, found } = self;
        let name = check.name.clone();
        let found = match found {
            Some(found) if !may_claim(&holder.caller, &found) => found,
            found => {
                let origin = Origin::of(parts, holder.caller.actor());
                if found.is_none() {
                    access::count_run(app, &holder.caller, origin.address, None).await?;
                }
                let (fresh, quota, by) = (app.fresh(), Quota::new(&app.config), holder.clone());
                let claims = app.config.access.claims;
                let total = app.config.access.unclaimed.total_image_bytes;
                app.db
                    .write(move |tx| {
                        if matches!(by.caller, Caller::Anonymous) {
                            quota::check_total(tx, total)?;
                        }
                        let creator = ProjectCreator { caller: &by.caller, origin: &origin, quota, claims };
                        project_creation::find_or_create(
                            tx,
                            &fresh,
                            &creator,
                            check.name.project(),
                            project_name,
                        )
                        .map(|found_project| found_project.project)
                        .map_err(|error| check.convert_error(&by, error))
                    })
                    .await?
            }
        };
        Ok(Repository::new(name, &found, holder))
    }
}

/// Whether the configuration rejects pushes of this caller, who has not signed in.
pub(super) fn is_push_disabled(app: &App, caller: &Caller) -> bool {
    matches!(caller, Caller::Anonymous) && !app.config.access.anonymous_pushes
}

/// Returns the requested scope with the actions that the caller has a right to.
pub(super) fn grant(
    tx: &mut Tx<'_>,
    caller: &Caller,
    asked: &Scope,
    is_push_disabled: bool,
) -> Result<Scope, DomainError> {
    let project = asked.name.project();
    let may = |tx: &mut Tx<'_>, permission| allowed(access::project_by_key(tx, caller, project, permission));
    let push = match access::project_for_run(tx, caller, project) {
        // For a project that the caller may not view, the scope is the same as for a project that does not exist.
        Err(DomainError::NotFound(_)) => Some(None),
        found => allowed(found)?,
    };
    let may_push = match &push {
        _ if is_push_disabled => false,
        Some(Some(_)) => true,
        Some(None) => allowed(project_creation::may_create(caller, project))?.is_some(),
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
fn allowed<T>(outcome: Result<T, DomainError>) -> Result<Option<T>, DomainError> {
    match outcome {
        Ok(value) => Ok(Some(value)),
        Err(DomainError::NotFound(_) | DomainError::Forbidden(_) | DomainError::Unauthorized(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether a push claims this project for the caller.
fn may_claim(caller: &Caller, found: &project::ProjectRow) -> bool {
    found.project.claimed.is_none() && matches!(caller, Caller::User(by) if by.found.confirmed.is_some())
}

/// Returns the name of a project that is created by a push.
fn project_name(slug: &Slug) -> Result<ResourceName, DomainError> {
    slug.as_str()
        .parse()
        .map_err(|error| DomainError::Invalid(format!("The name of the repository is invalid: {error}.")))
}

/// Returns the claims of the token of a request, if this server signed it and it has not expired.
fn claims(app: &App, parts: &Parts, scope: Option<&str>) -> Result<Claims> {
    let challenge =
        |token_error| Error::Unauthorized(Challenge::new(&app.config, scope.map(str::to_owned), token_error));
    let token = parts.headers.get(header::AUTHORIZATION).and_then(|value| {
        let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    let token = token.ok_or_else(|| challenge(None))?;
    let claims: Option<Claims> = app.signer.verify_claims(token);
    claims
        .filter(|claims| claims.is_fresh(app.clock.now()))
        .ok_or_else(|| challenge(Some(TokenError::Invalid)))
}

/// Returns the holder of a token, if the account still exists and the key that the token was requested with is still valid.
fn find_caller(tx: &mut Tx<'_>, claims: &Claims, now: Timestamp) -> Result<Caller> {
    let user = match (claims.aud, claims.jti) {
        (Audience::Public, _) => return Ok(Caller::Anonymous),
        (Audience::Project, Some(jti)) => {
            let found = project_key::by_uuid(tx, jti.into(), now)?;
            return Ok(found.map_or(Caller::Unknown, Caller::Project));
        }
        (Audience::Runner, Some(jti)) => return runner(tx, claims, jti.into()),
        (Audience::Project | Audience::Runner, None) => None,
        (Audience::User, Some(jti)) => {
            key::owner(tx, jti.into(), now)?.map(|found| (found, AuthMethod::Key(jti.into())))
        }
        (Audience::User, None) => match claims.sub.as_deref().and_then(|email| email.parse().ok()) {
            // If the address was given up after the token was issued, it may belong to another user now.
            Some(email) => match user::former_email_changed(tx, &email)? {
                Some(given_up) if given_up.seconds() >= claims.iat => None,
                _ => user::by_email(tx, &email)?.map(|found| (found, AuthMethod::Token)),
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
            if found.job.status.is_in_progress()
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
struct AccessCheck {
    name: Name,
    action: Action,
    claims: Claims,
    challenge: Challenge,
    now: Timestamp,
}

impl AccessCheck {
    fn new(app: &App, parts: &Parts, name: &Name, action: Action) -> Result<Self> {
        // A client that pushes also checks for existing content.
        let actions = match action {
            Action::Push => vec![Action::Pull, Action::Push],
            action => vec![action],
        };
        let scope = Scope { name: name.clone(), actions }.to_string();
        let claims = claims(app, parts, Some(&scope))?;
        let challenge = Challenge::new(&app.config, Some(scope), Some(TokenError::InsufficientScope));
        Ok(Self { name: name.clone(), action, claims, challenge, now: app.clock.now() })
    }

    /// Returns the holder of the token.
    fn authenticate(&self, tx: &mut Tx<'_>) -> Result<TokenHolder> {
        let caller = find_caller(tx, &self.claims, self.now)?;
        if matches!(caller, Caller::Unknown) {
            let challenge = Challenge { token_error: Some(TokenError::Invalid), ..self.challenge.clone() };
            return Err(Error::Unauthorized(challenge));
        }
        Ok(TokenHolder { caller, claims: self.claims.clone() })
    }

    /// Returns the project, if the caller has the permission in it and the scope of the token includes it.
    fn authorize(
        &self,
        tx: &mut Tx<'_>,
        holder: &TokenHolder,
        permission: ProjectPermission,
    ) -> Result<project::ProjectRow> {
        let found = access::project_by_key(tx, &holder.caller, self.name.project(), permission)
            .map_err(|error| self.convert_error(holder, error))?;
        self.check_scope(holder, Some(&found))?;
        Ok(found)
    }

    /// Same as [`AccessCheck::authorize`] for a push, where the project may not exist yet.
    fn authorize_push(&self, tx: &mut Tx<'_>, holder: &TokenHolder) -> Result<Option<project::ProjectRow>> {
        let found = access::project_for_run(tx, &holder.caller, self.name.project())
            .and_then(|found| {
                if found.is_none() {
                    project_creation::may_create(&holder.caller, self.name.project())?;
                }
                Ok(found)
            })
            .map_err(|error| self.convert_error(holder, error))?;
        self.check_scope(holder, found.as_ref())?;
        Ok(found)
    }

    /// Checks that the scope of the token includes the action.
    fn check_scope(&self, holder: &TokenHolder, found: Option<&project::ProjectRow>) -> Result<()> {
        if holder.claims.grants(&self.name, found, self.action) {
            return Ok(());
        }
        Err(Error::Unauthorized(self.challenge.clone()))
    }

    /// Converts an error for the registry. A caller without a credential gets a challenge. Reading from a project that the
    /// caller could create returns 404, the same for hidden and missing projects.
    fn convert_error(&self, holder: &TokenHolder, error: DomainError) -> Error {
        let anonymous = matches!(holder.caller, Caller::Anonymous);
        match error {
            DomainError::NotFound(_) if !anonymous => Error::NameUnknown,
            DomainError::NotFound(_)
                if self.action == Action::Pull && holder.claims.grants(&self.name, None, Action::Pull) =>
            {
                Error::NameUnknown
            }
            DomainError::NotFound(_) | DomainError::Unauthorized(_) => {
                Error::Unauthorized(self.challenge.clone())
            }
            error => error.into(),
        }
    }
}

impl TokenHolder {
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
