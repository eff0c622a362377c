//! Endpoints for monitoring: liveness, readiness and metrics.

use axum::{
    Router,
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
    routing::get,
};
use tidemark_store::{outbox, server};

use super::error::Result;
use crate::domain::app::App;

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/healthz", get(alive)).route("/readyz", get(ready))
}

pub(crate) fn metrics_route() -> Router<App> {
    Router::new().route("/metrics", get(metrics))
}

/// Liveness: the process responds.
async fn alive() -> &'static str {
    "ok\n"
}

/// Readiness: the database responds. The query reads a row, because the engines can answer some queries without reading the
/// database.
async fn ready(State(app): State<App>) -> Result<&'static str> {
    app.db.read(server::view).await?;
    Ok("ready\n")
}

async fn metrics(State(app): State<App>) -> Result<Response> {
    let depth = app.db.read(outbox::depth).await?;
    let page = app.metrics.render(app.db.load(), app.db.statements(), depth);
    let kind = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
    Ok(([(header::CONTENT_TYPE, kind)], page).into_response())
}
