//! Messages of a runner and the replies, without the socket.

use tidemark_api::{
    JobEvent, JobOutput, JobStatus, JobUuid, Jwt, LeaseUuid, Timestamp,
    channel::{Envelope, FromRunner, JobOrder, PRINTED_MAX, PollTimeout, RunnerMetadata, ToRunner},
};
use tidemark_store::{JobId, Tx, job, runner};
use tokio::time::{Duration, Instant};

use super::Runner;
use crate::{
    domain::{
        app::App,
        error::{Error, Result},
        jobs::{Signal, output},
    },
    transport::oci,
};

/// Default number of seconds that a runner waits for a job.
const DEFAULT_POLL_SECONDS: u32 = 30;
/// Seconds for the preparation of a job, in addition to its timeout.
const PREPARATION_SECONDS: i64 = 600;
/// Minimum number of seconds between two recorded heartbeats.
const HEARTBEAT_SECONDS: i64 = 10;

/// Reply to a runner.
pub(super) enum Reply {
    /// No reply.
    None,
    /// A message to the runner.
    Send(Envelope<ToRunner>),
    /// Close the connection: the key of the runner is no longer valid.
    InvalidKey,
}

/// A pending request of a runner for a job.
struct Wait {
    /// ID of the request, repeated in the reply.
    id: Option<u64>,
    deadline: Instant,
}

/// State of the connection of one runner.
pub(super) struct Conversation {
    app: App,
    runner: Runner,
    metadata: Option<RunnerMetadata>,
    /// The lease under which the runner holds jobs of this connection: the lease in its request, or else a lease of this
    /// connection.
    lease: LeaseUuid,
    /// The active job that was assigned on this connection.
    current: Option<(JobId, JobUuid)>,
    waiting: Option<Wait>,
    /// When the last heartbeat was recorded.
    recorded: Option<Timestamp>,
}

/// The job and the lease in a message of a runner, if given.
#[derive(Clone, Copy)]
struct JobReference {
    job: Option<JobUuid>,
    lease: Option<LeaseUuid>,
}

/// Progress of the current job of a runner.
enum Progress {
    /// The benchmarks start.
    Start,
    /// Heartbeat without further information.
    Heartbeat,
    /// The job printed this text.
    Output(String),
}

/// End of a job, as reported by its runner.
struct End {
    job: JobUuid,
    event: JobEvent,
    output: JobOutput,
    uploaded: bool,
}

impl Conversation {
    pub(super) fn new(app: App, runner: Runner) -> Self {
        let lease = LeaseUuid::from(app.fresh().uuid());
        Self { app, runner, metadata: None, lease, current: None, waiting: None, recorded: None }
    }

    /// Whether the runner is waiting for a job.
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    /// When the wait for a job ends, if the runner is waiting.
    pub(super) fn wait_deadline(&self) -> Option<Instant> {
        self.waiting.as_ref().map(|wait| wait.deadline)
    }

    /// Handles a message and returns the reply.
    pub(super) async fn handle_message(&mut self, message: Envelope<FromRunner>) -> Result<Reply> {
        if !self.has_valid_key().await? {
            return Ok(Reply::InvalidKey);
        }
        let id = message.id;
        match message.message {
            FromRunner::Ready { poll_timeout, runner, lease } => {
                self.lease = lease.unwrap_or(self.lease);
                self.metadata = runner.or(self.metadata.take());
                self.record_heartbeat(true, None).await?;
                let seconds = poll_timeout.map_or(DEFAULT_POLL_SECONDS, PollTimeout::get);
                let deadline = Instant::now() + Duration::from_secs(seconds.into());
                self.waiting = Some(Wait { id, deadline });
                self.check_queue().await
            }
            FromRunner::Resume { job, lease } => {
                self.handle_progress(id, JobReference { job: Some(job), lease }, Progress::Heartbeat).await
            }
            FromRunner::Running { job, lease } => {
                self.handle_progress(id, JobReference { job, lease }, Progress::Start).await
            }
            FromRunner::Heartbeat { job, lease, printed } => {
                self.handle_progress(
                    id,
                    JobReference { job, lease },
                    printed.map_or(Progress::Heartbeat, Progress::Output),
                )
                .await
            }
            FromRunner::Completed { job, results, uploaded } => {
                let output = JobOutput { error: None, results };
                self.handle_end(id, End { job, event: JobEvent::Complete, output, uploaded }).await
            }
            FromRunner::Failed { job, results, error, uploaded } => {
                let output = JobOutput { error: Some(error), results };
                self.handle_end(id, End { job, event: JobEvent::Fail, output, uploaded }).await
            }
            FromRunner::Canceled { job, results, uploaded } => {
                let output = JobOutput { error: None, results };
                self.handle_end(id, End { job, event: JobEvent::Cancel, output, uploaded }).await
            }
        }
    }

