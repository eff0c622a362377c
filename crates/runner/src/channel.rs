//! The runner's side of the channel: waits for jobs, runs one job at a time and reports its progress. A lost
//! connection does not stop a job; the runner keeps messages that the server has not acknowledged and sends them
//! again. `measure.rs` runs the job.

mod end;
mod journal;
mod socket;
mod upload;
mod work;

use std::{
    mem,
    path::PathBuf,
    sync::{
        Arc,
        mpsc::{SyncSender, sync_channel},
    },
    thread,
    time::Duration,
};

use tidemark_api::{
    Architecture, JobUuid, LeaseUuid, OperatingSystem, ResourceId, Url,
    channel::{Envelope, FromRunner, JobOrder, PollTimeout, RunnerMetadata, ToRunner},
};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep_until, timeout},
};
use uuid::Uuid;

use self::{
    end::failed,
    journal::Journal,
    socket::{Refusal, Socket},
};
use crate::{
    Host,
    error::Result,
    image::Images,
    measure::{Bounds, End, RunResults},
    sandbox::{Watch, pin},
};

/// Interval between two heartbeats. Also the delay with which users who watch a job see its output.
const HEARTBEAT: Duration = Duration::from_secs(3);
/// Timeout of a response.
const ANSWER: Duration = Duration::from_secs(30);
/// Delay before the first reconnect, and the maximum delay.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// Maximum time to send pending messages after the runner was asked to stop.
const FAREWELL: Duration = Duration::from_secs(15);
/// Error of a job whose runner was stopped or killed.
const STOPPED: &str = "The runner was stopped before the job had ended.";
const KILLED: &str = "The runner was killed before the job had ended.";
/// Error of a job whose thread panicked.
const BROKEN: &str = "The runner failed because of a fault of its own; its log has more.";

/// Identity of the runner and what it allows.
pub struct Settings {
    /// URL of the server.
    pub host: Url,
    /// UUID or slug of the runner.
    pub runner: ResourceId,
    /// Key of the runner.
    pub key: String,
    /// How long one request for a job waits.
    pub poll: PollTimeout,
    /// Folder of images and of the journal.
    pub folder: PathBuf,
    /// Limits of a run in addition to the limits of its spec.
    pub bounds: Bounds,
    /// Whether jobs whose spec has a network get the network of this host. Otherwise the runner refuses these jobs.
    pub allows_network: bool,
    /// Called on every connection with the Tidemark version of the server, if the server reports it.
    pub on_version: OnVersion,
}

/// Callback that receives the Tidemark version of the server, if the server reports it.
pub type OnVersion = Box<dyn Fn(Option<&str>) + Send + Sync>;

/// Event of the job thread.
enum Event {
    /// The job is prepared, and the benchmarks can start.
    Prepared,
    /// The job has ended.
    Ended(End),
}

/// The current job.
struct Current {
    job: JobUuid,
    /// Lease of the job.
    lease: LeaseUuid,
    watch: Watch,
    /// Whether the server canceled the job.
    is_canceled: bool,
    /// Whether the job is prepared.
    is_prepared: bool,
    /// Starts the benchmarks; `None` once they have started.
    go: Option<SyncSender<()>>,
}

/// Kind of the last request, which has no response yet.
enum Asked {
    Ready,
    End(JobUuid),
    Begin,
    /// Any other message about the job.
    Other,
}

/// Next message to send.
enum Next {
    /// Send this message and wait this long for the response.
    Say(FromRunner, Asked, Duration),
    /// Nothing to send now.
    Nothing,
    /// The output of a job could not be uploaded.
    Unsent(String),
}

/// Why a connection ended.
enum Parted {
    /// The connection was lost.
    Lost(String),
    /// The output of a job could not be uploaded.
    Unsent(String),
    /// No messages are left to send.
    Done,
}

/// A running runner.
struct Daemon {
    settings: Arc<Settings>,
    host: Arc<Host>,
    images: Arc<Images>,
    journal: Journal,
    current: Option<Current>,
    events: mpsc::Receiver<Event>,
    event_sender: mpsc::Sender<Event>,
    stopping: watch::Receiver<bool>,
    next_id: u64,
    /// Lease of the request for the next job. It stays the same across connections until the job arrives.
    lease: LeaseUuid,
    /// When the next heartbeat is due.
    heartbeat: Instant,
}

