//! `/v0/projects/{project}/metrics`

use axum::{Json, extract::State};
use serde::Deserialize;
use tidemark_api::{MetricDetail, MetricUuid, ResourceId};
use tidemark_store::{Tx, metric};
use utoipa::IntoParams;

use super::{
    access::{Project, View},
    body::Path,
    error::Result,
};
use crate::domain::app::App;

/// Path parameters: project and metric.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct MetricPath {
    /// The slug or UUID of a project.
    #[serde(rename = "project")]
    #[param(rename = "project")]
    _project: ResourceId,
    /// The UUID of a metric.
    metric: MetricUuid,
}

/// View a metric with its report, branch, testbed, benchmark, measure, threshold and alert.
#[utoipa::path(get, path = "/v0/projects/{project}/metrics/{metric}", operation_id = "proj_metric_get",
    tag = "metrics", params(MetricPath), responses((status = 200, body = MetricDetail)),
    extensions(("x-right" = json!("project:view"))))]
pub(super) async fn view(
    State(app): State<App>,
    project: Project<View>,
    Path(path): Path<MetricPath>,
) -> Result<Json<MetricDetail>> {
    let read = move |tx: &mut Tx<'_>| metric::view(tx, (project.id, &project.project), path.metric);
    Ok(Json(app.db.read(read).await?))
}
