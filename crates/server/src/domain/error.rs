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
    PaymentRequired(String),
    /// The caller is authenticated, but lacks the right.
    Forbidden(String),
    /// The resource does not exist, or the caller may not see it.
    NotFound(String),
    /// The path does not support the method.
    MethodNotAllowed,
    /// The request conflicts with the current state.
    Conflict(String),
    /// The body exceeds the maximum size.
    TooLarge,
    /// The body exceeds a limit that the message names.
    OverLimit(String),
    /// The body is not JSON.
    UnsupportedMediaType,
    /// A rate limit or quota was exceeded; retry after this many seconds.
    Limited(String, u64),
    /// The server is busy; retry.
    Busy(Option<Box<dyn error::Error + Send + Sync>>),
    /// An external service that the operation needs is unavailable; retry.
    Upstream(String),
    /// The storage is full; retry when there is space.
    StorageFull(Box<dyn error::Error + Send + Sync>),
    /// This server is not configured for the operation.
    Unavailable(String),
    /// An internal error.
    Internal(Box<dyn error::Error + Send + Sync>),
}

impl Error {
    /// Returns the error for a resource of this kind that does not exist or that the caller may not see.
    pub fn not_found(noun: &str) -> Self {
        Self::NotFound(format!("The {noun} does not exist, or you do not have permission to view it."))
    }

    /// Returns the chain of causes for the log, if it is hidden from the caller.
    pub(crate) fn cause(&self) -> Option<String> {
        let (Self::Internal(source) | Self::Busy(Some(source)) | Self::StorageFull(source)) = self else {
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
            | Self::PaymentRequired(message)
            | Self::Upstream(message)
            | Self::OverLimit(message)
            | Self::Forbidden(message)
            | Self::NotFound(message)
            | Self::Conflict(message)
            | Self::Unavailable(message)
            | Self::Limited(message, _) => message,
            Self::MethodNotAllowed => {
                "This path does not support the method; the Allow header lists the supported methods.".into()
            }
            Self::TooLarge => {
                "The body exceeds the limit of this server; send less data per request, or ask the operator \
                 to raise server.request_body_max_bytes."
                    .into()
            }
            Self::UnsupportedMediaType => {
                "The body must be JSON: send the header Content-Type: application/json.".into()
            }
            Self::Busy(_) => "The server is busy; please try again in a moment.".into(),
            Self::StorageFull(_) => {
                "The server is out of disk space; ask the operator to free space, then retry the request."
                    .into()
            }
            Self::Internal(_) => {
                "Internal server error; report the request ID to the operator, who can find the cause in the \
                 log."
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
            store::Error::Full(source) => Self::StorageFull(source),
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
                Self::Limited(format!("Rate limit exceeded: {limited}."), limited.retry_after_seconds)
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

impl From<blobs::BlobError> for Error {
    fn from(failure: blobs::BlobError) -> Self {
        match failure {
            full if full.is_full() => Self::StorageFull(full.into()),
            away if away.is_remote() => Self::Busy(Some(away.into())),
            failure => Self::Internal(failure.into()),
        }
    }
}

/// Returns the text for a violated unique index.
fn conflict(index: &str) -> &'static str {
    match index {
        "account_slug" => "Another user has this slug; choose another.",
        "account_email" => "An account with this address already exists.",
        "organization_slug" => "Another organization has this slug; choose another.",
        "member_organization_id_account_id" => "This user is already a member of the organization.",
        "project_slug" => "Another project has this slug; choose another.",
        "project_organization_id_name" => {
            "The organization already has a project with this name; choose another."
        }
        "branch_project_id_name" => "The project already has a branch with this name; choose another.",
        "branch_project_id_slug" => "The project already has a branch with this slug; choose another.",
        "testbed_project_id_name" => "The project already has a testbed with this name; choose another.",
        "testbed_project_id_slug" => "The project already has a testbed with this slug; choose another.",
        "benchmark_project_id_name" => "The project already has a benchmark with this name; choose another.",
        "benchmark_project_id_slug" => "The project already has a benchmark with this slug; choose another.",
        "measure_project_id_name" => "The project already has a measure with this name; choose another.",
        "measure_project_id_slug" => "The project already has a measure with this slug; choose another.",
        "threshold_branch_id_testbed_id_measure_id" => {
            "A threshold for this branch, testbed and measure already exists; update it instead."
        }
        "project_member_project_id_account_id" => {
            "This user already has a role in the project; change the role instead."
        }
        "sso_domain" => "This domain already belongs to an organization; remove it there first.",
        "spec_slug" => "Another spec has this slug; choose another.",
        "runner_slug" => "Another runner has this slug; choose another.",
        "runner_spec_runner_id_spec_id" => "The runner already runs jobs with this spec.",
        store::IN_USE => {
            "Reports or thresholds still use this resource; delete them first, or archive the resource \
             instead."
        }
        _ => "A resource with this name already exists; choose another name.",
    }
}
