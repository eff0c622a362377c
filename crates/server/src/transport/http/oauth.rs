//! `/v0/auth/{provider}`: sign-in with an identity provider.
//!
//! The server stores each started sign-in with a secret that it also sets as a cookie: only the same browser can complete the
//! sign-in, and only once. A client without cookies uses a verifier instead (PKCE). The identity is the permanent identifier at
//! the provider; the server uses the address only to find the account on the first sign-in.

use axum::{
    Json,
    extract::State,
    http::{header, request::Parts},
    response::{IntoResponse, Response},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tidemark_api::{AuthUser, OAuth, OAuthQuery, OAuthUrl, OAuthUser, Slug};
use tidemark_store::{
    Lock, Tx, UserId, WriteContext, identity,
    oauth::{self, SignInProof},
    user,
};
use utoipa::IntoParams;
use uuid::Uuid;

use super::{
    answer::Accepted,
    auth::SESSION_SECONDS,
    body::{Body, Path, Query},
    error::{Error, Result},
    origin::Origin,
    sign_in_completion::{self, SignInOptions},
};
use crate::{
    domain::{
        app::App,
        auth::{cookie, jwt::Audience},
        identity::{ExternalAccount, Provider, Secrets},
    },
    infra::{
        config::{Access, Claims},
        limits::Rule,
    },
};

/// Maximum time between the start and the end of a sign-in, in seconds.
const SECONDS: i64 = 10 * 60;

/// Path parameter: identity provider.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct ProviderPath {
    /// Name of the provider in the configuration of the server.
    #[param(inline)]
    provider: Slug,
}

/// The `state` parameter that the provider returns. It identifies the sign-in.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SentState {
    aud: StateAudience,
    iss: String,
    exp: i64,
    jti: Uuid,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum StateAudience {
    #[serde(rename = "oauth")]
    OAuth,
}

/// Start a sign-in with GitHub.
#[utoipa::path(get, path = "/v0/auth/github", operation_id = "auth_github_get", tag = "auth", params(OAuthQuery),
    responses((status = 200, body = OAuthUrl)), extensions(("x-right" = json!("provider"))))]
pub(super) async fn start_github(
    State(app): State<App>,
    parts: Parts,
    origin: Origin,
    Query(query): Query<OAuthQuery>,
) -> Result<Response> {
    start(&app, &parts, &origin, "github", query).await
}

/// Complete a sign-in with GitHub.
#[utoipa::path(post, path = "/v0/auth/github", operation_id = "auth_github_post", tag = "auth", request_body = OAuth,
    responses((status = 202, body = OAuthUser)), extensions(("x-right" = json!("provider"))))]
pub(super) async fn end_github(
    State(app): State<App>,
    parts: Parts,
    origin: Origin,
    Body(given): Body<OAuth>,
) -> Result<Accepted<OAuthUser>> {
    end(&app, &parts, origin, Some("github"), given).await.map(Accepted)
}

/// Start a sign-in with Google.
#[utoipa::path(get, path = "/v0/auth/google", operation_id = "auth_google_get", tag = "auth", params(OAuthQuery),
    responses((status = 200, body = OAuthUrl)), extensions(("x-right" = json!("provider"))))]
pub(super) async fn start_google(
    State(app): State<App>,
    parts: Parts,
    origin: Origin,
    Query(query): Query<OAuthQuery>,
) -> Result<Response> {
    start(&app, &parts, &origin, "google", query).await
}

/// Complete a sign-in with Google.
#[utoipa::path(post, path = "/v0/auth/google", operation_id = "auth_google_post", tag = "auth", request_body = OAuth,
    responses((status = 202, body = OAuthUser)), extensions(("x-right" = json!("provider"))))]
pub(super) async fn end_google(
    State(app): State<App>,
    parts: Parts,
    origin: Origin,
    Body(given): Body<OAuth>,
) -> Result<Accepted<OAuthUser>> {
    end(&app, &parts, origin, Some("google"), given).await.map(Accepted)
}

/// Start a sign-in with a configured OpenID Connect provider.
#[utoipa::path(get, path = "/v0/auth/oidc/{provider}", operation_id = "auth_oidc_get", tag = "auth",
    params(ProviderPath, OAuthQuery), responses((status = 200, body = OAuthUrl)),
    extensions(("x-right" = json!("provider"))))]
