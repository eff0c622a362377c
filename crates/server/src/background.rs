//! Work done after the answer: what the outbox promises, and the hourly clearing of what has run out.
//!
//! Several servers on one database share the outbox: each row is claimed by one of them for a while and becomes due
//! again if that one dies. A server with a database of its own goes on at once where the one before it died. What a kind of work does is told in its own module.

use std::{sync::Arc, time::Duration};

use tidemark_api::Timestamp;
use tidemark_store::{
    self as store, Db, Fresh, delivery, job, oauth, outbox, plan, rate_window, session, sign_in,
};
use tokio::{
    sync::{Mutex, Notify, Semaphore, watch},
    task::{JoinHandle, JoinSet},
    time::{Instant, sleep, timeout},
};

use crate::{
    billing::Billing,
    jobs::callback::Teller,
    mail::{self, Mailer, Undelivered},
    notice::Notifier,
    oci::housekeeping::{self, Housekeeper},
};

/// How many rows are claimed at once.
const BATCH: u32 = 16;
/// How many of them are worked on at once.
const HANDS: usize = 4;
/// How long a claim holds, in seconds.
const LEASE: i64 = 60;
/// How long one attempt may take. Nothing is begun that could outlive its claim.
const ATTEMPT: Duration = Duration::from_secs(35);
/// How long a stopping worker waits for what it has begun.
const GRACE: Duration = Duration::from_secs(5);
/// The longest sleep where other servers may write to the same outbox.
const SHARED_POLL: Duration = Duration::from_secs(5);
/// The longest sleep otherwise: the clock may be set, and a machine may have slept.
const OWN_POLL: Duration = Duration::from_secs(60);
/// The first delay after a failure, in seconds; each further one is twice as long.
const FIRST_DELAY: i64 = 10;
/// The longest delay, in seconds.
const LONGEST_DELAY: i64 = 3600;
/// How long work is retried, in seconds.
const PATIENCE: i64 = 3 * 24 * 3600;
/// How long the payment provider takes what was used, in seconds.
const METER_PATIENCE: i64 = 34 * 24 * 3600;
/// How long an end of a job that nobody could be told of is remembered, in seconds: longer than it is tried.
const CALLBACKS: i64 = PATIENCE + 24 * 3600;
/// How long the log of the deliveries of notices goes back, in seconds.
const DELIVERIES: i64 = 30 * 24 * 3600;
/// Seconds between two clearings.
const CLEARING: i64 = 3600;

/// Where the worker gets the time and randomness from.
pub type FreshSource = Arc<dyn Fn() -> Fresh + Send + Sync>;

/// The running worker. Dropping it stops the work, too, without waiting for its end.
pub struct Background {
    poke: Arc<Notify>,
    stop: watch::Sender<bool>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Background {
    /// Starts the worker.
    pub(crate) fn start(worker: Worker) -> Self {
        let poke = Arc::new(Notify::new());
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(run(worker, Arc::clone(&poke), stopped));
        Self { poke, stop, task: Mutex::new(Some(task)) }
    }

    /// No worker: what the outbox promises waits for one.
    pub fn idle() -> Self {
        Self { poke: Arc::default(), stop: watch::Sender::new(true), task: Mutex::new(None) }
    }

    /// Tells the worker that there is new work.
    pub fn poke(&self) {
        self.poke.notify_one();
    }

    /// Stops the worker and waits for its end: it takes on nothing new, and what is under way gets a few seconds.
    pub async fn stop(&self) {
        self.stop.send_replace(true);
        let Some(task) = self.task.lock().await.take() else { return };
        if let Err(error) = task.await {
            tracing::error!(%error, "the background worker ended badly");
        }
    }
}

async fn run(worker: Worker, poke: Arc<Notify>, mut stopped: watch::Receiver<bool>) {
    let longest = if worker.db.is_shared() { SHARED_POLL } else { OWN_POLL };
    if !worker.db.is_shared() {
        worker.take_over().await;
    }
    let mut clearings = Clearings::default();
    loop {
        let pause = tokio::select! {
            pause = worker.round(&mut clearings) => pause,
            () = async { told(&mut stopped).await; sleep(GRACE).await; } => break,
        };
        let pause = pause.unwrap_or_else(|error| {
            let error: &dyn std::error::Error = &error;
            tracing::warn!(error, "the outbox cannot be worked on; will try again");
            SHARED_POLL
        });
        tokio::select! {
            biased;
            () = told(&mut stopped) => break,
            () = sleep(pause.min(longest)) => {}
            () = poke.notified() => {}
        }
    }
}

/// Ends once the worker has been told to stop, however long ago.
async fn told(stopped: &mut watch::Receiver<bool>) {
    // An error means that nobody holds the other end any more, which also says stop.
    drop(stopped.wait_for(|stop| *stop).await);
}

/// When what has run out was cleared the last time.
#[derive(Default)]
struct Clearings {
    last: Option<Timestamp>,
    thorough: Option<Timestamp>,
    /// The clearing of the registry, which may take long and must not hold up the mail. It ends with the worker.
    registry: JoinSet<()>,
}

/// Whoever does the work, each kind by its own.
#[derive(Clone)]
pub(crate) struct Worker {
    pub(crate) db: Db,
    pub(crate) mailer: Mailer,
    pub(crate) teller: Teller,
    pub(crate) notifier: Notifier,
    pub(crate) billing: Option<Billing>,
    pub(crate) housekeeper: Housekeeper,
    pub(crate) fresh: FreshSource,
}

impl Worker {
    /// Goes on with what a server that died had begun.
    async fn take_over(&self) {
        let now = (self.fresh)().now;
        if let Err(error) = self.db.write(move |tx| outbox::release(tx, now)).await {
            let error: &dyn std::error::Error = &error;
            tracing::warn!(error, "what an earlier server had begun waits until its claim runs out");
        }
    }

