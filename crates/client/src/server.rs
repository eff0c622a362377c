//! Requests about the server.

use serde_json::Value;
use tidemark_api::{ApiVersion, Backup, BackupCreated, Console, ServerStats};

use crate::{Client, Error, Request};

/// Returns the API version of the server. This is the cheapest check that the server is reachable.
pub fn version(client: &Client) -> Result<ApiVersion, Error> {
    client.send(&view_version())
}

/// Views the API version of the server.
pub fn view_version() -> Request<ApiVersion> {
    Request::get(&[&"server", &"version"])
}

/// Views the OpenAPI description.
pub fn spec() -> Request<Value> {
    Request::get(&[&"server", &"spec"])
}

/// Views the configuration, with masked secrets.
pub fn config() -> Request<Value> {
    Request::get(&[&"server", &"config"])
}

/// Views the address of the web console.
pub fn console() -> Request<Console> {
    Request::get(&[&"server", &"config", &"console"])
}

/// Views the statistics of the server.
pub fn stats() -> Request<ServerStats> {
    Request::get(&[&"server", &"stats"])
}

/// Creates a backup.
pub fn backup(backup: &Backup) -> Request<BackupCreated> {
    Request::post(&[&"server", &"backup"], backup)
}
