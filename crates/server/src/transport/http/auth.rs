//! `/v0/auth`: sign up and sign in by mailed links, and accept invitations.
//!
//! Known and unknown addresses get the same responses: only the mail reveals whether an account exists.

use axum::{Json, extract::State};
use tidemark_api::{
    Accept, AuthAck, AuthUser, Caller, Confirm, Email, InvitationUuid, Jwt, Login, ResourceId, Signup,
    Timestamp,
};
use tidemark_store::{Lock, Tx, WriteContext, organization, project, sign_in, user};

use super::{
    access::{AuthenticatedCaller, SignedInUser},
    answer::Accepted,
    body::Body,
    error::{Error, Result},
    origin::Origin,
    sign_in_completion::{self, accept_invitation, find_pending_invitation, verify_invitation},
};
use crate::{
    domain::{app::App, auth::jwt::Audience, captcha},
    infra::{
        config::{Access, Claims},
        limits::Rule,
        mail::{self, Link, Message},
    },
};

/// Lifetime of a mailed link, in seconds.
pub(super) const LINK_SECONDS: i64 = 30 * 60;
/// Lifetime of a session, in seconds.
pub(super) const SESSION_SECONDS: i64 = 30 * 86_400;

/// Sign up.
///
/// Creates an account and its personal organization, and mails a link that confirms the address.
#[utoipa::path(post, path = "/v0/auth/signup", operation_id = "auth_signup_post", tag = "auth",
    request_body = Signup, responses((status = 202, body = AuthAck)), extensions(("x-right" = json!("public"))))]
pub(super) async fn signup(
    State(app): State<App>,
    origin: Origin,
    Body(new): Body<Signup>,
) -> Result<Accepted<AuthAck>> {
    if !new.i_agree {
        return Err(Error::Forbidden(
            "Sign-up requires your agreement to the terms; set `i_agree` to true.".into(),
        ));
    }
    sign_in_completion::check_new_address(&new.email)?;
    let fresh = app.fresh();
    count_attempt(&app, &origin, &new.email, fresh.now).await?;
    captcha::check(&app.config, new.recaptcha_token.as_ref(), captcha::Action::SignUp, origin.address)
        .await?;
    let invited = verify_invitation(&app, new.invite.as_ref(), &new.email, fresh.now)?;
    if new.claim.is_some() && app.config.access.claims == Claims::Token {
        return Err(sign_in_completion::claim_needs_token());
    }
    let ack = AuthAck { email: new.email.clone() };
    let access = app.config.access.clone();
    app.db.write(move |tx| sign_up(tx, &fresh, &origin, &access, &new, invited)).await?;
    app.background.wake();
    Ok(Accepted(ack))
}

fn sign_up(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    origin: &Origin,
    access: &Access,
    new: &Signup,
    invited: Option<InvitationUuid>,
) -> Result<()> {
    // Before the account is looked up: the response must not reveal whether the address has an account.
    sign_in_completion::may_sign_up(tx, access, invited, fresh.now)?;
    if let Some(claim) = new.claim {
        let found = organization::find(tx, &ResourceId::Uuid(claim.uuid()))?;
        if found.organization.claimed.is_some() {
            return Err(Error::Conflict(
                "The organization is already claimed; ask a leader of the organization for an invitation."
                    .into(),
            ));
        }
    }
    // Concurrent requests may sign up with the same address; all but the first must find the account.
    tx.lock(Lock::Server)?;
    let expires = fresh.now.plus_seconds(LINK_SECONDS);
    if let Some(known) = user::by_email(tx, &new.email)? {
        if !known.user.locked {
            let link = sign_in::create(tx, fresh, known.id, &new.email, invited, new.claim, expires)?;
            let message = Message::SignUpAgain { name: known.user.name, link: Link::new(&link, new.plan) };
            mail::enqueue(tx, fresh.now, &new.email, &message)?;
        }
        return Ok(());
    }
    let found = sign_in_completion::register(
        tx,
        fresh,
        origin,
        &new.name,
        new.slug.as_ref(),
        &new.email,
        invited.is_some(),
    )?;
    let link = sign_in::create(tx, fresh, found.id, &new.email, invited, new.claim, expires)?;
    let message = Message::SignUp { name: found.user.name.clone(), link: Link::new(&link, new.plan) };
    mail::enqueue(tx, fresh.now, &new.email, &message)?;
    Ok(())
}

/// Sign in.
///
/// Mails a link to the address, if it has an account.
#[utoipa::path(post, path = "/v0/auth/login", operation_id = "auth_login_post", tag = "auth",
    request_body = Login, responses((status = 202, body = AuthAck)), extensions(("x-right" = json!("public"))))]
pub(super) async fn login(
    State(app): State<App>,
    origin: Origin,
    Body(login): Body<Login>,
) -> Result<Accepted<AuthAck>> {
    let fresh = app.fresh();
    count_attempt(&app, &origin, &login.email, fresh.now).await?;
    captcha::check(&app.config, login.recaptcha_token.as_ref(), captcha::Action::LogIn, origin.address)
        .await?;
    let invited = verify_invitation(&app, login.invite.as_ref(), &login.email, fresh.now)?;
    let ack = AuthAck { email: login.email.clone() };
    let write = move |tx: &mut Tx<'_>| {
        if let Some(invited) = invited {
            find_pending_invitation(tx, invited, fresh.now)?;
        }
        let Some(known) = find_and_lock_account(tx, &login.email)?.filter(|known| !known.user.locked) else {
            return Ok(());
        };
        let expires = fresh.now.plus_seconds(LINK_SECONDS);
        let link = sign_in::create(tx, &fresh, known.id, &login.email, invited, None, expires)?;
        let message = Message::LogIn { name: known.user.name, link: Link::new(&link, login.plan) };
        mail::enqueue(tx, fresh.now, &login.email, &message)?;
        Ok::<_, Error>(())
    };
    app.db.write(write).await?;
    app.background.wake();
    Ok(Accepted(ack))
}

