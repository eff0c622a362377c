//! Errors of the registry: the error codes of the specification, and their only conversion to responses. All other errors are
//! errors of the server.

use axum::{
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};
use tidemark_store as store;

use super::{access::Challenge, upload::Progress};
use crate::{domain::error::Error as DomainError, infra::blobs::BlobError, transport::http::error::Problem};

/// OAuth 2 error code for an unsupported grant type.
const GRANT_TYPE: &str = "unsupported_grant_type";

/// Result type of the registry.
pub(super) type Result<T, E = Error> = std::result::Result<T, E>;

/// Error of a request. The messages are for users: what, why, and what to do.
#[derive(Debug)]
pub(super) enum Error {
    /// The path does not exist below `/v2`.
    NoRoute,
    /// The path does not support the method.
    Method(&'static str),
    /// The repository does not have this blob.
    BlobUnknown,
    /// A manifest of the repository refers to the blob.
    BlobInUse,
    /// The upload is invalid.
    UploadInvalid(String),
    /// The client sends too slowly.
    TooSlow,
    /// The upload does not exist.
    UploadUnknown,
    /// The chunk does not continue the upload.
    OutOfOrder(Progress),
    /// The requested range is outside of the blob, which has this size.
    RangeInvalid(u64),
    /// The digest is malformed, or does not match the content.
    DigestInvalid(String),
    /// The manifest is invalid.
    ManifestInvalid(String),
    /// The manifest refers to content that the repository does not have.
    ManifestBlobUnknown(String),
    /// The repository does not have this manifest.
    ManifestUnknown,
    /// The name of the repository is invalid.
    NameInvalid(String),
    /// The repository does not exist, or the caller may not view it.
    NameUnknown,
    /// The tag is invalid.
    TagInvalid,
    /// The page size is invalid.
    PageInvalid,
    /// The grant type is not supported.
    GrantType,
    /// The content exceeds a size limit.
    TooLarge(String),
    /// A token is required, or the token does not grant the action.
    Unauthorized(Challenge),
    /// The caller is authenticated and has no right to the action.
    Denied(String),
    /// An error that can occur on every route of the server.
    Other(DomainError),
}

impl Error {
    fn status(&self) -> (StatusCode, &'static str) {
        match self {
            Self::NoRoute => (StatusCode::NOT_FOUND, "UNSUPPORTED"),
            Self::Method(_) | Self::BlobInUse => (StatusCode::METHOD_NOT_ALLOWED, "UNSUPPORTED"),
            Self::BlobUnknown => (StatusCode::NOT_FOUND, "BLOB_UNKNOWN"),
            Self::UploadInvalid(_) => (StatusCode::BAD_REQUEST, "BLOB_UPLOAD_INVALID"),
            Self::TooSlow => (StatusCode::REQUEST_TIMEOUT, "BLOB_UPLOAD_INVALID"),
            Self::UploadUnknown => (StatusCode::NOT_FOUND, "BLOB_UPLOAD_UNKNOWN"),
            Self::OutOfOrder(_) => (StatusCode::RANGE_NOT_SATISFIABLE, "BLOB_UPLOAD_INVALID"),
            Self::RangeInvalid(_) => (StatusCode::RANGE_NOT_SATISFIABLE, "RANGE_INVALID"),
            Self::DigestInvalid(_) => (StatusCode::BAD_REQUEST, "DIGEST_INVALID"),
            Self::ManifestInvalid(_) => (StatusCode::BAD_REQUEST, "MANIFEST_INVALID"),
            Self::ManifestBlobUnknown(_) => (StatusCode::BAD_REQUEST, "MANIFEST_BLOB_UNKNOWN"),
            Self::ManifestUnknown => (StatusCode::NOT_FOUND, "MANIFEST_UNKNOWN"),
            Self::NameInvalid(_) => (StatusCode::BAD_REQUEST, "NAME_INVALID"),
            Self::NameUnknown => (StatusCode::NOT_FOUND, "NAME_UNKNOWN"),
            Self::TagInvalid => (StatusCode::BAD_REQUEST, "TAG_INVALID"),
            Self::PageInvalid => (StatusCode::BAD_REQUEST, "PAGINATION_NUMBER_INVALID"),
            Self::GrantType => (StatusCode::BAD_REQUEST, GRANT_TYPE),
            Self::TooLarge(_) => (StatusCode::PAYLOAD_TOO_LARGE, "SIZE_INVALID"),
            Self::Unauthorized(_) => (StatusCode::UNAUTHORIZED, "UNAUTHORIZED"),
            Self::Denied(_) | Self::Other(_) => (StatusCode::FORBIDDEN, "DENIED"),
        }
    }

