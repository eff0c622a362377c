//! The errors of operations, with the texts for callers. `transport/http/error.rs` maps them to status codes.

use std::{error, io};

use tidemark_store as store;

use crate::infra::{blobs, limits};

/// The result of an operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation failed. The texts are for users: what is wrong, why, and what to do.
#[derive(Debug)]
pub enum Error {
    /// The request is invalid.
    Invalid(String),
    /// A credential is missing or invalid.
    Unauthorized(String),
    /// A paid plan is required.
    Unpaid(String),
    /// The caller is authenticated, but lacks the right.
    Forbidden(String),
    /// The resource does not exist, or the caller may not see it.
    NotFound(String),
    /// The path does not support the method.
    Method,
    /// The request conflicts with the current state.
    Conflict(String),
    /// The body exceeds the maximum size.
    TooLarge,
    /// The body exceeds a limit that the message names.
    OverLimit(String),
    /// The body is not JSON.
    MediaType,
    /// A rate limit or quota was exceeded; retry after this many seconds.
    Limited(String, u64),
    /// The server is busy; retry.
    Busy(Option<Box<dyn error::Error + Send + Sync>>),
    /// An external service that the operation needs is unavailable; retry.
    Elsewhere(String),
    /// The storage is full; retry when there is space.
    Full(Box<dyn error::Error + Send + Sync>),
    /// This server is not configured for the operation.
    Unavailable(String),
    /// An internal error.
    Internal(Box<dyn error::Error + Send + Sync>),
}

impl Error {
    /// Returns the error for a resource of this kind that does not exist or that the caller may not see.
    pub fn not_found(noun: &str) -> Self {
        Self::NotFound(format!("There is no such {noun}, or you may not see it."))
    }

    /// Returns the chain of causes for the log, if it is hidden from the caller.
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

/// Returns the text for a violated unique index.
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
