//! Worker for jobs: turns completed jobs into reports and ends overdue jobs.

use std::time::Duration;

use tidemark_api::{JobEvent, Timestamp};
use tidemark_store::{JobId, Tx, job};
use tokio::time::sleep;

use super::{Signal, bisection, confirmation, process, wait_for_shutdown};
use crate::domain::{
    app::App,
    error::{Error, Result},
};

/// Maximum pause while a job is open.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// Maximum pause without open jobs on a shared database, where another server may have claimed a job and crashed.
const SHARED_POLL_INTERVAL: Duration = Duration::from_secs(60);

/// Runs until the server stops.
pub(super) async fn run(app: App) {
    let mut stopped = app.jobs.stopped();
    loop {
        let is_open = process_due_jobs(&app).await.unwrap_or_else(|error| {
            let cause = error.cause();
            tracing::warn!(cause, "processing jobs failed; retrying");
            true
        });
        let pause = match is_open {
            true => POLL_INTERVAL,
            false if app.db.is_shared() => SHARED_POLL_INTERVAL,
            false => Duration::MAX,
        };
        tokio::select! {
            () = wait_for_shutdown(&mut stopped) => return,
            () = app.jobs.wake.notified() => {}
            () = sleep(pause) => {}
        }
    }
}

/// Processes completed and overdue jobs, and the confirmations and searches that wait for jobs. Returns whether any of them is open.
async fn process_due_jobs(app: &App) -> Result<bool> {
    let is_searching = bisection::SEARCHES.advance(app).await?;
    let is_confirming = confirmation::CONFIRMATIONS.advance(app).await? || is_searching;
    let settings = &app.config.plus.runners;
    let now = app.clock.now();
    let alive = now.plus_seconds(-i64::from(settings.heartbeat_timeout));
    // Reads first, so that an idle server does not write.
    let find_due = move |tx: &mut Tx<'_>| {
        if !job::is_any_open(tx)? {
            return Ok::<_, Error>(None);
        }
        Ok(Some((job::overdue(tx, now, alive)?, job::completed(tx, now)?)))
    };
    let Some((due, completed)) = app.db.read(find_due).await? else { return Ok(is_confirming) };
    if !due.is_empty() {
        end_overdue_jobs(app, now, alive).await?;
    }
    for uuid in completed {
        // A server error with one job must not block the others.
        if let Err(error) = process::process(app, uuid).await {
            process::retry_or_fail(app, uuid, &error).await?;
        }
    }
    Ok(true)
}

/// Ends overdue jobs.
async fn end_overdue_jobs(app: &App, now: Timestamp, alive: Timestamp) -> Result<()> {
    for signal in app.db.write(move |tx| end_overdue(tx, now, alive)).await? {
        app.jobs.signal(signal);
    }
    app.background.wake();
    Ok(())
}

/// Ends or requeues the jobs that are overdue or whose runners sent no heartbeat since `alive`. Returns the signals to send at
/// this server after the commit.
pub fn end_overdue(tx: &mut Tx<'_>, now: Timestamp, alive: Timestamp) -> tidemark_store::Result<Vec<Signal>> {
    let due = job::overdue(tx, now, alive)?;
    let mut signals = vec![Signal::Queued];
    for overdue in job::OverdueReason::ALL {
        let due = due.iter().filter(|one| one.overdue == overdue);
        let jobs: Vec<JobId> = due.map(|one| one.id).collect();
        if jobs.is_empty() {
            continue;
        }
        let change = job::JobUpdate { error: reason(overdue), ..job::JobUpdate::default() };
        let changed = job::advance_all(tx, &jobs, overdue.event(), change, now)?;
        if overdue.event() == JobEvent::Cancel {
            signals.extend(changed.into_iter().map(Signal::Canceled));
        }
    }
    Signal::announce_all(tx, &signals)?;
    Ok(signals)
}

/// Returns the error text of an overdue job.
fn reason(overdue: job::OverdueReason) -> Option<&'static str> {
    match overdue {
        job::OverdueReason::Unclaimed => Some("No runner claimed the job in time."),
        job::OverdueReason::TimedOut => Some("The job exceeded its timeout."),
        job::OverdueReason::HeartbeatLost => Some("The runner sent no heartbeat for too long."),
        job::OverdueReason::NeverStarted => None,
    }
}