    /// Does what is due and answers how long there is nothing to do.
    async fn round(&self, clearings: &mut Clearings) -> store::Result<Duration> {
        let now = (self.fresh)().now;
        if clearings.last.is_none_or(|last| last.plus_seconds(CLEARING) <= now) {
            self.clear(now).await?;
            clearings.last = Some(now);
            self.clear_registry(clearings, now);
        }
        // Looking first keeps an idle server from writing.
        let due = self.db.read(outbox::next_due).await?;
        match due {
            Some(due) if due <= now => {
                let claimed = self.work_off(now).await?;
                // Due but not to be had: another server is at it.
                Ok(if claimed == 0 { SHARED_POLL } else { Duration::ZERO })
            }
            Some(due) => {
                let micros = due.micros().saturating_sub(now.micros());
                Ok(Duration::from_micros(u64::try_from(micros).unwrap_or_default()))
            }
            None => Ok(Duration::MAX),
        }
    }

    async fn clear(&self, now: Timestamp) -> store::Result<()> {
        let bills = self.billing.is_some();
        self.db
            .write(move |tx| {
                sign_in::purge(tx, now)?;
                oauth::purge(tx, now)?;
                session::purge(tx, now)?;
                rate_window::purge(tx, now)?;
                job::forget_callbacks(tx, now.plus_seconds(-CALLBACKS))?;
                if bills {
                    plan::ask(tx, now.plus_seconds(1 - CLEARING), now)?;
                }
                delivery::purge(tx, now.plus_seconds(-DELIVERIES))?;
                Ok(())
            })
            .await
    }

    /// Clears the registry in a task of its own, unless the last clearing goes on.
    fn clear_registry(&self, clearings: &mut Clearings, now: Timestamp) {
        while clearings.registry.try_join_next().is_some() {}
        if !clearings.registry.is_empty() {
            return;
        }
        let thoroughly = housekeeping::is_due(clearings.thorough, now);
        if thoroughly {
            clearings.thorough = Some(now);
        }
        let housekeeper = self.housekeeper.clone();
        clearings.registry.spawn(async move { housekeeper.clear(now, thoroughly).await });
    }

    /// Claims a batch, works on it, and answers how many items it had.
    async fn work_off(&self, now: Timestamp) -> store::Result<usize> {
        let lease = now.plus_seconds(LEASE);
        let begun = Instant::now();
        let items = self.db.write(move |tx| outbox::claim(tx, BATCH, now, lease)).await?;
        let claimed = items.len();
        let hands = Arc::new(Semaphore::new(HANDS));
        // Tasks of their own, so that a panic costs one item one attempt.
        let mut tasks = JoinSet::new();
        for item in items {
            let (worker, hands) = (self.clone(), Arc::clone(&hands));
            tasks.spawn(async move {
                let Ok(_hand) = hands.acquire().await else { return };
                let left = Duration::from_secs(LEASE.unsigned_abs()).saturating_sub(begun.elapsed());
                if left > ATTEMPT {
                    worker.settle(&item).await;
                }
            });
        }
        while let Some(result) = tasks.join_next().await {
            if let Err(error) = result {
                tracing::error!(%error, "an item of the outbox could not be worked on; it will be tried again");
            }
        }
        Ok(claimed)
    }

