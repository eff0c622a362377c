//! Tests of the binary: real processes on real ports. The server crate tests the responses of the API.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod ab;
mod action;
mod admin;
mod backup;
mod bisect;
mod check;
mod ci;
mod client;
mod code_host;
mod compare;
mod completions;
mod confirm;
mod confirmation;
mod connection;
mod context;
mod crash;
mod database;
mod demo;
mod desk;
mod errors;
mod export;
mod full_disk;
mod import;
mod init;
mod interrupt;
mod job;
mod local;
mod login;
mod manifest;
mod mcp;
mod mock;
mod mute;
mod noise;
mod notice;
mod parse;
mod process;
mod project;
mod proxy;
mod push;
mod refused_database;
mod registry;
mod report;
mod resource;
mod rolling;
mod run;
mod runner;
mod serve;
#[cfg(target_os = "linux")]
mod siege;
mod stdio;
mod storm;
#[cfg(target_os = "linux")]
mod up;
mod version;
