//! `/v0/projects/{project}/reports`

use std::{collections::VecDeque, net::IpAddr, time::Duration};

use axum::{
    Extension, Json,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use tidemark_api::{
    Branch, NewReport, Page, Report, ReportFilter, ReportUuid, ResourceId, Testbed, Timestamp,
};
use tidemark_store::{
    Dimension, Lock, Tx,
    report::{self, ReportRow},
};
use tokio::time::timeout;
use utoipa::IntoParams;

use super::{
    access::{self, Create, Delete, Project, ProjectByUser, View},
    answer::{Deleted, Paged, Total},
    body::{Body, Path, Query},
    error::{Error, Result},
    project::ProjectPath,
    stream,
};
use crate::domain::{
    app::App,
    ingest::{self, RecordedReport, Submission, TargetProject},
    quota::Quota,
};

/// Maximum number of metrics in memory, unless a single report has more.
const BATCH: u64 = 16_384;
/// Maximum time that the response to a recorded report waits for the results of the report.
const RESULTS_TIMEOUT: Duration = Duration::from_secs(5);

/// Path parameters: project and report.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct ReportPath {
    /// The slug or UUID of a project.
    #[serde(rename = "project")]
    #[param(rename = "project")]
    _project: ResourceId,
    /// The UUID of a report.
    pub(super) report: ReportUuid,
}

/// List the reports of a project, newest runs first.
#[utoipa::path(get, path = "/v0/projects/{project}/reports", operation_id = "proj_reports_get", tag = "reports",
    params(ProjectPath, ReportFilter, Page), responses((status = 200, body = Vec<Report>)),
    extensions(("x-right" = json!("project:view"))))]
pub(super) async fn list(
    State(app): State<App>,
    project: Project<View>,
    Query(filter): Query<ReportFilter>,
    Query(page): Query<Page>,
) -> Result<Response> {
    let (expand, address) = (filter.expand.unwrap_or(false), project.origin.address);
    let find = move |tx: &mut Tx<'_>| {
        let mut wanted = report::ReportFilter {
            branch: None,
            testbed: None,
            start_time: filter.start_time.map(Into::into),
            end_time: filter.end_time.map(Into::into),
            hash: filter.hash.clone(),
            archived: filter.archived.unwrap_or(false),
        };
        // A branch or testbed that does not exist has no reports.
        if let Some(branch) = &filter.branch {
            wanted.branch = Branch::resolve(tx, project.id, branch)?;
        }
        if let Some(testbed) = &filter.testbed {
            wanted.testbed = Testbed::resolve(tx, project.id, testbed)?;
        }
        if filter.branch.is_some() != wanted.branch.is_some()
            || filter.testbed.is_some() != wanted.testbed.is_some()
        {
            return Ok((Vec::new(), 0));
        }
        Ok::<_, Error>(report::list(tx, (project.id, &project.project), &wanted, &page)?)
    };
    if !expand {
        let (found, total) = app.db.read(find).await?;
        let reports: Vec<Report> = found.into_iter().map(|found| found.report).collect();
        return Ok(Paged((reports, total)).into_response());
    }
    let now = app.clock.now();
    let begin = move |tx: &mut Tx<'_>| {
        let (found, total) = find(tx)?;
        let write =
            move |tx: &mut Tx<'_>, sink: &mut stream::Sink| write_expanded(tx, found.into(), now, sink);
        Ok((total, write))
    };
    let (total, body) = stream::body(&app, address, begin).await?;
    let json = [(header::CONTENT_TYPE, "application/json")];
    Ok((Extension(Total(total)), json, body).into_response())
}

/// Writes reports with their results and alerts, in batches.
fn write_expanded(
    tx: &mut Tx<'_>,
    mut reports: VecDeque<ReportRow>,
    now: Timestamp,
    sink: &mut stream::Sink,
) -> Result<()> {
    let mut list = stream::List::new(sink);
    while !reports.is_empty() {
        let mut metrics = 0_u64;
        let fitting = reports.iter().take_while(|found| {
            metrics = metrics.saturating_add(found.metrics);
            metrics <= BATCH
        });
        let fitting = fitting.count().max(1);
        let mut batch: Vec<ReportRow> = reports.drain(..fitting).collect();
        report::expand(tx, &mut batch)?;
        for mut found in batch {
            found.report.clear_expired_mutes(now);
            list.push(&found.report)?;
        }
    }
    list.end()?;
    Ok(())
}

/// Create a report.
///
/// Parses the results, checks the thresholds, and returns the report with its alerts.
#[utoipa::path(post, path = "/v0/projects/{project}/reports", operation_id = "proj_report_post", tag = "reports",
    params(ProjectPath), request_body = NewReport, responses((status = 201, body = Report)),
    extensions(("x-right" = json!("project:create"))))]
