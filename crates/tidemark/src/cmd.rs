//! The commands, a file for each; `main.rs` has their table.

pub(crate) mod demo;
pub(crate) mod openapi;
pub(crate) mod parse;
pub(crate) mod restore;
pub(crate) mod run;
pub(crate) mod serve;
