//! The router of the server: the routes of all protocols in the same middleware.

use axum::{Router, routing::get};

use super::{console, http::health, manual, mcp, middleware, oci, openapi};
use crate::domain::app::App;

/// Returns the router of the whole server.
pub fn router(app: App) -> Router {
    let routes = openapi::routes();
    let routes = if app.config.server.metrics_address.is_none() {
        routes.merge(health::metrics_route())
    } else {
        routes
    };
    let tools = mcp::routes(&app, middleware::wrap(app.clone(), routes.clone()));
    let manual = Router::new().route("/docs", get(manual::serve)).route("/docs/{*path}", get(manual::serve));
    let routes = routes.merge(health::routes()).merge(oci::routes()).merge(tools).merge(manual);
    middleware::wrap(app, routes.fallback(console::serve))
}

/// Returns a router with the metrics only, for a separate listen address.
pub fn metrics_router(app: App) -> Router {
    health::metrics_route().with_state(app)
}
