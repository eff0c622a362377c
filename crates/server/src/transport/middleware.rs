//! Middleware of every request: request ID, address of the client, one log line, one metrics sample, the headers of every
//! response, and the body of every error.

mod drain;
mod protocol;

use std::{
    any::Any,
    net::{IpAddr, SocketAddr},
    time::Instant,
};

use axum::{
    Json, Router,
    body::Body,
    extract::{ConnectInfo, DefaultBodyLimit, MatchedPath, Request, State},
    http::{Extensions, HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, Version, header},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
};
use ipnet::IpNet;
use tidemark_api as api;
use tower_http::{
    CompressionLevel,
    catch_panic::CatchPanicLayer,
    compression::{
        CompressionLayer,
        predicate::{DefaultPredicate, NotForContentType, Predicate},
    },
};
use tracing::Instrument;
use uuid::Uuid;

use self::{drain::drain_on_drop, protocol::Protocol};
use super::{
    http::{
        access::AcceptedCredentials,
        answer,
        error::{Error, Problem},
        origin::ClientAddress,
    },
    oci,
};
use crate::domain::{app::App, export::PARQUET};

const ALL_METHODS: &str = "GET, POST, PUT, PATCH, DELETE, OPTIONS";
const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const X_TOTAL_COUNT: HeaderName = HeaderName::from_static("x-total-count");

/// Wraps routes in the middleware.
pub(super) fn wrap(app: App, routes: Router<App>) -> Router {
    let routes = routes
        .method_not_allowed_fallback(|| async { Error::MethodNotAllowed })
        .layer(from_fn_with_state(app.clone(), handle_route))
        .layer(DefaultBodyLimit::max(app.config.server.request_body_max_bytes))
        .with_state(app.clone());
    // Clients check responses of the registry by digest and length, so the server must not compress them.
    let compressible = DefaultPredicate::new().and(NotForContentType::const_new(PARQUET)).and(
        |_: StatusCode, _: Version, headers: &HeaderMap, _: &Extensions| {
            !headers.contains_key(oci::API_VERSION)
        },
    );
    // All routes are the fallback of an outer router, so that its middleware runs before the path is matched.
    Router::new()
        .fallback_service(routes)
        .layer(CatchPanicLayer::custom(panic_response))
        .layer(from_fn_with_state(app, handle_request))
        .layer(CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(compressible))
}

/// Middleware before the path is matched.
async fn handle_request(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = new_request_id(&app);
    let method = request.method().clone();
    let protocol = Protocol::of(request.uri().path());
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip());
    let address = client_address(peer, request.headers(), &app.config.server.trusted_proxies);
    request.extensions_mut().insert(ClientAddress(address));
    // Existing clients send doubled and trailing slashes.
    if let Some(uri) = normalize_path(request.uri()) {
        *request.uri_mut() = uri;
    }

    let request = drain_on_drop(request);
    let span = tracing::info_span!("request", %id);
    let response = async {
        if !is_valid_path(request.uri().path()) {
            Error::Invalid("The path must be percent-encoded UTF-8 without the segments `.` and `..`.".into())
                .into_response()
        } else if peer.is_some() && !has_host(&request) {
            Error::Invalid("An HTTP/1.1 request has exactly one `Host` header.".into()).into_response()
        } else {
            next.run(request).await
        }
    };
    let mut response = response.instrument(span.clone()).await;
    if method == Method::OPTIONS && response.status() == StatusCode::METHOD_NOT_ALLOWED {
        response = preflight_response(&response);
    }
    write_error(id, &method, protocol, &mut response);
    set_headers(&app, id, &method, protocol, &mut response);

    let route = response.extensions().get::<RouteTemplate>().map_or("none", |route| route.0.as_str());
    let (status, elapsed) = (response.status().as_u16(), started.elapsed());
    app.metrics.observe(&method, route, status, elapsed);
    // Log the route template, not the path: a path or query can contain a token.
    tracing::info!(
        parent: &span,
        %method,
        route,
        status,
        elapsed_ms = elapsed.as_secs_f64() * 1000.0,
        address = address.map(tracing::field::display),
        "request completed"
    );
    response
}

/// Returns the response of a handler that panicked. The panic hook logs the message of the panic.
fn panic_response(_: Box<dyn Any + Send>) -> Response {
    Error::Internal("a handler panicked".into()).into_response()
}

