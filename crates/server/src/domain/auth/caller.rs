//! Who is calling, from the `Authorization` header or the cookie to a row in the database.

use axum::http::{header, request::Parts};
use tidemark_api::{Actor, ActorKind, ResourceName, Timestamp, UserKeyUuid};
use tidemark_store::{Fresh, Tx, UserId, key, project_key, session, token, user};

use super::{
    cookie,
    jwt::{Audience, Claims},
    key::{Kind, hash, kind},
};
use crate::domain::{app::App, error::Result};

/// A credential as it was sent, its form and signature checked, its row not looked up yet.
#[derive(Clone, Debug)]
pub enum Credential {
    /// None was sent, or not as a bearer or in our cookie.
    None,
    /// It is not one of ours, or has run out.
    Bad,
    /// A session of this server.
    Session(Claims),
    /// A deprecated API token and its hash.
    Token(Claims, Vec<u8>),
    /// The hash of a key.
    Key(Kind, Vec<u8>),
    /// The database itself: the caller has opened it.
    Database,
}

impl Credential {
    /// Reads the header, or else the cookie.
    pub fn read(parts: &Parts, app: &App, now: Timestamp) -> Self {
        let Some(text) = bearer(parts) else { return Self::of_cookie(parts, app, now) };
        if let Some(kind) = kind(&app.config.security.key_prefix, text) {
            return Self::Key(kind, hash(text));
        }
        match app.signer.verify(text, &[Audience::Client, Audience::ApiKey], now) {
            Some(claims) if claims.aud == Audience::Client => Self::Session(claims),
            Some(claims) => Self::Token(claims, hash(text)),
            None => Self::Bad,
        }
    }

    /// Reads the cookie.
    pub fn of_cookie(parts: &Parts, app: &App, now: Timestamp) -> Self {
        match cookie::read(parts, &app.config) {
            Some(token) => {
                app.signer.verify(token, &[Audience::Client], now).map_or(Self::Bad, Self::Session)
            }
            None => Self::None,
        }
    }
}

/// Whether a request has a bearer token, which then counts instead of the cookie.
pub fn has_bearer(parts: &Parts) -> bool {
    bearer(parts).is_some()
}

/// What follows the word `Bearer`.
fn bearer(parts: &Parts) -> Option<&str> {
    let value = parts.headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, text) = value.split_once(' ')?;
    let text = text.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !text.is_empty()).then_some(text)
}

/// Who is calling.
#[derive(Clone, Debug)]
pub enum Caller {
    /// Nobody we know.
    Anonymous,
    /// Whoever has opened the database itself, while it has no administrator.
    Owner,
    /// Somebody with a credential that is not, or no longer, good.
    Unknown,
    /// Somebody whose account is locked.
    Locked,
    /// A user.
    User(SignedIn),
    /// A project key.
    Project(project_key::ProjectKeyRow),
}

/// A user and how the user proved it.
#[derive(Clone, Debug)]
pub struct SignedIn {
    /// The user.
    pub found: user::UserRow,
    /// By which credential.
    pub via: Via,
}

/// How a user proved to be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// By a session.
    Session,
    /// By this key.
    Key(UserKeyUuid),
    /// By a deprecated token.
    Token,
}

impl Caller {
    /// The key of the user, if it is one.
    pub fn user(&self) -> Option<UserId> {
        match self {
            Self::User(by) => Some(by.found.id),
            _ => None,
        }
    }

    /// Looks the credential up. The flag says that a deprecated token was seen for the first time.
    pub fn find(tx: &mut Tx<'_>, credential: &Credential, now: Timestamp) -> Result<(Self, bool)> {
        let mut first_use = false;
        let signed_in = match credential {
            Credential::None => return Ok((Self::Anonymous, false)),
            Credential::Database => match user::first_admin(tx)? {
                Some(found) => Some((found, Via::Session)),
                None => return Ok((Self::Owner, false)),
            },
            // A runner's key opens nothing but its channel.
            Credential::Bad | Credential::Key(Kind::Runner, _) => None,
            Credential::Session(claims) => match claims.jti {
                Some(jti) => session::find(tx, jti, now)?.map(|found| (found, Via::Session)),
                None => None,
            },
            Credential::Token(claims, hash) => match token::by_hash(tx, hash)? {
                Some((_, true)) => None,
                Some((user, false)) => Some((user::by_id(tx, user)?, Via::Token)),
                None => {
                    first_use = true;
                    // A token names its owner by address: it must not reach whoever took that address later.
                    let issued = Timestamp::from_micros(claims.iat.saturating_mul(1_000_000));
                    match user::email_given_up(tx, &claims.sub)? {
                        Some(given_up) if given_up >= issued => None,
                        _ => user::by_email(tx, &claims.sub)?.map(|found| (found, Via::Token)),
                    }
                }
            },
            Credential::Key(Kind::User, hash) => {
                key::authenticate(tx, hash, now)?.map(|(uuid, found)| (found, Via::Key(uuid)))
            }
            Credential::Key(Kind::Project, hash) => {
                let found = project_key::authenticate(tx, hash, now)?;
                return Ok((found.map_or(Self::Unknown, Self::Project), false));
            }
        };
        Ok(match signed_in {
            None => (Self::Unknown, false),
            // A key of a locked account is as dead as a revoked one; only its owner, by signing in, learns why.
            Some((found, Via::Key(_))) if found.user.locked => (Self::Unknown, false),
            Some((found, _)) if found.user.locked => (Self::Locked, false),
            Some((found, via)) => (Self::User(SignedIn { found, via }), first_use),
        })
    }

    /// Who to name in the audit log.
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
    /// Who to name in the audit log.
    pub fn actor(&self) -> Actor {
        let user = &self.found.user;
        Actor { kind: ActorKind::User, uuid: Some(user.uuid.uuid()), name: Some(user.name.to_string()) }
    }
}

/// Remembers a deprecated token at its first use, so that its owner can list and revoke it.
pub fn record_token(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    user: &user::UserRow,
    claims: &Claims,
    hash: &[u8],
) -> Result<()> {
    let name: ResourceName = "API token".parse().expect("a plain name");
    let seconds = |seconds: i64| Timestamp::from_micros(seconds.saturating_mul(1_000_000));
    Ok(token::record(tx, fresh, user.id, &name, hash, seconds(claims.iat), seconds(claims.exp))?)
}
