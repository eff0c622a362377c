//! The MCP server for agents: `POST /mcp`, one message per request, without sessions. A tool is an operation of the API
//! (`tools.rs`), called through the same router with the credential of the caller (`call.rs`); the official SDK implements the
//! protocol (`handler.rs`). This file implements the HTTP part: authentication, rate limits, and the responses to requests that
//! are not valid messages.

mod answer;
mod call;
mod compare;
mod explain;
mod handler;
mod prompt;
mod resource;
mod schema;
mod summary;
mod tools;

use std::sync::Arc;

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use http_body_util::BodyExt;
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::never::NeverSessionManager,
};
use serde_json::{Value, json};

pub use self::tools::{TOOLS, Tool};
use self::{call::Cancellation, handler::Handler};
use crate::{
    domain::{
        app::App,
        auth::{
            caller::{Caller, Credential},
            cookie,
        },
        error::{Error, Result},
    },
    transport::http::{access, body::collect},
};

/// Path of the MCP server.
pub(crate) const PATH: &str = "/mcp";
/// Path of the metadata about authorization.
const METADATA: &str = "/.well-known/oauth-protected-resource";

type Service = StreamableHttpService<Handler, NeverSessionManager>;

/// Returns the routes of the MCP server. `operations` is the router that its tools call.
pub(crate) fn routes(app: &App, operations: Router) -> Router<App> {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        // The API accepts every host name, and authenticates callers by a credential that other sites cannot send.
        .disable_allowed_hosts()
        .with_max_request_body_bytes(app.config.server.request_body_max_bytes);
    let handler = Handler { operations, analyses: Arc::clone(&app.analyses), console: address(app, "") };
    let service = Service::new(move || Ok(handler.clone()), Arc::default(), config);
    Router::new()
        .route(PATH, post(move |State(app): State<App>, request: Request| receive(app, service, request)))
        .route(METADATA, get(metadata))
        // Some clients append the path of the resource to the path of the metadata.
        .route(&format!("{METADATA}{PATH}"), get(metadata))
}

/// Handles one message.
async fn receive(app: App, service: Service, request: Request) -> Result<Response> {
    let (mut parts, body) = request.into_parts();
    let mut whole = Request::new(body);
    *whole.extensions_mut() = parts.extensions.clone();
    let (bytes, _permits) = collect(&app, whole).await?;
    // Cookies are accepted only in requests of the console.
    if !cookie::is_from_console(&parts, &app.config) {
        parts.headers.remove(header::COOKIE);
    }
    let kind = MessageKind::of(&bytes);
    if kind != MessageKind::Call {
        access::count_request(&parts, &app, &Caller::Anonymous).await?;
    } else if let Some(refusal) = reject_invalid_credential(&app, &parts).await? {
        return Ok(refusal);
    }
    match kind {
        MessageKind::Call | MessageKind::Other => {}
        MessageKind::Response => return Ok(StatusCode::ACCEPTED.into_response()),
        MessageKind::Batch => {
            return Ok(error_response(StatusCode::OK, -32600, "Send one message per request."));
        }
        MessageKind::Invalid => {
            return Ok(error_response(StatusCode::OK, -32700, "The body is not a JSON-RPC 2.0 message."));
        }
    }
    Ok(respond(&service, parts, bytes).await)
}

/// Lets the SDK respond to a message. All work for the message ends with the returned future.
async fn respond(service: &Service, mut parts: Parts, bytes: Bytes) -> Response {
    let (_guard, cancellation) = Cancellation::new();
    parts.extensions.insert(cancellation);
    // All responses are JSON, so that clients do not have to send `Accept`.
    let accepted = HeaderValue::from_static("application/json, text/event-stream");
    parts.headers.insert(header::ACCEPT, accepted);
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    // The SDK requires a `Host` header, which callers inside the process do not send.
    parts.headers.entry(header::HOST).or_insert(HeaderValue::from_static("localhost"));
    let answer = service.handle(Request::from_parts(parts, Body::from(bytes))).await;
    let kind = answer.headers().get(header::CONTENT_TYPE);
    let (status, is_json) = (answer.status(), kind.is_some_and(|kind| kind == "application/json"));
    // Awaits the whole body: it is complete when the call is done, and dropping the guard earlier would cancel the call.
    let (head, body) = answer.into_parts();
    let Ok(body) = body.collect().await;
    let body = body.to_bytes();
    if status.is_success() || is_json {
        return Response::from_parts(head, Body::from(body));
    }
    // The SDK rejects some requests with plain text.
    error_response(status, -32600, &String::from_utf8_lossy(&body))
}

