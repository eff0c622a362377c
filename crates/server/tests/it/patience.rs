//! How tests wait for what is done behind the scenes: for what they look for, never for a time that should be enough.

use std::time::{Duration, Instant};

use tidemark_store::outbox;

use crate::TestServer;

/// How long a test waits before it fails. A machine that others use as well may take long; only a failure waits to the end.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

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
    /// Lets time pass until the next promised work is due, and no longer: a worker that is slow to come must not find
    /// that all its time is over. What is under way counts as due when its claim runs out.
    pub(crate) async fn pass_to_work(&self) {
        let due = self.app.db.read(outbox::next_due).await.unwrap();
        if let Some(due) = due {
            self.pass_to(due);
        }
        self.app.background.poke();
    }
}
