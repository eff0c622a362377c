//! The protocol of a path, which determines the format of its errors and its CORS headers.

use axum::{http::header, response::Response};
use serde_json::{Value, json};
use tidemark_api as api;
use uuid::Uuid;

use crate::transport::{http::error::Problem, mcp, oci};

/// Protocol of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    /// The API of Tidemark, and all paths outside of the other protocols.
    Api,
    /// The OCI distribution specification.
    Registry,
    /// The token endpoint of the registry. Its clients expect errors in the format of the API, of the registry or of OAuth 2.
    RegistryToken,
    /// MCP. Errors have the format of the API, unless the response already contains a JSON-RPC error.
    Mcp,
}

impl Protocol {
    /// Returns the protocol of a path.
    pub(super) fn of(path: &str) -> Self {
        match path {
            oci::TOKEN_PATH => Self::RegistryToken,
            mcp::PATH => Self::Mcp,
            path if oci::is_registry_path(path) => Self::Registry,
            _ => Self::Api,
        }
    }

    /// Whether the response already has an error body in the format of the protocol.
    pub(super) fn has_error_body(self, response: &Response) -> bool {
        let kind = response.headers().get(header::CONTENT_TYPE);
        match self {
            Self::Mcp => kind.is_some_and(|kind| kind == "application/json"),
            // The manual has a page for unknown paths.
            Self::Api => kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/html")),
            Self::Registry | Self::RegistryToken => false,
        }
    }

    /// Returns the body of an error.
    pub(super) fn error_body(self, id: Uuid, problem: &Problem) -> Value {
        let registry_body = oci::error_body(problem);
        if self == Self::Registry {
            return registry_body;
        }
        let mut body = json!(api::Error {
            request_id: id,
            message: problem.message.clone(),
            error_code: Some(problem.code.to_ascii_lowercase()),
        });
        if self == Self::RegistryToken {
            body["errors"] = registry_body["errors"].clone();
            body["error"] = json!(oci::oauth_code(problem.code));
            body["error_description"] = json!(problem.message);
        }
        body
    }

    /// Returns the request headers that CORS allows.
    pub(super) fn allowed_headers(self) -> &'static str {
        match self {
            Self::Api | Self::RegistryToken | Self::Registry => "Content-Type, Authorization",
            Self::Mcp => "Content-Type, Authorization, Mcp-Protocol-Version, Mcp-Method, Mcp-Name",
        }
    }

    /// Returns the response headers that CORS exposes.
    pub(super) fn exposed_headers(self) -> &'static str {
        match self {
            Self::Api | Self::RegistryToken | Self::Mcp => {
                "X-Total-Count, X-Perf-Truncated, X-Request-Id, X-Server-Version, ETag, Retry-After"
            }
            Self::Registry => {
                "Content-Range, Docker-Content-Digest, Docker-Upload-UUID, ETag, Link, Location, OCI-Chunk-Min-Length, \
                 OCI-Filters-Applied, OCI-Subject, Range, Retry-After, Warning, WWW-Authenticate, X-Request-Id"
            }
        }
    }
}
