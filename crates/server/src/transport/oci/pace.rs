//! The minimum rate of an upload. A client that sends more slowly would keep a connection and a slot from others.

use std::time::Duration;

use axum::body::Bytes;
use futures_util::{Stream, StreamExt};
use tokio::time::{Instant, timeout};

use super::error::{Error, Result};

/// The bytes that must arrive within [`PERIOD`], unless the body ends before.
const BYTES: u64 = 128 * 1024;
/// How long the server waits for [`BYTES`]: 4 KiB/s. The time to store them does not count.
const PERIOD: Duration = Duration::from_secs(30);

/// Measures how fast a body arrives.
pub(super) struct Pace {
    left: Duration,
    missing: u64,
}

impl Default for Pace {
    fn default() -> Self {
        Self { left: PERIOD, missing: BYTES }
    }
}

impl Pace {
    /// The next piece of a body, or a failure when too little has arrived.
    pub(super) async fn next<E>(
        &mut self,
        body: &mut (impl Stream<Item = Result<Bytes, E>> + Unpin),
    ) -> Result<Option<Result<Bytes, E>>> {
        let begun = Instant::now();
        let piece = timeout(self.left, body.next()).await.map_err(|_| Error::TooSlow)?;
        let size = piece.as_ref().and_then(|piece| piece.as_ref().ok()).map_or(0, |piece| piece.len() as u64);
        self.left = self.left.saturating_sub(begun.elapsed());
        self.missing = self.missing.saturating_sub(size);
        if self.missing == 0 {
            *self = Self::default();
        }
        Ok(piece)
    }
}

/// The message for a client that is too slow.
pub(super) fn message() -> String {
    let (bytes, seconds) = (BYTES, PERIOD.as_secs());
    format!(
        "The upload is too slow: fewer than {bytes} bytes arrived within {seconds} seconds; send it again."
    )
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream;
    use tokio::time::sleep;

    use super::*;

    /// How much of an endless body of such pieces is read within an hour.
    async fn read(size: usize, every: Duration) -> (u64, bool) {
        let body = stream::unfold((), |()| async move {
            sleep(every).await;
            Some((Ok::<_, Infallible>(Bytes::from(vec![0; size])), ()))
        });
        let (mut body, mut pace, mut read) = (Box::pin(body), Pace::default(), 0);
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(3600) {
            match pace.next(&mut body).await {
                Ok(_) => read += size as u64,
                Err(_) => return (read, false),
            }
        }
        (read, true)
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_client_below_the_minimum_rate_fails() {
        // 5 KiB/s in small pieces, and a piece of 128 KiB every 29 s.
        assert!(read(512, Duration::from_millis(100)).await.1);
        assert!(read(128 * 1024, Duration::from_secs(29)).await.1);
        // A byte every second, and nothing for 31 s.
        assert_eq!(read(1, Duration::from_secs(1)).await, (30, false));
        assert_eq!(read(1024 * 1024, Duration::from_secs(31)).await, (0, false));
    }
}
