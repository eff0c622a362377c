//! `/v0/projects/{project}/reports/{report}/verdict`

use std::sync::Arc;

use axum::{Json, extract::State};
use tidemark_api::Verdict;
use tidemark_store::{Tx, report};
use tokio::task::spawn_blocking;

use super::{
    access::{Project, View},
    body::Path,
    error::{Error, Result},
    report::ReportPath,
};
use crate::domain::{app::App, changes, verdict::VerdictInput};

/// Compare a report with its baseline.
///
/// The baseline is the earlier runs of its branch, or of the branch of its start point. Each series is changed, unchanged or
/// inconclusive. Thresholds are not required.
#[utoipa::path(get, path = "/v0/projects/{project}/reports/{report}/verdict", operation_id = "proj_report_verdict_get",
    tag = "reports", params(ReportPath), responses((status = 200, body = Verdict)),
    extensions(("x-right" = json!("project:view"))))]
pub(super) async fn view(
    State(app): State<App>,
    project: Project<View>,
    Path(path): Path<ReportPath>,
) -> Result<Json<Verdict>> {
    if app.embedded {
        changes::catch_up(&app).await?;
    }
    // A verdict occupies a processor, and the memory for many values, until it ends, even if the client disconnects.
    let permit = app.analyses.acquire(project.origin.address).await?;
    let held = Arc::clone(&permit);
    let read = move |tx: &mut Tx<'_>| {
        let id = report::find(tx, project.id, path.report)?;
        let _held = held;
        VerdictInput::read(tx, project.id, &project.project, id)
    };
    let input = app.db.read(read).await?;
    let judge = move || {
        let _held = permit;
        input.judge()
    };
    let judged = spawn_blocking(judge).await;
    judged.map_err(|error| Error::Internal(error.into()))?.map(Json)
}
