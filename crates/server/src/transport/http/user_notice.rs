//! `/v0/users/{user}/notices` and their deliveries: notices that users configure for themselves.

use axum::{Json, extract::State};
use serde::Deserialize;
use tidemark_api::{
    Delivery, DeliveryFilter, DeliveryUuid, NewNotice, Notice, NoticeFilter, NoticePatch, NoticeUuid, Page,
    ResourceId,
};
use tidemark_store::{Tx, delivery, notice};
use utoipa::IntoParams;

use super::{
    access::Account,
    answer::{Created, Deleted, Paged},
    body::{Body, Path, Query},
    delivery::repeat_for,
    error::Result,
    notice::OwnerNotices,
    user::UserPath,
};
use crate::domain::app::App;

/// Path parameters: user and notice.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct NoticePath {
    /// The slug or UUID of a user.
    #[serde(rename = "user")]
    #[param(rename = "user")]
    _user: ResourceId,
    /// The UUID of a notice.
    #[param(inline)]
    notice: NoticeUuid,
}

/// Path parameters: user, notice and delivery.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct DeliveryPath {
    /// The slug or UUID of a user.
    #[serde(rename = "user")]
    #[param(rename = "user")]
    _user: ResourceId,
    /// The UUID of a notice.
    #[param(inline)]
    notice: NoticeUuid,
    /// The UUID of a delivery.
    #[param(inline)]
    delivery: DeliveryUuid,
}

/// List the notices of a user.
#[utoipa::path(get, path = "/v0/users/{user}/notices", operation_id = "user_notices_get", tag = "notices",
    params(UserPath, NoticeFilter, Page), responses((status = 200, body = Vec<Notice>)),
    extensions(("x-right" = json!("self"))))]
pub(super) async fn list(
    State(app): State<App>,
    account: Account,
    Query(filter): Query<NoticeFilter>,
    Query(page): Query<Page>,
) -> Result<Paged<Notice>> {
    let owner = notice::NoticeOwner::User(account.found.id);
    Ok(Paged(app.db.read(move |tx| notice::list(tx, owner, &filter, &page)).await?))
}

/// Create a notice for a user, for one project or for all organizations of the user.
///
/// Only this response contains the whole URL and the secret of a webhook. The server sends no notifications about projects that
/// the user may no longer view.
#[utoipa::path(post, path = "/v0/users/{user}/notices", operation_id = "user_notice_post", tag = "notices",
    params(UserPath), request_body = NewNotice, responses((status = 201, body = Notice)),
    extensions(("x-right" = json!("self"))))]
pub(super) async fn create(
    State(app): State<App>,
    account: Account,
    Body(new): Body<NewNotice>,
) -> Result<Created<Notice>> {
    let by = account.by.clone();
    OwnerNotices::of_user(account).create(&app, &by, new).await
}

/// View a notice of a user.
#[utoipa::path(get, path = "/v0/users/{user}/notices/{notice}", operation_id = "user_notice_get", tag = "notices",
    params(NoticePath), responses((status = 200, body = Notice)), extensions(("x-right" = json!("self"))))]
pub(super) async fn view(
    State(app): State<App>,
    account: Account,
    Path(path): Path<NoticePath>,
) -> Result<Json<Notice>> {
    let owner = notice::NoticeOwner::User(account.found.id);
    Ok(Json(app.db.read(move |tx| notice::find(tx, owner, path.notice)).await?.notice))
}

/// Change a notice of a user.
///
/// Archiving a notice drops its waiting deliveries.
#[utoipa::path(patch, path = "/v0/users/{user}/notices/{notice}", operation_id = "user_notice_patch",
    tag = "notices", params(NoticePath), request_body = NoticePatch, responses((status = 200, body = Notice)),
    extensions(("x-right" = json!("self"))))]
pub(super) async fn update(
    State(app): State<App>,
    account: Account,
    Path(path): Path<NoticePath>,
    Body(patch): Body<NoticePatch>,
) -> Result<Json<Notice>> {
    OwnerNotices::of_user(account).update(&app, path.notice, patch).await
}

/// Delete a notice of a user with its waiting deliveries and its delivery log.
#[utoipa::path(delete, path = "/v0/users/{user}/notices/{notice}", operation_id = "user_notice_delete",
    tag = "notices", params(NoticePath), responses((status = 204)), extensions(("x-right" = json!("self"))))]
pub(super) async fn delete(
    State(app): State<App>,
    account: Account,
    Path(path): Path<NoticePath>,
) -> Result<Deleted> {
    OwnerNotices::of_user(account).delete(&app, path.notice).await
}

/// Send a test to the destination of a notice of a user.
///
/// The server sends it at once, also in quiet hours, and tries once. The delivery shows the result.
#[utoipa::path(post, path = "/v0/users/{user}/notices/{notice}/test", operation_id = "user_notice_test_post",
    tag = "notices", params(NoticePath), responses((status = 201, body = Delivery)),
    extensions(("x-right" = json!("self"))))]
pub(super) async fn test(
    State(app): State<App>,
    account: Account,
    Path(path): Path<NoticePath>,
) -> Result<Created<Delivery>> {
    let by = account.by.clone();
    OwnerNotices::of_user(account).test(&app, &by, path.notice).await
}

/// List the deliveries of a notice of a user in the last 30 days, newest first.
#[utoipa::path(get, path = "/v0/users/{user}/notices/{notice}/deliveries", operation_id = "user_deliveries_get",
    tag = "notices", params(NoticePath, DeliveryFilter, Page), responses((status = 200, body = Vec<Delivery>)),
    extensions(("x-right" = json!("self"))))]
pub(super) async fn deliveries(
    State(app): State<App>,
    account: Account,
    Path(path): Path<NoticePath>,
    Query(filter): Query<DeliveryFilter>,
    Query(page): Query<Page>,
) -> Result<Paged<Delivery>> {
    let read = move |tx: &mut Tx<'_>| {
        let notice = notice::find(tx, notice::NoticeOwner::User(account.found.id), path.notice)?.id;
        delivery::list(tx, notice, &filter, &page)
    };
    Ok(Paged(app.db.read(read).await?))
}

/// View a delivery of a notice of a user.
#[utoipa::path(get, path = "/v0/users/{user}/notices/{notice}/deliveries/{delivery}",
    operation_id = "user_delivery_get", tag = "notices", params(DeliveryPath),
    responses((status = 200, body = Delivery)), extensions(("x-right" = json!("self"))))]
pub(super) async fn delivery(
    State(app): State<App>,
    account: Account,
    Path(path): Path<DeliveryPath>,
) -> Result<Json<Delivery>> {
    let read = move |tx: &mut Tx<'_>| {
        let notice = notice::find(tx, notice::NoticeOwner::User(account.found.id), path.notice)?.id;
        delivery::view(tx, notice, path.delivery)
    };
    Ok(Json(app.db.read(read).await?))
}

/// Redeliver a notification to a user.
///
/// The server enqueues it after all waiting deliveries, with the same event identifier.
#[utoipa::path(post, path = "/v0/users/{user}/notices/{notice}/deliveries/{delivery}",
    operation_id = "user_delivery_post", tag = "notices", params(DeliveryPath),
    responses((status = 201, body = Delivery)), extensions(("x-right" = json!("self"))))]
pub(super) async fn repeat(
    State(app): State<App>,
    account: Account,
    Path(path): Path<DeliveryPath>,
) -> Result<Created<Delivery>> {
    repeat_for(&app, notice::NoticeOwner::User(account.found.id), path.notice, path.delivery).await
}
