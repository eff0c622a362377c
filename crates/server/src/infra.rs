//! Services that the domain uses: configuration, clock, mail, object storage, limits, metrics, outgoing requests,
//! code hosts, parallel computation.

pub mod backup_store;
pub(crate) mod blobs;
pub mod clock;
pub(crate) mod code_host;
pub mod config;
pub mod file_mode;
pub mod limits;
pub mod mail;
pub(crate) mod metrics;
pub(crate) mod outgoing;
pub(crate) mod parallel;
pub(crate) mod partial_file;
