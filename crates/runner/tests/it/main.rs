//! Tests the runner with the real OCI runtime of this machine. Prints the name of each test that this machine cannot
//! run, and skips it.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod image;
mod layout;
mod sandbox;
