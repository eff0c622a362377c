//! `/v0/projects/{project}/jobs`

use axum::{Json, extract::State};
use serde::Deserialize;
use tidemark_api::{Job, JobEvent, JobFilter, JobUuid, Page, ResourceId};
use tidemark_store::{Tx, job};
use utoipa::IntoParams;

use super::{
    access::{Edit, Project, View},
    answer::{Deleted, Paged},
    body::{Path, Query},
    error::{Error, Result},
    project::ProjectPath,
};
use crate::domain::{
    app::App,
    jobs::{CANCELED_ON_REQUEST, Signal},
};

/// Path parameters: project and job.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct JobPath {
    /// The slug or UUID of a project.
    #[serde(rename = "project")]
    #[param(rename = "project")]
    _project: ResourceId,
    /// The UUID of a job.
    #[param(inline)]
    job: JobUuid,
}

/// List the jobs of a project, without their outputs.
///
/// Only callers with a role in the project or a project key get `error`.
#[utoipa::path(get, path = "/v0/projects/{project}/jobs", operation_id = "proj_jobs_get", tag = "jobs",
    params(ProjectPath, JobFilter, Page), responses((status = 200, body = Vec<Job>)),
    extensions(("x-right" = json!("project:view"))))]
pub(super) async fn list(
    State(app): State<App>,
    project: Project<View>,
    Query(filter): Query<JobFilter>,
    Query(page): Query<Page>,
) -> Result<Paged<Job>> {
    let may_see_output = project.is_inside;
    let (mut jobs, total) = app.db.read(move |tx| job::list(tx, project.id, &filter, &page)).await?;
    if !may_see_output {
        jobs.iter_mut().for_each(hide_output);
    }
    Ok(Paged((jobs, total)))
}

/// Removes all fields that can contain output of the job. Output can contain secrets, in public projects too.
fn hide_output(job: &mut Job) {
    (job.error, job.printed, job.output) = (None, None, None);
}

/// View a job.
///
/// Callers with a role in the project or a project key also get the output of the job, during the job and after its end.
#[utoipa::path(get, path = "/v0/projects/{project}/jobs/{job}", operation_id = "proj_job_get", tag = "jobs",
    params(JobPath), responses((status = 200, body = Job)), extensions(("x-right" = json!("project:view"))))]
pub(super) async fn view(
    State(app): State<App>,
    project: Project<View>,
    Path(path): Path<JobPath>,
) -> Result<Json<Job>> {
    let may_see_output = project.is_inside;
    let found = app.db.read(move |tx| job::view(tx, project.id, path.job)).await?;
    let mut job = found.job;
    if !may_see_output {
        hide_output(&mut job);
    } else if job.status.is_terminal() {
        let mut output = app.jobs.output(&app, found.output).await?.unwrap_or_default();
        output.error = job.error.clone().or(output.error);
        job.output = Some(output);
    }
    Ok(Json(job))
}

/// Cancel a job that has not ended.
#[utoipa::path(delete, path = "/v0/projects/{project}/jobs/{job}", operation_id = "proj_job_delete", tag = "jobs",
    params(JobPath), responses((status = 204)), extensions(("x-right" = json!("project:edit"))))]
pub(super) async fn cancel(
    State(app): State<App>,
    project: Project<Edit>,
    Path(path): Path<JobPath>,
) -> Result<Deleted> {
    let fresh = app.fresh();
    let write = move |tx: &mut Tx<'_>| {
        let found = job::view(tx, project.id, path.job)?;
        let change = job::JobUpdate { error: Some(CANCELED_ON_REQUEST), ..job::JobUpdate::default() };
        if !job::advance(tx, found.id, JobEvent::Cancel, change, fresh.now)? {
            return Err(Error::Conflict("The job has already ended and cannot be canceled.".into()));
        }
        let uuid = path.job.to_string();
        project.origin.audit(tx, &fresh, "job.cancel", &uuid, Some(project.organization), &[])?;
        Signal::Canceled(path.job).announce(tx)?;
        Ok(())
    };
    app.db.write(write).await?;
    app.jobs.signal(Signal::Canceled(path.job));
    app.background.wake();
    Ok(Deleted)
}
