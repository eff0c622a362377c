//! Background worker: delivers the outbox and deletes expired rows every hour.
//!
//! Several servers on one database share the outbox: each row is claimed by one of them for a while and becomes due again if that
//! server crashes. A server with its own database resumes the work of a crashed server at once. Each kind of work has its own
//! module.
//!
//! Mail, deliveries to other hosts and billing have a queue each, so that a slow webhook delays no mail. Each queue processes
//! only a few items of an organization at a time, so that its slow receivers do not delay other organizations.

use std::time::Duration;

use tidemark_api::Timestamp;
use tidemark_store::{
    self as store, Db, WriteContext, code_host, delivery, job, mute, oauth, outbox, plan, rate_window,
    session, sign_in,
};
use tokio::{
    sync::{Mutex, watch},
    task::{JoinError, JoinHandle, JoinSet},
    time::{sleep, timeout},
};

use crate::{
    domain::{
        backup::schedule::BackupSchedule,
        billing::Billing,
        code_host::CommandRunner,
        housekeeping::{self, Housekeeper},
        jobs::callback::CallbackSender,
        notice::Notifier,
        retention::{self, Retention},
    },
    infra::{
        clock::FreshSource,
        mail::{self, DeliveryError, Mailer},
    },
};

/// Work that is claimed together and does not delay other work.
struct Queue {
    kinds: &'static [&'static str],
    /// Maximum number of concurrent items.
    workers: usize,
}

const QUEUES: [Queue; 3] = [
    Queue { kinds: &[mail::KIND], workers: 4 },
    Queue { kinds: &[delivery::KIND, job::CALLBACK, code_host::COMMAND], workers: 8 },
    Queue { kinds: &[plan::SYNC, plan::SESSION, plan::CANCEL, plan::METER], workers: 2 },
];
/// Maximum number of concurrent items of one organization.
const MAX_PER_ORGANIZATION: usize = 2;
/// Duration of a claim, in seconds.
const LEASE_SECONDS: i64 = 60;
/// Time limit of one attempt, shorter than a claim.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(35);
/// Time that a stopping worker waits for running work.
const SHUTDOWN_GRACE_PERIOD: Duration = Duration::from_secs(5);
/// Maximum pause on a shared database, where other servers may write to the outbox.
const SHARED_POLL_INTERVAL: Duration = Duration::from_secs(5);
/// Maximum pause otherwise: the clock may be set, and the machine may have been suspended.
const OWN_POLL_INTERVAL: Duration = Duration::from_secs(60);
/// Delay before the first retry, in seconds. It doubles with each retry.
const INITIAL_RETRY_DELAY: i64 = 10;
/// Maximum delay before a retry, in seconds.
const MAX_RETRY_DELAY: i64 = 3600;
/// Time after which work is no longer retried, in seconds.
const RETRY_PERIOD: i64 = 3 * 24 * 3600;
/// Time for which the payment provider accepts usage, in seconds.
const METER_RETRY_PERIOD: i64 = 34 * 24 * 3600;
/// Retention of a callback that was not delivered, in seconds: longer than it is retried.
const CALLBACK_RETENTION: i64 = RETRY_PERIOD + 24 * 3600;
/// Retention of the log of deliveries, in seconds.
const DELIVERY_RETENTION: i64 = 30 * 24 * 3600;
/// Retention of an expired mute, in seconds.
const MUTE_RETENTION: i64 = 30 * 24 * 3600;
/// Seconds between two deletions of expired rows.
const CLEANUP_INTERVAL: i64 = 3600;

/// Handle of the running worker. Dropping it stops the worker without waiting for its end.
pub struct Background {
    wake: watch::Sender<()>,
    stop: watch::Sender<bool>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Background {
    /// Starts the worker.
    pub(crate) fn start(worker: Worker) -> Self {
        let (wake, wake_receiver) = watch::channel(());
        let (stop, stopped) = watch::channel(false);
        let signals = Signals { wake: wake.clone(), wake_receiver, stopped };
        let task = tokio::spawn(run(worker, signals));
        Self { wake, stop, task: Mutex::new(Some(task)) }
    }

    /// Creates a handle without a worker: enqueued work waits for another worker.
    pub fn idle() -> Self {
        Self { wake: watch::Sender::new(()), stop: watch::Sender::new(true), task: Mutex::new(None) }
    }

    /// Wakes the worker after new work was enqueued.
    pub fn wake(&self) {
        self.wake.send_replace(());
    }

    /// Stops the worker and waits for its end. The worker starts no new work; running work has up to five seconds.
    pub async fn stop(&self) {
        self.stop.send_replace(true);
        let Some(task) = self.task.lock().await.take() else { return };
        if let Err(error) = task.await {
            tracing::error!(%error, "the background worker failed");
        }
    }
}

/// Signals that wake and stop the loops of the worker.
#[derive(Clone)]
struct Signals {
    wake: watch::Sender<()>,
    wake_receiver: watch::Receiver<()>,
    stopped: watch::Receiver<bool>,
}

impl Signals {
    /// Waits until the worker is stopped. Returns at once if it has already stopped.
    async fn wait_for_stop(&mut self) {
        // An error means that the sender was dropped, which also stops the worker.
        drop(self.stopped.wait_for(|stop| *stop).await);
    }

