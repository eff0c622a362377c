//! The runner's side of the channel: waits for jobs, runs one job at a time and reports its progress. A lost
//! connection does not stop a job; the runner keeps messages that the server has not acknowledged and sends them
//! again. `measure.rs` runs the job.

mod job;
mod job_end;
mod journal;
mod socket;
mod upload;

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
    job_end::failed,
    journal::Journal,
    socket::{ConnectError, Socket},
};
use crate::{
    Host,
    error::Result,
    image::Images,
    measure::{JobEnd, OutputLimits, RunResults},
    sandbox::{RunControl, pin},
};

/// Interval between two heartbeats. Also the delay with which users who watch a job see its output.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(3);
/// Timeout of a response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);
/// Delay before the first reconnect, and the maximum delay.
const MIN_RECONNECT_DELAY: Duration = Duration::from_millis(500);
const MAX_RECONNECT_DELAY: Duration = Duration::from_secs(60);
/// Maximum time to send pending messages after the runner was asked to stop.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(15);
/// Error of a job whose runner was stopped or killed.
const STOPPED: &str = "The runner was stopped before the job had ended.";
const KILLED: &str = "The runner was killed before the job had ended.";
/// Error of a job whose thread panicked.
const PANICKED: &str = "The runner failed with an internal error. See the log of the runner.";

/// Settings of the channel: server, identity of the runner and limits.
pub struct ChannelSettings {
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
    pub bounds: OutputLimits,
    /// Whether jobs whose spec has a network get the network of this host. Otherwise the runner rejects these jobs.
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
    Ended(JobEnd),
}

/// The current job.
struct CurrentJob {
    job: JobUuid,
    /// Lease of the job.
    lease: LeaseUuid,
    control: RunControl,
    /// Whether the server canceled the job.
    is_canceled: bool,
    /// Whether the job is prepared.
    is_prepared: bool,
    /// Starts the benchmarks; `None` once they have started.
    start: Option<SyncSender<()>>,
}

/// Kind of the last request, which has no response yet.
enum PendingRequest {
    Ready,
    End(JobUuid),
    Begin,
    /// Any other message about the job.
    Other,
}

/// Next message to send.
enum NextMessage {
    /// Send this message and wait this long for the response.
    Send(FromRunner, PendingRequest, Duration),
    /// Nothing to send now.
    Nothing,
    /// The output of a job could not be uploaded.
    UploadFailed(String),
}

/// Why a connection ended.
enum Disconnect {
    /// The connection was lost.
    Lost(String),
    /// The output of a job could not be uploaded.
    UploadFailed(String),
    /// No messages are left to send.
    Done,
}

/// A running runner.
struct Daemon {
    settings: Arc<ChannelSettings>,
    host: Arc<Host>,
    images: Arc<Images>,
    journal: Journal,
    current: Option<CurrentJob>,
    events: mpsc::Receiver<Event>,
    event_sender: mpsc::Sender<Event>,
    stopping: watch::Receiver<bool>,
    next_id: u64,
    /// Lease of the request for the next job. It stays the same across connections until the job arrives.
    lease: LeaseUuid,
    /// When the next heartbeat is due.
    heartbeat: Instant,
    /// When the runner exits even if messages are pending; `None` until it is asked to stop.
    shutdown_deadline: Option<Instant>,
}

/// Why a runner stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// It was asked to stop.
    Requested,
    /// The server rejected the runner, with this reason.
    Rejected(String),
}

/// Runs jobs until the runner is asked to stop or the server does not know it.
pub async fn run(
    settings: ChannelSettings,
    host: Host,
    stopping: watch::Receiver<bool>,
) -> Result<StopReason> {
    // The runner's own work stays off the cores of jobs.
    pin(&host.cores.host)?;
    let images = Images::open(settings.folder.join("images"))?;
    let mut journal = Journal::open(settings.folder.join("journal"))?;
    for job in journal.unfinished() {
        tracing::warn!(%job, "an earlier runner was killed during a job");
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
        shutdown_deadline: None,
    };
    daemon.run().await
}

