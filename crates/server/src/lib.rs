//! The Tidemark server: the HTTP API over the store, and the work behind it.
//!
//! [`App`] holds what every request needs; [`http::router`] is the whole API. Nothing here opens a port: the binary
//! does that, and tests call the router directly.

mod app;
pub mod auth;
pub mod background;
mod backup;
mod blobs;
mod captcha;
mod channel;
pub mod clock;
pub mod config;
mod console;
mod export;
pub mod http;
mod identity;
pub mod ingest;
pub mod jobs;
mod license;
pub mod limits;
pub mod mail;
pub mod mcp;
mod metrics;
mod oci;
mod outgoing;
pub mod perf;
pub mod plot;
pub mod private;
pub mod quota;

pub use app::{App, Parts};
