//! Errors of requests: the server rejected the request, or did not respond. Callers choose the message and the exit code.

use std::{io, time::Duration};

use ureq::Timeout;

use crate::RetryableFailure;

/// Why a request failed. The message reads as a clause: `the server refused …`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The server rejected the request.
    #[error("the server refused ({status}): {message}{}", request_suffix(request.as_deref()))]
    Refused {
        /// HTTP status.
        status: u16,
        /// Message of the server: one sentence for users.
        message: String,
        /// Request ID, with which the operator finds the request in the log.
        request: Option<String>,
    },
    /// The server did not respond, or responded that it is unavailable.
    #[error("the server {host} cannot be reached{}: {reason}", attempts_suffix(*attempts))]
    Unreachable {
        /// Host of the server.
        host: String,
        /// Reason of the last failure.
        reason: String,
        /// Number of attempts.
        attempts: u32,
    },
    /// The response is not one of this API.
    #[error("the server does not provide this API: {reason}")]
    InvalidResponse {
        /// What is wrong with the response.
        reason: String,
    },
}

fn request_suffix(request: Option<&str>) -> String {
    request.map_or_else(String::new, |request| format!(" (request {request})"))
}

fn attempts_suffix(attempts: u32) -> String {
    if attempts == 1 { String::new() } else { format!(", tried {attempts} times") }
}

/// A failed attempt and its known cause.
pub(crate) struct FailedAttempt {
    cause: Cause,
    /// Whether a retry may succeed and is safe.
    pub(crate) is_retryable: bool,
    /// Whether the server may have processed the request.
    pub(crate) may_have_arrived: bool,
    /// Delay that the server requests.
    pub(crate) retry_after: Option<Duration>,
}

enum Cause {
    ErrorResponse { status: u16, message: String, request: Option<String> },
    NoResponse(String),
}

impl FailedAttempt {
    /// Creates an attempt that failed without a response.
    pub(crate) fn without_response(error: &ureq::Error, timeout: Duration) -> Self {
        let not_connected = matches!(error, ureq::Error::HostNotFound | ureq::Error::ConnectionFailed);
        let refused = |error: &io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
        let may_have_arrived = !not_connected && !matches!(error, ureq::Error::Io(error) if refused(error));
        let (reason, is_retryable) = match error {
            ureq::Error::Timeout(Timeout::Global | Timeout::PerCall) => {
                (format!("no complete response within {} s", timeout.as_secs()), true)
            }
            ureq::Error::Timeout(_) => ("no response in time".to_owned(), true),
            ureq::Error::HostNotFound => ("the host name cannot be resolved".to_owned(), true),
            ureq::Error::ConnectionFailed => ("no connection".to_owned(), true),
            ureq::Error::Io(error) => match error.kind() {
                _ if refused(error) => ("connection refused".to_owned(), true),
                io::ErrorKind::BrokenPipe
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted => {
                    ("the connection was closed, possibly because the request is too large".to_owned(), true)
                }
                io::ErrorKind::InvalidData => (error.to_string(), false),
                _ => (error.to_string(), true),
            },
            ureq::Error::Protocol(error) => (format!("the response is not valid HTTP ({error})"), false),
            error => (error.to_string(), false),
        };
        Self { cause: Cause::NoResponse(reason), is_retryable, may_have_arrived, retry_after: None }
    }

    /// Creates an attempt that failed with an error response.
    pub(crate) fn with_response(
        status: u16,
        body: &[u8],
        retry_after: Option<Duration>,
        location: Option<&str>,
    ) -> Self {
        let (message, request) = match (serde_json::from_slice::<tidemark_api::Error>(body), location) {
            (Ok(error), _) => (error.message, Some(error.request_id.to_string())),
            (Err(_), Some(location)) if (300..400).contains(&status) => {
                (format!("It redirects to {location}; use that address as the host."), None)
            }
            (Err(_), _) => ("The response has no known error message.".to_owned(), None),
        };
        let is_retryable = status == 429 || status >= 500;
        // An overloaded server has not begun to process the request.
        let may_have_arrived = !matches!(status, 429 | 503);
        Self {
            cause: Cause::ErrorResponse { status, message, request },
            is_retryable,
            may_have_arrived,
            retry_after,
        }
    }

    /// Converts the last of `attempts` failures to an error.
    pub(crate) fn into_error(self, host: &str, attempts: u32) -> Error {
        let reason = self.reason();
        match self.cause {
            Cause::ErrorResponse { status, message, request } if status < 500 => {
                Error::Refused { status, message, request }
            }
            _ => {
                let reason = match self.retry_after {
                    Some(delay) => format!("{reason} It requests a delay of {} s.", delay.as_secs()),
                    None => reason,
                };
                Error::Unreachable { host: host.to_owned(), reason, attempts }
            }
        }
    }
}

impl RetryableFailure for FailedAttempt {
    fn is_retryable(&self) -> bool {
        self.is_retryable
    }

    fn requested_delay(&self) -> Option<Duration> {
        self.retry_after
    }

    fn reason(&self) -> String {
        match &self.cause {
            Cause::ErrorResponse { status, message, .. } => {
                format!("it responded with status {status}: {message}")
            }
            Cause::NoResponse(reason) => reason.clone(),
        }
    }
}
