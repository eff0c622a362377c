//! The runner: takes jobs from a server, runs their images with an OCI runtime on a machine tuned for low noise, and
//! measures them. The server interprets the results.
//!
//! Only the measurement of noise works on all systems; the rest requires Linux.

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