/// Type of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MessageKind {
    /// A tool call. The called operations count it for the rate limits.
    Call,
    /// Any other request or notification.
    Other,
    /// A response, although the server sends no requests.
    Response,
    Batch,
    Invalid,
}

impl MessageKind {
    fn of(bytes: &[u8]) -> Self {
        let message: Value = serde_json::from_slice(bytes).unwrap_or_default();
        if message.is_array() {
            return Self::Batch;
        }
        if message["jsonrpc"] != "2.0" {
            return Self::Invalid;
        }
        match message["method"].as_str() {
            Some("tools/call") => {
                let name = message["params"]["name"].as_str().unwrap_or_default();
                if tools::find(name).is_some() { Self::Call } else { Self::Other }
            }
            Some("resources/list" | "resources/read") => Self::Call,
            Some(_) => Self::Other,
            None if message.get("result").or(message.get("error")).is_some() => Self::Response,
            None => Self::Invalid,
        }
    }
}

/// Rejects an invalid credential before any operation is called. Most operations would treat the caller as anonymous, and the
/// client would not learn why it sees so little.
async fn reject_invalid_credential(app: &App, parts: &Parts) -> Result<Option<Response>> {
    let now = app.clock.now();
    let credential = Credential::read(parts, app, now);
    let (caller, _) = app.db.read(move |tx| Caller::find(tx, &credential, now)).await?;
    if !matches!(caller, Caller::Unknown) {
        return Ok(None);
    }
    access::count_request(parts, app, &caller).await?;
    let message =
        "The credential is not valid: it is unknown, revoked or expired; connect with another credential.";
    let mut refusal = Error::Unauthorized(message.into()).into_response();
    let challenge =
        format!("Bearer error=\"invalid_token\", resource_metadata=\"{}\"", address(app, METADATA));
    if let Ok(challenge) = HeaderValue::try_from(challenge) {
        refusal.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    }
    Ok(Some(refusal))
}

/// Returns the URL of a path on this server.
fn address(app: &App, path: &str) -> String {
    format!("{}{path}", app.config.console.url.as_str().trim_end_matches('/'))
}

/// Returns the metadata of RFC 9728: the key is sent in the header. It names no authorization server because there is none.
async fn metadata(State(app): State<App>) -> Json<Value> {
    Json(json!({
        "resource": address(&app, PATH),
        "resource_name": "Tidemark",
        "bearer_methods_supported": ["header"],
    }))
}

/// Returns an error without a request ID.
fn error_response(status: StatusCode, code: i64, message: &str) -> Response {
    let error = json!({ "jsonrpc": "2.0", "error": { "code": code, "message": message } });
    (status, Json(error)).into_response()
}

#[cfg(test)]
mod tests {
    use std::{future::pending, time::Duration};

    use tokio::{sync::mpsc, time::timeout};

    use super::*;
    use crate::infra::limits::ConcurrencyLimit;

    /// Timeout of a test.
    const PATIENCE: Duration = Duration::from_secs(600);

    /// Sends a message when it is dropped.
    struct Guard(mpsc::Sender<&'static str>);

    impl Drop for Guard {
        fn drop(&mut self) {
            let _ = self.0.try_send("canceled");
        }
    }

    #[tokio::test]
    async fn a_call_ends_with_its_request() {
        let (sender, mut events) = mpsc::channel(16);
        let operation = move || {
            let guard = Guard(sender.clone());
            async move {
                let _ = guard.0.try_send("started");
                pending::<()>().await;
                drop(guard);
            }
        };
        let handler = Handler {
            operations: Router::new().fallback(operation),
            analyses: Arc::new(ConcurrencyLimit::for_analyses()),
            console: String::new(),
        };
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .disable_allowed_hosts();
        let service = Service::new(move || Ok(handler.clone()), Arc::default(), config);
        for (method, parameters) in [
            ("tools/call", json!({ "name": "list_projects", "arguments": {} })),
            (
                "tools/call",
                json!({ "name": "compare", "arguments": { "project": "lab", "base": "branch:main", "new": "branch:new" } }),
            ),
            ("resources/list", json!({})),
            ("resources/read", json!({ "uri": "tidemark://project/lab" })),
        ] {
            let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": parameters });
            let (parts, ()) = axum::http::Request::post(PATH).body(()).unwrap().into_parts();
            let response = respond(&service, parts, message.to_string().into());
            let mut response = Box::pin(response);
            let started = async {
                tokio::select! {
                    _ = &mut response => panic!("{method} was answered"),
                    event = events.recv() => event,
                }
            };
            assert_eq!(timeout(PATIENCE, started).await.unwrap(), Some("started"), "{method}");
            drop(response);
            assert_eq!(timeout(PATIENCE, events.recv()).await.unwrap(), Some("canceled"), "{method}");
        }
    }
}
