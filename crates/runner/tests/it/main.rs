//! The runner with the real runtime of this machine. What this machine cannot do is said by name and left out.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod image;
mod layout;
mod sandbox;
