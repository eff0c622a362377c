//! The runner: takes jobs from a server, runs their images under an OCI runtime on a machine that is made quiet, and
//! measures them. What the results mean is up to the server.
//!
//! Only the measure of noise works everywhere; the rest is for Linux.

#[cfg(target_os = "linux")]
pub mod channel;
#[cfg(target_os = "linux")]
mod error;
#[cfg(target_os = "linux")]
pub mod host;
#[cfg(target_os = "linux")]
pub mod image;
#[cfg(target_os = "linux")]
pub mod measure;
pub mod noise;
#[cfg(target_os = "linux")]
pub mod probe;
#[cfg(target_os = "linux")]
mod remove;
#[cfg(target_os = "linux")]
pub mod sandbox;
#[cfg(target_os = "linux")]
pub mod tune;

#[cfg(target_os = "linux")]
pub use error::{Error, Result};
#[cfg(target_os = "linux")]
pub use host::Host;