    /// Handles a signal and returns a message to the runner if the signal concerns it.
    pub(super) async fn handle_signal(&mut self, signal: Signal) -> Result<Reply> {
        match signal {
            Signal::Canceled(job) if self.current.is_some_and(|(_, current)| current == job) => {
                self.current = None;
                Ok(Reply::Send(Envelope { id: None, message: ToRunner::Cancel { job: Some(job) } }))
            }
            Signal::Runner(runner) if runner == self.runner.uuid => {
                Ok(if self.has_valid_key().await? { Reply::None } else { Reply::InvalidKey })
            }
            // A canceled job frees capacity for another job.
            Signal::Queued | Signal::Canceled(_) => self.check_queue().await,
            Signal::Runner(_) | Signal::Completed => Ok(Reply::None),
        }
    }

    /// Looks for a job if the runner is waiting for one.
    pub(super) async fn check_queue(&mut self) -> Result<Reply> {
        let Some(wait) = &self.waiting else { return Ok(Reply::None) };
        let (id, is_over) = (wait.id, wait.deadline <= Instant::now());
        if let Some(order) = self.claim().await? {
            self.waiting = None;
            return Ok(Reply::Send(Envelope { id, message: ToRunner::Job(Box::new(order)) }));
        }
        if is_over {
            self.waiting = None;
            return Ok(Reply::Send(Envelope { id, message: ToRunner::NoJob }));
        }
        Ok(Reply::None)
    }

