//! Jobs: created by runs, executed by runners, and turned into reports. `channel.rs` has the messages of runners; the API defines
//! the status transitions, and the store enforces them.

pub(crate) mod bisection;
pub(crate) mod callback;
mod confirmation;
mod event_job;
pub(crate) mod image;
pub(crate) mod job_request;
pub(crate) mod output;
pub(crate) mod process;
mod sides;
pub(crate) mod tier;
mod worker;

use std::{fmt, str::FromStr, sync::Arc, time::Duration};

use tidemark_api::{JobOutput, JobUuid, RunnerUuid};
use tidemark_store::Tx;
use tokio::{
    sync::{Notify, broadcast, watch},
    time::sleep,
};
use uuid::Uuid;

pub use self::worker::end_overdue;
use crate::domain::{app::App, error::Result};

/// Notification channel between servers that share a database.
pub(crate) const TOPIC: &str = "tidemark_job";
/// Capacity of the signal channel. A connection that missed signals reads the queue instead.
const SIGNALS: usize = 256;
/// Error of a job that a user canceled.
pub(crate) const CANCELED_ON_REQUEST: &str = "Canceled on request.";
/// Pause before listening again after a failure.
const RETRY: Duration = Duration::from_secs(5);

/// An event for the connections of runners at this server or another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// A job was created, or a waiting job can be claimed.
    Queued,
    /// A job has results to process.
    Completed,
    /// A job was canceled.
    Canceled(JobUuid),
    /// The key of a runner changed, or the runner was archived.
    Runner(RunnerUuid),
}

impl Signal {
    /// Notifies the other servers when the transaction commits.
    pub(crate) fn announce(self, tx: &mut Tx<'_>) -> tidemark_store::Result<()> {
        Self::announce_all(tx, &[self])
    }

    /// Notifies the other servers of several signals when the transaction commits.
    pub(crate) fn announce_all(tx: &mut Tx<'_>, signals: &[Self]) -> tidemark_store::Result<()> {
        let texts: Vec<String> = signals.iter().map(Self::to_string).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        tx.notify(TOPIC, &texts)
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Queued => formatter.write_str("queued"),
            Self::Completed => formatter.write_str("completed"),
            Self::Canceled(job) => write!(formatter, "canceled {job}"),
            Self::Runner(runner) => write!(formatter, "runner {runner}"),
        }
    }
}

impl FromStr for Signal {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text.split_once(' ') {
            None if text == "queued" => Ok(Self::Queued),
            None if text == "completed" => Ok(Self::Completed),
            Some(("canceled", job)) => job.parse().map(Self::Canceled).map_err(drop),
            Some(("runner", runner)) => runner.parse().map(Self::Runner).map_err(drop),
            _ => Err(()),
        }
    }
}

/// Handle of the jobs at this server.
pub struct Jobs {
    signals: broadcast::Sender<Signal>,
    wake: Arc<Notify>,
    stop: watch::Sender<bool>,
}

impl Default for Jobs {
    fn default() -> Self {
        Self {
            signals: broadcast::Sender::new(SIGNALS),
            wake: Arc::default(),
            stop: watch::Sender::new(false),
        }
    }
}

impl Jobs {
    /// Sends a signal to the connections at this server.
    pub(crate) fn signal(&self, signal: Signal) {
        if matches!(signal, Signal::Completed | Signal::Queued) {
            self.wake();
        }
        // Sending fails if no runner is connected.
        let _listeners = self.signals.send(signal);
    }

    /// Wakes the worker.
    pub(crate) fn wake(&self) {
        self.wake.notify_one();
    }

    /// Subscribes to signals.
    pub(crate) fn signals(&self) -> broadcast::Receiver<Signal> {
        self.signals.subscribe()
    }

    /// Returns a receiver that becomes `true` when the server stops.
    pub(crate) fn stopped(&self) -> watch::Receiver<bool> {
        self.stop.subscribe()
    }

    /// Closes the connections of runners and stops the worker.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Starts the worker.
    pub(crate) fn start(app: &App) {
        tokio::spawn(worker::run(app.clone()));
        if app.db.is_shared() {
            tokio::spawn(listen(app.clone()));
        }
    }

    /// Returns the output of a job, if it exists.
    pub(crate) async fn output(&self, app: &App, object: Option<Uuid>) -> Result<Option<JobOutput>> {
        match object {
            Some(object) => output::read(app, object).await,
            None => Ok(None),
        }
    }
}

/// Forwards signals of other servers until this server stops.
async fn listen(app: App) {
    let mut stopped = app.jobs.stopped();
    loop {
        let heard = app.db.listen(TOPIC, |text| {
            if let Ok(signal) = text.parse() {
                app.jobs.signal(signal);
            }
        });
        tokio::select! {
            () = wait_for_shutdown(&mut stopped) => return,
            ended = heard => if let Err(error) = ended {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, "listening for signals of other servers failed; retrying");
            },
        }
        // Signals may have been missed, so that connections read the queue.
        app.jobs.signal(Signal::Queued);
        tokio::select! {
            () = wait_for_shutdown(&mut stopped) => return,
            () = sleep(RETRY) => {}
        }
    }
}

/// Waits until the server stops. Returns at once if it has already stopped.
pub(crate) async fn wait_for_shutdown(stopped: &mut watch::Receiver<bool>) {
    // An error means that the sender was dropped, which also means stop.
    drop(stopped.wait_for(|stop| *stop).await);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_read_back() {
        let uuid = Uuid::from_u128(7);
        for signal in
            [Signal::Queued, Signal::Completed, Signal::Canceled(uuid.into()), Signal::Runner(uuid.into())]
        {
            assert_eq!(signal.to_string().parse(), Ok(signal));
        }
        assert_eq!("nonsense".parse::<Signal>(), Err(()));
    }
}
