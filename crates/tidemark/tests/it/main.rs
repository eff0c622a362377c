//! The binary from outside: real processes on real ports. What the API answers is tested in the server crate.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod backup;
mod client;
mod context;
mod crash;
mod database;
mod demo;
mod full_disk;
mod parse;
mod process;
mod report;
mod run;
mod serve;
mod storm;
