//! The body of every failure. Which status goes with it is the server's to say.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// What every 4xx and 5xx answer says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Error {
    /// Identifies the request in the server's log.
    pub request_id: Uuid,
    /// One sentence for people: what was wrong and what to do.
    pub message: String,
    /// A stable word for programs, such as `not_found`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    pub error_code: Option<String>,
}
