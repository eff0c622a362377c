//! The server itself.

use tidemark_api::{ApiVersion, Console};

use crate::{Client, Error};

/// Asks which version of the contract the server speaks. It is also the least that shows that a server is there.
pub fn version(client: &Client) -> Result<ApiVersion, Error> {
    client.get("/v0/server/version")
}

/// Asks where the web console is.
pub fn console(client: &Client) -> Result<Console, Error> {
    client.get("/v0/server/config/console")
}
