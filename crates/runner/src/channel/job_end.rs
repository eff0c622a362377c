//! Messages about the ends of jobs.

use tidemark_api::{JobIteration, JobUuid, channel::FromRunner};

/// Returns the job of a message about an end.
pub(super) fn job(message: &FromRunner) -> JobUuid {
    match message {
        FromRunner::Completed { job, .. }
        | FromRunner::Failed { job, .. }
        | FromRunner::Canceled { job, .. } => *job,
        _ => JobUuid::from(uuid::Uuid::nil()),
    }
}

/// Returns the results in a message about an end.
pub(super) fn results(message: &mut FromRunner) -> Option<&mut Vec<JobIteration>> {
    match message {
        FromRunner::Completed { results, .. }
        | FromRunner::Failed { results, .. }
        | FromRunner::Canceled { results, .. } => Some(results),
        _ => None,
    }
}

/// Returns the message about a job that failed for this reason, without results.
pub(super) fn failed(job: JobUuid, error: &str) -> FromRunner {
    FromRunner::Failed { job, results: Vec::new(), error: error.to_owned(), uploaded: false }
}

/// Returns the name of an end, for the log.
pub(super) fn name(message: &FromRunner) -> &'static str {
    match message {
        FromRunner::Completed { .. } => "completed",
        FromRunner::Canceled { .. } => "canceled",
        _ => "failed",
    }
}

/// Returns the message about a job whose results the server does not get, for this reason.
pub(super) fn without_results(message: FromRunner, reason: &str) -> FromRunner {
    match message {
        FromRunner::Canceled { .. } => message,
        FromRunner::Failed { job, error, .. } => failed(job, &format!("{error} {reason}")),
        message => failed(job(&message), reason),
    }
}
