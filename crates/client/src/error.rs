//! Why a request came to nothing: refused by the server, or no answer from it. How that is said, and with which number
//! a program ends, is not decided here.

use std::{fmt, io, time::Duration};

use ureq::Timeout;

use crate::Failed;

/// Why there is no answer to work with. It reads as a clause: `the server refused …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The server has understood and said no.
    Refused {
        /// The HTTP status.
        status: u16,
        /// What it said, one sentence for people.
        message: String,
        /// By what its operator finds the request in the log.
        request: Option<String>,
    },
    /// There was no answer, or only one that the server cannot answer now.
    Unreachable {
        /// The server.
        host: String,
        /// What was in the way.
        reason: String,
        /// How often it was tried.
        attempts: u32,
    },
    /// There was an answer, but not one of this API.
    Strange {
        /// What is wrong with it.
        reason: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { status, message, request } => {
                write!(formatter, "the server refused ({status}): {message}")?;
                match request {
                    Some(request) => write!(formatter, " (request {request})"),
                    None => Ok(()),
                }
            }
            Self::Unreachable { host, reason, attempts: 1 } => {
                write!(formatter, "the server {host} cannot be reached: {reason}")
            }
            Self::Unreachable { host, reason, attempts } => {
                write!(formatter, "the server {host} cannot be reached, tried {attempts} times: {reason}")
            }
            Self::Strange { reason } => write!(formatter, "the server is not one of this API: {reason}"),
        }
    }
}

impl std::error::Error for Error {}

/// An attempt that came to nothing, and what is known of why.
pub(crate) struct Attempt {
    what: What,
    /// Whether another one may do better, and do no harm.
    pub(crate) passes: bool,
    /// Whether the server may have done what it was asked for.
    pub(crate) may_have_arrived: bool,
    /// How long the server asks to wait.
    pub(crate) retry_after: Option<Duration>,
}

enum What {
    Answered { status: u16, message: String, request: Option<String> },
    Silent(String),
}

impl Attempt {
    /// There was no answer.
    pub(crate) fn failed(error: &ureq::Error, timeout: Duration) -> Self {
        let nobody = matches!(error, ureq::Error::HostNotFound | ureq::Error::ConnectionFailed);
        let refused = |error: &io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
        let arrived = !nobody && !matches!(error, ureq::Error::Io(error) if refused(error));
        let (reason, passes) = match error {
            ureq::Error::Timeout(Timeout::Global | Timeout::PerCall) => {
                (format!("no whole answer within {} s", timeout.as_secs()), true)
            }
            ureq::Error::Timeout(_) => ("no answer in time".to_owned(), true),
            ureq::Error::HostNotFound => ("nobody knows its name".to_owned(), true),
            ureq::Error::ConnectionFailed => ("no connection".to_owned(), true),
            ureq::Error::Io(error) => match error.kind() {
                _ if refused(error) => ("nothing listens there".to_owned(), true),
                io::ErrorKind::BrokenPipe
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted => {
                    ("it hung up in the middle, as some do when a request is too large".to_owned(), true)
                }
                io::ErrorKind::InvalidData => (error.to_string(), false),
                _ => (error.to_string(), true),
            },
            ureq::Error::Protocol(error) => (format!("it does not speak HTTP ({error})"), false),
            error => (error.to_string(), false),
        };
        Self { what: What::Silent(reason), passes, may_have_arrived: arrived, retry_after: None }
    }

    /// There was an answer that is no success.
    pub(crate) fn answered(
        status: u16,
        body: &[u8],
        retry_after: Option<Duration>,
        location: Option<&str>,
    ) -> Self {
        let (message, request) = match (serde_json::from_slice::<tidemark_api::Error>(body), location) {
            (Ok(error), _) => (error.message, Some(error.request_id.to_string())),
            (Err(_), Some(location)) if (300..400).contains(&status) => {
                (format!("It points at {location}; use that address as the host."), None)
            }
            (Err(_), _) => ("It gives no reason that this program knows.".to_owned(), None),
        };
        let passes = status == 429 || status >= 500;
        // Who is too busy to answer has not begun.
        let may_have_arrived = !matches!(status, 429 | 503);
        Self { what: What::Answered { status, message, request }, passes, may_have_arrived, retry_after }
    }

    /// The end of the matter after so many attempts.
    pub(crate) fn into_error(self, host: &str, attempts: u32) -> Error {
        let reason = self.reason();
        match self.what {
            What::Answered { status, message, request } if status < 500 => {
                Error::Refused { status, message, request }
            }
            _ => {
                let reason = match self.retry_after {
                    Some(wait) => format!("{reason} It asks to wait for {} s.", wait.as_secs()),
                    None => reason,
                };
                Error::Unreachable { host: host.to_owned(), reason, attempts }
            }
        }
    }
}

impl Failed for Attempt {
    fn passes(&self) -> bool {
        self.passes
    }

    fn asked_wait(&self) -> Option<Duration> {
        self.retry_after
    }

    fn reason(&self) -> String {
        match &self.what {
            What::Answered { status, message, .. } => format!("it answers {status}: {message}"),
            What::Silent(reason) => reason.clone(),
        }
    }
}