/// Whether a request has exactly one `Host` header (RFC 9112, section 3.2). With two headers, a proxy might use the other one.
fn has_host(request: &Request) -> bool {
    let count = request.headers().get_all(header::HOST).iter().count();
    count == 1 || (count == 0 && request.version() != Version::HTTP_11)
}

/// The template of the matched route.
#[derive(Clone)]
struct RouteTemplate(String);

/// Routes without a timeout: their duration grows with the database or with an image.
const ROUTES_WITHOUT_TIMEOUT: [&str; 4] = [
    "/v0/server/backup",
    "/v0/projects/{project}/export",
    "/v0/runners/{runner}/jobs/{job}/output",
    oci::PATH,
];

/// Middleware after the path is matched: records the route for [`handle_request`], applies the request timeout, and adds the
/// accepted credentials to a 404 inside a project.
async fn handle_route(
    State(app): State<App>,
    path: Option<MatchedPath>,
    mut request: Request,
    next: Next,
) -> Response {
    let accepted = AcceptedCredentials::default();
    // The owner of a local database needs no credential.
    if !app.embedded {
        request.extensions_mut().insert(accepted.clone());
    }
    let answer = next.run(request);
    let mut response = if path.as_ref().is_some_and(|path| ROUTES_WITHOUT_TIMEOUT.contains(&path.as_str())) {
        answer.await
    } else {
        // `TimeoutLayer` of tower-http cannot exclude routes, and its response is a bare status without `Retry-After`.
        tokio::time::timeout(app.config.server.request_timeout(), answer)
            .await
            .unwrap_or_else(|_| Error::Busy(Some("the request timed out".into())).into_response())
    };
    if response.status() == StatusCode::NOT_FOUND
        && let Some(hint) = accepted.hint()
        && let Some(problem) = response.extensions_mut().get_mut::<Problem>()
    {
        problem.message = format!("{} {hint}", problem.message);
    }
    if let Some(path) = path {
        response.extensions_mut().insert(RouteTemplate(path.as_str().to_owned()));
    }
    response
}

/// Returns the response to a CORS preflight request.
///
/// `CorsLayer` of tower-http responds to every `OPTIONS` request with an empty body and with the same methods on all paths. The
/// contract requires the body `null`, the header `Allow`, and the methods of the path.
fn preflight_response(not_allowed: &Response) -> Response {
    let mut methods: Vec<_> = not_allowed
        .headers()
        .get_all(header::ALLOW)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .filter(|method| !method.is_empty())
        .collect();
    methods.push("OPTIONS");
    let methods = methods.join(", ");
    let mut response = Json(()).into_response();
    if let Ok(value) = HeaderValue::from_str(&methods) {
        response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_METHODS, value.clone());
        response.headers_mut().insert(header::ALLOW, value);
    }
    response
}

/// Writes the body of an error response.
fn write_error(id: Uuid, method: &Method, protocol: Protocol, response: &mut Response) {
    let status = response.status();
    if !is_error(status) || protocol.has_error_body(response) {
        return;
    }
    let problem = response.extensions_mut().remove::<Problem>().unwrap_or_else(|| default_problem(status));
    let body = serde_json::to_vec_pretty(&protocol.error_body(id, &problem)).expect("an error serializes");
    *response.body_mut() = if *method == Method::HEAD { Body::empty() } else { body.into() };
    response.headers_mut().remove(header::CONTENT_LENGTH);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
}

fn is_error(status: StatusCode) -> bool {
    status.is_client_error() || status.is_server_error()
}

