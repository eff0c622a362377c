//! The work on jobs that no request does: completed ones become reports, and those whose time is up are ended.

use std::time::Duration;

use tidemark_api::{JobEvent, Timestamp};
use tidemark_store::{JobId, Tx, job};
use tokio::time::sleep;

use super::{Signal, process, told};
use crate::domain::{
    app::App,
    error::{Error, Result},
};

/// How long the worker sleeps at the most while a job is open.
const PAUSE: Duration = Duration::from_secs(2);
/// The same while none is, where another server may have taken one and died.
const SHARED_PAUSE: Duration = Duration::from_secs(60);

/// Works until the server stops.
pub(super) async fn run(app: App) {
    let mut stopped = app.jobs.stopped();
    loop {
        let is_open = round(&app).await.unwrap_or_else(|error| {
            let cause = error.cause();
            tracing::warn!(cause, "jobs could not be worked on; will try again");
            true
        });
        let pause = match is_open {
            true => PAUSE,
            false if app.db.is_shared() => SHARED_PAUSE,
            false => Duration::MAX,
        };
        tokio::select! {
            () = told(&mut stopped) => return,
            () = app.jobs.wake.notified() => {}
            () = sleep(pause) => {}
        }
    }
}

/// Does what is due; answers whether there are jobs that something may become of.
async fn round(app: &App) -> Result<bool> {
    let settings = &app.config.plus.runners;
    let now = app.clock.now();
    let alive = now.plus_seconds(-i64::from(settings.heartbeat_timeout));
    // Looking first keeps an idle server from writing.
    let look = move |tx: &mut Tx<'_>| {
        if !job::is_any_open(tx)? {
            return Ok::<_, Error>(None);
        }
        Ok(Some((job::due(tx, now, alive)?, job::completed(tx, now)?)))
    };
    let Some((due, completed)) = app.db.read(look).await? else { return Ok(false) };
    if !due.is_empty() {
        end(app, now, alive).await?;
    }
    for uuid in completed {
        // One that fails for a fault of ours must not hold up the others.
        if let Err(error) = process::process(app, uuid).await {
            process::put_off(app, uuid, &error).await?;
        }
    }
    Ok(true)
}

/// Ends the jobs whose time is up.
async fn end(app: &App, now: Timestamp, alive: Timestamp) -> Result<()> {
    for signal in app.db.write(move |tx| end_overdue(tx, now, alive)).await? {
        app.jobs.signal(signal);
    }
    app.background.poke();
    Ok(())
}

/// Ends the jobs whose time is up, or whose runners were not heard of since `alive`; or puts them back. Answers what is to
/// be told here, once that is written.
pub fn end_overdue(tx: &mut Tx<'_>, now: Timestamp, alive: Timestamp) -> tidemark_store::Result<Vec<Signal>> {
    let due = job::due(tx, now, alive)?;
    let mut signals = vec![Signal::Queued];
    for overdue in job::Overdue::ALL {
        let due = due.iter().filter(|one| one.overdue == overdue);
        let jobs: Vec<JobId> = due.map(|one| one.id).collect();
        if jobs.is_empty() {
            continue;
        }
        let change = job::Change { error: reason(overdue), ..job::Change::default() };
        let changed = job::advance_all(tx, &jobs, overdue.event(), change, now)?;
        if overdue.event() == JobEvent::Cancel {
            signals.extend(changed.into_iter().map(Signal::Canceled));
        }
    }
    Signal::announce_all(tx, &signals)?;
    Ok(signals)
}

/// What is said of a job whose time is up.
fn reason(overdue: job::Overdue) -> Option<&'static str> {
    match overdue {
        job::Overdue::Unclaimed => Some("No runner has taken it in time."),
        job::Overdue::TimedOut => Some("It took longer than its timeout."),
        job::Overdue::HeartbeatLost => Some("Nothing was heard of its runner for too long."),
        job::Overdue::NeverStarted => None,
    }
}