fn new_lease() -> LeaseUuid {
    LeaseUuid::from(Uuid::new_v4())
}

impl Daemon {
    /// Connects, and reconnects after each lost connection.
    async fn run(mut self) -> Result<StopReason> {
        let mut max_delay = MIN_RECONNECT_DELAY;
        loop {
            let reason = match Socket::connect(&self.settings).await {
                Ok(mut socket) => {
                    tracing::info!("connected to the server");
                    let reason = self.exchange_messages(&mut socket).await?;
                    socket.close().await;
                    match reason {
                        Disconnect::Done => return Ok(StopReason::Requested),
                        Disconnect::Lost(reason) => {
                            max_delay = MIN_RECONNECT_DELAY;
                            reason
                        }
                        // The connection works, so only the delay prevents an immediate retry.
                        Disconnect::UploadFailed(reason) => reason,
                    }
                }
                Err(ConnectError::Permanent(reason)) => {
                    self.abandon_job().await?;
                    return Ok(StopReason::Rejected(reason));
                }
                Err(ConnectError::Temporary(reason)) => reason,
            };
            // Random jitter, so that many runners of one server do not reconnect at the same moment.
            let share = (Uuid::new_v4().as_u128() % 1000) as f64 / 1000.0;
            let delay = max_delay.mul_f64(0.5 + share / 2.0);
            tracing::warn!(reason, delay = delay.as_secs_f64(), "connection to server failed; retrying");
            max_delay = (max_delay * 2).min(MAX_RECONNECT_DELAY);
            if self.wait_to_reconnect(delay).await? {
                return Ok(StopReason::Requested);
            }
        }
    }

    /// Waits before the next connection while the job continues. Returns whether the runner must exit.
    async fn wait_to_reconnect(&mut self, delay: Duration) -> Result<bool> {
        let until = Instant::now() + delay;
        loop {
            if *self.stopping.borrow() {
                self.begin_shutdown();
                let is_late = self.shutdown_deadline.is_some_and(|end| end <= Instant::now());
                // The next runner process sends the remaining messages.
                if self.current.is_none() && (is_late || self.journal.first().is_none()) {
                    return Ok(true);
                }
            }
            let mut stopping = self.stopping.clone();
            tokio::select! {
                () = sleep_until(until) => return Ok(false),
                Some(event) = self.events.recv() => self.handle_event(event)?,
                _ = stopping.changed(), if self.shutdown_deadline.is_none() => {}
            }
        }
    }

    /// Stops the job of a runner that the server no longer knows.
    async fn abandon_job(&mut self) -> Result<()> {
        if let Some(current) = &self.current {
            current.control.stop();
        }
        while self.current.is_some() {
            match self.events.recv().await {
                Some(event) => self.handle_event(event)?,
                None => break,
            }
        }
        Ok(())
    }

    /// Stops the job because the runner stops.
    fn begin_shutdown(&mut self) {
        if self.shutdown_deadline.is_none() {
            self.shutdown_deadline = Some(Instant::now() + SHUTDOWN_TIMEOUT);
            if let Some(current) = &self.current {
                current.control.stop();
            }
        }
    }

