//! `/v0/users`

use axum::{Json, extract::State};
use serde::Deserialize;
use tidemark_api::{Page, ResourceId, User, UserFilter, UserPatch};
use tidemark_store::{Lock, Tx, UserId, sign_in, user};
use utoipa::IntoParams;

use super::{
    access::{Account, Admin},
    answer::Paged,
    auth::LINK_SECONDS,
    body::{Body, Query},
    error::{Error, Result},
    sign_in_completion::check_new_address,
};
use crate::{
    domain::{app::App, auth::caller::AuthMethod},
    infra::mail::{self, Link, Message},
};

/// Path parameter: user.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct UserPath {
    /// The slug or UUID of a user.
    #[serde(rename = "user")]
    #[param(rename = "user")]
    _user: ResourceId,
}

/// List all users of the server.
#[utoipa::path(get, path = "/v0/users", operation_id = "users_get", tag = "users", params(UserFilter, Page),
    responses((status = 200, body = Vec<User>)), extensions(("x-right" = json!("admin"))))]
pub(super) async fn list(
    State(app): State<App>,
    _: Admin,
    Query(filter): Query<UserFilter>,
    Query(page): Query<Page>,
) -> Result<Paged<User>> {
    Ok(Paged(app.db.read(move |tx| user::list(tx, &filter, &page)).await?))
}

/// View a user: yourself, or any user as an administrator.
#[utoipa::path(get, path = "/v0/users/{user}", operation_id = "user_get", tag = "users", params(UserPath),
    responses((status = 200, body = User)), extensions(("x-right" = json!("self"))))]
pub(super) async fn view(account: Account) -> Json<User> {
    Json(account.found.user)
}

/// Change a user.
///
/// A new address takes effect after it is confirmed by the link mailed to it. Then all sessions, keys and tokens of the user
/// end.
#[utoipa::path(patch, path = "/v0/users/{user}", operation_id = "user_patch", tag = "users", params(UserPath),
    request_body = UserPatch, responses((status = 200, body = User)), extensions(("x-right" = json!("self"))))]
pub(super) async fn update(
    State(app): State<App>,
    account: Account,
    Body(patch): Body<UserPatch>,
) -> Result<Json<User>> {
    if (patch.admin.is_some() || patch.locked.is_some()) && !account.by.found.user.admin {
        return Err(Error::Forbidden(
            "Only an administrator of this server may change `admin` or `locked`.".into(),
        ));
    }
    let email = patch.email.filter(|email| *email != account.found.user.email);
    if email.is_some() && account.by.via != AuthMethod::Session {
        return Err(Error::Forbidden(
            "Changing the address requires a session; sign in and try again.".into(),
        ));
    }
    if let Some(email) = &email {
        check_new_address(email)?;
    }
    let fresh = app.fresh();
    let write = move |tx: &mut Tx<'_>| {
        let change =
            user::UserUpdate { name: patch.name, slug: patch.slug, admin: patch.admin, locked: patch.locked };
        if change.admin == Some(false) || change.locked == Some(true) {
            tx.lock(Lock::Server)?;
            keep_an_admin(tx, account.found.id)?;
        }
        let before = &account.found.user;
        let after = user::update(tx, account.found.id, &change, fresh.now)?.user;
        let mut detail = Vec::new();
        for (key, changed, value) in [
            ("name", after.name != before.name, after.name.as_str()),
            ("slug", after.slug != before.slug, after.slug.as_str()),
            ("admin", after.admin != before.admin, word(after.admin)),
            ("locked", after.locked != before.locked, word(after.locked)),
        ] {
            if changed {
                detail.push((key, value));
            }
        }
        let masked = email.as_ref().map(tidemark_api::Email::masked);
        if let (Some(email), Some(masked)) = (&email, &masked) {
            detail.push(("email_asked_for", masked));
            // A taken address gets the same response but no mail, so that the response does not reveal which addresses have an
            // account.
            if user::by_email(tx, email)?.is_none() {
                let expires = fresh.now.plus_seconds(LINK_SECONDS);
                let link = sign_in::create(tx, &fresh, account.found.id, email, None, None, expires)?;
                let message = Message::EmailChange { name: after.name.clone(), link: Link::new(&link, None) };
                mail::enqueue(tx, fresh.now, email, &message)?;
            }
        }
        if !detail.is_empty() {
            account.origin.audit(tx, &fresh, "user.update", after.slug.as_str(), None, &detail)?;
        }
        Ok::<_, Error>(after)
    };
    let after = app.db.write(write).await?;
    app.background.wake();
    Ok(Json(after))
}

fn word(flag: bool) -> &'static str {
    if flag { "true" } else { "false" }
}

/// Checks that the user is not the last administrator: a server without an administrator could not be managed.
fn keep_an_admin(tx: &mut Tx<'_>, user: UserId) -> Result<()> {
    let now = user::by_id(tx, user)?.user;
    if now.admin && !now.locked && user::other_admins(tx, user)? == 0 {
        return Err(Error::Conflict(
            "This is the last administrator of the server; make another user an administrator first.".into(),
        ));
    }
    Ok(())
}
