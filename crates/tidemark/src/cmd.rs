//! The commands, a file for each; `main.rs` has their table.

pub(crate) mod compare;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod mock;
pub(crate) mod noise;
pub(crate) mod openapi;
pub(crate) mod parse;
pub(crate) mod push;
pub(crate) mod restore;
pub(crate) mod run;
pub(crate) mod serve;