/// Why a runner stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It was asked to stop.
    Requested,
    /// The server rejected the runner, with this reason.
    Refused(String),
}

/// Runs jobs until the runner is asked to stop or the server does not know it.
pub async fn run(settings: Settings, host: Host, stopping: watch::Receiver<bool>) -> Result<Ended> {
    // The runner's own work stays off the cores of jobs.
    pin(&host.cores.host)?;
    let images = Images::open(settings.folder.join("images"))?;
    let mut journal = Journal::open(settings.folder.join("journal"))?;
    for job in journal.begun() {
        tracing::warn!(%job, "an earlier runner was killed in the middle of a job");
        journal.end_without_results(failed(job, KILLED))?;
    }
    let (event_sender, events) = mpsc::channel(4);
    let daemon = Daemon {
        settings: Arc::new(settings),
        host: Arc::new(host),
        images: Arc::new(images),
        journal,
        current: None,
        events,
        event_sender,
        stopping,
        next_id: 1,
        lease: new_lease(),
        heartbeat: Instant::now(),
    };
    daemon.run().await
}

fn new_lease() -> LeaseUuid {
    LeaseUuid::from(Uuid::new_v4())
}

impl Daemon {
    /// Connects, and reconnects after each lost connection.
    async fn run(mut self) -> Result<Ended> {
        let mut wait = FIRST_WAIT;
        let mut leave_by = None;
        loop {
            let reason = match Socket::connect(&self.settings).await {
                Ok(mut socket) => {
                    tracing::info!("connected to the server");
                    let parted = self.talk(&mut socket, &mut leave_by).await?;
                    socket.close().await;
                    match parted {
                        Parted::Done => return Ok(Ended::Requested),
                        Parted::Lost(reason) => {
                            wait = FIRST_WAIT;
                            reason
                        }
                        // The connection works, so only the delay prevents an immediate retry.
                        Parted::Unsent(reason) => reason,
                    }
                }
                Err(Refusal::ForGood(reason)) => {
                    self.abandon().await?;
                    return Ok(Ended::Refused(reason));
                }
                Err(Refusal::ForNow(reason)) => reason,
            };
            // Random jitter, so that many runners of one server do not reconnect at the same moment.
            let share = (Uuid::new_v4().as_u128() % 1000) as f64 / 1000.0;
            let pause = wait.mul_f64(0.5 + share / 2.0);
            tracing::warn!(reason, wait = pause.as_secs_f64(), "the server is not there; will try again");
            wait = (wait * 2).min(LONGEST_WAIT);
            if self.pause(pause, &mut leave_by).await? {
                return Ok(Ended::Requested);
            }
        }
    }

    /// Waits before the next connection while the job continues. Returns whether the runner must exit.
    async fn pause(&mut self, pause: Duration, leave_by: &mut Option<Instant>) -> Result<bool> {
        let until = Instant::now() + pause;
        loop {
            if *self.stopping.borrow() {
                self.stop_for_good(leave_by);
                let is_late = leave_by.is_some_and(|end| end <= Instant::now());
                // The next runner process sends the remaining messages.
                if self.current.is_none() && (is_late || self.journal.first().is_none()) {
                    return Ok(true);
                }
            }
            let mut stopping = self.stopping.clone();
            tokio::select! {
                () = sleep_until(until) => return Ok(false),
                Some(event) = self.events.recv() => self.note(event)?,
                _ = stopping.changed(), if leave_by.is_none() => {}
            }
        }
    }

    /// Stops the job of a runner that the server no longer knows.
    async fn abandon(&mut self) -> Result<()> {
        if let Some(current) = &self.current {
            current.watch.stop();
        }
        while self.current.is_some() {
            match self.events.recv().await {
                Some(event) => self.note(event)?,
                None => break,
            }
        }
        Ok(())
    }

    /// Stops the job because the runner stops.
    fn stop_for_good(&self, leave_by: &mut Option<Instant>) {
        if leave_by.is_none() {
            *leave_by = Some(Instant::now() + FAREWELL);
            if let Some(current) = &self.current {
                current.watch.stop();
            }
        }
    }

