//! Patience: how often something is tried that may do better later, and how long is waited in between.

use std::{thread, time::Duration};

/// How long and how often a request is tried.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// How long one attempt may take, from looking up the name to the last byte of the answer.
    pub timeout: Duration,
    /// How often it is tried, at least once.
    pub attempts: u32,
    /// The wait before the second attempt; each further one is twice as long.
    pub first_wait: Duration,
    /// The longest wait. Who asks for more is not tried again.
    pub longest_wait: Duration,
}

/// A request that is about to be tried again.
#[derive(Debug)]
pub struct Retry<'a> {
    /// Why it has to be.
    pub reason: &'a str,
    /// How long it is waited before.
    pub wait: Duration,
    /// The number of the attempt to come, counted from one.
    pub attempt: u32,
    /// How many there will be at the most.
    pub attempts: u32,
}

/// An attempt that came to nothing.
pub trait Failed {
    /// Whether another one may do better, and do no harm.
    fn passes(&self) -> bool;

    /// How long is asked to be waited, if it is.
    fn asked_wait(&self) -> Option<Duration>;

    /// What was in the way, in a few words.
    fn reason(&self) -> String;
}

impl Patience {
    /// Tries until it works, fails for good, or there is no attempt left; then answers the last failure and how many
    /// attempts there were. `on_retry` is told before every wait.
    pub fn retry<T, F: Failed>(
        &self,
        mut once: impl FnMut() -> Result<T, F>,
        on_retry: impl Fn(&Retry<'_>),
    ) -> Result<T, (F, u32)> {
        let Self { attempts, first_wait, longest_wait, .. } = *self;
        let mut wait = first_wait.min(longest_wait);
        let mut attempt = 1;
        loop {
            let failed = match once() {
                Ok(done) => return Ok(done),
                Err(failed) => failed,
            };
            let asked = failed.asked_wait().unwrap_or(wait);
            if !failed.passes() || attempt >= attempts || asked > longest_wait {
                return Err((failed, attempt));
            }
            attempt += 1;
            on_retry(&Retry { reason: &failed.reason(), wait: asked, attempt, attempts });
            thread::sleep(asked);
            wait = (wait * 2).min(longest_wait);
        }
    }
}

/// How long the header `Retry-After` asks to wait: seconds, or a date, which is held against the server's own clock.
pub fn retry_after(asked: &str, now: Option<&str>) -> Option<Duration> {
    if let Ok(seconds) = asked.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let then = httpdate::parse_http_date(asked).ok()?;
    let now = httpdate::parse_http_date(now?).ok()?;
    Some(then.duration_since(now).unwrap_or_default())
}
