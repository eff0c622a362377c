//! `/v0/projects/{project}/reports/{report}/verdict`

use std::sync::Arc;

use axum::{Json, extract::State};
use tidemark_api::{Benchmark, Verdict, VerdictQuery};
use tidemark_store::{Dimension, Tx, report};
use tokio::task::spawn_blocking;

use super::{
    access::{Project, View},
    body::{Path, Query},
    error::{Error, Result},
    report::ReportPath,
    series_filter::SeriesNames,
};
use crate::domain::{app::App, changes, verdict::VerdictInput};

/// Compare a report with its baseline.
///
/// The baseline is the earlier runs of its branch, or of the branch of its start point, or of the branch and testbed of the
/// report `base`. Each series is changed, unchanged or
/// inconclusive. Thresholds are not required.
#[utoipa::path(get, path = "/v0/projects/{project}/reports/{report}/verdict", operation_id = "proj_report_verdict_get",
    tag = "reports", params(ReportPath, VerdictQuery), responses((status = 200, body = Verdict)),
    extensions(("x-right" = json!("project:view"))))]
pub(super) async fn view(
    State(app): State<App>,
    project: Project<View>,
    Path(path): Path<ReportPath>,
    Query(query): Query<VerdictQuery>,
) -> Result<Json<Verdict>> {
    if app.embedded {
        changes::catch_up(&app).await?;
    }
    // A verdict occupies a processor, and the memory for many values, until it ends, even if the client disconnects.
    let permit = app.analyses.acquire(project.origin.address).await?;
    let held = Arc::clone(&permit);
    let VerdictQuery { base, benchmark, limit } = query;
    let now = app.clock.now();
    let read = move |tx: &mut Tx<'_>| {
        let id = report::find(tx, project.id, path.report)?;
        let base = base.map(|base| report::find(tx, project.id, base)).transpose()?;
        let names = SeriesNames { benchmark: benchmark.as_ref(), ..Default::default() };
        let benchmark =
            names.find(tx, project.id)?.benchmark.map(|id| Benchmark::view(tx, id)).transpose()?;
        let _held = held;
        Ok::<_, Error>((VerdictInput::read(tx, project.id, &project.project, id, base, now)?, benchmark))
    };
    let (input, benchmark) = app.db.read(read).await?;
    let judge = move || {
        let _held = permit;
        input.judge()
    };
    let judged = spawn_blocking(judge).await;
    let mut verdict = judged.map_err(|error| Error::Internal(error.into()))??;
    if let Some(benchmark) = benchmark {
        verdict.comparisons.retain(|comparison| comparison.benchmark.uuid == benchmark.uuid);
    }
    if let Some(limit) = limit {
        verdict.comparisons.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    }
    Ok(Json(verdict))
}