    fn message(&self) -> String {
        match self {
            Self::UploadInvalid(message)
            | Self::DigestInvalid(message)
            | Self::ManifestInvalid(message)
            | Self::ManifestBlobUnknown(message)
            | Self::NameInvalid(message)
            | Self::TooLarge(message)
            | Self::Denied(message) => message.clone(),
            Self::NoRoute => {
                "The registry has no endpoint at this path; see the OCI distribution specification.".into()
            }
            Self::Method(_) => {
                "This path does not support the method; the Allow header lists the supported methods.".into()
            }
            Self::BlobUnknown => "The repository does not have this blob.".into(),
            Self::BlobInUse => {
                "A manifest of the repository needs this blob; delete the manifest first.".into()
            }
            Self::TooSlow => super::minimum_rate::too_slow_message(),
            Self::UploadUnknown => {
                "The upload does not exist: it was finished, was canceled or has expired; start a new \
                 upload."
                    .into()
            }
            Self::OutOfOrder(_) => {
                "The chunk does not start at the end of the previous chunk; continue at the offset in the \
                 Range header."
                    .into()
            }
            Self::RangeInvalid(_) => {
                "The requested range is outside the blob; the Content-Range header contains the size of the \
                 blob."
                    .into()
            }
            Self::ManifestUnknown => "The repository does not have this manifest.".into(),
            Self::NameUnknown => {
                "The repository does not exist, or you do not have permission to view it.".into()
            }
            Self::TagInvalid => {
                "A tag has 1 to 128 letters, digits, underscores, dots and dashes, and must not start with a \
                 dot or a dash."
                    .into()
            }
            Self::PageInvalid => "`n` must be a non-negative integer.".into(),
            Self::GrantType => "The only supported `grant_type` is password.".into(),
            Self::Unauthorized(challenge) => challenge.message().into(),
            Self::Other(_) => String::new(),
        }
    }

    fn headers(&self, headers: &mut HeaderMap) {
        match self {
            Self::Method(allowed) => {
                headers.insert(header::ALLOW, HeaderValue::from_static(allowed));
            }
            Self::BlobInUse => {
                headers.insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
            }
            Self::OutOfOrder(progress) => progress.set_headers(headers),
            Self::TooSlow => {
                headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            Self::RangeInvalid(size) => {
                insert(headers, header::CONTENT_RANGE, &format!("bytes */{size}"));
            }
            Self::Unauthorized(challenge) => {
                insert(headers, header::WWW_AUTHENTICATE, &challenge.to_string());
            }
            _ => {}
        }
    }
}

/// Adds a header with a value that is known to be valid.
pub(super) fn insert(headers: &mut HeaderMap, name: header::HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        if let Self::Other(error) = self {
            return error.into_response();
        }
        let (status, code) = self.status();
        let mut response = status.into_response();
        self.headers(response.headers_mut());
        response.extensions_mut().insert(Problem { code, message: self.message() });
        response
    }
}

impl From<DomainError> for Error {
    fn from(error: DomainError) -> Self {
        match error {
            DomainError::Forbidden(message) => Self::Denied(message),
            error => Self::Other(error),
        }
    }
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        Self::Other(error.into())
    }
}

impl From<crate::infra::limits::Error> for Error {
    fn from(error: crate::infra::limits::Error) -> Self {
        Self::Other(error.into())
    }
}

impl From<BlobError> for Error {
    fn from(failure: BlobError) -> Self {
        Self::Other(failure.into())
    }
}

/// Whether a path belongs to the registry, so that its errors have the format of the specification.
pub(crate) fn is_registry_path(path: &str) -> bool {
    path == "/v2" || path.starts_with("/v2/")
}

/// Returns an error in the format of the specification.
pub(crate) fn error_body(problem: &Problem) -> Value {
    let Problem { code, message } = problem;
    json!({ "errors": [{ "code": specified_code(code), "message": message }] })
}

/// Converts an error code of the server to a code of the specification.
fn specified_code(code: &'static str) -> &'static str {
    match code {
        "unauthorized" => "UNAUTHORIZED",
        "forbidden" => "DENIED",
        "not_found" | "invalid" => "NAME_INVALID",
        GRANT_TYPE | "method_not_allowed" | "unsupported_media_type" | "unavailable" => "UNSUPPORTED",
        "too_large" => "SIZE_INVALID",
        "rate_limited" => "TOOMANYREQUESTS",
        "conflict" | "busy" | "disk_full" | "internal" => "UNKNOWN",
        code => code,
    }
}

/// Returns the OAuth 2 error code of a failed token request.
pub(crate) fn oauth_code(code: &str) -> &'static str {
    match code {
        GRANT_TYPE => GRANT_TYPE,
        "UNAUTHORIZED" => "invalid_client",
        "rate_limited" | "busy" => "temporarily_unavailable",
        "disk_full" | "internal" => "server_error",
        _ => "invalid_request",
    }
}
