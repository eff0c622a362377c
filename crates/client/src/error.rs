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
        /// Request ID, with which the operator finds the request in the log; `None` if the response is not one of this API.
        request: Option<String>,
        /// Host of the server; `None` if it is in this process.
        host: Option<String>,
        /// How the request was authenticated.
        authentication: Authentication,
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
        /// Kind of the last failure, if it is known.
        problem: Option<ConnectionProblem>,
    },
    /// The response is not one of this API.
    #[error("{host} is not a server of this API: {reason}")]
    InvalidResponse {
        /// Host of the server.
        host: String,
        /// What is wrong with the response.
        reason: String,
    },
    /// The list is too long to be read completely.
    #[error("{reason}")]
    IncompleteList {
        /// The exceeded limit.
        reason: String,
    },
}

/// How a request was authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authentication {
    /// Without a credential.
    Anonymous,
    /// With a key or a token.
    Credential,
    /// The operation takes no credential, for example a sign-in with a mailed token.
    NotApplicable,
}

/// Why there is no connection to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionProblem {
    /// The host name cannot be resolved.
    UnknownHost,
    /// No process listens on the port.
    Refused,
    /// The certificate is self-signed, or its CA is unknown.
    UnknownIssuer,
    /// The certificate is for other host names.
    OtherHostName,
    /// The certificate has expired or is not valid yet.
    ExpiredCertificate,
    /// The server does not use TLS on this port.
    NoTls,
}

impl ConnectionProblem {
    fn of(error: &ureq::Error) -> Option<Self> {
        match error {
            ureq::Error::HostNotFound => Some(Self::UnknownHost),
            ureq::Error::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => Some(Self::Refused),
            ureq::Error::Io(error) if is_lookup_failure(error) => Some(Self::UnknownHost),
            ureq::Error::Io(error) => Self::of_tls(error.get_ref()?.downcast_ref()?),
            ureq::Error::Rustls(error) => Self::of_tls(error),
            _ => None,
        }
    }

    fn of_tls(error: &rustls::Error) -> Option<Self> {
        use rustls::CertificateError as Certificate;
        match error {
            rustls::Error::InvalidCertificate(error) => match error {
                Certificate::Expired
                | Certificate::ExpiredContext { .. }
                | Certificate::NotValidYet
                | Certificate::NotValidYetContext { .. } => Some(Self::ExpiredCertificate),
                Certificate::NotValidForName | Certificate::NotValidForNameContext { .. } => {
                    Some(Self::OtherHostName)
                }
                _ => Some(Self::UnknownIssuer),
            },
            rustls::Error::InvalidMessage(_) => Some(Self::NoTls),
            _ => None,
        }
    }

    /// Returns the problem as a clause, and whether it may be temporary.
    fn failure(self) -> (String, bool) {
        let clause = match self {
            Self::UnknownHost => "the host name cannot be resolved",
            Self::Refused => "connection refused",
            Self::UnknownIssuer => "its certificate is self-signed or has an unknown CA",
            Self::OtherHostName => "its certificate is for another host name",
            Self::ExpiredCertificate => "its certificate has expired or is not valid yet",
            Self::NoTls => "it does not use TLS on this port",
        };
        (clause.to_owned(), matches!(self, Self::UnknownHost | Self::Refused))
    }
}

/// Whether the host name could not be resolved: the error has no kind of its own, except its number on Windows.
fn is_lookup_failure(error: &io::Error) -> bool {
    error.raw_os_error() == Some(11_001) && cfg!(windows)
        || error.to_string().starts_with("failed to lookup address information")
}

fn request_suffix(request: Option<&str>) -> String {
    request.map_or_else(String::new, |request| format!(" (request {request})"))
}

fn attempts_suffix(attempts: u32) -> String {
    if attempts == 1 { String::new() } else { format!(", tried {attempts} times") }
}

/// The server of a failed request.
pub(crate) struct ContactedServer<'a> {
    pub(crate) host: &'a str,
    pub(crate) is_in_process: bool,
    pub(crate) authentication: Authentication,
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
    NoResponse { reason: String, problem: Option<ConnectionProblem> },
}

impl FailedAttempt {
    /// Creates an attempt that failed without a response.
    pub(crate) fn without_response(error: &ureq::Error, timeout: Duration) -> Self {
        let problem = ConnectionProblem::of(error);
        let may_have_arrived = problem.is_none() && !matches!(error, ureq::Error::ConnectionFailed);
        let (reason, is_retryable) = match error {
            _ if problem.is_some() => problem.map_or_else(Default::default, ConnectionProblem::failure),
            ureq::Error::Timeout(Timeout::Global | Timeout::PerCall) => {
                (format!("no complete response within {} s", timeout.as_secs()), true)
            }
            ureq::Error::Timeout(_) => ("no response in time".to_owned(), true),
            ureq::Error::ConnectionFailed => ("no connection".to_owned(), true),
            ureq::Error::Io(error) => match error.kind() {
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
        let cause = Cause::NoResponse { reason, problem };
        Self { cause, is_retryable, may_have_arrived, retry_after: None }
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
    pub(crate) fn into_error(self, server: &ContactedServer<'_>, attempts: u32) -> Error {
        let reason = self.reason();
        match self.cause {
            Cause::ErrorResponse { status, message, request } if status < 500 => Error::Refused {
                status,
                message,
                request,
                host: (!server.is_in_process).then(|| server.host.to_owned()),
                authentication: server.authentication,
            },
            cause => {
                let reason = match self.retry_after {
                    Some(delay) => format!("{reason} It requests a delay of {} s.", delay.as_secs()),
                    None => reason,
                };
                let problem = match cause {
                    Cause::NoResponse { problem, .. } => problem,
                    Cause::ErrorResponse { .. } => None,
                };
                Error::Unreachable { host: server.host.to_owned(), reason, attempts, problem }
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
            Cause::NoResponse { reason, .. } => reason.clone(),
        }
    }
}