    /// Waits for new work.
    async fn wait_for_wake(&mut self) {
        // Cannot fail, because `self` also holds a sender.
        drop(self.wake_receiver.changed().await);
    }

    /// Runs work unless the worker is stopped. Running work then has a few seconds.
    async fn unless_stopped<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut signals = self.clone();
        tokio::select! {
            done = work => Some(done),
            () = async { signals.wait_for_stop().await; sleep(SHUTDOWN_GRACE_PERIOD).await; } => None,
        }
    }

    /// Pauses until the time has passed, the worker is woken, or `woken` completes. Returns whether the worker continues.
    async fn pause(&mut self, time: Duration, woken: impl Future<Output = ()>) -> bool {
        let mut signals = self.clone();
        tokio::select! {
            biased;
            () = signals.wait_for_stop() => false,
            () = woken => true,
            () = sleep(time) => true,
            () = self.wait_for_wake() => true,
        }
    }
}

async fn run(worker: Worker, signals: Signals) {
    if !worker.db.is_shared() {
        worker.release_claims().await;
    }
    let [mail, deliveries, billing] = &QUEUES;
    tokio::join!(
        worker.run_queue(mail, signals.clone()),
        worker.run_queue(deliveries, signals.clone()),
        worker.run_queue(billing, signals.clone()),
        worker.run_cleanup(signals.clone()),
        worker.run_backups(signals),
    );
}

/// Times of the last deletions of expired data.
#[derive(Default)]
struct CleanupState {
    last: Option<Timestamp>,
    last_thorough: Option<Timestamp>,
    /// Task that clears the registry, which can take long and must not delay the mail. It ends with the worker.
    registry: JoinSet<()>,
}

/// The handlers of all kinds of work.
#[derive(Clone)]
pub(crate) struct Worker {
    pub(crate) db: Db,
    pub(crate) mailer: Mailer,
    pub(crate) callback_sender: CallbackSender,
    pub(crate) command_runner: CommandRunner,
    pub(crate) notifier: Notifier,
    pub(crate) billing: Option<Billing>,
    pub(crate) housekeeper: Housekeeper,
    pub(crate) retention: Retention,
    /// Scheduled backups, if configured.
    pub(crate) backups: Option<BackupSchedule>,
    /// Days without a run or push after which unclaimed organizations are deleted; zero means never.
    pub(crate) idle_days: u32,
    pub(crate) fresh: FreshSource,
}

impl Worker {
    /// Releases the claims of a crashed server.
    async fn release_claims(&self) {
        let now = (self.fresh)().now;
        if let Err(error) = self.db.write(move |tx| outbox::release(tx, now)).await {
            let error: &dyn std::error::Error = &error;
            tracing::warn!(error, "releasing outbox claims failed; waiting until they expire");
        }
    }

    /// Returns the maximum pause.
    fn poll_interval(&self) -> Duration {
        if self.db.is_shared() { SHARED_POLL_INTERVAL } else { OWN_POLL_INTERVAL }
    }

