//! Metrics for Prometheus: requests, latencies, connections, queues.

use std::{fmt, sync::atomic::AtomicU64, time::Duration};

use axum::http::Method;
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::Registry,
};
use tidemark_store::ConnectionLoad;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Request {
    method: String,
    route: String,
    status: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Route {
    method: String,
    route: String,
}

/// All metrics of one server.
pub struct Metrics {
    registry: Registry,
    requests: Family<Request, Counter>,
    latency: Family<Route, Histogram, fn() -> Histogram>,
    connections: Gauge,
    busy: Gauge,
    waiting: Gauge,
    outbox: Gauge,
    statements: Counter<u64, AtomicU64>,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("tidemark");
        let requests = Family::default();
        registry.register("http_requests", "Requests answered", requests.clone());
        let new_histogram: fn() -> Histogram = || Histogram::new(exponential_buckets(0.000_25, 2.0, 16));
        let latency = Family::new_with_constructor(new_histogram);
        registry.register(
            "http_request_duration_seconds",
            "Time until the response headers are sent",
            latency.clone(),
        );
        let gauge = |registry: &mut Registry, name: &str, help: &str| {
            let gauge = Gauge::default();
            registry.register(name, help, gauge.clone());
            gauge
        };
        let connections =
            gauge(&mut registry, "database_connections", "Maximum number of database connections");
        let busy = gauge(&mut registry, "database_connections_busy", "Database connections in use");
        let waiting = gauge(&mut registry, "database_waiting", "Calls waiting for the database");
        let outbox = gauge(&mut registry, "outbox_depth", "Pending outbox items");
        let statements = Counter::default();
        registry.register("database_statements", "SQL statements run", statements.clone());
        Self { registry, requests, latency, connections, busy, waiting, outbox, statements }
    }
}

impl Metrics {
    /// Counts one request. The label is the route template, not the path, and unknown methods share one label, so that the
    /// number of labels stays small.
    pub fn observe(&self, method: &Method, route: &str, status: u16, elapsed: Duration) {
        let known = matches!(
            *method,
            Method::GET
                | Method::HEAD
                | Method::POST
                | Method::PUT
                | Method::PATCH
                | Method::DELETE
                | Method::OPTIONS
        );
        let method = if known { method.as_str() } else { "other" };
        let (method, route) = (method.to_owned(), route.to_owned());
        self.latency
            .get_or_create(&Route { method: method.clone(), route: route.clone() })
            .observe(elapsed.as_secs_f64());
        self.requests.get_or_create(&Request { method, route, status }).inc();
    }

    /// Returns the metrics in the Prometheus text format.
    pub fn render(&self, load: ConnectionLoad, statements: u64, outbox: i64) -> String {
        let gauge = |gauge: &Gauge, value: usize| gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        gauge(&self.connections, load.connections);
        gauge(&self.busy, load.busy);
        gauge(&self.waiting, load.waiting);
        self.outbox.set(outbox);
        self.statements.inc_by(statements.saturating_sub(self.statements.get()));
        let mut page = String::new();
        encode(&mut page, &self.registry).expect("writing to a string cannot fail");
        page
    }
}
