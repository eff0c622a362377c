//! The work on jobs that no request does: completed ones become reports, and those whose time is up are ended.

use std::time::Duration;

use tidemark_api::{JobEvent, JobStatus, Timestamp};
use tidemark_store::{Tx, job};
use tokio::time::sleep;

use super::{Signal, process, told};
use crate::{
    App,
    http::error::{Error, Result},
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
        Ok(Some((job::due(tx, now, alive)?, job::completed(tx)?)))
    };
    let Some((due, completed)) = app.db.read(look).await? else { return Ok(false) };
    if !due.is_empty() {
        end(app, now, alive).await?;
    }
    for uuid in completed {
        // One that fails for a fault of ours must not hold up the others.
        if let Err(error) = process::process(app, uuid).await {
            let cause = error.cause();
            tracing::error!(%uuid, cause, "the results of a job could not be read; will try again");
        }
    }
    Ok(true)
}

/// Ends the jobs whose time is up.
async fn end(app: &App, now: Timestamp, alive: Timestamp) -> Result<()> {
    let write = move |tx: &mut Tx<'_>| {
        let mut canceled = Vec::new();
        // Once more: a runner may have been heard of since.
        for one in job::due(tx, now, alive)? {
            let error = match (one.event, one.status) {
                (JobEvent::Cancel, JobStatus::Pending) => "No runner has taken it in time.",
                (JobEvent::Cancel, _) => "It took longer than its timeout.",
                _ => "Nothing was heard of its runner for too long.",
            };
            let change = job::Change { error: Some(error), ..job::Change::default() };
            if job::advance(tx, one.id, one.event, change, now)? && one.event == JobEvent::Cancel {
                Signal::Canceled(one.uuid).announce(tx)?;
                canceled.push(one.uuid);
            }
        }
        Signal::Queued.announce(tx)?;
        Ok::<_, Error>(canceled)
    };
    for uuid in app.db.write(write).await? {
        app.jobs.signal(Signal::Canceled(uuid));
    }
    app.jobs.signal(Signal::Queued);
    app.background.poke();
    Ok(())
}
