//! Turns the output of a job into its report, in the same way as every other report.

use tidemark_api::{Fold, JobEvent, JobNoise, JobOutput, JobUuid, Timestamp};
use tidemark_store::{Tx, bisection_search, confirmation as store_confirmation, job, project, report};
use tokio::task::spawn_blocking;

use super::{
    Signal, bisection, confirmation,
    sides::{self, Measurement},
};
use crate::domain::{
    app::App,
    error::{Error, Result},
    ingest::{self, JobResults, TargetProject},
    quota::Quota,
};

/// Maximum attempts to process the results of a job, and the delay in seconds before the second attempt. The delay doubles with
/// each attempt.
const MAX_ATTEMPTS: u32 = 10;
const INITIAL_RETRY_DELAY: i64 = 10;

/// Returns the number of bytes that a job printed.
fn size(output: &JobOutput) -> usize {
    let printed = output.results.iter().flat_map(|run| [&run.stdout, &run.stderr]).flatten();
    let files = output.results.iter().flat_map(|run| &run.output).flat_map(|files| files.values());
    printed.chain(files).map(String::len).sum()
}

/// Processes the results of a completed job into its report. A second call for the same job does nothing.
pub(crate) async fn process(app: &App, uuid: JobUuid) -> Result<()> {
    let found = app.db.read(move |tx| job::find(tx, uuid)).await?;
    let read = match output(app, &found).await {
        Ok(output) => {
            let (config, id) = (found.config.clone(), found.report);
            let adapter = app.db.read(move |tx| report::adapter(tx, id)).await?;
            let read = spawn_blocking(move || {
                let noise = JobNoise::worst(output.results.iter().filter_map(|run| run.noise));
                let bytes = size(&output);
                Ok((sides::read(&config, adapter, &output)?, bytes, noise))
            });
            read.await.map_err(|error| Error::Internal(error.into()))?
        }
        Err(error) => Err(error),
    };
    let (fresh, quota) = (app.fresh(), Quota::new(&app.config));
    let write = move |tx: &mut Tx<'_>| {
        let (Measurement { results, pairs }, bytes, noise) = read?;
        if !job::advance(tx, found.id, JobEvent::Process, job::JobUpdate::default(), fresh.now)? {
            return Ok(());
        }
        if let Some(noise) = noise {
            job::record_noise(tx, found.id, noise)?;
        }
        let (start_time, end_time) = times(&found, fresh.now);
        // The sequence of rounds is not a history: a report has one value per series, unless the request says otherwise.
        let fold = found.config.fold.or(found.config.base.is_some().then_some(Fold::Median));
        let is_confirmation = store_confirmation::is_confirming_job(tx, found.id)?;
        let is_search = !is_confirmation && bisection_search::is_searching_job(tx, found.id)?;
        let target_project = TargetProject::of(&project::by_id(tx, found.project)?);
        let average = found.config.average;
        let is_isolated = is_confirmation || is_search || found.config.isolated == Some(true);
        let host = found.job.runner.map(|runner| runner.to_string());
        let job_results =
            JobResults { results, pairs, is_isolated, bytes, fold, average, start_time, end_time, host };
        let warnings = ingest::fill_report(tx, &fresh, quota, target_project, found.report, &job_results)?;
        if !warnings.is_empty() {
            job::record_warnings(tx, found.id, &warnings)?;
        }
        if is_confirmation {
            confirmation::conclude(tx, &fresh, &found)
        } else if is_search {
            bisection::conclude(tx, &fresh, &found)
        } else {
            Ok(())
        }
    };
    match app.db.write(write).await {
        Ok(()) => {}
        // The owner of the job gets the error that the sender of a report would get.
        Err(
            Error::Invalid(reason)
            | Error::NotFound(reason)
            | Error::Forbidden(reason)
            | Error::Limited(reason, _),
        ) => {
            reject(app, uuid, reason).await?;
        }
        Err(error) => return Err(error),
    }
    app.jobs.signal(Signal::Queued);
    app.background.wake();
    app.changes.wake();
    Ok(())
}

/// Delays the next attempt after a server error, or fails the job after `MAX_ATTEMPTS` attempts.
pub(crate) async fn retry_or_fail(app: &App, uuid: JobUuid, error: &Error) -> Result<()> {
    let now = app.clock.now();
    let write = move |tx: &mut Tx<'_>| {
        let Some((id, failed)) = job::attempts(tx, uuid)? else { return Ok(None) };
        let attempts = failed + 1;
        if attempts < MAX_ATTEMPTS {
            job::postpone_processing(tx, id, attempts, now.plus_seconds(INITIAL_RETRY_DELAY << failed))?;
        } else {
            let reason =
                "The server could not read the results because of an internal error; start the job again.";
            let change = job::JobUpdate { error: Some(reason), ..job::JobUpdate::default() };
            job::advance(tx, id, JobEvent::Reject, change, now)?;
        }
        Ok::<_, Error>(Some(attempts))
    };
    let attempts = app.db.write(write).await?;
    let cause = error.cause();
    match attempts {
        Some(attempts) if attempts < MAX_ATTEMPTS => {
            tracing::error!(%uuid, cause, attempts, "processing the results of a job failed; retrying");
        }
        Some(attempts) => {
            tracing::error!(%uuid, cause, attempts, "processing the results of a job failed; the job failed");
            app.background.wake();
        }
        None => {}
    }
    Ok(())
}

/// Fails a job whose results cannot become a report.
async fn reject(app: &App, uuid: JobUuid, reason: String) -> Result<()> {
    let now = app.clock.now();
    let write = move |tx: &mut Tx<'_>| {
        let found = job::find(tx, uuid)?;
        let change = job::JobUpdate { error: Some(&reason), ..job::JobUpdate::default() };
        job::advance(tx, found.id, JobEvent::Reject, change, now)?;
        Ok::<_, Error>(())
    };
    app.db.write(write).await
}

async fn output(app: &App, found: &job::JobRow) -> Result<JobOutput> {
    let output = app.jobs.output(app, found.output).await?;
    output.ok_or_else(|| Error::Invalid("The output of the job is missing.".into()))
}

/// Returns the start and end time of the run, shifted to `backdate` if that is set.
fn times(found: &job::JobRow, now: Timestamp) -> (Timestamp, Timestamp) {
    let started = found.job.started.or(found.job.claimed).unwrap_or(now);
    let completed = found.job.completed.unwrap_or(now);
    match found.config.backdate {
        Some(backdate) => {
            let micros = completed.micros().saturating_sub(started.micros());
            (backdate, Timestamp::from_micros(backdate.micros().saturating_add(micros)))
        }
        None => (started, completed),
    }
}
