//! The HTTP API: one file per resource.

pub mod access;
mod alert;
pub mod answer;
mod audit;
mod auth;
mod backtest;
mod badge;
mod benchmark;
mod bisection;
pub(crate) mod body;
mod branch;
mod change;
mod checkout;
mod code_host;
mod conditional;
mod delivery;
mod detection;
pub mod error;
mod event;
mod export;
mod feed;
pub(crate) mod health;
mod image;
mod invitation;
mod job;
mod key;
mod measure;
mod member;
mod metric;
mod mute;
mod notice;
mod oauth;
mod organization;
pub mod origin;
mod perf;
mod plan;
mod plot;
mod project;
pub(crate) mod project_creation;
mod project_key;
mod project_member;
mod pull;
mod report;
mod run;
mod runner;
mod series_filter;
mod server;
mod session;
mod sign_in_completion;
mod spec;
mod sso;
mod stream;
mod testbed;
mod threshold;
mod token;
mod usage;
mod user;
mod user_notice;
mod verdict;

use utoipa_axum::{router::OpenApiRouter, routes};

use crate::domain::app::App;

/// Returns the operations of the resources.
pub(crate) fn operations() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(server::root, server::receive_at_root))
        .routes(routes!(server::version))
        .routes(routes!(server::config))
        .routes(routes!(server::console))
        .routes(routes!(server::setup))
        .routes(routes!(server::stats, server::receive))
        .routes(routes!(server::seen))
        .routes(routes!(server::backup))
        .routes(routes!(audit::of_server))
        .routes(routes!(auth::signup))
        .routes(routes!(auth::login))
        .routes(routes!(auth::confirm))
        .routes(routes!(auth::accept))
        .routes(routes!(invitation::of_token))
        .routes(routes!(auth::caller))
        .routes(routes!(oauth::start_github, oauth::end_github))
        .routes(routes!(oauth::start_google, oauth::end_google))
        .routes(routes!(oauth::start_openid, oauth::end_openid))
        .routes(routes!(session::view, session::open, session::end))
        .routes(routes!(session::list))
        .routes(routes!(session::end_one))
        .routes(routes!(organization::list, organization::create))
        .routes(routes!(organization::view, organization::update, organization::delete))
        .routes(routes!(organization::allowed))
        .routes(routes!(organization::claim))
        .routes(routes!(audit::of_organization))
        .routes(routes!(usage::view))
        .routes(routes!(plan::view, plan::create, plan::update, plan::delete))
        .routes(routes!(plan::receive_event))
        .routes(routes!(checkout::create))
        .routes(routes!(member::list, member::invite))
        .routes(routes!(member::view, member::update, member::remove))
        .routes(routes!(sso::list, sso::create))
        .routes(routes!(sso::view, sso::delete))
        .routes(routes!(invitation::list))
        .routes(routes!(invitation::view, invitation::revoke))
        .routes(routes!(invitation::link))
        .routes(routes!(project::list_of_organization, project::create))
        .routes(routes!(project::list))
        .routes(routes!(project::view, project::update, project::delete))
        .routes(routes!(project::allowed))
        .routes(routes!(project_key::list, project_key::create))
        .routes(routes!(project_key::view, project_key::update, project_key::revoke))
        .routes(routes!(mute::list, mute::create))
        .routes(routes!(mute::view, mute::delete))
        .routes(routes!(notice::list, notice::create))
        .routes(routes!(notice::view, notice::update, notice::delete))
        .routes(routes!(notice::test))
        .routes(routes!(code_host::view, code_host::put, code_host::delete))
        .routes(routes!(code_host::receive))
        .routes(routes!(delivery::list))
        .routes(routes!(delivery::view, delivery::repeat))
        .routes(routes!(project_member::list, project_member::add))
        .routes(routes!(project_member::view, project_member::update, project_member::remove))
        .routes(routes!(branch::list, branch::create))
        .routes(routes!(branch::view, branch::update, branch::delete))
        .routes(routes!(testbed::list, testbed::create))
        .routes(routes!(testbed::view, testbed::update, testbed::delete))
        .routes(routes!(benchmark::list, benchmark::create))
        .routes(routes!(benchmark::view, benchmark::update, benchmark::delete))
        .routes(routes!(measure::list, measure::create))
        .routes(routes!(measure::view, measure::update, measure::delete))
        .routes(routes!(threshold::list, threshold::create))
        .routes(routes!(threshold::view, threshold::put, threshold::delete))
        .routes(routes!(threshold::models))
        .routes(routes!(pull::list))
        .routes(routes!(report::list, report::create))
        .routes(routes!(report::view, report::delete))
        .routes(routes!(alert::list, alert::update_many))
        .routes(routes!(alert::view, alert::update))
        .routes(routes!(change::list))
        .routes(routes!(event::list))
        .routes(routes!(event::view, event::update))
        .routes(routes!(bisection::create))
        .routes(routes!(bisection::search))
        .routes(routes!(detection::view, detection::update))
        .routes(routes!(backtest::create))
        .routes(routes!(verdict::view))
        .routes(routes!(change::view))
        .routes(routes!(metric::view))
        .routes(routes!(perf::query))
        .routes(routes!(export::metrics))
        .routes(routes!(badge::view))
        .routes(routes!(feed::view))
        .routes(routes!(image::of_query))
        .routes(routes!(image::of_plot))
        .routes(routes!(run::create))
        .routes(routes!(job::list))
        .routes(routes!(job::view, job::cancel))
        .routes(routes!(plot::list, plot::create))
        .routes(routes!(plot::view, plot::update, plot::delete))
        .routes(routes!(user::list))
        .routes(routes!(user::view, user::update))
        .routes(routes!(key::list, key::create))
        .routes(routes!(key::view, key::update, key::revoke))
        .routes(routes!(user_notice::list, user_notice::create))
        .routes(routes!(user_notice::view, user_notice::update, user_notice::delete))
        .routes(routes!(user_notice::test))
        .routes(routes!(user_notice::deliveries))
        .routes(routes!(user_notice::delivery, user_notice::repeat))
        .routes(routes!(token::list, token::create))
        .routes(routes!(token::view, token::update, token::revoke))
        .routes(routes!(spec::list, spec::create))
        .routes(routes!(spec::view, spec::update, spec::delete))
        .routes(routes!(runner::list, runner::create))
        .routes(routes!(runner::view, runner::update))
        .routes(routes!(runner::renew_key))
        .routes(routes!(runner::specs, runner::add_spec))
        .routes(routes!(runner::remove_spec))
}