/// Returns the account of an address, locked: if the account is moving to another address at the same time, the old address
/// must not get a link.
fn find_and_lock_account(tx: &mut Tx<'_>, email: &Email) -> Result<Option<user::UserRow>> {
    let Some(found) = user::by_email(tx, email)? else { return Ok(None) };
    tx.lock(Lock::User(found.id.get()))?;
    Ok(user::by_email(tx, email)?.filter(|again| again.id == found.id))
}

/// Exchange the token of a mailed link for a session.
///
/// Each token works once.
#[utoipa::path(post, path = "/v0/auth/confirm", operation_id = "auth_confirm_post", tag = "auth",
    request_body = Confirm, responses((status = 200, body = AuthUser)), extensions(("x-right" = json!("public"))))]
pub(super) async fn confirm(
    State(app): State<App>,
    origin: Origin,
    Body(confirm): Body<Confirm>,
) -> Result<Json<AuthUser>> {
    confirm_token(&app, origin, &confirm.token).await.map(Json)
}

/// Creates a session for the token of a mailed link, and counts invalid tokens for the rate limit.
pub(super) async fn confirm_token(app: &App, origin: Origin, token: &Jwt) -> Result<AuthUser> {
    let (now, address) = (app.clock.now(), origin.key());
    let opened = open_session(app, origin, token).await;
    if matches!(opened, Err(Error::Unauthorized(_))) {
        // Only failures count: a valid link works even if the address has reached its limit of attempts.
        app.limits.check(Rule::PublicAttempts, &address, now).await?;
    }
    opened
}

async fn open_session(app: &App, origin: Origin, token: &Jwt) -> Result<AuthUser> {
    let fresh = app.fresh();
    let stale = || {
        Error::Unauthorized(
            "The link is not valid: it was already used, has expired or is incomplete; request a new link."
                .into(),
        )
    };
    let claims = app.signer.verify(token.as_ref(), &[Audience::Auth], fresh.now).ok_or_else(stale)?;
    let jti = claims.jti.ok_or_else(stale)?;
    let expires = fresh.now.plus_seconds(SESSION_SECONDS);
    let now = fresh.now;
    let access = app.config.access.clone();
    let write = move |tx: &mut Tx<'_>| {
        let link = sign_in::consume(tx, jti, fresh.now)?.ok_or_else(stale)?;
        sign_in_completion::may_sign_in(tx, &access, link.user, link.invitation, fresh.now)?;
        let options = sign_in_completion::SignInOptions { invitation: link.invitation, claim: link.claim };
        let session =
            sign_in_completion::complete(tx, &fresh, &origin, link.user, &link.email, options, expires)?;
        Ok::<_, Error>((user::by_id(tx, link.user)?.user, session))
    };
    let (user, session) = app.db.write(write).await?;
    app.background.wake();
    let token = app.signer.sign(Audience::Client, session, &user.email, None, now, expires);
    Ok(AuthUser { user, token, creation: now, expiration: expires })
}

/// Accept an invitation.
#[utoipa::path(post, path = "/v0/auth/accept", operation_id = "auth_accept_post", tag = "auth",
    request_body = Accept, responses((status = 202, body = AuthAck)), extensions(("x-right" = json!("user"))))]
pub(super) async fn accept(
    State(app): State<App>,
    signed: SignedInUser,
    Body(accept): Body<Accept>,
) -> Result<Accepted<AuthAck>> {
    let found = signed.by.found;
    if found.confirmed.is_none() {
        return Err(Error::Forbidden("Confirm your address first: use the link in the mail we sent.".into()));
    }
    let fresh = app.fresh();
    let ack = AuthAck { email: found.user.email.clone() };
    let invited = verify_invitation(&app, Some(&accept.invite), &found.user.email, fresh.now)?;
    let write = move |tx: &mut Tx<'_>| match invited {
        Some(invited) => accept_invitation(tx, &fresh, &signed.origin, &found, invited),
        None => Ok(()),
    };
    app.db.write(write).await?;
    Ok(Accepted(ack))
}

/// View the owner of the credential: a user or a project.
#[utoipa::path(get, path = "/v0/auth/caller", operation_id = "auth_caller_get", tag = "auth",
    responses((status = 200, body = Caller)), extensions(("x-right" = json!("credential"))))]
pub(super) async fn caller(State(app): State<App>, known: AuthenticatedCaller) -> Result<Json<Caller>> {
    let caller = match known {
        AuthenticatedCaller::User(by) => Caller { user: Some(by.found.user), project: None },
        AuthenticatedCaller::Project(key) => {
            let found = app.db.read(move |tx| project::by_id(tx, key.project)).await?;
            Caller { user: None, project: Some(found.project) }
        }
    };
    Ok(Json(caller))
}

/// Counts an attempt per address, and per address and account: other clients cannot lock a user out.
async fn count_attempt(app: &App, origin: &Origin, email: &Email, now: Timestamp) -> Result<()> {
    let address = origin.key();
    let person = format!("{address} {email}");
    let rules = [(Rule::PublicAttempts, address.as_str()), (Rule::UserAttempts, person.as_str())];
    Ok(app.limits.check_all(&rules, now).await?)
}
