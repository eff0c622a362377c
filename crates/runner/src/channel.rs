//! The runner's side of the channel: it waits for jobs, does them one at a time and says how they go. A lost connection
//! stops nothing, and what the server has not acknowledged is kept and said again. How a job is done is in `measure.rs`.

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

/// How much time lies between two heartbeats; people who watch a job see what it prints about as soon.
const HEARTBEAT: Duration = Duration::from_secs(3);
/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(30);
/// How long it is waited before a connection is tried again: at first, and at most.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// How long what is left to say may take once the runner is told to stop.
const FAREWELL: Duration = Duration::from_secs(15);
/// What is said of a job whose runner was stopped, or killed.
const STOPPED: &str = "The runner was stopped before the job had ended.";
const KILLED: &str = "The runner was killed before the job had ended.";
/// What is said of a job whose thread has panicked.
const BROKEN: &str = "The runner failed because of a fault of its own; its log has more.";

/// Which runner this is, and what it is allowed to do.
pub struct Settings {
    /// The server.
    pub host: Url,
    /// The runner, by UUID or slug.
    pub runner: ResourceId,
    /// Its key.
    pub key: String,
    /// How long it waits for a job at a time.
    pub poll: PollTimeout,
    /// Where it keeps images and what it has to tell.
    pub folder: PathBuf,
    /// What a run may take beside what its spec says.
    pub bounds: Bounds,
    /// Whether jobs whose spec has a network get that of this host; otherwise they are refused.
    pub allows_network: bool,
    /// Called with the version of Tidemark that the server names, if it names one, on every connection.
    pub on_version: OnVersion,
}

/// Gets the version of Tidemark that the server runs, if it names one.
pub type OnVersion = Box<dyn Fn(Option<&str>) + Send + Sync>;

/// Something that happened to the job.
enum Event {
    /// All is prepared, and the benchmarks can begin.
    Prepared,
    /// It has ended.
    Ended(End),
}

/// The job that is being done.
struct Current {
    job: JobUuid,
    /// What it is held by.
    lease: LeaseUuid,
    watch: Watch,
    /// Whether the server wants it to be stopped.
    is_canceled: bool,
    /// Whether all is prepared.
    is_prepared: bool,
    /// Lets the benchmarks begin; gone once they have.
    go: Option<SyncSender<()>>,
}

/// What was asked last, and is not answered yet.
enum Asked {
    Ready,
    End(JobUuid),
    Begin,
    /// Anything else about the job.
    Other,
}

/// What is to be said next.
enum Next {
    /// This, to which the answer may take so long.
    Say(FromRunner, Asked, Duration),
    /// Nothing now.
    Nothing,
    /// The output of a job could not be brought to the server.
    Unsent(String),
}

/// Why a connection has ended.
enum Parted {
    /// It was lost.
    Lost(String),
    /// The output of a job could not be uploaded.
    Unsent(String),
    /// There is nothing left to say.
    Done,
}

/// A runner that is up.
struct Daemon {
    settings: Arc<Settings>,
    host: Arc<Host>,
    images: Arc<Images>,
    journal: Journal,
    current: Option<Current>,
    events: mpsc::Receiver<Event>,
    tell: mpsc::Sender<Event>,
    stopping: watch::Receiver<bool>,
    next_id: u64,
    /// What the next job is asked for under, on however many connections, until it is there.
    lease: LeaseUuid,
    /// When the next sign of life is due.
    heartbeat: Instant,
}

/// Why a runner does no more jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It was told to stop.
    Told,
    /// The server does not want it, for this reason.
    Refused(String),
}

