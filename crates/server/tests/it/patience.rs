//! How tests wait for background work: for an observable condition, never for a fixed time.

use std::time::{Duration, Instant};

use tidemark_api::Timestamp;
use tidemark_store::Tx;

use crate::TestServer;

/// Deadline of every wait. It stops a test that hangs; no test may depend on the speed of the machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);

/// Polls until `look` returns a value, and returns it.
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
    /// Advances the clock to the due time of the next work in the outbox, and no further: a slow worker must not find
    /// that its time has expired. The clock does not advance while work is due or claimed: the claim would expire,
    /// and the work would be done twice.
    pub(crate) async fn pass_to_work(&self) {
        let now = self.app.clock.now();
        // One statement: between two, a worker could claim work that was just added.
        let sql = "select case when count(case when claimed or due <= $1 then 1 end) = 0 then min(due) end from outbox";
        let next: Option<Timestamp> =
            self.app.db.read(move |tx: &mut Tx<'_>| tx.value(sql, &[&now])).await.unwrap();
        if let Some(due) = next {
            self.pass_to(due);
        }
        self.app.background.wake();
    }

    /// Returns the number of outbox rows that are due or claimed.
    async fn due_work(&self) -> i64 {
        let now = self.app.clock.now();
        let sql = "select count(*) from outbox where claimed or due <= $1";
        self.app.db.read(move |tx: &mut Tx<'_>| tx.value(sql, &[&now])).await.unwrap()
    }

    /// Returns the due time of the next work in the outbox; claimed work is due when its claim expires.
    pub(crate) async fn next_due(&self) -> Option<Timestamp> {
        self.app.db.read(|tx: &mut Tx<'_>| tx.value("select min(due) from outbox", &[])).await.unwrap()
    }

    /// Stops the background workers, because a test that counts statements would count theirs as well.
    pub(crate) async fn stop_workers(&self) {
        self.app.changes.stop();
        self.app.jobs.stop();
        self.app.background.stop().await;
    }

    /// Waits until the worker has finished everything that is due, with a frozen clock.
    pub(crate) async fn wait_for_due_work(&self) {
        until("the worker does not finish the work that is due", async || {
            self.app.background.wake();
            (self.due_work().await == 0).then_some(())
        })
        .await;
    }
}
