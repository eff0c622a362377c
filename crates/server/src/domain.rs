//! Rules of the product: what a request means, independent of the transport protocol.

pub mod administrator;
pub(crate) mod app;
pub mod auth;
pub mod background;
pub(crate) mod backtest;
pub mod backup;
pub(crate) mod billing;
pub(crate) mod captcha;
pub mod changes;
pub(crate) mod confirmation;
pub mod error;
pub(crate) mod export;
pub(crate) mod feed;
pub(crate) mod housekeeping;
pub(crate) mod identity;
pub mod ingest;
pub mod jobs;
pub(crate) mod license;
pub(crate) mod mute;
pub(crate) mod notice;
pub mod perf;
pub(crate) mod plan;
pub mod plot;
pub mod quota;
pub(crate) mod retention;
pub(crate) mod verdict;
