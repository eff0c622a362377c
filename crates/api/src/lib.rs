//! The contract: ids, names, requests and answers of the HTTP API.
//!
//! Everything here is data and its rules. A value that exists is valid, because every newtype is parsed
//! where it enters. There is no I/O, no clock and no randomness in this crate.
//!
//! Rust names are plain (`Organization`); component names in the OpenAPI document are those of the public
//! contract (`JsonOrganization`).

mod number;
mod object;
mod patch;
mod scalar;

pub mod adapter;
pub mod alert;
pub mod audit;
pub mod auth;
pub mod benchmark;
pub mod branch;
pub mod channel;
pub mod error;
pub mod excerpt;
pub mod id;
pub mod invitation;
pub mod job;
pub mod job_event;
pub mod key;
pub mod license;
pub mod measure;
pub mod member;
pub mod metric;
pub mod name;
pub mod oauth;
pub mod organization;
pub mod page;
pub mod perf;
pub mod plot;
pub mod project;
pub mod project_key;
pub mod project_member;
pub mod report;
pub mod right;
pub mod run;
pub mod runner;
pub mod server;
mod shared;
pub mod slug;
pub mod spec;
pub mod sso;
pub mod telling;
pub mod testbed;
pub mod threshold;
pub mod time;
pub mod token;
pub mod unit;
pub mod usage;
pub mod user;
pub mod variant;

pub use adapter::*;
pub use alert::*;
pub use audit::*;
pub use auth::*;
pub use benchmark::*;
pub use branch::*;
pub use error::Error;
pub use id::*;
pub use invitation::*;
pub use job::*;
pub use job_event::*;
pub use key::*;
pub use license::*;
pub use measure::*;
pub use member::*;
pub use metric::*;
pub use name::*;
pub use oauth::*;
pub use organization::*;
pub use page::*;
pub use perf::*;
pub use plot::*;
pub use project::*;
pub use project_key::*;
pub use project_member::*;
pub use report::*;
pub use right::*;
pub use run::*;
pub use runner::*;
pub use scalar::{Invalid, Word};
pub use server::*;
pub use shared::Shared;
pub use slug::Slug;
pub use spec::*;
pub use sso::*;
pub use testbed::*;
pub use threshold::*;
pub use time::{Millis, Timestamp};
pub use token::*;
pub use unit::Unit;
pub use usage::*;
pub use user::*;
pub use variant::*;