    /// Exchanges messages on one connection until it is lost or all messages are sent.
    async fn talk(&mut self, socket: &mut Socket, leave_by: &mut Option<Instant>) -> Result<Parted> {
        let mut asked: Option<(u64, Asked, Instant)> = None;
        let mut resumes = self.current.is_some();
        loop {
            if *self.stopping.borrow() {
                self.stop_for_good(leave_by);
                let is_late = leave_by.is_some_and(|end| end <= Instant::now());
                if self.current.is_none() && (is_late || self.journal.first().is_none()) {
                    self.decline(socket).await?;
                    return Ok(Parted::Done);
                }
            }
            if asked.is_none() {
                match self.next(&mut resumes).await? {
                    Next::Say(message, kind, patience) => {
                        let id = self.next_id;
                        self.next_id += 1;
                        if !socket.say(&Envelope { id: Some(id), message }).await {
                            return Ok(Parted::Lost("the connection is gone".to_owned()));
                        }
                        asked = Some((id, kind, Instant::now() + patience));
                    }
                    Next::Nothing => {}
                    Next::Unsent(reason) => return Ok(Parted::Unsent(reason)),
                }
            }
            let patience = asked.as_ref().map(|(.., end)| *end);
            let mut stopping = self.stopping.clone();
            tokio::select! {
                message = socket.receive() => match message {
                    Ok(Some(answer)) => self.answered(answer, &mut asked)?,
                    Ok(None) => {}
                    Err(reason) => return Ok(Parted::Lost(reason)),
                },
                Some(event) = self.events.recv() => self.note(event)?,
                () = until(patience) => return Ok(Parted::Lost("the server does not answer".to_owned())),
                () = sleep_until(self.heartbeat), if self.current.is_some() && asked.is_none() => {}
                () = until(*leave_by), if self.current.is_none() => {}
                _ = stopping.changed(), if leave_by.is_none() => {}
            }
        }
    }

    /// Returns the next message to send.
    async fn next(&mut self, resumes: &mut bool) -> Result<Next> {
        // Ends of earlier jobs come first: the server hands out no new job before it knows them.
        if let Some(ended) = self.journal.first().cloned() {
            let job = end::job(&ended.message);
            let delivered = upload::deliver(&self.settings, &mut self.journal, ended).await?;
            return Ok(
                delivered.map_or_else(Next::Unsent, |message| Next::Say(message, Asked::End(job), ANSWER))
            );
        }
        let Some(current) = &mut self.current else {
            let metadata = RunnerMetadata {
                os: OperatingSystem::Linux,
                arch: if cfg!(target_arch = "aarch64") { Architecture::Aarch64 } else { Architecture::X8664 },
                version: env!("CARGO_PKG_VERSION").to_owned(),
            };
            let poll = self.settings.poll;
            let lease = Some(self.lease);
            let ready = FromRunner::Ready { poll_timeout: Some(poll), runner: Some(metadata), lease };
            return Ok(Next::Say(ready, Asked::Ready, Duration::from_secs(poll.get().into()) + ANSWER));
        };
        let (job, lease) = (current.job, Some(current.lease));
        let (message, asked) = if *resumes {
            *resumes = false;
            (FromRunner::Resume { job, lease }, Asked::Other)
        } else if current.is_prepared && current.go.is_some() {
            (FromRunner::Running { job: Some(job), lease }, Asked::Begin)
        } else if self.heartbeat <= Instant::now() {
            let printed = current.watch.printed();
            (FromRunner::Heartbeat { job: Some(job), lease, printed }, Asked::Other)
        } else {
            return Ok(Next::Nothing);
        };
        self.heartbeat = Instant::now() + HEARTBEAT;
        Ok(Next::Say(message, asked, ANSWER))
    }

