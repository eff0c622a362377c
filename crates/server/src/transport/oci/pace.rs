//! Minimum rate of an upload. A slower client would block a connection and a permit.

use std::time::Duration;

use axum::body::Bytes;
use futures_util::{Stream, StreamExt};
use tokio::time::{Instant, timeout};

use super::error::{Error, Result};

/// Number of bytes that must arrive within [`PERIOD`], unless the body ends before.
const BYTES: u64 = 128 * 1024;
/// Maximum time to wait for [`BYTES`]: 4 KiB/s. The time to store them does not count.
const PERIOD: Duration = Duration::from_secs(30);

/// Measures the rate of a body.
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
    /// Returns the next chunk of a body, or an error if too few bytes have arrived.
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

/// Returns the message for a client that is too slow.
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

    /// Reads an endless body with chunks of this size and interval for an hour. Returns the number of bytes, and whether the
    /// rate was sufficient.
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
        // 5 KiB/s in small chunks, and a chunk of 128 KiB every 29 s.
        assert!(read(512, Duration::from_millis(100)).await.1);
        assert!(read(128 * 1024, Duration::from_secs(29)).await.1);
        // A byte per second, and no data for 31 s.
        assert_eq!(read(1, Duration::from_secs(1)).await, (30, false));
        assert_eq!(read(1024 * 1024, Duration::from_secs(31)).await, (0, false));
    }
}