/// Does jobs until it is told to stop, or until the server does not know the runner.
pub async fn run(settings: Settings, host: Host, stopping: watch::Receiver<bool>) -> Result<Ended> {
    // What the runner itself does is done where no job is.
    pin(&host.cores.host)?;
    let images = Images::open(settings.folder.join("images"))?;
    let mut journal = Journal::open(settings.folder.join("journal"))?;
    for job in journal.begun() {
        tracing::warn!(%job, "an earlier runner was killed in the middle of a job");
        journal.end_without_results(failed(job, KILLED))?;
    }
    let (tell, events) = mpsc::channel(4);
    let daemon = Daemon {
        settings: Arc::new(settings),
        host: Arc::new(host),
        images: Arc::new(images),
        journal,
        current: None,
        events,
        tell,
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
    /// Connects, again and again.
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
                        Parted::Done => return Ok(Ended::Told),
                        Parted::Lost(reason) => {
                            wait = FIRST_WAIT;
                            reason
                        }
                        // The connection works, so that only the wait keeps it from being tried at once.
                        Parted::Unsent(reason) => reason,
                    }
                }
                Err(Refusal::ForGood(reason)) => {
                    self.abandon().await?;
                    return Ok(Ended::Refused(reason));
                }
                Err(Refusal::ForNow(reason)) => reason,
            };
            // Many runners that lose one server do not come back at the same moment.
            let share = (Uuid::new_v4().as_u128() % 1000) as f64 / 1000.0;
            let pause = wait.mul_f64(0.5 + share / 2.0);
            tracing::warn!(reason, wait = pause.as_secs_f64(), "the server is not there; will try again");
            wait = (wait * 2).min(LONGEST_WAIT);
            if self.pause(pause, &mut leave_by).await? {
                return Ok(Ended::Told);
            }
        }
    }

    /// Waits before the next connection while the job goes on; whether it is time to leave.
    async fn pause(&mut self, pause: Duration, leave_by: &mut Option<Instant>) -> Result<bool> {
        let until = Instant::now() + pause;
        loop {
            if *self.stopping.borrow() {
                self.stop_for_good(leave_by);
                let is_late = leave_by.is_some_and(|end| end <= Instant::now());
                // What is not said now is said by the next runner.
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

    /// Ends the job of a runner that the server does not know any more.
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

    /// Stops the job, as the runner itself stops.
    fn stop_for_good(&self, leave_by: &mut Option<Instant>) {
        if leave_by.is_none() {
            *leave_by = Some(Instant::now() + FAREWELL);
            if let Some(current) = &self.current {
                current.watch.stop();
            }
        }
    }

    /// Speaks on one connection until it is lost or all is said.
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
                heard = socket.hear() => match heard {
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

    /// What is to be said now.
    async fn next(&mut self, resumes: &mut bool) -> Result<Next> {
        // First of all how earlier jobs ended: until that is known, there is no next one.
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

    /// Goes by what the server says.
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
                    // The thread of the job waits for it, unless it was stopped.
                    let _ = go.send(());
                }
                Ok(())
            }
            (ToRunner::Job(order), Some(Asked::Ready)) => self.begin(*order),
            (ToRunner::Ack { .. } | ToRunner::NoJob | ToRunner::Job(_), _) => Ok(()),
        }
    }

    /// Begins a job in a thread of its own.
    fn begin(&mut self, order: JobOrder) -> Result<()> {
        let (job, watch) = (order.uuid, Watch::default());
        let lease = mem::replace(&mut self.lease, new_lease());
        tracing::info!(%job, image = order.config.image, "begins a job");
        self.journal.begin(job)?;
        let mut results = RunResults::create(&self.journal.results(job), self.settings.bounds)?;
        self.heartbeat = Instant::now() + HEARTBEAT;
        let (settings, host, images) =
            (Arc::clone(&self.settings), Arc::clone(&self.host), Arc::clone(&self.images));
        let (told, tell, tell_end) = (watch.clone(), self.tell.clone(), self.tell.clone());
        let (go, begins) = sync_channel(1);
        let worker = thread::spawn(move || {
            let prepared = || {
                // Nobody listens if the runner has ended.
                drop(tell.blocking_send(Event::Prepared));
                work::wait(&begins, &told)
            };
            work::run(&settings, &host, &images, &order, &told, &mut results, prepared)
        });
        thread::spawn(move || {
            // A fault of ours ends the job, and not the work of the runner.
            let end = worker.join().unwrap_or_else(|_| End::Failed(BROKEN.to_owned()));
            // Nobody listens if the runner has ended.
            drop(tell_end.blocking_send(Event::Ended(end)));
        });
        self.current =
            Some(Current { job, lease, watch, is_canceled: false, is_prepared: false, go: Some(go) });
        Ok(())
    }

    /// Takes note of what happened to the job; its end is kept until the server has it.
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
                // The journal first: a runner that is killed in between must not have logged a result that it lost.
                let name = end::name(&message);
                self.journal.end(message)?;
                tracing::info!(%job, end = name, "a job has ended");
                Ok(())
            }
        }
    }

    /// Leaves. A job that is handed out in this very moment is given up at once.
    async fn decline(&mut self, socket: &mut Socket) -> Result<()> {
        socket.close().await;
        while let Ok(Ok(heard)) = timeout(Duration::from_secs(2), socket.hear()).await {
            if let Some(Envelope { message: ToRunner::Job(order), .. }) = heard {
                self.journal.end(failed(order.uuid, STOPPED))?;
            }
        }
        Ok(())
    }
}

/// Waits until then, or for ever.
async fn until(end: Option<Instant>) {
    match end {
        Some(end) => sleep_until(end).await,
        None => std::future::pending().await,
    }
}
