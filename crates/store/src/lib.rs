//! All SQL statements of Tidemark, each written once and run on both engines. No HTTP, no status codes, no clock.
//!
//! Plain functions on a [`Tx`], one file per resource: `organization::find(tx, …)`. [`WriteContext`] provides the
//! time and the random bytes of a write.

pub mod alert;
pub mod archive;
pub mod audit;
pub mod badge;
pub mod benchmark;
pub mod bisection;
pub mod bisection_search;
pub mod blob;
pub mod branch;
pub mod change;
pub mod code_host;
mod columns;
pub mod commit;
pub mod confirmation;
mod db;
pub mod delivery;
pub mod detection;
pub mod dimension;
mod error;
pub mod event;
pub mod event_alert;
pub mod export;
pub mod feed;
pub mod head;
pub mod identity;
pub mod invitation;
pub mod job;
pub mod key;
pub mod lane;
pub mod manifest;
pub mod measure;
pub mod member;
pub mod metric;
mod migrate;
pub mod model;
pub mod mute;
pub mod notice;
pub mod oauth;
pub mod organization;
pub mod outbox;
pub mod pair;
pub mod perf;
pub mod plan;
pub mod plot;
mod postgres;
pub mod project;
pub mod project_key;
pub mod project_member;
pub mod pull;
pub mod quota;
pub mod rate_window;
pub mod report;
pub mod repository;
pub mod restore;
mod row;
pub mod runner;
pub mod series;
pub mod series_filter;
pub mod server;
pub mod session;
pub mod sign_in;
mod slug;
pub mod spec;
mod sql;
mod sqlite;
pub mod sso;
pub mod tag;
pub mod testbed;
pub mod threshold;
pub mod token;
mod tx;
pub mod unclaimed;
pub mod upload;
pub mod usage;
pub mod user;
mod value;
pub mod variant;
pub mod vector;
pub mod version;
mod write_context;

pub use columns::{FromRow, Insert, SqlType};
pub use db::{ConnectionLoad, Db, Location};
pub use dimension::Dimension;
pub use error::{Error, IN_USE, Result};
pub use row::{Cells, Row};
pub use tx::{List, Lock, Tx};
pub use value::{
    AlertId, BenchmarkId, BlobId, BranchId, EventId, HeadId, JobId, Kind, ManifestId, MeasureId, ModelId,
    MuteId, NoticeId, OrganizationId, Param, PlotId, ProjectId, ReportId, RepositoryId, RunnerId, SpecId,
    TestbedId, ThresholdId, UploadId, UserId, Value, VariantId, VersionId,
};
pub use write_context::{Entropy, WriteContext};