    /// Returns a job to the queue that could not be sent to the runner.
    pub(super) async fn return_job(&mut self) -> Result<()> {
        let Some((job, _)) = self.current.take() else { return Ok(()) };
        let (lease, now) = (self.lease, self.app.clock.now());
        let write = move |tx: &mut Tx<'_>| {
            let change = job::JobUpdate { lease: Some(lease), ..job::JobUpdate::default() };
            job::advance(tx, job, JobEvent::Return, change, now)?;
            Signal::Queued.announce(tx)
        };
        self.app.db.write(write).await?;
        self.app.jobs.signal(Signal::Queued);
        Ok(())
    }

    /// Whether the key of the runner is still valid.
    async fn has_valid_key(&self) -> Result<bool> {
        let hash = self.runner.hash.clone();
        Ok(self.app.db.read(move |tx| runner::authenticate(tx, &hash)).await?.is_some())
    }

    /// Records a heartbeat, at most every [`HEARTBEAT_SECONDS`] seconds unless `always` is set, and the output that the job
    /// printed.
    async fn record_heartbeat(&mut self, always: bool, printed: Option<String>) -> Result<()> {
        let now = self.app.clock.now();
        let always = always || printed.is_some();
        if !always && self.recorded.is_some_and(|last| last.plus_seconds(HEARTBEAT_SECONDS) > now) {
            return Ok(());
        }
        let (runner, current) = (self.runner.id, self.current);
        let version = self.metadata.as_ref().map(|metadata| metadata.version.clone());
        let write = move |tx: &mut Tx<'_>| {
            runner::record_heartbeat(tx, runner, version.as_deref(), now)?;
            match current {
                Some((job, _)) => job::record_heartbeat(tx, job, printed.as_deref(), now),
                None => Ok(()),
            }
        };
        self.app.db.write(write).await?;
        self.recorded = Some(now);
        Ok(())
    }

    /// Claims the next job for the runner, if there is one. A job that was already assigned to this request, by a server that
    /// failed or on a lost connection, comes first.
    async fn claim(&mut self) -> Result<Option<JobOrder>> {
        let (id, lease) = (self.runner.id, self.lease);
        let platform = self.metadata.as_ref().map(|metadata| (metadata.os.as_str(), metadata.arch.as_str()));
        let able = job::RunnerCapabilities { runner: id, platform };
        // Reading first avoids writes for idle runners.
        let find = move |tx: &mut Tx<'_>| Ok::<_, Error>((job::leased(tx, id, lease)?, job::next(tx, able)?));
        let now = self.app.clock.now();
        let claimed = match self.app.db.read(find).await? {
            (Some(found), _) => Some(found),
            (None, None) => None,
            (None, Some(_)) => {
                let grace = i64::from(self.app.config.plus.runners.job_timeout_grace_period);
                let claim =
                    move |tx: &mut Tx<'_>| job::claim(tx, able, lease, now, PREPARATION_SECONDS + grace);
                self.app.db.write(claim).await?
            }
        };
        Ok(claimed.map(|found| {
            self.current = Some((found.id, found.job.uuid));
            let oci_token = self.pull_token(&found, now);
            JobOrder {
                uuid: found.job.uuid,
                spec: found.job.spec,
                timeout: found.config.timeout,
                config: found.config,
                oci_token,
                created: found.job.created,
            }
        }))
    }

    /// Returns a token that can pull the image of a job while the job is active.
    fn pull_token(&self, found: &job::JobRow, now: Timestamp) -> Jwt {
        let project = found.config.project.to_string();
        let of_base = found.config.base.as_ref().map(|base| &base.repository);
        let mut repositories: Vec<&str> = [Some(&found.config.repository), of_base]
            .into_iter()
            .flatten()
            .map(|repository| repository.as_deref().unwrap_or(&project))
            .collect();
        repositories.dedup();
        oci::runner_token(&self.app, self.runner.uuid, found.job.uuid, &repositories, now)
    }

    /// Handles progress of a job: the referenced job, or else the only job of the runner. Several processes can use the key of one
    /// runner: the process with the lease of the job starts it, and the other processes get a `Cancel`.
    async fn handle_progress(
        &mut self,
        id: Option<u64>,
        reference: JobReference,
        progress: Progress,
    ) -> Result<Reply> {
        let (runner, current, now) = (self.runner.id, self.current, self.app.clock.now());
        let grace = i64::from(self.app.config.plus.runners.job_timeout_grace_period);
        let find = move |tx: &mut Tx<'_>| {
            let uuid = match (reference.job, current) {
                (Some(uuid), _) | (None, Some((_, uuid))) => Some(uuid),
                (None, None) => job::of_runner(tx, runner)?,
            };
            match uuid.map(|uuid| job::find(tx, uuid)).transpose() {
                Ok(found) => Ok(found.filter(|found| found.runner == Some(runner))),
                Err(tidemark_store::Error::NotFound(_)) => Ok(None),
                Err(error) => Err(error),
            }
        };
        let found = self.app.db.read(find).await?;
        let stop = |job| Ok(Reply::Send(Envelope { id, message: ToRunner::Cancel { job } }));
        let Some(found) = found else { return stop(reference.job) };
        let uuid = found.job.uuid;
        let lease = reference.lease.unwrap_or(self.lease);
        let holds = found.lease == Some(lease);
        // A runner without support for leases may have started the job before it lost another connection.
        let may_continue = holds || (reference.lease.is_none() && !matches!(progress, Progress::Start));
        let event = match found.job.status {
            JobStatus::Claimed if holds && matches!(progress, Progress::Start) => Some(JobEvent::Start),
            JobStatus::Claimed if holds => None,
            JobStatus::Running if may_continue => None,
            JobStatus::Unknown if may_continue => Some(JobEvent::Resume),
            _ => {
                self.current = self.current.filter(|(_, current)| *current != uuid);
                return stop(Some(uuid));
            }
        };
        if let Some(event) = event {
            let started = found.job.started.unwrap_or(now);
            let deadline = Some(started.plus_seconds(i64::from(found.job.timeout).saturating_add(grace)));
            let write = move |tx: &mut Tx<'_>| {
                let change = job::JobUpdate { deadline, lease: found.lease, ..job::JobUpdate::default() };
                job::advance(tx, found.id, event, change, now)
            };
            match self.app.db.write(write).await {
                // The worker may be sleeping and has to monitor this job again.
                Ok(true) => self.app.jobs.wake(),
                // The job was canceled in the meantime, or the runner has claimed another job since.
                Ok(false) | Err(tidemark_store::Error::Conflict(_)) => {
                    self.current = None;
                    return stop(Some(uuid));
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.waiting = None;
        self.current = Some((found.id, uuid));
        let printed = match progress {
            Progress::Output(text) => Some(tail(&text)),
            Progress::Start | Progress::Heartbeat => None,
        };
        self.record_heartbeat(found.heartbeat.is_none(), printed).await?;
        Ok(Reply::Send(Envelope { id, message: ToRunner::Ack { job: Some(uuid), refused: None } }))
    }

    /// Handles the end of a job, which may have started on another connection.
    async fn handle_end(&mut self, id: Option<u64>, end: End) -> Result<Reply> {
        let uuid = end.job;
        let refused = self.record_end(end).await?.map(str::to_owned);
        if self.current.is_some_and(|(_, current)| current == uuid) {
            self.current = None;
        }
        Ok(Reply::Send(Envelope { id, message: ToRunner::Ack { job: Some(uuid), refused } }))
    }

    /// Records the end of a job. Returns the reason if it was rejected.
    async fn record_end(&self, end: End) -> Result<Option<&'static str>> {
        let End { job: uuid, event, output, uploaded } = end;
        let found = match self.app.db.read(move |tx| job::find(tx, uuid)).await {
            Ok(found) if found.runner == Some(self.runner.id) => found,
            Ok(_) | Err(tidemark_store::Error::NotFound(_)) => {
                return Ok(Some("the job does not belong to this runner"));
            }
            Err(error) => return Err(error.into()),
        };
        let keeps = found.job.status == JobStatus::Canceled && found.output.is_none();
        if found.job.status.next(event).is_none() && !keeps {
            return Ok(Some("the job has already ended"));
        }
        if uploaded && found.output.is_none() {
            return Ok(Some("the output was not uploaded"));
        }
        let has_output = !uploaded
            && (!output.results.is_empty() || output.error.is_some() || event == JobEvent::Complete);
        let object = if has_output { Some(output::write(&self.app, &output).await?) } else { None };
        let now = self.app.clock.now();
        let write = move |tx: &mut Tx<'_>| {
            let change = job::JobUpdate {
                error: output.error.as_deref(),
                output: object,
                ..job::JobUpdate::default()
            };
            let changed = job::advance(tx, found.id, event, change, now)?;
            let kept = match object {
                Some(object) if !changed => job::store_canceled_output(tx, found.id, object)?,
                _ => changed,
            };
            if changed {
                Signal::Completed.announce(tx)?;
                Signal::Queued.announce(tx)?;
            }
            Ok::<_, Error>((changed, kept))
        };
        let (changed, kept) = self.app.db.write(write).await?;
        if let (Some(object), false) = (object, kept) {
            self.app.blobs.discard(object).await;
        }
        if changed {
            self.app.jobs.signal(Signal::Completed);
            self.app.jobs.signal(Signal::Queued);
            self.app.background.wake();
        }
        Ok((!changed && !kept).then_some("the job has already ended"))
    }
}

/// Returns the end of the printed text, at most `PRINTED_MAX` bytes, without NUL characters, which databases reject.
fn tail(text: &str) -> String {
    let mut from = text.len().saturating_sub(PRINTED_MAX);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    text[from..].replace('\0', "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_is_printed_the_end_is_kept() {
        assert_eq!(tail("a\0b"), "a\u{fffd}b");
        let long = format!("x{}", "é".repeat(PRINTED_MAX / 2));
        assert_eq!(tail(&long), "é".repeat(PRINTED_MAX / 2));
        let long = format!("{}x", "é".repeat(PRINTED_MAX / 2));
        assert_eq!(tail(&long).len(), PRINTED_MAX - 1);
    }
}
