use std::{
    future::pending,
    io::{Read, Write},
    net::{Ipv4Addr, TcpStream},
    time::Duration,
};

use axum::routing::get;
use http_body_util::BodyExt;
use tempfile::TempDir;
use tower::ServiceExt;

use super::*;
use crate::{
    domain::error::Result,
    infra::config::{Config, Flags},
};

/// Returns the middleware around routes that fail in every way that a handler can fail.
async fn failing(folder: &TempDir) -> Router {
    let flags = Flags { data_dir: Some(folder.path().to_owned()), ..Flags::default() };
    let app = App::open(Config::load(None, [], &flags).unwrap()).await.unwrap();
    let routes = Router::new()
        .route("/", get(|| async { "fine" }))
        .route(
            "/panic",
            get(|| async {
                if true {
                    panic!("on purpose")
                }
            }),
        )
        .route("/panic/read", get(|State(app): State<App>| async move { app.db.read(panics).await }))
        .route("/panic/write", get(|State(app): State<App>| async move { app.db.write(panics).await }))
        .route("/stuck", get(pending::<()>))
        .route("/v0/server/backup", get(|| tokio::time::sleep(Duration::from_secs(3600))));
    wrap(app, routes)
}

fn panics(_: &mut tidemark_store::Tx<'_>) -> Result<()> {
    panic!("on purpose")
}

async fn call(router: &Router, path: &str) -> (StatusCode, HeaderMap, String) {
    let request = Request::builder().uri(path).body(Body::empty()).unwrap();
    let (parts, body) = router.clone().oneshot(request).await.unwrap().into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    (parts.status, parts.headers, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_request_that_takes_too_long_times_out() {
    let folder = tempfile::tempdir().unwrap();
    let router = failing(&folder).await;
    let (status, headers, body) = call(&router, "/stuck").await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(headers[header::RETRY_AFTER], "1");
    let error: api::Error = serde_json::from_str(&body).unwrap();
    assert_eq!(headers[X_REQUEST_ID], error.request_id.to_string());
    assert_eq!(error.error_code.as_deref(), Some("busy"));
    // The duration of a backup depends on the size of the database.
    assert_eq!(call(&router, "/v0/server/backup").await.0, StatusCode::OK);
}

#[tokio::test]
async fn a_panic_costs_one_answer() {
    let folder = tempfile::tempdir().unwrap();
    let router = failing(&folder).await;
    for path in ["/panic", "/panic/read", "/panic/write", "/panic", "/panic/read", "/panic/write"] {
        let (status, headers, body) = call(&router, path).await;
        assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
        let error: api::Error = serde_json::from_str(&body).unwrap();
        assert_eq!(headers[X_REQUEST_ID], error.request_id.to_string());
        assert_eq!(error.error_code.as_deref(), Some("internal"));
        assert!(!error.message.contains("on purpose"));
    }
}

#[tokio::test]
async fn a_panic_leaves_the_connection_open() {
    let folder = tempfile::tempdir().unwrap();
    let router = failing(&folder).await;
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(axum::serve(listener, router).into_future());
    let client = tokio::task::spawn_blocking(move || {
        let mut connection = TcpStream::connect(address).unwrap();
        connection.write_all(b"GET /panic HTTP/1.1\r\nhost: test\r\n\r\n").unwrap();
        connection.write_all(b"GET / HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n").unwrap();
        let mut answers = String::new();
        connection.read_to_string(&mut answers).unwrap();
        answers
    });
    let answers = client.await.unwrap();
    assert!(answers.starts_with("HTTP/1.1 500 "), "{answers}");
    assert!(answers.contains("HTTP/1.1 200 ") && answers.ends_with("fine"), "{answers}");
    server.abort();
}

#[test]
fn a_path_is_valid_or_rejected() {
    for path in ["/", "/v0/a%20b", "/v0/%C3%A4", "/v0/...", "/v0/%2e"] {
        assert!(is_valid_path(path), "{path}");
    }
    for path in ["/v0/%", "/v0/%4", "/v0/%zz", "/v0/%ff", "/v0/..", "/./v0"] {
        assert!(!is_valid_path(path), "{path}");
    }
}

#[test]
fn the_client_is_the_rightmost_untrusted_address() {
    let trusted: Vec<IpNet> = vec!["10.0.0.0/8".parse().unwrap()];
    let ip = |text: &str| text.parse::<IpAddr>().unwrap();
    let client = |peer: &str, forwarded: &str| {
        let mut headers = HeaderMap::new();
        headers.insert("x-forwarded-for", forwarded.parse().unwrap());
        client_address(Some(ip(peer)), &headers, &trusted)
    };
    assert_eq!(client("192.0.2.1", "198.51.100.7"), Some(ip("192.0.2.1")));
    assert_eq!(client("10.0.0.1", "203.0.113.9, 198.51.100.7"), Some(ip("198.51.100.7")));
    assert_eq!(client("10.0.0.1", "198.51.100.7, 10.1.2.3"), Some(ip("198.51.100.7")));
    assert_eq!(client("10.0.0.1", "198.51.100.7, nonsense"), Some(ip("10.0.0.1")));
}

#[test]
fn empty_segments_are_dropped() {
    let normalized = |uri: &'static str| normalize_path(&Uri::from_static(uri)).map(|uri| uri.to_string());
    assert_eq!(normalized("//v0///server/version/?a=b").as_deref(), Some("/v0/server/version?a=b"));
    assert_eq!(normalized("/v0/server/version"), None);
    assert_eq!(normalized("//").as_deref(), Some("/"));
}
