//! The Tidemark server: the HTTP API over the store, and its background work.
//!
//! Three layers, each of which imports only the ones below it: [`transport`] speaks protocols, [`domain`] holds the rules,
//! [`infra`] provides services such as configuration, clock, mail and object storage.
//!
//! [`App`] holds what every request needs; [`transport::http::router`] is the whole API. Nothing here opens a port: the binary
//! does that, and tests call the router directly.

pub mod domain;
pub mod infra;
pub mod transport;

pub use domain::app::{App, Parts};
