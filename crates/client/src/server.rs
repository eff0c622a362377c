//! The server itself.

use serde_json::Value;
use tidemark_api::{ApiVersion, Backup, BackupCreated, Console, ServerStats};

use crate::{Client, Error, Request};

/// Asks which version of the contract the server speaks. It is also the least that shows that a server is there.
pub fn version(client: &Client) -> Result<ApiVersion, Error> {
    client.send(&view_version())
}

/// The version of the contract that the server speaks.
pub fn view_version() -> Request<ApiVersion> {
    Request::get(&[&"server", &"version"])
}

/// The description of the API.
pub fn spec() -> Request<Value> {
    Request::get(&[&"server", &"spec"])
}

/// The configuration, its secrets masked.
pub fn config() -> Request<Value> {
    Request::get(&[&"server", &"config"])
}

/// Where the web console is.
pub fn console() -> Request<Console> {
    Request::get(&[&"server", &"config", &"console"])
}

/// What the server holds, in numbers.
pub fn stats() -> Request<ServerStats> {
    Request::get(&[&"server", &"stats"])
}

/// Makes a backup.
pub fn backup(backup: &Backup) -> Request<BackupCreated> {
    Request::post(&[&"server", &"backup"], backup)
}
