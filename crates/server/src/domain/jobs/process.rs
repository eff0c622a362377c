//! Turns the output of a job into its report, in the same way as every other report.

use tidemark_adapters::Results;
use tidemark_api::{Adapter, JobConfig, JobEvent, JobIteration, JobNoise, JobOutput, JobUuid, Timestamp};
use tidemark_store::{Tx, job, project, report};
use tokio::task::spawn_blocking;

use super::Signal;
use crate::domain::{
    app::App,
    error::{Error, Result},
    ingest::{self, JobResults, TargetProject},
    quota::Quota,
};

/// Character in the name of a result that the runner measured, for example the size of a file.
const SYNTHETIC: char = '\0';

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
                Ok((results(&config, adapter, &output)?, bytes, noise))
            });
            read.await.map_err(|error| Error::Internal(error.into()))?
        }
        Err(error) => Err(error),
    };
    let (fresh, quota) = (app.fresh(), Quota::new(&app.config));
    let write = move |tx: &mut Tx<'_>| {
        let (results, bytes, noise) = read?;
        if !job::advance(tx, found.id, JobEvent::Process, job::JobUpdate::default(), fresh.now)? {
            return Ok(());
        }
        if let Some(noise) = noise {
            job::record_noise(tx, found.id, noise)?;
        }
        let (start_time, end_time) = times(&found, fresh.now);
        let fold = found.config.fold;
        let target_project = TargetProject::of(&project::by_id(tx, found.project)?);
        let host = found.job.runner.map(|runner| runner.to_string());
        let job_results = JobResults { results, bytes, fold, start_time, end_time, host };
        ingest::fill_report(tx, &fresh, quota, target_project, found.report, &job_results)
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

/// Returns the results of all iterations, one per text.
fn results(config: &JobConfig, adapter: Adapter, output: &JobOutput) -> Result<Vec<Results>> {
    let leaves_out_failed = config.allow_failure == Some(true);
    let kept: Vec<&JobIteration> =
        output.results.iter().filter(|one| !leaves_out_failed || one.exit_code == 0).collect();
    if kept.is_empty() && !output.results.is_empty() {
        return Err(Error::Invalid("Every iteration failed; there are no results.".into()));
    }
    let mut read = Vec::new();
    for (iteration, one) in kept.into_iter().enumerate() {
        for (path, text) in texts(one) {
            let made_by_runner = path.is_some_and(|path| path.contains(SYNTHETIC));
            let adapter = if made_by_runner { Adapter::Json } else { adapter };
            let results = tidemark_adapters::parse(adapter, text, config.average).map_err(|error| {
                let place = match path {
                    Some(path) if !made_by_runner => format!("The file `{path}`"),
                    Some(_) => "The measurement of the runner".to_owned(),
                    None => "Standard output".to_owned(),
                };
                Error::Invalid(format!("{place} of iteration {} could not be read: {error}", iteration + 1))
            })?;
            read.push(results);
        }
    }
    if read.is_empty() {
        return Err(Error::Invalid("The job printed no results.".into()));
    }
    Ok(read)
}

/// Returns the texts of an iteration: its files if it has any, otherwise its standard output.
fn texts(iteration: &JobIteration) -> Vec<(Option<&str>, &str)> {
    match (&iteration.output, &iteration.stdout) {
        (Some(files), _) => files.iter().map(|(path, text)| (Some(path.as_str()), text.as_str())).collect(),
        (None, Some(stdout)) => vec![(None, stdout.as_str())],
        (None, None) => Vec::new(),
    }
}