    /// Exchanges messages on one connection until it is lost or all messages are sent.
    async fn exchange_messages(&mut self, socket: &mut Socket) -> Result<Disconnect> {
        let mut pending: Option<(u64, PendingRequest, Instant)> = None;
        let mut resumes = self.current.is_some();
        loop {
            if *self.stopping.borrow() {
                self.begin_shutdown();
                let is_late = self.shutdown_deadline.is_some_and(|end| end <= Instant::now());
                if self.current.is_none() && (is_late || self.journal.first().is_none()) {
                    self.close_and_decline(socket).await?;
                    return Ok(Disconnect::Done);
                }
            }
            if pending.is_none() {
                match self.next_message(&mut resumes).await? {
                    NextMessage::Send(message, kind, timeout) => {
                        let id = self.next_id;
                        self.next_id += 1;
                        if !socket.send(&Envelope { id: Some(id), message }).await {
                            return Ok(Disconnect::Lost("the connection was closed".to_owned()));
                        }
                        pending = Some((id, kind, Instant::now() + timeout));
                    }
                    NextMessage::Nothing => {}
                    NextMessage::UploadFailed(reason) => return Ok(Disconnect::UploadFailed(reason)),
                }
            }
            let timeout = pending.as_ref().map(|(.., end)| *end);
            let mut stopping = self.stopping.clone();
            tokio::select! {
                message = socket.receive() => match message {
                    Ok(Some(answer)) => self.handle_message(answer, &mut pending)?,
                    Ok(None) => {}
                    Err(reason) => return Ok(Disconnect::Lost(reason)),
                },
                Some(event) = self.events.recv() => self.handle_event(event)?,
                () = sleep_until_some(timeout) => return Ok(Disconnect::Lost("the server did not respond".to_owned())),
                () = sleep_until(self.heartbeat), if self.current.is_some() && pending.is_none() => {}
                () = sleep_until_some(self.shutdown_deadline), if self.current.is_none() => {}
                _ = stopping.changed(), if self.shutdown_deadline.is_none() => {}
            }
        }
    }

    /// Returns the next message to send.
    async fn next_message(&mut self, resumes: &mut bool) -> Result<NextMessage> {
        // Ends of earlier jobs come first: the server hands out no new job before it knows them.
        if let Some(ended) = self.journal.first().cloned() {
            let job = job_end::job(&ended.message);
            let delivered = upload::deliver(&self.settings, &mut self.journal, ended).await?;
            return Ok(delivered.map_or_else(NextMessage::UploadFailed, |message| {
                NextMessage::Send(message, PendingRequest::End(job), RESPONSE_TIMEOUT)
            }));
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
            return Ok(NextMessage::Send(
                ready,
                PendingRequest::Ready,
                Duration::from_secs(poll.get().into()) + RESPONSE_TIMEOUT,
            ));
        };
        let (job, lease) = (current.job, Some(current.lease));
        let (message, pending) = if *resumes {
            *resumes = false;
            (FromRunner::Resume { job, lease }, PendingRequest::Other)
        } else if current.is_prepared && current.start.is_some() {
            (FromRunner::Running { job: Some(job), lease }, PendingRequest::Begin)
        } else if self.heartbeat <= Instant::now() {
            let printed = current.control.take_output_tail();
            (FromRunner::Heartbeat { job: Some(job), lease, printed }, PendingRequest::Other)
        } else {
            return Ok(NextMessage::Nothing);
        };
        self.heartbeat = Instant::now() + HEARTBEAT_INTERVAL;
        Ok(NextMessage::Send(message, pending, RESPONSE_TIMEOUT))
    }

    /// Handles a message of the server.
    fn handle_message(
        &mut self,
        message: Envelope<ToRunner>,
        pending: &mut Option<(u64, PendingRequest, Instant)>,
    ) -> Result<()> {
        let answered = match pending.take() {
            Some((id, kind, _)) if message.id == Some(id) => Some(kind),
            other => {
                *pending = other;
                None
            }
        };
        match (message.message, answered) {
            (ToRunner::Ack { refused, .. }, Some(PendingRequest::End(job))) => {
                match refused {
                    Some(reason) => {
                        tracing::warn!(%job, reason, "server rejected the end of the job");
                    }
                    None => tracing::info!(%job, "server acknowledged the end of the job"),
                }
                self.journal.remove(job)
            }
            (ToRunner::Cancel { job }, _) => {
                if let Some(current) = &mut self.current
                    && job.is_none_or(|job| job == current.job)
                {
                    tracing::info!(job = %current.job, "server canceled the job");
                    current.is_canceled = true;
                    current.control.stop();
                }
                Ok(())
            }
            (ToRunner::Ack { .. }, Some(PendingRequest::Begin)) => {
                if let Some(current) = &mut self.current
                    && let Some(start) = current.start.take()
                {
                    tracing::info!(job = %current.job, "benchmarks started");
                    // The job thread waits for this, unless it was stopped.
                    let _ = start.send(());
                }
                Ok(())
            }
            (ToRunner::Job(order), Some(PendingRequest::Ready)) => self.start_job(*order),
            (ToRunner::Ack { .. } | ToRunner::NoJob | ToRunner::Job(_), _) => Ok(()),
        }
    }

