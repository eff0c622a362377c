//! Requests to the API of a code host: JSON, authentication and retries. The file of each host has the requests.

use std::time::{Duration, Instant};

use serde_json::Value;
use tidemark_client::{Retry, RetryPolicy, RetryableFailure, retry_after};
use tidemark_render::{
    code_host::{self, CodeHost, Thread},
    comment::{Comment, marker},
    markup::Dialect,
};
use ureq::{
    Agent,
    http::{HeaderMap, Request, header},
};

/// Time limit of all requests for one comment together. No request is sent after it.
const COMMENT_TIMEOUT: Duration = Duration::from_secs(15 * 60);
/// Maximum size of a response, in bytes.
const ANSWER_MAX: u64 = 64 << 20;

/// A code host and a token.
pub(crate) struct Host {
    name: &'static str,
    base: String,
    headers: Vec<(&'static str, String)>,
    agent: Agent,
    retry_policy: RetryPolicy,
}

/// A code host with a deadline.
struct HostWithDeadline<'a> {
    host: &'a Host,
    deadline: Instant,
}

/// Why a request to a code host failed.
#[derive(Debug)]
pub(crate) struct RequestError {
    /// HTTP status, if there was a response.
    pub(crate) status: Option<u16>,
    reason: String,
    /// Delay that the host requests.
    wait: Option<Duration>,
    /// Whether a retry may succeed and is safe.
    is_retryable: bool,
    /// Whether the host may have processed the request.
    may_be_processed: bool,
}

impl Host {
    /// Creates a host. `base` is the address of the API; every request has `headers`.
    pub(crate) fn new(
        name: &'static str,
        base: &str,
        headers: Vec<(&'static str, String)>,
        retry_policy: RetryPolicy,
    ) -> Self {
        let base = base.trim_end_matches('/').to_owned();
        let agent = tidemark_client::agent(&base, retry_policy.timeout, false);
        Self { name, base, headers, agent, retry_policy }
    }

    /// Returns the name of the host.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the address of the API.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// Writes a comment. If the host may have created a comment in spite of an error, searches for it before it creates another
    /// one.
    pub(crate) fn write(
        &self,
        thread: &Thread<'_>,
        id: &str,
        comment: &Comment<'_>,
        may_create: bool,
    ) -> Result<(), RequestError> {
        let marker = marker(&comment.report.project.slug, id);
        let text = comment.render_within(Dialect::Folding, thread.limit() - marker.len() - 1);
        let limited = HostWithDeadline { host: self, deadline: Instant::now() + COMMENT_TIMEOUT };
        let mut attempt = 1;
        loop {
            match thread.write(&limited, &marker, &text, may_create) {
                Err(failure) if failure.may_be_processed && attempt < self.retry_policy.attempts.min(3) => {
                    std::thread::sleep(self.retry_policy.min_delay);
                    attempt += 1;
                }
                outcome => return outcome,
            }
        }
    }

    fn try_once(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, RequestError> {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.base));
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        let answer = match body {
            Some(body) => request
                .header(header::CONTENT_TYPE, "application/json")
                .body(body.to_string())
                .map_err(ureq::Error::from)
                .and_then(|request| self.agent.run(request)),
            None => request.body(()).map_err(ureq::Error::from).and_then(|request| self.agent.run(request)),
        };
        let mut answer = answer.map_err(|error| RequestError::no_response(&error))?;
        let status = answer.status().as_u16();
        let read = tidemark_client::read_body(answer.body_mut(), ANSWER_MAX);
        let bytes = read.map_err(|error| RequestError::no_response(&error))?;
        let value: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        match status {
            200..300 => Ok(value),
            _ => Err(RequestError::from_response(status, &value, answer.headers())),
        }
    }
}

impl CodeHost for Host {
    type Error = RequestError;

    /// Sends a request with retries. Does not resend a request that creates a resource if the host may have processed it.
    fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, RequestError> {
        let once = || {
            self.try_once(method, path, body).map_err(|failure| RequestError {
                is_retryable: failure.is_retryable && !(method == "POST" && failure.may_be_processed),
                ..failure
            })
        };
        let tell = |retry: &Retry<'_>| {
            message!(
                "warning: The request to {} failed ({}); attempt {} of {} follows in {} s.",
                self.name,
                retry.reason,
                retry.attempt,
                retry.attempts,
                retry.delay.as_secs()
            );
        };
        self.retry_policy.retry(once, tell).map_err(|(failure, _)| failure)
    }
}

impl CodeHost for HostWithDeadline<'_> {
    type Error = RequestError;

    fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, RequestError> {
        if Instant::now() >= self.deadline {
            let reason =
                format!("the time limit of {} s for all requests was exceeded", COMMENT_TIMEOUT.as_secs());
            return Err(RequestError {
                status: None,
                reason,
                wait: None,
                is_retryable: false,
                may_be_processed: false,
            });
        }
        self.host.send(method, path, body)
    }
}

impl RequestError {
    fn no_response(error: &ureq::Error) -> Self {
        let refused =
            matches!(error, ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::ConnectionRefused);
        let never_there =
            refused || matches!(error, ureq::Error::HostNotFound | ureq::Error::ConnectionFailed);
        let reason = if refused { "connection refused".to_owned() } else { error.to_string() };
        Self { status: None, reason, wait: None, is_retryable: true, may_be_processed: !never_there }
    }

    fn from_response(status: u16, answer: &Value, headers: &HeaderMap) -> Self {
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
        let wait = header("retry-after").and_then(|asked| retry_after(asked, header("date")));
        let is_busy = code_host::is_rate_limited(status, answer, wait.is_some());
        Self {
            status: Some(status),
            reason: code_host::reason(status, answer),
            wait,
            is_retryable: is_busy || status >= 500,
            may_be_processed: status >= 500,
        }
    }
}

impl RetryableFailure for RequestError {
    fn is_retryable(&self) -> bool {
        self.is_retryable
    }

    fn requested_delay(&self) -> Option<Duration> {
        self.wait
    }

    fn reason(&self) -> String {
        self.reason.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_after_the_deadline_are_not_sent() {
        let retry_policy = RetryPolicy {
            timeout: Duration::from_secs(600),
            attempts: 1,
            min_delay: Duration::ZERO,
            max_delay: Duration::ZERO,
        };
        // No server listens at this address: a request would fail with a different reason.
        let host = Host::new("GitHub", "http://127.0.0.1:1", Vec::new(), retry_policy);
        let sent = |deadline| {
            HostWithDeadline { host: &host, deadline }.send("GET", "/user", None).unwrap_err().reason
        };
        assert_eq!(sent(Instant::now()), "the time limit of 900 s for all requests was exceeded");
        assert_eq!(sent(Instant::now() + COMMENT_TIMEOUT), "connection refused");
    }
}
