//! `tidemark openapi`: the OpenAPI description of the HTTP API, for the repository and for client generators.

use crate::failure::{self, Failure, Result};

/// Prints the OpenAPI document.
pub(crate) fn print() -> Result {
    let document = tidemark_server::transport::openapi::document()
        .to_pretty_json()
        .map_err(|error| Failure::new(format!("The description cannot be written as JSON ({error}).")))?;
    failure::print(&format!("{document}\n"))
}