    /// Processes a queue until the worker is stopped.
    async fn run_queue(&self, queue: &'static Queue, mut signals: Signals) {
        // Each item has its own task, so that a panic costs one item one attempt.
        let mut tasks = JoinSet::new();
        loop {
            let filled = self.start_due_items(queue, &mut tasks, &signals.wake);
            let Some(pause) = signals.unless_stopped(filled).await else { break };
            let pause = pause.unwrap_or_else(|error| {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, "reading the outbox failed; retrying");
                SHARED_POLL_INTERVAL
            });
            let ended = async {
                match tasks.join_next().await {
                    Some(result) => log_panic(result),
                    None => std::future::pending().await,
                }
            };
            if !signals.pause(pause.min(self.poll_interval()), ended).await {
                break;
            }
        }
        let rest = async { while tasks.join_next().await.is_some() {} };
        let _ = timeout(SHUTDOWN_GRACE_PERIOD, rest).await;
    }

    /// Claims as many due items as workers are free, starts them, and returns the time until the next item is due.
    async fn start_due_items(
        &self,
        queue: &'static Queue,
        tasks: &mut JoinSet<()>,
        wake: &watch::Sender<()>,
    ) -> store::Result<Duration> {
        while let Some(result) = tasks.try_join_next() {
            log_panic(result);
        }
        let free = queue.workers.saturating_sub(tasks.len());
        if free == 0 {
            return Ok(Duration::MAX);
        }
        let now = (self.fresh)().now;
        // Reads first, so that an idle server does not write.
        match self.db.read(|tx| outbox::next_due(tx, queue.kinds)).await? {
            Some(due) if due <= now => {}
            Some(due) => {
                let micros = due.micros().saturating_sub(now.micros());
                return Ok(Duration::from_micros(u64::try_from(micros).unwrap_or_default()));
            }
            None => return Ok(Duration::MAX),
        }
        let lease = now.plus_seconds(LEASE_SECONDS);
        let claim =
            outbox::ClaimOptions { kinds: queue.kinds, count: free, per_owner: MAX_PER_ORGANIZATION, lease };
        let items = self.db.write(move |tx| outbox::claim(tx, &claim, now)).await?;
        if items.is_empty() {
            // Another server claimed the items, or their owners are at the limit.
            return Ok(SHARED_POLL_INTERVAL);
        }
        for item in items {
            let (worker, wake) = (self.clone(), wake.clone());
            tasks.spawn(async move {
                worker.attempt(&item).await;
                // A delivery by mail enqueues the mail.
                if item.kind == delivery::KIND {
                    wake.send_replace(());
                }
            });
        }
        Ok(Duration::ZERO)
    }

    /// Creates scheduled backups until the worker is stopped.
    async fn run_backups(&self, mut signals: Signals) {
        let Some(schedule) = &self.backups else { return };
        let mut next = None;
        loop {
            let fresh = (self.fresh)();
            if next.is_none_or(|next| next <= fresh.now) {
                let backup = schedule.back_up_if_due(&self.db, fresh.clone());
                match signals.unless_stopped(backup).await {
                    Some(time) => next = Some(time),
                    None => break,
                }
            }
            if !signals.pause(self.poll_interval(), std::future::pending()).await {
                break;
            }
        }
    }

    /// Deletes expired rows every hour until the worker is stopped.
    async fn run_cleanup(&self, mut signals: Signals) {
        let mut state = CleanupState::default();
        loop {
            let Some(cleared) = signals.unless_stopped(self.clean_up_if_due(&mut state, &signals.wake)).await
            else {
                break;
            };
            let pause = cleared.map_or_else(
                |error| {
                    let error: &dyn std::error::Error = &error;
                    tracing::warn!(error, "deleting expired rows failed; retrying");
                    SHARED_POLL_INTERVAL
                },
                |()| self.poll_interval(),
            );
            if !signals.pause(pause, std::future::pending()).await {
                break;
            }
        }
    }

    async fn clean_up_if_due(&self, state: &mut CleanupState, wake: &watch::Sender<()>) -> store::Result<()> {
        let now = (self.fresh)().now;
        if state.last.is_none_or(|last| last.plus_seconds(CLEANUP_INTERVAL) <= now) {
            self.delete_expired(now).await?;
            // The deletion also enqueues the checks of the plans.
            wake.send_replace(());
            self.retention.delete_old_data(&self.db, now).await?;
            state.last = Some(now);
            self.clean_up_registry(state, now);
        }
        Ok(())
    }

    async fn delete_expired(&self, now: Timestamp) -> store::Result<()> {
        let bills = self.billing.is_some();
        let (idle_days, fresh) = (self.idle_days, (self.fresh)());
        self.db
            .write(move |tx| {
                sign_in::purge(tx, now)?;
                oauth::purge(tx, now)?;
                session::purge(tx, now)?;
                rate_window::purge(tx, now)?;
                job::delete_callbacks(tx, now.plus_seconds(-CALLBACK_RETENTION))?;
                if bills {
                    plan::enqueue_sync(tx, now.plus_seconds(1 - CLEANUP_INTERVAL), now)?;
                }
                delivery::purge(tx, now.plus_seconds(-DELIVERY_RETENTION))?;
                mute::unlink_expired(tx, now)?;
                mute::purge(tx, now.plus_seconds(-MUTE_RETENTION))?;
                if idle_days > 0 {
                    retention::expire_unclaimed(tx, &fresh, idle_days)?;
                }
                Ok(())
            })
            .await
    }

    /// Clears the registry in a separate task, unless the previous one is still running.
    fn clean_up_registry(&self, state: &mut CleanupState, now: Timestamp) {
        while state.registry.try_join_next().is_some() {}
        if !state.registry.is_empty() {
            return;
        }
        let thoroughly = housekeeping::is_due(state.last_thorough, now);
        if thoroughly {
            state.last_thorough = Some(now);
        }
        let housekeeper = self.housekeeper.clone();
        state.registry.spawn(async move { housekeeper.delete_unused(now, thoroughly).await });
    }

    /// Attempts an item once and records the result.
    async fn attempt(&self, item: &outbox::OutboxItem) {
        let outcome = timeout(ATTEMPT_TIMEOUT, self.perform(item)).await.unwrap_or_else(|_| {
            Err(DeliveryError::Temporary(format!(
                "it took longer than {} seconds",
                ATTEMPT_TIMEOUT.as_secs()
            )))
        });
        let fresh = (self.fresh)();
        let (id, attempts, kind) = (item.id, item.attempts, item.kind.as_str());
        let too_old = item.created.plus_seconds(retry_period(&item.kind)) <= fresh.now;
        let recorded = match outcome {
            Ok(()) => self.db.write(move |tx| outbox::delete(tx, id)).await,
            Err(DeliveryError::NotDue(due)) => self.db.write(move |tx| outbox::defer(tx, id, due)).await,
            Err(DeliveryError::Temporary(reason)) if !too_old => {
                tracing::warn!(item = id, kind, attempts, reason, "outbox work failed; retrying");
                let due = fresh.now.plus_seconds(retry_delay(attempts, &fresh));
                self.db.write(move |tx| outbox::postpone(tx, id, due, &reason)).await
            }
            Err(DeliveryError::Temporary(reason) | DeliveryError::Permanent(reason)) => {
                tracing::error!(
                    item = id,
                    kind,
                    attempts,
                    reason,
                    "outbox work failed permanently; dropping it"
                );
                self.db.write(move |tx| outbox::delete(tx, id)).await
            }
        };
        if let Err(error) = recorded {
            let error: &dyn std::error::Error = &error;
            tracing::warn!(
                item = id,
                error,
                "recording the result of outbox work failed; it will be repeated"
            );
        }
    }

    async fn perform(&self, item: &outbox::OutboxItem) -> Result<(), DeliveryError> {
        match item.kind.as_str() {
            mail::KIND => self.mailer.deliver(item, (self.fresh)().now).await,
            job::CALLBACK => self.callback_sender.send(item, (self.fresh)().now).await,
            code_host::COMMAND => self.command_runner.run(item, (self.fresh)()).await,
            plan::SYNC | plan::SESSION | plan::CANCEL | plan::METER => match &self.billing {
                Some(billing) => billing.perform(item).await,
                None => Err(DeliveryError::Temporary("plus.billing is not configured any more".to_owned())),
            },
            delivery::KIND => self.notifier.deliver(item, (self.fresh)().now).await,
            // A newer release may share the database and process the item.
            _ => Err(DeliveryError::Temporary("this release does not know this kind of work".to_owned())),
        }
    }
}

