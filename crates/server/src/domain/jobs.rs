//! Jobs: asked for by runs, done by runners, and read into reports. What a runner says is `channel.rs`; how a job moves
//! is the table of the API, which the store goes by.

pub(crate) mod callback;
pub(crate) mod image;
pub(crate) mod order;
pub(crate) mod output;
pub(crate) mod process;
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

/// What the servers on one database tell each other by.
pub(crate) const TOPIC: &str = "tidemark_job";
/// How many signals a connection may lag behind; it looks for itself when it has missed some.
const SIGNALS: usize = 256;
/// How long to wait before listening again.
const RETRY: Duration = Duration::from_secs(5);

/// Something that connections of runners, here or at another server, want to know at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// There is a new job, or room for a waiting one.
    Queued,
    /// There are results to be read.
    Completed,
    /// A job was stopped.
    Canceled(JobUuid),
    /// A runner has another key or was archived.
    Runner(RunnerUuid),
}

impl Signal {
    /// Tells the other servers, once the transaction has ended well.
    pub(crate) fn announce(self, tx: &mut Tx<'_>) -> tidemark_store::Result<()> {
        Self::announce_all(tx, &[self])
    }

    /// Tells the other servers several things, once the transaction has ended well.
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

/// The handle on everything that happens to jobs at this server.
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
    /// Tells the connections at this server.
    pub(crate) fn signal(&self, signal: Signal) {
        if matches!(signal, Signal::Completed | Signal::Queued) {
            self.wake();
        }
        // Nobody listens while no runner is connected.
        let _listeners = self.signals.send(signal);
    }

    /// Lets the work on jobs go on at once.
    pub(crate) fn wake(&self) {
        self.wake.notify_one();
    }

    /// What connections are told from now on.
    pub(crate) fn signals(&self) -> broadcast::Receiver<Signal> {
        self.signals.subscribe()
    }

    /// Ends once the server stops.
    pub(crate) fn stopped(&self) -> watch::Receiver<bool> {
        self.stop.subscribe()
    }

    /// Ends the connections of runners and the work on jobs.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Starts the work on jobs.
    pub(crate) fn start(app: &App) {
        tokio::spawn(worker::run(app.clone()));
        if app.db.is_shared() {
            tokio::spawn(listen(app.clone()));
        }
    }

    /// The output of a job, if there is one.
    pub(crate) async fn output(&self, app: &App, object: Option<Uuid>) -> Result<Option<JobOutput>> {
        match object {
            Some(object) => output::read(app, object).await,
            None => Ok(None),
        }
    }
}

/// Passes on what other servers tell, until this one stops.
async fn listen(app: App) {
    let mut stopped = app.jobs.stopped();
    loop {
        let heard = app.db.listen(TOPIC, |text| {
            if let Ok(signal) = text.parse() {
                app.jobs.signal(signal);
            }
        });
        tokio::select! {
            () = told(&mut stopped) => return,
            ended = heard => if let Err(error) = ended {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, "the other servers cannot be heard; will try again");
            },
        }
        // What was missed meanwhile is found by looking.
        app.jobs.signal(Signal::Queued);
        tokio::select! {
            () = told(&mut stopped) => return,
            () = sleep(RETRY) => {}
        }
    }
}

/// Ends once the server has been told to stop, however long ago.
pub(crate) async fn told(stopped: &mut watch::Receiver<bool>) {
    // An error means that nobody holds the other end any more, which also says stop.
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
