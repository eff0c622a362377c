//! Body of error responses. The server chooses the status code.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// Body of every 4xx and 5xx response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Error {
    /// Identifier of the request in the server's log.
    pub request_id: Uuid,
    /// Human-readable message: what is wrong and what to do.
    pub message: String,
    /// Stable error code for programs, for example `not_found`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    pub error_code: Option<String>,
}