    /// Starts a job in its own thread.
    fn start_job(&mut self, order: JobOrder) -> Result<()> {
        let (job, control) = (order.uuid, RunControl::default());
        let lease = mem::replace(&mut self.lease, new_lease());
        tracing::info!(%job, image = order.config.image, "job started");
        self.journal.begin(job)?;
        let mut results = RunResults::create(&self.journal.results(job), self.settings.bounds)?;
        self.heartbeat = Instant::now() + HEARTBEAT_INTERVAL;
        let (settings, host, images) =
            (Arc::clone(&self.settings), Arc::clone(&self.host), Arc::clone(&self.images));
        let (job_control, prepared_sender, end_sender) =
            (control.clone(), self.event_sender.clone(), self.event_sender.clone());
        let (start, started) = sync_channel(1);
        let worker = thread::spawn(move || {
            let prepared = || {
                // Sending fails if the runner has ended.
                drop(prepared_sender.blocking_send(Event::Prepared));
                job::wait(&started, &job_control)
            };
            job::run(&settings, &host, &images, &order, &job_control, &mut results, prepared)
        });
        thread::spawn(move || {
            // A panic ends the job, but not the runner.
            let end = worker.join().unwrap_or_else(|_| JobEnd::Failed(PANICKED.to_owned()));
            // Sending fails if the runner has ended.
            drop(end_sender.blocking_send(Event::Ended(end)));
        });
        self.current = Some(CurrentJob {
            job,
            lease,
            control,
            is_canceled: false,
            is_prepared: false,
            start: Some(start),
        });
        Ok(())
    }

    /// Handles an event of the job. The journal keeps the end of the job until the server has acknowledged it.
    fn handle_event(&mut self, event: Event) -> Result<()> {
        match event {
            Event::Prepared => {
                if let Some(current) = &mut self.current {
                    current.is_prepared = true;
                }
                Ok(())
            }
            Event::Ended(end) => {
                let Some(CurrentJob { job, is_canceled, .. }) = self.current.take() else { return Ok(()) };
                let results = Vec::new();
                let message = match end {
                    JobEnd::Completed => FromRunner::Completed { job, results, uploaded: false },
                    JobEnd::Failed(error) => FromRunner::Failed { job, results, error, uploaded: false },
                    JobEnd::Stopped if is_canceled => FromRunner::Canceled { job, results, uploaded: false },
                    JobEnd::Stopped => {
                        FromRunner::Failed { job, results, error: STOPPED.to_owned(), uploaded: false }
                    }
                };
                // Write the journal before the log: a runner that is killed in between must not have logged a result
                // that it lost.
                let name = job_end::name(&message);
                self.journal.end(message)?;
                tracing::info!(%job, end = name, "job ended");
                Ok(())
            }
        }
    }

    /// Closes the connection. A job that the server hands out at the same moment ends as failed.
    async fn close_and_decline(&mut self, socket: &mut Socket) -> Result<()> {
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
async fn sleep_until_some(end: Option<Instant>) {
    match end {
        Some(end) => sleep_until(end).await,
        None => std::future::pending().await,
    }
}
