//! `/v0/users/{user}/tokens`: deprecated API tokens. They can be viewed, renamed and revoked, but not created.

use axum::{Json, extract::State};
use serde::Deserialize;
use tidemark_api::{NewToken, Page, ResourceId, Token, TokenFilter, TokenPatch, TokenUuid};
use tidemark_store::{Tx, token};
use utoipa::IntoParams;

use super::{
    access::{Account, SignedInUser},
    answer::{Created, Deleted, Paged},
    body::{Body, Path, Query},
    error::{Error, Result},
    user::UserPath,
};
use crate::domain::app::App;

/// Path parameters: user and token.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct TokenPath {
    /// The slug or UUID of a user.
    #[serde(rename = "user")]
    #[param(rename = "user")]
    _user: ResourceId,
    /// The UUID of a token.
    #[param(inline)]
    token: TokenUuid,
}

/// List the deprecated API tokens of a user. The tokens are masked.
#[utoipa::path(get, path = "/v0/users/{user}/tokens", operation_id = "user_tokens_get", tag = "users",
    params(UserPath, TokenFilter, Page), responses((status = 200, body = Vec<Token>)),
    extensions(("x-right" = json!("self"))))]
pub(super) async fn list(
    State(app): State<App>,
    account: Account,
    Query(filter): Query<TokenFilter>,
    Query(page): Query<Page>,
) -> Result<Paged<Token>> {
    Ok(Paged(app.db.read(move |tx| token::list(tx, account.found.id, &filter, &page)).await?))
}

/// Reject the creation of an API token.
///
/// Always fails, for every body. Create an API key instead.
#[utoipa::path(post, path = "/v0/users/{user}/tokens", operation_id = "user_token_post", tag = "users",
    params(UserPath), request_body = NewToken, responses((status = 201, body = Token)),
    extensions(("x-right" = json!("never"))))]
pub(super) async fn create(_signed: SignedInUser) -> Result<Created<Token>> {
    Err(Error::Forbidden(
        "API tokens are deprecated and can no longer be created; create an API key instead.".into(),
    ))
}

/// View a deprecated API token.
#[utoipa::path(get, path = "/v0/users/{user}/tokens/{token}", operation_id = "user_token_get", tag = "users",
    params(TokenPath), responses((status = 200, body = Token)), extensions(("x-right" = json!("self"))))]
pub(super) async fn view(
    State(app): State<App>,
    account: Account,
    Path(path): Path<TokenPath>,
) -> Result<Json<Token>> {
    Ok(Json(app.db.read(move |tx| token::find(tx, account.found.id, path.token)).await?))
}

/// Rename a deprecated API token.
#[utoipa::path(patch, path = "/v0/users/{user}/tokens/{token}", operation_id = "user_token_patch", tag = "users",
    params(TokenPath), request_body = TokenPatch, responses((status = 200, body = Token)),
    extensions(("x-right" = json!("self"))))]
pub(super) async fn update(
    State(app): State<App>,
    account: Account,
    Path(path): Path<TokenPath>,
    Body(patch): Body<TokenPatch>,
) -> Result<Json<Token>> {
    let fresh = app.fresh();
    let write = move |tx: &mut Tx<'_>| {
        if let Some(name) = &patch.name {
            token::rename(tx, account.found.id, path.token, name)?;
            let uuid = path.token.to_string();
            account.origin.audit(tx, &fresh, "user_token.rename", &uuid, None, &[("name", name.as_str())])?;
        }
        Ok::<_, Error>(token::find(tx, account.found.id, path.token)?)
    };
    Ok(Json(app.db.write(write).await?))
}

/// Revoke a deprecated API token permanently.
#[utoipa::path(delete, path = "/v0/users/{user}/tokens/{token}", operation_id = "user_token_delete",
    tag = "users", params(TokenPath), responses((status = 204)), extensions(("x-right" = json!("self"))))]
pub(super) async fn revoke(
    State(app): State<App>,
    account: Account,
    Path(path): Path<TokenPath>,
) -> Result<Deleted> {
    let fresh = app.fresh();
    let write = move |tx: &mut Tx<'_>| {
        token::find(tx, account.found.id, path.token)?;
        if !token::revoke(tx, account.found.id, path.token, fresh.now)? {
            return Err(Error::Conflict("The token is already revoked.".into()));
        }
        account.origin.audit(tx, &fresh, "user_token.revoke", &path.token.to_string(), None, &[])?;
        Ok(Deleted)
    };
    app.db.write(write).await
}
