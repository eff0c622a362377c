//! The errors of operations, with the texts for callers. `transport/http/error.rs` maps them to status codes.

use std::{error, io};

use tidemark_store as store;

use crate::infra::{blobs, limits};

/// The result of an operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation did not happen. The texts are for people: what, why, and what to do.
#[derive(Debug)]
pub enum Error {
    /// The request makes no sense.
    Invalid(String),
    /// A credential is needed, or the one given is not good.
    Unauthorized(String),
    /// It must be paid for first.
    Unpaid(String),
    /// The caller is known and may not do this.
    Forbidden(String),
    /// There is no such thing, or the caller may not know of it.
    NotFound(String),
    /// There is no such method on this path.
    Method,
    /// It contradicts the present state.
    Conflict(String),
    /// The body is larger than the server takes.
    TooLarge,
    /// The body exceeds a limit that the message names.
    OverLimit(String),
    /// The body is not JSON.
    MediaType,
    /// Too often; try again after so many seconds.
    Limited(String, u64),
    /// Not now; try again.
    Busy(Option<Box<dyn error::Error + Send + Sync>>),
    /// Another service that this needs does not answer; try again.
    Elsewhere(String),
    /// There is no room left to store anything; try again when there is.
    Full(Box<dyn error::Error + Send + Sync>),
    /// This server is not set up for it.
    Unavailable(String),
    /// A fault of ours.
    Internal(Box<dyn error::Error + Send + Sync>),
}

impl Error {
    /// Something of this kind was not found, or may not be seen.
    pub fn not_found(noun: &str) -> Self {
        Self::NotFound(format!("There is no such {noun}, or you may not see it."))
    }

    /// The whole chain of causes for the log, if the caller is not to know of it.
    pub(crate) fn cause(&self) -> Option<String> {
        let (Self::Internal(source) | Self::Busy(Some(source)) | Self::Full(source)) = self else {
            return None;
        };
        let mut chain = source.to_string();
        let mut next = source.source();
        while let Some(cause) = next {
            chain.push_str(": ");
            chain.push_str(&cause.to_string());
            next = cause.source();
        }
        Some(chain)
    }

    /// Returns the text for the caller.
    pub(crate) fn message(self) -> String {
        match self {
            Self::Invalid(message)
            | Self::Unauthorized(message)
            | Self::Unpaid(message)
            | Self::Elsewhere(message)
            | Self::OverLimit(message)
            | Self::Forbidden(message)
            | Self::NotFound(message)
            | Self::Conflict(message)
            | Self::Unavailable(message)
            | Self::Limited(message, _) => message,
            Self::Method => {
                "This path does not take that method; the allow header lists those it takes.".into()
            }
            Self::TooLarge => {
                "The body is larger than this server takes; send less at once, or ask its operator to raise \
                 server.request_body_max_bytes."
                    .into()
            }
            Self::MediaType => {
                "The body must be JSON: send the header Content-Type: application/json.".into()
            }
            Self::Busy(_) => "The server is busy; please try again in a moment.".into(),
            Self::Full(_) => {
                "The server has no disk space left to store this; ask its operator to make room, then send it again."
                    .into()
            }
            Self::Internal(_) => {
                "Something went wrong on our side; the request id helps the operator to find it in the log."
                    .into()
            }
        }
    }
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::NotFound(noun) => Self::not_found(noun),
            store::Error::Conflict(index) => Self::Conflict(conflict(&index).into()),
            store::Error::Busy(source) => Self::Busy(Some(source)),
            store::Error::Full(source) => Self::Full(source),
            store::Error::Engine(source) => Self::Internal(source),
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Internal(error.into())
    }
}

impl From<limits::Error> for Error {
    fn from(error: limits::Error) -> Self {
        match error {
            limits::Error::Limited(limited) => {
                Self::Limited(format!("There were {limited}."), limited.retry_after_seconds)
            }
            limits::Error::Store(error) => error.into(),
        }
    }
}

impl From<limits::Busy> for Error {
    fn from(busy: limits::Busy) -> Self {
        Self::Busy(Some(busy.into()))
    }
}

impl From<blobs::Failure> for Error {
    fn from(failure: blobs::Failure) -> Self {
        match failure {
            full if full.is_full() => Self::Full(full.into()),
            away if away.is_remote() => Self::Busy(Some(away.into())),
            failure => Self::Internal(failure.into()),
        }
    }
}

/// What a broken uniqueness rule means to the caller.
fn conflict(index: &str) -> &'static str {
    match index {
        "account_slug" => "Another user has this slug; choose another.",
        "account_email" => "This address belongs to an account already.",
        "organization_slug" => "Another organization has this slug; choose another.",
        "member_organization_id_account_id" => "This user is a member of the organization already.",
        "project_slug" => "Another project has this slug; choose another.",
        "project_organization_id_name" => {
            "The organization has a project of this name already; choose another."
        }
        "branch_project_id_name" => "The project has a branch of this name already; choose another.",
        "branch_project_id_slug" => "The project has a branch with this slug already; choose another.",
        "testbed_project_id_name" => "The project has a testbed of this name already; choose another.",
        "testbed_project_id_slug" => "The project has a testbed with this slug already; choose another.",
        "benchmark_project_id_name" => "The project has a benchmark of this name already; choose another.",
        "benchmark_project_id_slug" => "The project has a benchmark with this slug already; choose another.",
        "measure_project_id_name" => "The project has a measure of this name already; choose another.",
        "measure_project_id_slug" => "The project has a measure with this slug already; choose another.",
        "threshold_branch_id_testbed_id_measure_id" => {
            "There is a threshold for this branch, testbed and measure already; change that one."
        }
        "project_member_project_id_account_id" => {
            "This user has a role in the project already; change that one."
        }
        "sso_domain" => "The people of this domain join an organization already; remove it there first.",
        "spec_slug" => "Another spec has this slug; choose another.",
        "runner_slug" => "Another runner has this slug; choose another.",
        "runner_spec_runner_id_spec_id" => "The runner does jobs for this spec already.",
        store::IN_USE => {
            "It is still used by reports or thresholds; remove those first, or archive it instead."
        }
        _ => "Something with the same name exists already; choose another.",
    }
}
