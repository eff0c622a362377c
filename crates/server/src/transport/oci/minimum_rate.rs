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
pub(super) struct MinimumRate {
    left: Duration,
    missing: u64,
}

impl Default for MinimumRate {
    fn default() -> Self {
        Self { left: PERIOD, missing: BYTES }
    }
}

impl MinimumRate {
    /// Returns the next chunk of a body, or an error if too few bytes have arrived.
    pub(super) async fn next_chunk<E>(
        &mut self,
        body: &mut (impl Stream<Item = Result<Bytes, E>> + Unpin),
    ) -> Result<Option<Result<Bytes, E>>> {
        let started = Instant::now();
        let chunk = timeout(self.left, body.next()).await.map_err(|_| Error::TooSlow)?;
        let size = chunk.as_ref().and_then(|chunk| chunk.as_ref().ok()).map_or(0, |chunk| chunk.len() as u64);
        self.left = self.left.saturating_sub(started.elapsed());
        self.missing = self.missing.saturating_sub(size);
        if self.missing == 0 {
            *self = Self::default();
        }
        Ok(chunk)
    }
}

/// Returns the message for a client that is too slow.
pub(super) fn too_slow_message() -> String {
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
        let (mut body, mut rate, mut read) = (Box::pin(body), MinimumRate::default(), 0);
        let started = Instant::now();
        while started.elapsed() < Duration::from_secs(3600) {
            match rate.next_chunk(&mut body).await {
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
