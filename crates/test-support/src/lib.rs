//! A mock HTTP server for the tests of the other crates. `wiremock` does not fit: its API is asynchronous, most of these tests are
//! not, and the requests that it records cannot be drained.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::{
    net::TcpListener,
    sync::{Arc, Mutex},
    thread,
};

use axum::{
    Router,
    body::to_bytes,
    extract,
    http::{HeaderMap, Method, StatusCode, Uri},
    response::IntoResponse,
};
use serde_json::Value;
use tokio::runtime;

/// A request to a [`Stub`].
#[derive(Clone, Debug)]
pub struct Request {
    /// Method.
    pub method: Method,
    /// Path and query.
    pub uri: Uri,
    /// Headers.
    pub headers: HeaderMap,
    /// Body.
    pub text: String,
}

impl Request {
    /// Returns the method, the path and the query.
    pub fn line(&self) -> String {
        format!("{} {}", self.method, self.uri)
    }

    /// Returns the body as JSON; null if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }

    /// Reads a request; returns `None` if the client closes the connection before its end.
    async fn read(request: extract::Request) -> Option<Self> {
        let (head, body) = request.into_parts();
        let body = to_bytes(body, usize::MAX).await.ok()?;
        let text = String::from_utf8(body.into()).unwrap();
        Some(Self { method: head.method, uri: head.uri, headers: head.headers, text })
    }
}

/// A mock server that records its requests, in its own thread until the process ends.
pub struct Stub {
    /// Base URL.
    pub address: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Stub {
    /// Starts a server that calls `answer` for each request, one at a time.
    pub fn start<A: IntoResponse>(mut answer: impl FnMut(&Request) -> A + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::<Mutex<Vec<Request>>>::default();
        let recorded = Arc::clone(&requests);
        let respond = Arc::new(Mutex::new(move |request: Request| {
            let response = answer(&request).into_response();
            recorded.lock().unwrap().push(request);
            response
        }));
        let handler = async move |request| match Request::read(request).await {
            Some(request) => respond.lock().unwrap()(request),
            None => StatusCode::BAD_REQUEST.into_response(),
        };
        thread::spawn(move || {
            runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                axum::serve(listener, Router::new().fallback(handler)).await.unwrap();
            });
        });
        Self { address, requests }
    }

    /// Returns the number of requests since the last call of [`take_requests`](Self::take_requests).
    pub fn request_count(&self) -> usize {
        self.requests.lock().unwrap().len()
    }

    /// Returns the requests since the last call.
    pub fn take_requests(&self) -> Vec<Request> {
        std::mem::take(&mut self.requests.lock().unwrap())
    }
}
