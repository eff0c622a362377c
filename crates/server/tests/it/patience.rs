//! How tests wait for background work: for an observable condition, never for a fixed time.

use std::time::{Duration, Instant};

use tidemark_api::Timestamp;
use tidemark_store::Tx;

use crate::TestServer;

/// The deadline of every wait. It stops a test that hangs; no test may pass or fail by how fast the machine is.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);

/// Looks again and again until there is something, and answers it.
pub(crate) async fn until<T>(missing: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "{missing}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

impl TestServer {
    /// Lets time pass until the next work of the outbox is due, and no longer: a worker that is slow to come must not
    /// find that all its time is over. No time passes while work is due or claimed: the claim would expire, and the work would
    /// be done twice.
    pub(crate) async fn pass_to_work(&self) {
        let now = self.app.clock.now();
        // One statement: between two, a worker could claim what has just been added.
        let sql = "select case when count(case when claimed or due <= $1 then 1 end) = 0 then min(due) end from outbox";
        let next: Option<Timestamp> =
            self.app.db.read(move |tx: &mut Tx<'_>| tx.value(sql, &[&now])).await.unwrap();
        if let Some(due) = next {
            self.pass_to(due);
        }
        self.app.background.poke();
    }

    /// How much work of the outbox is due now or under way.
    async fn due_work(&self) -> i64 {
        let now = self.app.clock.now();
        let sql = "select count(*) from outbox where claimed or due <= $1";
        self.app.db.read(move |tx: &mut Tx<'_>| tx.value(sql, &[&now])).await.unwrap()
    }

    /// When the next work of the outbox is due; work that is under way is due when its claim expires.
    pub(crate) async fn next_due(&self) -> Option<Timestamp> {
        self.app.db.read(|tx: &mut Tx<'_>| tx.value("select min(due) from outbox", &[])).await.unwrap()
    }

    /// Stops the background workers, whose statements would be counted with those of a test.
    pub(crate) async fn stop_workers(&self) {
        self.app.changes.stop();
        self.app.jobs.stop();
        self.app.background.stop().await;
    }

    /// Waits until the worker has finished everything that is due now. The clock stands still.
    pub(crate) async fn wait_for_due_work(&self) {
        until("the worker does not finish the work that is due", async || {
            self.app.background.poke();
            (self.due_work().await == 0).then_some(())
        })
        .await;
    }
}
