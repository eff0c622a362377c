//! The tests of the server: each sends HTTP requests to the whole app, in process, on both engines, and every
//! response is validated against the description of the API.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod accept;
mod access;
mod alert;
mod audit;
mod auth;
mod backtest;
mod badge;
mod benchmark;
mod billing;
mod bisection;
mod bisection_search;
mod branch;
mod budget;
mod callback;
mod caller;
mod captcha;
mod change;
mod channel;
mod code_host;
mod concurrency;
mod confirmation;
mod confirmation_decision;
mod contract;
mod database;
mod detection;
mod dimension;
mod early_answer;
mod ensure;
mod event;
mod event_alert;
mod export;
mod feed;
mod fixture;
mod garbage;
mod history;
mod host;
mod hostile_archive;
mod invitation;
mod job;
mod key;
mod lab;
mod license;
mod limits;
mod log;
mod mail;
mod manual;
mod mcp;
mod measure;
mod member;
mod message;
mod middleware;
mod migration;
mod mute;
mod notice;
mod notice_filter;
mod notice_test;
mod oauth;
mod openid;
mod organization;
mod outbox;
mod output;
mod patience;
mod perf;
mod permit;
mod plot;
mod project;
mod project_key;
mod project_member;
mod project_transfer;
mod query_plan;
mod quota;
mod registry;
mod report;
mod report_list;
mod retention;
mod rights;
mod run;
mod runner;
mod scheduled_backup;
mod server;
mod server_routes;
mod session;
mod spec;
mod sso;
mod statements;
mod stream;
mod testbed;
mod threshold;
mod token;
mod unclaimed;
mod used_database;
mod user;
mod user_notice;
mod verdict;

pub(crate) use lab::Lab;
pub(crate) use patience::{PATIENCE, until};
pub(crate) use server::{Answer, Engine, Person, TestServer};

/// Defines a test that runs on SQLite and on PostgreSQL, with the default settings or with `TestServer = "…"`.
macro_rules! both {
    ($($(#[$meta:meta])* async fn $name:ident($server:ident: TestServer $(= $settings:expr)?) $body:block)*) => {$(
        mod $name {
            use super::*;

            const SETTINGS: &[&str] = &[$($settings)?];

            $(#[$meta])*
            async fn run($server: $crate::TestServer) $body

            #[test]
            fn sqlite() {
                $crate::server::run_test($crate::Engine::Sqlite, &SETTINGS.concat(), run);
            }

            #[test]
            fn postgres() {
                $crate::server::run_test($crate::Engine::Postgres, &SETTINGS.concat(), run);
            }
        }
    )*};
}
pub(crate) use both;
