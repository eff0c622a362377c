//! The Tidemark server: the HTTP API over the store, and its background work.
//!
//! Three layers, each of which imports only the layers below it: [`transport`] implements protocols, [`domain`] implements the
//! rules, [`infra`] provides services such as configuration, clock, mail and object storage.
//!
//! [`App`] contains the shared state of all requests; [`transport::router::router`] returns the whole API. This crate opens no
//! port: the binary does, and tests call the router directly.

pub mod domain;
pub mod infra;
pub mod transport;

pub use domain::app::{App, AppState};
