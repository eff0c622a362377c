//! `/v0/users/{user}/keys`

use axum::{Json, extract::State};
use serde::Deserialize;
use tidemark_api::{
    KeyFilter, NewUserKey, Page, ResourceId, UserKey, UserKeyCreated, UserKeyPatch, UserKeyUuid,
};
use tidemark_store::{Tx, key};
use utoipa::IntoParams;

use super::{
    access::Account,
    answer::{Created, Deleted, Paged},
    body::{Body, Path, Query},
    error::{Error, Result},
    user::UserPath,
};
use crate::{
    domain::{
        app::App,
        auth::{
            caller::AuthMethod,
            key::{KeyKind, generate, hash},
        },
    },
    infra::{
        limits::Rule,
        mail::{self, Message},
    },
};

/// Path parameters: user and key.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct KeyPath {
    /// The slug or UUID of a user.
    #[serde(rename = "user")]
    #[param(rename = "user")]
    _user: ResourceId,
    /// The UUID of a key.
    #[param(inline)]
    key: UserKeyUuid,
}

/// Checks that a user key only views, renames or revokes itself.
fn check_key_is_own(account: &Account, key: UserKeyUuid) -> Result<()> {
    match account.by.via {
        AuthMethod::Key(own) if own != key => Err(Error::Forbidden(
            "An API key can access only itself; sign in to view or change other keys.".into(),
        )),
        _ => Ok(()),
    }
}

/// List the API keys of a user.
#[utoipa::path(get, path = "/v0/users/{user}/keys", operation_id = "user_keys_get", tag = "users",
    params(UserPath, KeyFilter, Page), responses((status = 200, body = Vec<UserKey>)),
    extensions(("x-right" = json!("self"))))]
pub(super) async fn list(
    State(app): State<App>,
    account: Account,
    Query(filter): Query<KeyFilter>,
    Query(page): Query<Page>,
) -> Result<Paged<UserKey>> {
    let only = match account.by.via {
        AuthMethod::Key(own) => Some(own),
        AuthMethod::Session | AuthMethod::Token => None,
    };
    Ok(Paged(app.db.read(move |tx| key::list(tx, account.found.id, only, &filter, &page)).await?))
}

/// Create an API key.
///
/// Only this response contains the key.
#[utoipa::path(post, path = "/v0/users/{user}/keys", operation_id = "user_key_post", tag = "users",
    params(UserPath), request_body = NewUserKey, responses((status = 201, body = UserKeyCreated)),
    extensions(("x-right" = json!("self:by_session"))))]
pub(super) async fn create(
    State(app): State<App>,
    account: Account,
    Body(new): Body<NewUserKey>,
) -> Result<Created<UserKeyCreated>> {
    if account.by.via != AuthMethod::Session {
        return Err(Error::Forbidden("An API key cannot create keys; sign in to create keys.".into()));
    }
    let fresh = app.fresh();
    app.limits.check(Rule::UserCredentials, &account.by.found.user.uuid.to_string(), fresh.now).await?;
    let plain = generate(&fresh, &app.config.security.key_prefix, KeyKind::User);
    let hashed = hash(plain.as_str());
    let expires = fresh.now.plus_seconds(new.ttl.map_or(i64::from(u32::MAX), |ttl| i64::from(ttl.get())));
    let write = move |tx: &mut Tx<'_>| {
        let new = key::NewKeyRow { name: &new.name, hash: &hashed, expires };
        let created = key::create(tx, &fresh, account.found.id, new)?;
        let uuid = created.uuid.to_string();
        let detail = [("user", account.found.user.slug.as_str()), ("name", created.name.as_str())];
        account.origin.audit(tx, &fresh, "user_key.create", &uuid, None, &detail)?;
        let (owner, by) = (&account.found, &account.by.found);
        if owner.id != by.id {
            // A key gives access to the account, so the server notifies the owner by mail.
            let (name, key) = (owner.user.name.clone(), created.name.clone());
            let notice = Message::KeyCreated { name, key, by: by.user.name.clone() };
            mail::enqueue(tx, fresh.now, &owner.user.email, &notice)?;
        }
        Ok::<_, Error>(created)
    };
    let UserKey { uuid, user, name, creation, expiration, .. } = app.db.write(write).await?;
    app.background.wake();
    Ok(Created(UserKeyCreated { uuid, user, name, key: plain, creation, expiration }))
}

/// View an API key.
#[utoipa::path(get, path = "/v0/users/{user}/keys/{key}", operation_id = "user_key_get", tag = "users",
    params(KeyPath), responses((status = 200, body = UserKey)), extensions(("x-right" = json!("self"))))]
pub(super) async fn view(
    State(app): State<App>,
    account: Account,
    Path(path): Path<KeyPath>,
) -> Result<Json<UserKey>> {
    check_key_is_own(&account, path.key)?;
    Ok(Json(app.db.read(move |tx| key::view(tx, account.found.id, path.key)).await?))
}

/// Rename an API key.
#[utoipa::path(patch, path = "/v0/users/{user}/keys/{key}", operation_id = "user_key_patch", tag = "users",
    params(KeyPath), request_body = UserKeyPatch, responses((status = 200, body = UserKey)),
    extensions(("x-right" = json!("self"))))]
pub(super) async fn update(
    State(app): State<App>,
    account: Account,
    Path(path): Path<KeyPath>,
    Body(patch): Body<UserKeyPatch>,
) -> Result<Json<UserKey>> {
    check_key_is_own(&account, path.key)?;
    let fresh = app.fresh();
    let write = move |tx: &mut Tx<'_>| {
        if let Some(name) = &patch.name {
            key::rename(tx, account.found.id, path.key, name)?;
            let uuid = path.key.to_string();
            account.origin.audit(tx, &fresh, "user_key.rename", &uuid, None, &[("name", name.as_str())])?;
        }
        Ok::<_, Error>(key::view(tx, account.found.id, path.key)?)
    };
    Ok(Json(app.db.write(write).await?))
}

/// Revoke an API key permanently.
#[utoipa::path(delete, path = "/v0/users/{user}/keys/{key}", operation_id = "user_key_delete", tag = "users",
    params(KeyPath), responses((status = 204)), extensions(("x-right" = json!("self"))))]
pub(super) async fn revoke(
    State(app): State<App>,
    account: Account,
    Path(path): Path<KeyPath>,
) -> Result<Deleted> {
    check_key_is_own(&account, path.key)?;
    let fresh = app.fresh();
    let write = move |tx: &mut Tx<'_>| {
        key::view(tx, account.found.id, path.key)?;
        if !key::revoke(tx, account.found.id, path.key, fresh.now)? {
            return Err(Error::Conflict("The key is already revoked.".into()));
        }
        account.origin.audit(tx, &fresh, "user_key.revoke", &path.key.to_string(), None, &[])?;
        Ok(Deleted)
    };
    app.db.write(write).await
}
