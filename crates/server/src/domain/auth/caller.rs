//! The caller: resolves the `Authorization` header or the cookie to a row in the database.

use axum::http::{header, request::Parts};
use tidemark_api::{Actor, ActorKind, ResourceName, Timestamp, UserKeyUuid};
use tidemark_store::{Tx, UserId, WriteContext, key, project_key, session, token, user};

use super::{
    cookie,
    jwt::{Audience, Claims},
    key::{KeyKind, hash, kind},
};
use crate::domain::{app::App, error::Result};

/// A credential whose form and signature are checked. Its row is not looked up yet.
#[derive(Clone, Debug)]
pub enum Credential {
    /// No credential, or not as a bearer token or in the cookie of this server.
    None,
    /// Not a credential of this server, or expired.
    Invalid,
    /// A session of this server.
    Session(Claims),
    /// A deprecated API token and its hash.
    Token(Claims, Vec<u8>),
    /// The hash of a key.
    Key(KeyKind, Vec<u8>),
    /// Access to the database itself: the caller has opened it.
    Database,
}

impl Credential {
    /// Reads the header, or else the cookie.
    pub fn read(parts: &Parts, app: &App, now: Timestamp) -> Self {
        let Some(text) = bearer(parts) else { return Self::from_cookie(parts, app, now) };
        if let Some(kind) = kind(&app.config.security.key_prefix, text) {
            return Self::Key(kind, hash(text));
        }
        match app.signer.verify(text, &[Audience::Client, Audience::ApiKey], now) {
            Some(claims) if claims.aud == Audience::Client => Self::Session(claims),
            Some(claims) => Self::Token(claims, hash(text)),
            None => Self::Invalid,
        }
    }

    /// Reads the cookie.
    pub fn from_cookie(parts: &Parts, app: &App, now: Timestamp) -> Self {
        match cookie::read(parts, &app.config) {
            Some(token) => {
                app.signer.verify(token, &[Audience::Client], now).map_or(Self::Invalid, Self::Session)
            }
            None => Self::None,
        }
    }
}

/// Whether a request has a bearer token, which takes precedence over the cookie.
pub fn has_bearer(parts: &Parts) -> bool {
    bearer(parts).is_some()
}

/// Returns the text after the word `Bearer`.
fn bearer(parts: &Parts) -> Option<&str> {
    let value = parts.headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, text) = value.split_once(' ')?;
    let text = text.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !text.is_empty()).then_some(text)
}

/// The caller of a request.
#[derive(Clone, Debug)]
pub enum Caller {
    /// No credential.
    Anonymous,
    /// A process that has opened the database, while there is no administrator.
    Owner,
    /// An invalid, expired or revoked credential.
    Unknown,
    /// A user whose account is locked.
    Locked,
    /// A user.
    User(SignedIn),
    /// A project key.
    Project(project_key::ProjectKeyRow),
}

/// A user and the credential of the user.
#[derive(Clone, Debug)]
pub struct SignedIn {
    /// The user.
    pub found: user::UserRow,
    /// The type of the credential.
    pub via: AuthMethod,
}

/// The type of a user's credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthMethod {
    /// A session.
    Session,
    /// This key.
    Key(UserKeyUuid),
    /// A deprecated token.
    Token,
}

impl Caller {
    /// Returns the id of the user, if the caller is one.
    pub fn user(&self) -> Option<UserId> {
        match self {
            Self::User(by) => Some(by.found.id),
            _ => None,
        }
    }

    /// Looks up the credential. The flag is `true` if a deprecated token is used for the first time.
    pub fn find(tx: &mut Tx<'_>, credential: &Credential, now: Timestamp) -> Result<(Self, bool)> {
        let mut first_use = false;
        let signed_in = match credential {
            Credential::None => return Ok((Self::Anonymous, false)),
            Credential::Database => match user::first_admin(tx)? {
                Some(found) => Some((found, AuthMethod::Session)),
                None => return Ok((Self::Owner, false)),
            },
            // The key of a runner gives access only to its channel.
            Credential::Invalid | Credential::Key(KeyKind::Runner, _) => None,
            Credential::Session(claims) => match claims.jti {
                Some(jti) => session::find(tx, jti, now)?.map(|found| (found, AuthMethod::Session)),
                None => None,
            },
            Credential::Token(claims, hash) => match token::by_hash(tx, hash)? {
                Some((_, true)) => None,
                Some((user, false)) => Some((user::by_id(tx, user)?, AuthMethod::Token)),
                None => {
                    first_use = true;
                    // A token names its owner by e-mail address. It must not authenticate a later owner of that address.
                    let issued = Timestamp::from_micros(claims.iat.saturating_mul(1_000_000));
                    match user::former_email_changed(tx, &claims.sub)? {
                        Some(given_up) if given_up >= issued => None,
                        _ => user::by_email(tx, &claims.sub)?.map(|found| (found, AuthMethod::Token)),
                    }
                }
            },
            Credential::Key(KeyKind::User, hash) => {
                key::authenticate(tx, hash, now)?.map(|(uuid, found)| (found, AuthMethod::Key(uuid)))
            }
            Credential::Key(KeyKind::Project, hash) => {
                let found = project_key::authenticate(tx, hash, now)?;
                return Ok((found.map_or(Self::Unknown, Self::Project), false));
            }
        };
        Ok(match signed_in {
            None => (Self::Unknown, false),
            // A key of a locked account is handled as a revoked key. Only a sign-in shows that the account is locked.
            Some((found, AuthMethod::Key(_))) if found.user.locked => (Self::Unknown, false),
            Some((found, _)) if found.user.locked => (Self::Locked, false),
            Some((found, via)) => (Self::User(SignedIn { found, via }), first_use),
        })
    }

    /// Returns the actor for the audit log.
    pub fn actor(&self) -> Actor {
        match self {
            Self::User(signed_in) => signed_in.actor(),
            Self::Project(key) => Actor {
                kind: ActorKind::ProjectKey,
                uuid: Some(key.uuid.uuid()),
                name: Some(key.name.to_string()),
            },
            Self::Anonymous | Self::Owner | Self::Unknown | Self::Locked => {
                Actor { kind: ActorKind::System, uuid: None, name: None }
            }
        }
    }
}

impl SignedIn {
    /// Returns the actor for the audit log.
    pub fn actor(&self) -> Actor {
        let user = &self.found.user;
        Actor { kind: ActorKind::User, uuid: Some(user.uuid.uuid()), name: Some(user.name.to_string()) }
    }
}

/// Records a deprecated token at its first use, so that its owner can list and revoke it.
pub fn record_token(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    user: &user::UserRow,
    claims: &Claims,
    hash: &[u8],
) -> Result<()> {
    let name: ResourceName = "API token".parse().expect("a plain name");
    let seconds = |seconds: i64| Timestamp::from_micros(seconds.saturating_mul(1_000_000));
    Ok(token::record(tx, fresh, user.id, &name, hash, seconds(claims.iat), seconds(claims.exp))?)
}
