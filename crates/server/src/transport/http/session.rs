//! `/v0/auth/session`: the session of the caller, which a browser keeps in a cookie; API clients use `/v0/auth/confirm` and a
//! bearer token. `/v0/users/{user}/sessions`: all sessions of a user.

use axum::{
    Json,
    extract::State,
    http::{header, request::Parts},
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use tidemark_api::{Page, ResourceId, Session, SessionProof, SessionUuid, UserSession};
use tidemark_store::{Tx, session};
use utoipa::IntoParams;
use uuid::Uuid;

use super::{
    access::{Account, AnyCaller},
    answer::{Deleted, Paged},
    auth::{SESSION_SECONDS, confirm_token},
    body::{Body, Path, Query},
    error::{Error, Result},
    oauth,
    origin::Origin,
    user::UserPath,
};
use crate::domain::{
    app::App,
    auth::{
        caller::{AuthMethod, Caller, Credential, SignedIn, has_bearer},
        cookie,
    },
};

/// View the signed-in user.
#[utoipa::path(get, path = "/v0/auth/session", operation_id = "auth_session_get", tag = "auth",
    responses((status = 200, body = Session)), extensions(("x-right" = json!("public"))))]
pub(super) async fn view(anyone: AnyCaller) -> Json<Session> {
    let user = match anyone.caller {
        Caller::User(signed_in) => Some(signed_in.found.user),
        _ => None,
    };
    Json(Session { user })
}

/// Create a session in a cookie.
///
/// Requires the token of a mailed link or the parameters of an identity provider; each works once. Only the web console may
/// call this operation.
#[utoipa::path(post, path = "/v0/auth/session", operation_id = "auth_session_post", tag = "auth",
    params(("x-tidemark-console" = String, Header, description = "Marks a request from the web console.", pattern = "^1$")),
    request_body = SessionProof, responses((status = 200, body = Session)), extensions(("x-right" = json!("public"))))]
pub(super) async fn open(
    State(app): State<App>,
    parts: Parts,
    origin: Origin,
    Body(proof): Body<SessionProof>,
) -> Result<Response> {
    // Otherwise another site could sign its visitors in to another account.
    if !cookie::is_from_console(&parts, &app.config) {
        return Err(Error::Forbidden(
            "Only a page of this server may create a session in a cookie; other clients use POST \
             /v0/auth/confirm."
                .into(),
        ));
    }
    let opened = match proof {
        SessionProof::Mailed(confirm) => confirm_token(&app, origin, &confirm.token).await?,
        SessionProof::Provider(answer) => oauth::end(&app, &parts, origin, None, answer).await?.user,
    };
    let kept = cookie::set_session(&opened.token, SESSION_SECONDS, &app.config);
    let session = Session { user: Some(opened.user) };
    Ok(([(header::SET_COOKIE, kept)], Json(session)).into_response())
}

/// Sign out.
///
/// Ends the session of the bearer token, or else of the cookie. All copies of the token stop working.
#[utoipa::path(delete, path = "/v0/auth/session", operation_id = "auth_session_delete", tag = "auth",
    responses((status = 204)), extensions(("x-right" = json!("session"))))]
pub(super) async fn end(State(app): State<App>, parts: Parts) -> Result<Response> {
    let fresh = app.fresh();
    let credential = Credential::read(&parts, &app, fresh.now);
    if matches!(credential, Credential::Key(..) | Credential::Token(..)) {
        return Err(Error::Forbidden(
            "The credential is an API key, not a session; revoke the key to end it.".into(),
        ));
    }
    let is_cookie = !has_bearer(&parts);
    if let Some(jti) = session_of(&credential) {
        let write = move |tx: &mut Tx<'_>| {
            let Some(found) = session::find(tx, jti, fresh.now)? else { return Ok(()) };
            session::end(tx, jti)?;
            let by = SignedIn { found, via: AuthMethod::Session };
            let origin = Origin::of(&parts, by.actor());
            origin.audit(tx, &fresh, "session.end", by.found.user.slug.as_str(), None, &[])
        };
        app.db.write(write).await?;
    }
    if !is_cookie {
        return Ok(Deleted.into_response());
    }
    Ok(([(header::SET_COOKIE, cookie::clear_session(&app.config))], Deleted).into_response())
}

/// Returns the UUID of the session of a credential.
fn session_of(credential: &Credential) -> Option<Uuid> {
    match credential {
        Credential::Session(claims) => claims.jti,
        _ => None,
    }
}

/// Path parameters: user and session.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct SessionPath {
    /// The slug or UUID of a user.
    #[serde(rename = "user")]
    #[param(rename = "user")]
    _user: ResourceId,
    /// The UUID of a session.
    #[param(inline)]
    session: SessionUuid,
}

/// Checks that the caller uses a session: keys may not view or end sessions.
fn needs_session(account: &Account) -> Result<()> {
    match account.by.via {
        AuthMethod::Session => Ok(()),
        AuthMethod::Key(_) | AuthMethod::Token => {
            Err(Error::Forbidden("An API key cannot list or end sessions; sign in.".into()))
        }
    }
}

/// List the active sessions of a user, newest first.
#[utoipa::path(get, path = "/v0/users/{user}/sessions", operation_id = "user_sessions_get", tag = "users",
    params(UserPath, Page), responses((status = 200, body = Vec<UserSession>)),
    extensions(("x-right" = json!("self:by_session"))))]
pub(super) async fn list(
    State(app): State<App>,
    account: Account,
    parts: Parts,
    Query(page): Query<Page>,
) -> Result<Paged<UserSession>> {
    needs_session(&account)?;
    let now = app.clock.now();
    let current = session_of(&Credential::read(&parts, &app, now));
    Ok(Paged(app.db.read(move |tx| session::list(tx, account.found.id, current, now, &page)).await?))
}

/// End a session of a user.
#[utoipa::path(delete, path = "/v0/users/{user}/sessions/{session}", operation_id = "user_session_delete",
    tag = "users", params(SessionPath), responses((status = 204)),
    extensions(("x-right" = json!("self:by_session"))))]
pub(super) async fn end_one(
    State(app): State<App>,
    account: Account,
    Path(path): Path<SessionPath>,
) -> Result<Deleted> {
    needs_session(&account)?;
    let fresh = app.fresh();
    let write = move |tx: &mut Tx<'_>| {
        if !session::end_of(tx, account.found.id, path.session, fresh.now)? {
            return Err(Error::not_found("session"));
        }
        let target = account.found.user.slug.as_str();
        account.origin.audit(tx, &fresh, "session.end", target, None, &[])?;
        Ok(Deleted)
    };
    app.db.write(write).await
}