/// Sets the headers of every response.
fn set_headers(app: &App, id: Uuid, method: &Method, protocol: Protocol, response: &mut Response) {
    let is_error = is_error(response.status());
    let total = (!is_error && protocol != Protocol::Registry).then(|| answer::total(response));
    let headers = response.headers_mut();
    if let Some(total) = total {
        headers.insert(X_TOTAL_COUNT, total);
    }
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers
        .insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(protocol.allowed_headers()));
    headers
        .insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(protocol.exposed_headers()));
    if protocol == Protocol::Registry {
        headers.insert(oci::API_VERSION, HeaderValue::from_static("registry/2.0"));
    }
    if !headers.contains_key(header::ACCESS_CONTROL_ALLOW_METHODS) {
        let methods = if is_error {
            HeaderValue::from_static(ALL_METHODS)
        } else {
            HeaderValue::from_str(method.as_str()).unwrap_or(HeaderValue::from_static(ALL_METHODS))
        };
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
    }
    headers.insert(api::SERVER_VERSION_HEADER, HeaderValue::from_static(env!("CARGO_PKG_VERSION")));
    if let Ok(id) = HeaderValue::from_str(&id.to_string()) {
        headers.insert(X_REQUEST_ID, id);
    }
    let mut default = |name: HeaderName, value: &'static str| {
        if !headers.contains_key(&name) {
            headers.insert(name, HeaderValue::from_static(value));
        }
    };
    default(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    default(header::REFERRER_POLICY, "no-referrer");
    default(header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'");
    default(header::CACHE_CONTROL, "no-store");
    if app.config.server.tls.is_some() {
        default(header::STRICT_TRANSPORT_SECURITY, "max-age=31536000");
    }
}

/// Returns the error for a response that no handler created.
fn default_problem(status: StatusCode) -> Problem {
    let error = match status {
        StatusCode::NOT_FOUND => {
            Error::NotFound("No endpoint matches this path; GET /v0/server/spec lists all endpoints.".into())
        }
        StatusCode::METHOD_NOT_ALLOWED => Error::MethodNotAllowed,
        StatusCode::PAYLOAD_TOO_LARGE => Error::TooLarge,
        StatusCode::UNSUPPORTED_MEDIA_TYPE => Error::UnsupportedMediaType,
        status if status.is_client_error() => Error::Invalid("The request could not be understood.".into()),
        _ => Error::Internal("a layer below the handlers failed".into()),
    };
    error.into_response().extensions_mut().remove().expect("every error carries its problem")
}

/// Returns a new request ID.
///
/// `SetRequestId` of tower-http keeps the ID that a client sends. The ID in the log and in the body of an error must be a UUID of
/// this server.
fn new_request_id(app: &App) -> Uuid {
    let mut bytes = [0; 16];
    app.entropy.fill(&mut bytes);
    uuid::Builder::from_random_bytes(bytes).into_uuid()
}

/// Returns the address of the peer. If the peer is a trusted proxy, returns the right-most address in `X-Forwarded-For` that is
/// not a trusted proxy.
fn client_address(peer: Option<IpAddr>, headers: &HeaderMap, trusted: &[IpNet]) -> Option<IpAddr> {
    let is_trusted = |address: &IpAddr| trusted.iter().any(|net| net.contains(&address.to_canonical()));
    let peer = peer?.to_canonical();
    if !is_trusted(&peer) {
        return Some(peer);
    }
    let forwarded = headers
        .get_all("x-forwarded-for")
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|entry| entry.trim().parse::<IpAddr>())
        .collect::<Vec<_>>();
    for entry in forwarded.into_iter().rev() {
        match entry {
            Ok(address) if is_trusted(&address) => {}
            Ok(address) => return Some(address.to_canonical()),
            // Entries to the left of an unreadable entry are not trusted.
            Err(_) => break,
        }
    }
    Some(peer)
}

/// Whether the path is percent-encoded UTF-8 without the segments `.` and `..`.
fn is_valid_path(path: &str) -> bool {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first == b'%' {
            let Some((code, after)) = after.split_at_checked(2) else { return false };
            let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
            let (Some(high), Some(low)) = (digit(code[0]), digit(code[1])) else { return false };
            bytes.push(high << 4 | low);
            rest = after;
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    std::str::from_utf8(&bytes).is_ok() && !path.split('/').any(|segment| matches!(segment, "." | ".."))
}

/// Returns the path without empty segments, or `None` if it has no empty segments.
///
/// `NormalizePath` of tower-http keeps empty segments inside the path (`/v0//server`).
fn normalize_path(uri: &Uri) -> Option<Uri> {
    let path = uri.path();
    if path == "/" || !(path.contains("//") || path.ends_with('/')) {
        return None;
    }
    let mut normalized = String::with_capacity(path.len());
    for segment in path.split('/').filter(|segment| !segment.is_empty()) {
        normalized.push('/');
        normalized.push_str(segment);
    }
    if normalized.is_empty() {
        normalized.push('/');
    }
    if let Some(query) = uri.query() {
        normalized.push('?');
        normalized.push_str(query);
    }
    normalized.parse().ok()
}

#[cfg(test)]
mod tests;