pub(super) async fn create(
    State(app): State<App>,
    project: Project<Create>,
    Body(new): Body<NewReport>,
) -> Result<Response> {
    access::count_run(&app, &project.caller, project.origin.address, Some(project.project.uuid)).await?;
    let submission = Submission::read_on_blocking_thread(new, project.caller.user(), false).await?;
    let (fresh, quota) = (app.fresh(), Quota::new(&app.config));
    let target_project = TargetProject {
        project: project.id,
        organization: project.organization,
        claimed: project.project.claimed.is_some(),
        visibility: project.project.visibility,
    };
    let address = project.origin.address;
    let write = move |tx: &mut Tx<'_>| {
        let RecordedReport { report, is_enqueued, warnings } =
            ingest::record(tx, &fresh, quota, target_project, &submission)?;
        let mut found = report::summary(tx, &project.project, report)?;
        found.report.warnings = warnings;
        Ok::<_, Error>((found, is_enqueued))
    };
    let (found, is_enqueued) = app.db.write(write).await?;
    if is_enqueued {
        app.background.wake();
        app.jobs.wake();
    }
    Ok((StatusCode::CREATED, recorded_report(&app, address, found).await?).into_response())
}

/// Returns a report that was just recorded, with its results and alerts. The response must always confirm the report: if the
/// results cannot be read in time, they are omitted.
pub(super) async fn recorded_report(
    app: &App,
    address: Option<IpAddr>,
    found: ReportRow,
) -> Result<Response> {
    app.changes.wake();
    let summary = found.report.clone();
    match timeout(RESULTS_TIMEOUT, complete_report(app, address, move |_| Ok(found))).await {
        Ok(Err(error)) if !matches!(error, Error::Busy(_)) => Err(error),
        Ok(Ok(answer)) => Ok(answer),
        _ => Ok(Json(summary).into_response()),
    }
}

/// Returns a report with its results and alerts. Long reports are streamed.
async fn complete_report(
    app: &App,
    address: Option<IpAddr>,
    find: impl FnOnce(&mut Tx<'_>) -> Result<ReportRow> + Send + 'static,
) -> Result<Response> {
    let now = app.clock.now();
    let read = move |tx: &mut Tx<'_>| {
        let found = find(tx)?;
        if found.metrics > BATCH {
            return Ok(Err(found));
        }
        let mut report = report::complete(tx, found)?;
        report.clear_expired_mutes(now);
        // Serialize here and not in the response: megabytes of JSON would block an async thread for too long.
        serde_json::to_vec(&report).map(Ok).map_err(|error| Error::Internal(error.into()))
    };
    let json = [(header::CONTENT_TYPE, "application/json")];
    let found = match app.db.read(read).await? {
        Ok(report) => return Ok((json, report).into_response()),
        Err(found) => found,
    };
    let write = move |tx: &mut Tx<'_>, sink: &mut stream::Sink| {
        let mut report = report::complete(tx, found)?;
        report.clear_expired_mutes(now);
        serde_json::to_writer(sink, &report).map_err(|error| Error::Internal(error.into()))
    };
    let ((), body) = stream::body(app, address, move |_| Ok(((), write))).await?;
    Ok((json, body).into_response())
}

/// View a report with its results and alerts.
#[utoipa::path(get, path = "/v0/projects/{project}/reports/{report}", operation_id = "proj_report_get",
    tag = "reports", params(ReportPath), responses((status = 200, body = Report)),
    extensions(("x-right" = json!("project:view"))))]
pub(super) async fn view(
    State(app): State<App>,
    project: Project<View>,
    Path(path): Path<ReportPath>,
) -> Result<Response> {
    let address = project.origin.address;
    let find = move |tx: &mut Tx<'_>| {
        let id = report::find(tx, project.id, path.report)?;
        Ok(report::summary(tx, &project.project, id)?)
    };
    complete_report(&app, address, find).await
}

/// Delete a report with its metrics and alerts.
///
/// A version without other reports is deleted too.
#[utoipa::path(delete, path = "/v0/projects/{project}/reports/{report}", operation_id = "proj_report_delete",
    tag = "reports", params(ReportPath), responses((status = 204)),
    extensions(("x-right" = json!("project:delete:by_user"))))]
pub(super) async fn delete(
    State(app): State<App>,
    ProjectByUser { project, .. }: ProjectByUser<Delete>,
    Path(path): Path<ReportPath>,
) -> Result<Deleted> {
    let write = move |tx: &mut Tx<'_>| {
        tx.lock(Lock::Project(project.id.get()))?;
        let id = report::find(tx, project.id, path.report)?;
        report::delete(tx, id)?;
        Ok::<_, Error>(Deleted)
    };
    let deleted = app.db.write(write).await?;
    app.changes.wake();
    Ok(deleted)
}