    /// Tries one item and records what came of it.
    async fn settle(&self, item: &outbox::Item) {
        let outcome = timeout(ATTEMPT, self.perform(item)).await.unwrap_or_else(|_| {
            Err(Undelivered::Later(format!("it took longer than {} seconds", ATTEMPT.as_secs())))
        });
        let fresh = (self.fresh)();
        let (id, attempts, kind) = (item.id, item.attempts, item.kind.as_str());
        let too_old = item.created.plus_seconds(patience(&item.kind)) <= fresh.now;
        let recorded = match outcome {
            Ok(()) => self.db.write(move |tx| outbox::done(tx, id)).await,
            Err(Undelivered::NotBefore(due)) => self.db.write(move |tx| outbox::put_back(tx, id, due)).await,
            Err(Undelivered::Later(reason)) if !too_old => {
                tracing::warn!(
                    item = id,
                    kind,
                    attempts,
                    reason,
                    "outbox work failed; it will be tried again"
                );
                let due = fresh.now.plus_seconds(delay(attempts, &fresh));
                self.db.write(move |tx| outbox::postpone(tx, id, due, &reason)).await
            }
            Err(Undelivered::Later(reason) | Undelivered::Never(reason)) => {
                tracing::error!(
                    item = id,
                    kind,
                    attempts,
                    reason,
                    "outbox work failed for good; it is dropped"
                );
                self.db.write(move |tx| outbox::done(tx, id)).await
            }
        };
        if let Err(error) = recorded {
            let error: &dyn std::error::Error = &error;
            tracing::warn!(
                item = id,
                error,
                "the outcome of outbox work was not recorded; it will be repeated"
            );
        }
    }

    async fn perform(&self, item: &outbox::Item) -> Result<(), Undelivered> {
        match item.kind.as_str() {
            mail::KIND => self.mailer.deliver(item, (self.fresh)().now).await,
            job::CALLBACK => self.teller.tell(item).await,
            plan::SYNC | plan::SESSION | plan::CANCEL | plan::METER => match &self.billing {
                Some(billing) => billing.perform(item).await,
                None => Err(Undelivered::Later("plus.billing is not configured any more".to_owned())),
            },
            delivery::KIND => self.notifier.deliver(item, (self.fresh)().now).await,
            // A newer release may share the database; it will take the item.
            _ => Err(Undelivered::Later("this release does not know such work".to_owned())),
        }
    }
}

/// How long work is tried, in seconds. What somebody would pay too much for is never given up, and what somebody would pay
/// too little for as long as the provider takes it.
fn patience(kind: &str) -> i64 {
    match kind {
        plan::CANCEL => i64::from(u32::MAX),
        plan::METER => METER_PATIENCE,
        _ => PATIENCE,
    }
}

/// Seconds until the next attempt: doubling, with up to a quarter more so that failures do not march in step.
fn delay(attempts: i64, fresh: &Fresh) -> i64 {
    let doublings = u32::try_from(attempts - 1).unwrap_or_default().min(16);
    let base = FIRST_DELAY.saturating_mul(1 << doublings).min(LONGEST_DELAY);
    // The last byte of a new id is random.
    let [.., random] = fresh.uuid().into_bytes();
    (base + base * i64::from(random) / 1024).min(LONGEST_DELAY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SeededEntropy;

    #[test]
    fn delays_double_up_to_an_hour_and_never_march_in_step() {
        let fresh = Fresh::new(Timestamp::from_micros(0), Arc::new(SeededEntropy::new(1)));
        for (attempts, least) in [(1, 10), (2, 20), (3, 40), (9, 2560), (10, 3600), (1000, 3600)] {
            for _ in 0..100 {
                let delay = delay(attempts, &fresh);
                assert!((least..=(least * 5 / 4).min(3600)).contains(&delay), "{attempts}: {delay}");
            }
        }
        let delays: std::collections::HashSet<_> = (0..100).map(|_| delay(5, &fresh)).collect();
        assert!(delays.len() > 10, "{delays:?}");
    }
}