    /// Handles a message of the server.
    fn answered(
        &mut self,
        said: Envelope<ToRunner>,
        asked: &mut Option<(u64, Asked, Instant)>,
    ) -> Result<()> {
        let answered = match asked.take() {
            Some((id, kind, _)) if said.id == Some(id) => Some(kind),
            other => {
                *asked = other;
                None
            }
        };
        match (said.message, answered) {
            (ToRunner::Ack { refused, .. }, Some(Asked::End(job))) => {
                match refused {
                    Some(reason) => {
                        tracing::warn!(%job, reason, "the server did not want the end of the job");
                    }
                    None => tracing::info!(%job, "the server knows how the job ended"),
                }
                self.journal.remove(job)
            }
            (ToRunner::Cancel { job }, _) => {
                if let Some(current) = &mut self.current
                    && job.is_none_or(|job| job == current.job)
                {
                    tracing::info!(job = %current.job, "the server stops the job");
                    current.is_canceled = true;
                    current.watch.stop();
                }
                Ok(())
            }
            (ToRunner::Ack { .. }, Some(Asked::Begin)) => {
                if let Some(current) = &mut self.current
                    && let Some(go) = current.go.take()
                {
                    tracing::info!(job = %current.job, "the benchmarks begin");
                    // The job thread waits for this, unless it was stopped.
                    let _ = go.send(());
                }
                Ok(())
            }
            (ToRunner::Job(order), Some(Asked::Ready)) => self.begin(*order),
            (ToRunner::Ack { .. } | ToRunner::NoJob | ToRunner::Job(_), _) => Ok(()),
        }
    }

    /// Starts a job in its own thread.
    fn begin(&mut self, order: JobOrder) -> Result<()> {
        let (job, watch) = (order.uuid, Watch::default());
        let lease = mem::replace(&mut self.lease, new_lease());
        tracing::info!(%job, image = order.config.image, "begins a job");
        self.journal.begin(job)?;
        let mut results = RunResults::create(&self.journal.results(job), self.settings.bounds)?;
        self.heartbeat = Instant::now() + HEARTBEAT;
        let (settings, host, images) =
            (Arc::clone(&self.settings), Arc::clone(&self.host), Arc::clone(&self.images));
        let (control, prepared_sender, end_sender) =
            (watch.clone(), self.event_sender.clone(), self.event_sender.clone());
        let (go, begins) = sync_channel(1);
        let worker = thread::spawn(move || {
            let prepared = || {
                // Sending fails if the runner has ended.
                drop(prepared_sender.blocking_send(Event::Prepared));
                work::wait(&begins, &control)
            };
            work::run(&settings, &host, &images, &order, &control, &mut results, prepared)
        });
        thread::spawn(move || {
            // A panic ends the job, but not the runner.
            let end = worker.join().unwrap_or_else(|_| End::Failed(BROKEN.to_owned()));
            // Sending fails if the runner has ended.
            drop(end_sender.blocking_send(Event::Ended(end)));
        });
        self.current =
            Some(Current { job, lease, watch, is_canceled: false, is_prepared: false, go: Some(go) });
        Ok(())
    }

    /// Handles an event of the job. The journal keeps the end of the job until the server has acknowledged it.
    fn note(&mut self, event: Event) -> Result<()> {
        match event {
            Event::Prepared => {
                if let Some(current) = &mut self.current {
                    current.is_prepared = true;
                }
                Ok(())
            }
            Event::Ended(end) => {
                let Some(Current { job, is_canceled, .. }) = self.current.take() else { return Ok(()) };
                let results = Vec::new();
                let message = match end {
                    End::Completed => FromRunner::Completed { job, results, uploaded: false },
                    End::Failed(error) => FromRunner::Failed { job, results, error, uploaded: false },
                    End::Stopped if is_canceled => FromRunner::Canceled { job, results, uploaded: false },
                    End::Stopped => {
                        FromRunner::Failed { job, results, error: STOPPED.to_owned(), uploaded: false }
                    }
                };
                // Write the journal before the log: a runner that is killed in between must not have logged a result
                // that it lost.
                let name = end::name(&message);
                self.journal.end(message)?;
                tracing::info!(%job, end = name, "a job has ended");
                Ok(())
            }
        }
    }

    /// Closes the connection. A job that the server hands out at the same moment ends as failed.
    async fn decline(&mut self, socket: &mut Socket) -> Result<()> {
        socket.close().await;
        while let Ok(Ok(message)) = timeout(Duration::from_secs(2), socket.receive()).await {
            if let Some(Envelope { message: ToRunner::Job(order), .. }) = message {
                self.journal.end(failed(order.uuid, STOPPED))?;
            }
        }
        Ok(())
    }
}

/// Waits until `end`, or forever without one.
async fn until(end: Option<Instant>) {
    match end {
        Some(end) => sleep_until(end).await,
        None => std::future::pending().await,
    }
}