pub(super) async fn start_openid(
    State(app): State<App>,
    parts: Parts,
    origin: Origin,
    Path(path): Path<ProviderPath>,
    Query(query): Query<OAuthQuery>,
) -> Result<Response> {
    start(&app, &parts, &origin, &format!("oidc/{}", path.provider), query).await
}

/// Complete a sign-in with a configured OpenID Connect provider.
#[utoipa::path(post, path = "/v0/auth/oidc/{provider}", operation_id = "auth_oidc_post", tag = "auth",
    params(ProviderPath), request_body = OAuth, responses((status = 202, body = OAuthUser)),
    extensions(("x-right" = json!("provider"))))]
pub(super) async fn end_openid(
    State(app): State<App>,
    parts: Parts,
    origin: Origin,
    Path(path): Path<ProviderPath>,
    Body(given): Body<OAuth>,
) -> Result<Accepted<OAuthUser>> {
    end(&app, &parts, origin, Some(&format!("oidc/{}", path.provider)), given).await.map(Accepted)
}

async fn start(app: &App, parts: &Parts, origin: &Origin, path: &str, query: OAuthQuery) -> Result<Response> {
    let provider = Provider::find(&app.config, path)?;
    let fresh = app.fresh();
    app.limits.check(Rule::PublicAttempts, &origin.key(), fresh.now).await?;
    let invite = query.invite.as_ref();
    if invite
        .is_some_and(|invite| app.signer.verify(invite.as_ref(), &[Audience::Invite], fresh.now).is_none())
    {
        return Err(sign_in_completion::invalid_invitation());
    }
    let challenge = query.code_challenge.as_deref().map(challenge).transpose()?;
    if query.claim.is_some() && app.config.access.claims == Claims::Token {
        return Err(sign_in_completion::claim_needs_token());
    }
    // Reuse the secret, so that a user who starts sign-ins in two windows can complete both.
    let browser = cookie::read_sign_in(parts, &app.config).map_or_else(|| secret(&fresh), str::to_owned);
    let expires = fresh.now.plus_seconds(SECONDS);
    let begun = oauth::PendingSignIn {
        uuid: fresh.uuid(),
        provider: provider.path.clone(),
        has_challenge: challenge.is_some(),
        browser: challenge.unwrap_or_else(|| hash(&browser)),
        nonce: secret(&fresh),
        verifier: secret(&fresh),
        invite: query.invite,
        claim: query.claim,
        plan: query.plan,
        expires,
    };
    let claims = SentState {
        aud: StateAudience::OAuth,
        iss: app.config.security.issuer.clone(),
        exp: expires.seconds(),
        jti: begun.uuid,
    };
    let state = app.signer.sign_claims(&claims).as_ref().to_owned();
    let secrets = Secrets { state, nonce: begun.nonce.clone(), verifier: begun.verifier.clone() };
    app.db.write(move |tx| oauth::create(tx, &begun)).await?;
    let url = provider.authorization_url(secrets).await?;
    let kept = cookie::set_sign_in(&browser, SECONDS, &app.config);
    Ok(([(header::SET_COOKIE, kept)], Json(OAuthUrl { url })).into_response())
}

/// Creates a session for the parameters that the provider sent with the redirect, and counts failures for the rate limit. A
/// browser does not have to name the provider.
pub(super) async fn end(
    app: &App,
    parts: &Parts,
    origin: Origin,
    path: Option<&str>,
    given: OAuth,
) -> Result<OAuthUser> {
    if let Some(path) = path {
        Provider::find(&app.config, path)?;
    }
    let (now, address) = (app.clock.now(), origin.key());
    let opened = open_session(app, parts, origin, path, given).await;
    if matches!(opened, Err(Error::Unauthorized(_))) {
        app.limits.check(Rule::PublicAttempts, &address, now).await?;
    }
    opened
}

