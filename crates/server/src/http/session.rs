//! `/v0/auth/session`: the session of a browser, in a cookie. Clients of the API use `/v0/auth/confirm` and a bearer.

use axum::{
    Json,
    extract::State,
    http::{header, request::Parts},
    response::{IntoResponse, Response},
};
use tidemark_api::{Session, SessionProof};
use tidemark_store::{Tx, session};

use super::{
    access::Anyone,
    answer::Deleted,
    auth::{SESSION_SECONDS, confirmed},
    body::Body,
    error::{Error, Result},
    oauth,
    origin::Origin,
};
use crate::{
    App,
    auth::{
        caller::{Caller, Credential, SignedIn, Via},
        cookie,
    },
};

/// View who is signed in.
#[utoipa::path(get, path = "/v0/auth/session", operation_id = "auth_session_get", tag = "auth",
    responses((status = 200, body = Session)), extensions(("x-right" = json!("public"))))]
pub(super) async fn view(anyone: Anyone) -> Json<Session> {
    let user = match anyone.caller {
        Caller::User(signed_in) => Some(signed_in.found.user),
        _ => None,
    };
    Json(Session { user })
}

/// Exchange the token of a mailed link or the answer of an identity provider, once, for a session in a cookie. Only the
/// web console may.
#[utoipa::path(post, path = "/v0/auth/session", operation_id = "auth_session_post", tag = "auth",
    params(("x-tidemark-console" = String, Header, description = "Says that the web console asks.", pattern = "^1$")),
    request_body = SessionProof, responses((status = 200, body = Session)), extensions(("x-right" = json!("public"))))]
pub(super) async fn open(
    State(app): State<App>,
    parts: Parts,
    origin: Origin,
    Body(proof): Body<SessionProof>,
) -> Result<Response> {
    // Or another site could sign its visitors in as somebody else.
    if !cookie::is_from_console(&parts, &app.config) {
        return Err(Error::Forbidden(
            "Only a page of this server may open a session in a cookie; other clients POST /v0/auth/confirm."
                .into(),
        ));
    }
    let opened = match proof {
        SessionProof::Mailed(confirm) => confirmed(&app, origin, &confirm.token).await?,
        SessionProof::Provider(answer) => oauth::end(&app, &parts, origin, None, answer).await?.user,
    };
    let kept = cookie::keep(&opened.token, SESSION_SECONDS, &app.config);
    let session = Session { user: Some(opened.user) };
    Ok(([(header::SET_COOKIE, kept)], Json(session)).into_response())
}

/// Sign out: the session in the cookie ends, everywhere it was copied to.
#[utoipa::path(delete, path = "/v0/auth/session", operation_id = "auth_session_delete", tag = "auth",
    responses((status = 204)), extensions(("x-right" = json!("public"))))]
pub(super) async fn end(State(app): State<App>, parts: Parts) -> Result<Response> {
    let fresh = app.fresh();
    if let Credential::Session(claims) = Credential::of_cookie(&parts, &app, fresh.now)
        && let Some(jti) = claims.jti
    {
        let write = move |tx: &mut Tx<'_>| {
            let Some(found) = session::find(tx, jti, fresh.now)? else { return Ok(()) };
            session::end(tx, jti)?;
            let by = SignedIn { found, via: Via::Session };
            let origin = Origin::of(&parts, by.actor());
            origin.audit(tx, &fresh, "session.end", by.found.user.slug.as_str(), None, &[])
        };
        app.db.write(write).await?;
    }
    Ok(([(header::SET_COOKIE, cookie::forget(&app.config))], Deleted).into_response())
}