/// Logs a task that panicked.
fn log_panic(result: Result<(), JoinError>) {
    if let Err(error) = result {
        tracing::error!(%error, "outbox task panicked; retrying");
    }
}

/// Returns how long work is retried, in seconds. A cancellation is retried without limit, because the customer would pay too
/// much. Usage is retried as long as the provider accepts it.
fn retry_period(kind: &str) -> i64 {
    match kind {
        plan::CANCEL => i64::from(u32::MAX),
        plan::METER => METER_RETRY_PERIOD,
        _ => RETRY_PERIOD,
    }
}

/// Returns the delay before the next attempt in seconds: exponential, with up to 25 % jitter.
fn retry_delay(attempts: i64, fresh: &WriteContext) -> i64 {
    let doublings = u32::try_from(attempts - 1).unwrap_or_default().min(16);
    let base = INITIAL_RETRY_DELAY.saturating_mul(1 << doublings).min(MAX_RETRY_DELAY);
    // The last byte of a new id is random.
    let [.., random] = fresh.uuid().into_bytes();
    (base + base * i64::from(random) / 1024).min(MAX_RETRY_DELAY)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::infra::clock::SeededEntropy;

    #[test]
    fn delays_double_up_to_an_hour_and_never_march_in_step() {
        let fresh = WriteContext::new(Timestamp::from_micros(0), Arc::new(SeededEntropy::new(1)));
        for (attempts, least) in [(1, 10), (2, 20), (3, 40), (9, 2560), (10, 3600), (1000, 3600)] {
            for _ in 0..100 {
                let delay = retry_delay(attempts, &fresh);
                assert!((least..=(least * 5 / 4).min(3600)).contains(&delay), "{attempts}: {delay}");
            }
        }
        let delays: std::collections::HashSet<_> = (0..100).map(|_| retry_delay(5, &fresh)).collect();
        assert!(delays.len() > 10, "{delays:?}");
    }
}
