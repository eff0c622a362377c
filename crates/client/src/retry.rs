//! Retries: number of attempts, time limits and backoff.

use std::{thread, time::Duration};

/// Time limit and retries of a request.
#[derive(Clone, Copy, Debug)]
pub struct RetryPolicy {
    /// Time limit of one attempt, from the DNS lookup to the last byte of the response.
    pub timeout: Duration,
    /// Maximum number of attempts, at least 1.
    pub attempts: u32,
    /// Delay before the second attempt; it doubles with each further attempt.
    pub min_delay: Duration,
    /// Maximum delay. If the server requests a longer delay, the request is not retried.
    pub max_delay: Duration,
}

/// An upcoming retry.
#[derive(Debug)]
pub struct Retry<'a> {
    /// Reason of the previous failure.
    pub reason: &'a str,
    /// Delay before the attempt.
    pub delay: Duration,
    /// Number of the upcoming attempt, counted from 1.
    pub attempt: u32,
    /// Maximum number of attempts.
    pub attempts: u32,
}

/// A failed attempt.
pub trait RetryableFailure {
    /// Whether a retry may succeed and is safe.
    fn is_retryable(&self) -> bool;

    /// Delay that the server requests, if any.
    fn requested_delay(&self) -> Option<Duration>;

    /// Reason of the failure, in a few words.
    fn reason(&self) -> String;
}

impl RetryPolicy {
    /// Runs `once` until it succeeds, fails permanently or has no attempts left. Then returns the last failure and the
    /// number of attempts. Calls `on_retry` before every delay.
    pub fn retry<T, F: RetryableFailure>(
        &self,
        mut once: impl FnMut() -> Result<T, F>,
        on_retry: impl Fn(&Retry<'_>),
    ) -> Result<T, (F, u32)> {
        let Self { attempts, min_delay, max_delay, .. } = *self;
        let mut backoff = min_delay.min(max_delay);
        let mut attempt = 1;
        loop {
            let failed = match once() {
                Ok(done) => return Ok(done),
                Err(failed) => failed,
            };
            let delay = failed.requested_delay().unwrap_or(backoff);
            if !failed.is_retryable() || attempt >= attempts || delay > max_delay {
                return Err((failed, attempt));
            }
            attempt += 1;
            on_retry(&Retry { reason: &failed.reason(), delay, attempt, attempts });
            thread::sleep(delay);
            backoff = (backoff * 2).min(max_delay);
        }
    }
}

/// Returns the delay of a `Retry-After` header: seconds, or a date, which is compared with the clock of the server.
pub fn retry_after(value: &str, now: Option<&str>) -> Option<Duration> {
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let then = httpdate::parse_http_date(value).ok()?;
    let now = httpdate::parse_http_date(now?).ok()?;
    Some(then.duration_since(now).unwrap_or_default())
}