async fn open_session(
    app: &App,
    parts: &Parts,
    origin: Origin,
    path: Option<&str>,
    given: OAuth,
) -> Result<OAuthUser> {
    let fresh = app.fresh();
    let stale = || {
        Error::Unauthorized(
            "The sign-in is not valid: it was already completed, has expired or was started in another \
             browser; start again."
                .into(),
        )
    };
    let claims: SentState = app.signer.verify_claims(given.state.as_ref()).ok_or_else(stale)?;
    let proof = match (&given.code_verifier, cookie::read_sign_in(parts, &app.config)) {
        (Some(verifier), _) => SignInProof::Verifier(hash(verifier.expose())),
        (None, Some(cookie)) => SignInProof::Cookie(hash(cookie)),
        (None, None) if app.config.access.unbound_oauth => SignInProof::None,
        (None, None) => return Err(stale()),
    };
    let now = fresh.now;
    let begun =
        app.db.write(move |tx| oauth::consume(tx, claims.jti, &proof, now)).await?.ok_or_else(stale)?;
    if path.is_some_and(|path| path != begun.provider) {
        return Err(stale());
    }
    let provider = Provider::find(&app.config, &begun.provider)?;
    let name = provider.name.clone();
    let secrets = Secrets {
        state: given.state.as_ref().to_owned(),
        nonce: begun.nonce.clone(),
        verifier: begun.verifier.clone(),
    };
    let external_account = provider.exchange_code(given.code, secrets).await?;
    let invitation =
        sign_in_completion::verify_invitation(app, begun.invite.as_ref(), &external_account.email, now)?;
    let options = SignInOptions { invitation, claim: begun.claim };
    let expires = now.plus_seconds(SESSION_SECONDS);
    let access = app.config.access.clone();
    let write = move |tx: &mut Tx<'_>| {
        let user =
            account(tx, &fresh, &origin, &access, (&begun.provider, &name), &external_account, options)?;
        sign_in_completion::may_sign_in(tx, &access, user, options.invitation, fresh.now)?;
        let session = sign_in_completion::complete(
            tx,
            &fresh,
            &origin,
            user,
            &external_account.email,
            options,
            expires,
        )?;
        Ok::<_, Error>((user::by_id(tx, user)?.user, session, begun.plan))
    };
    let (user, session, plan) = app.db.write(write).await?;
    app.background.wake();
    let token = app.signer.sign(Audience::Client, session, &user.email, None, now, expires);
    let user = AuthUser { user, token, creation: now, expiration: expires };
    Ok(OAuthUser { user, plan })
}

/// Returns the account of an identity, and creates it if necessary.
fn account(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    origin: &Origin,
    access: &Access,
    (provider, name): (&str, &str),
    external_account: &ExternalAccount,
    options: SignInOptions,
) -> Result<UserId> {
    let linked = identity::find(tx, provider, &external_account.subject)?;
    let is_linked = linked.is_some();
    let user = match linked.or(user::by_email(tx, &external_account.email)?) {
        Some(found) => found.id,
        None => register(tx, fresh, origin, access, external_account, options)?,
    };
    // The account could be moving to another address at the same time.
    tx.lock(Lock::User(user.get()))?;
    let found = user::by_id(tx, user)?;
    if found.user.email != external_account.email {
        return Err(Error::Unauthorized(format!(
            "Your address at {name} differs from the address of your account on this server; sign in with a \
             mailed link and change the address in your settings to sign in with {name} again."
        )));
    }
    if is_linked {
        return Ok(user);
    }
    if !identity::link(tx, fresh, user, provider, &external_account.subject)? {
        return Err(Error::Unauthorized(format!(
            "The account with this address is linked to another account at {name}; sign in with a mailed \
             link instead."
        )));
    }
    origin.audit(tx, fresh, "user.link", found.user.slug.as_str(), None, &[("provider", provider)])?;
    Ok(user)
}

/// Creates an account. If several requests sign up with the same address at the same time, all but the first find the existing
/// account.
fn register(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    origin: &Origin,
    access: &Access,
    external_account: &ExternalAccount,
    options: SignInOptions,
) -> Result<UserId> {
    tx.lock(Lock::Server)?;
    if let Some(found) = user::by_email(tx, &external_account.email)? {
        return Ok(found.id);
    }
    sign_in_completion::may_sign_up(tx, access, options.invitation, fresh.now)?;
    let invited = options.invitation.is_some();
    Ok(sign_in_completion::register(
        tx,
        fresh,
        origin,
        &external_account.name,
        None,
        &external_account.email,
        invited,
    )?
    .id)
}

/// Returns the hash in the PKCE challenge of a client.
fn challenge(text: &str) -> Result<Vec<u8>> {
    let hash = URL_SAFE_NO_PAD.decode(text).ok().filter(|hash| hash.len() == Sha256::output_size());
    hash.ok_or_else(|| {
        Error::Invalid(
            "`code_challenge` is not the SHA-256 of a verifier in base64url without padding; it has 43 characters."
                .into(),
        )
    })
}

fn hash(secret: &str) -> Vec<u8> {
    Sha256::digest(secret).to_vec()
}

/// Returns a random secret.
fn secret(fresh: &WriteContext) -> String {
    const LETTERS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    fresh.random_text(LETTERS, 43)
}
