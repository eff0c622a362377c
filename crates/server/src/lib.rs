//! The Tidemark server: the HTTP API over the store, and the work behind it.
//!
//! [`App`] holds what every request needs; [`http::router`] is the whole API. Nothing here opens a port: the binary
//! does that, and tests call the router directly.

mod app;
pub mod auth;
pub mod background;
mod backtest;
mod backup;
mod billing;
mod blobs;
mod captcha;
pub mod changes;
mod channel;
pub mod clock;
pub mod config;
pub mod connection;
mod console;
mod export;
mod feed;
pub mod http;
mod identity;
pub mod ingest;
pub mod jobs;
mod license;
pub mod limits;
pub mod mail;
pub mod mcp;
mod metrics;
mod notice;
mod oci;
mod outgoing;
pub mod perf;
mod plan;
pub mod plot;
pub mod private;
pub mod quota;
mod retention;
mod verdict;

pub use app::{App, Parts};
