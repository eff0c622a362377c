//! `/v0/projects/{project}/notices/{notice}/deliveries`

use axum::{Json, extract::State};
use serde::Deserialize;
use tidemark_api::{Delivery, DeliveryFilter, DeliveryUuid, NoticeUuid, Page, ResourceId};
use tidemark_store::{
    Tx,
    delivery::{self, RedeliverError},
    notice,
};
use utoipa::IntoParams;

use super::{
    access::{Manage, ProjectByUser},
    answer::{Created, Paged},
    body::{Path, Query},
    error::{Error, Result},
    notice::NoticePath,
};
use crate::domain::app::App;

/// Path parameters: project, notice and delivery.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct DeliveryPath {
    /// The slug or UUID of a project.
    #[serde(rename = "project")]
    #[param(rename = "project")]
    _project: ResourceId,
    /// The UUID of a notice.
    #[param(inline)]
    notice: NoticeUuid,
    /// The UUID of a delivery.
    #[param(inline)]
    delivery: DeliveryUuid,
}

/// List the deliveries of a notice in the last 30 days, newest first.
#[utoipa::path(get, path = "/v0/projects/{project}/notices/{notice}/deliveries", operation_id = "proj_deliveries_get",
    tag = "notices", params(NoticePath, DeliveryFilter, Page), responses((status = 200, body = Vec<Delivery>)),
    extensions(("x-right" = json!("project:manage:by_user"))))]
pub(super) async fn list(
    State(app): State<App>,
    ProjectByUser { project, .. }: ProjectByUser<Manage>,
    Path(path): Path<NoticePath>,
    Query(filter): Query<DeliveryFilter>,
    Query(page): Query<Page>,
) -> Result<Paged<Delivery>> {
    let read = move |tx: &mut Tx<'_>| {
        let notice = notice::find(tx, notice::NoticeOwner::Project(project.id), path.notice)?.id;
        delivery::list(tx, notice, &filter, &page)
    };
    Ok(Paged(app.db.read(read).await?))
}

/// View a delivery of a notice.
#[utoipa::path(get, path = "/v0/projects/{project}/notices/{notice}/deliveries/{delivery}",
    operation_id = "proj_delivery_get", tag = "notices", params(DeliveryPath),
    responses((status = 200, body = Delivery)), extensions(("x-right" = json!("project:manage:by_user"))))]
pub(super) async fn view(
    State(app): State<App>,
    ProjectByUser { project, .. }: ProjectByUser<Manage>,
    Path(path): Path<DeliveryPath>,
) -> Result<Json<Delivery>> {
    let read = move |tx: &mut Tx<'_>| {
        let notice = notice::find(tx, notice::NoticeOwner::Project(project.id), path.notice)?.id;
        delivery::view(tx, notice, path.delivery)
    };
    Ok(Json(app.db.read(read).await?))
}

/// Redeliver a notification.
///
/// The server enqueues it after all waiting deliveries, with the same event identifier.
#[utoipa::path(post, path = "/v0/projects/{project}/notices/{notice}/deliveries/{delivery}",
    operation_id = "proj_delivery_post", tag = "notices", params(DeliveryPath),
    responses((status = 201, body = Delivery)), extensions(("x-right" = json!("project:manage:by_user"))))]
pub(super) async fn repeat(
    State(app): State<App>,
    ProjectByUser { project, .. }: ProjectByUser<Manage>,
    Path(path): Path<DeliveryPath>,
) -> Result<Created<Delivery>> {
    repeat_for(&app, notice::NoticeOwner::Project(project.id), path.notice, path.delivery).await
}

/// Enqueues the notification of a delivery again.
pub(super) async fn repeat_for(
    app: &App,
    owner: notice::NoticeOwner,
    notice: NoticeUuid,
    delivery: DeliveryUuid,
) -> Result<Created<Delivery>> {
    let fresh = app.fresh();
    let write = move |tx: &mut Tx<'_>| {
        let found = notice::find(tx, owner, notice)?;
        delivery::redeliver(tx, &fresh, found.id, delivery)?.map_err(|reason| {
            Error::Conflict(match reason {
                RedeliverError::OutOfUse => "The notice is archived; unarchive it first.".into(),
                RedeliverError::Waiting => "The delivery is still pending.".into(),
                RedeliverError::Test => "The delivery is a test; send another test instead.".into(),
            })
        })
    };
    let delivery = app.db.write(write).await?;
    app.background.wake();
    Ok(Created(delivery))
}
