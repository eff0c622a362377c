//! Calls an operation for a tool: through the same router as all other requests, with the same caller and address, so that the
//! rights and limits of the operation apply.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{ConnectInfo, Request},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header, request::Parts},
};
use http_body_util::BodyExt;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rmcp::model::JsonObject;
use serde_json::Value;
use tower::ServiceExt;

use tokio::{
    sync::{OnceCell, watch},
    task::spawn_blocking,
};

use super::{
    answer::{self, Content, ToolError},
    schema::Operation,
    tools::Tool,
};
use crate::{
    domain::auth::cookie::X_TIDEMARK_CONSOLE,
    infra::limits::{ConcurrencyLimit, Permit},
    transport::http::origin::ClientAddress,
};

/// Maximum size of one response, in bytes.
const REPLY_BYTES: usize = 32 << 20;
/// Maximum size of all responses of one tool call, in bytes.
const CALL_BYTES: usize = 256 << 20;
/// Size of a response above which the call needs a permit of the concurrency limit for analyses, because parsing takes ten
/// times the memory.
const FREE_BYTES: usize = 1 << 20;

/// Headers that identify the caller and its address.
const FORWARDED_HEADERS: [HeaderName; 7] = [
    header::AUTHORIZATION,
    header::COOKIE,
    X_TIDEMARK_CONSOLE,
    HeaderName::from_static("sec-fetch-site"),
    header::ORIGIN,
    header::HOST,
    HeaderName::from_static("x-forwarded-for"),
];

/// Ends a tool call when its request ends. The SDK runs the call in a separate task, which would continue after the client has
/// disconnected or the request has timed out.
#[derive(Clone)]
pub(super) struct Cancellation(watch::Receiver<()>);

/// Cancels when it is dropped.
pub(super) struct CancelOnDrop(
    #[expect(dead_code, reason = "closes the channel when dropped")] watch::Sender<()>,
);

impl Cancellation {
    pub(super) fn new() -> (CancelOnDrop, Self) {
        let (sender, receiver) = watch::channel(());
        (CancelOnDrop(sender), Self(receiver))
    }

    /// Runs work until it completes or the request ends.
    pub(super) async fn run<T>(mut self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            outcome = work => Some(outcome),
            _ = self.0.changed() => None,
        }
    }
}

/// The requests of one tool call, on behalf of its caller.
pub(super) struct OperationClient {
    operations: Router,
    headers: HeaderMap,
    peer: Option<ConnectInfo<SocketAddr>>,
    address: Option<ClientAddress>,
    analyses: Arc<ConcurrencyLimit>,
    permit: OnceCell<Permit>,
    /// Number of bytes of responses that the call may still read.
    budget: AtomicUsize,
}

/// Response of an operation.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// The requested path.
    pub(super) path: String,
}

/// Arguments that do not form a valid request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InvalidArguments(pub(super) String);

impl OperationClient {
    /// Creates a value for the caller of a request.
    pub(super) fn of(operations: &Router, analyses: &Arc<ConcurrencyLimit>, parts: &Parts) -> Self {
        let mut headers = HeaderMap::new();
        for name in FORWARDED_HEADERS {
            for value in parts.headers.get_all(&name) {
                headers.append(&name, value.clone());
            }
        }
        Self {
            operations: operations.clone(),
            headers,
            peer: parts.extensions.get().copied(),
            address: parts.extensions.get().copied(),
            analyses: Arc::clone(analyses),
            permit: OnceCell::new(),
            budget: AtomicUsize::new(CALL_BYTES),
        }
    }

    /// Waits for a permit to use a core and much memory. The permit is released when the call ends.
    pub(super) async fn acquire_permit(&self) -> Result<Permit, ToolError> {
        let address = self.address.and_then(|ClientAddress(address)| address);
        let permit = self.permit.get_or_try_init(|| self.analyses.acquire(address)).await;
        permit.map(Arc::clone).map_err(|_| ToolError::busy())
    }

    /// Runs work on a blocking thread, which holds the permit of the call until the work ends.
    pub(super) async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ToolError> {
        let permit = self.permit.get().cloned();
        let work = move || {
            let _permit = permit;
            work()
        };
        spawn_blocking(work).await.map_err(|_| ToolError::internal())
    }

    /// Calls the operation of a tool and converts its response.
    pub(super) async fn read(
        &self,
        tool: &'static Tool,
        arguments: JsonObject,
    ) -> Result<Content, ToolError> {
        let reply = self.call(tool, arguments).await?;
        self.run_blocking(move || answer::read(tool, &reply)).await?
    }

    /// Calls the operation of a tool.
    pub(super) async fn call(&self, tool: &Tool, arguments: JsonObject) -> Result<Reply, ToolError> {
        let mut request = build_request(tool, arguments)?;
        let path = request.uri().to_string();
        request.headers_mut().extend(self.headers.clone());
        if let Some(peer) = self.peer {
            request.extensions_mut().insert(peer);
        }
        let Ok(answer) = self.operations.clone().oneshot(request).await;
        let (head, body) = answer.into_parts();
        let body = self.collect(body).await?;
        Ok(Reply { status: head.status, headers: head.headers, body, path })
    }

    /// Collects the body of a response, within the limits.
    async fn collect(&self, mut body: Body) -> Result<Bytes, ToolError> {
        let (mut pieces, mut size) = (Vec::new(), 0);
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| ToolError::incomplete())?;
            let Ok(data) = frame.into_data() else { continue };
            size += data.len();
            if size > REPLY_BYTES {
                return Err(ToolError::too_long("one response", REPLY_BYTES));
            }
            let spend = |left: usize| left.checked_sub(data.len());
            if self.budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend).is_err() {
                return Err(ToolError::too_long("the responses of one call", CALL_BYTES));
            }
            pieces.push(data);
            if size > FREE_BYTES {
                self.acquire_permit().await?;
            }
        }
        // Most responses have one chunk, which needs no copy.
        match <[Bytes; 1]>::try_from(pieces) {
            Ok([whole]) => Ok(whole),
            Err(pieces) => Ok(pieces.concat().into()),
        }
    }
}

/// Returns the request for the arguments.
fn build_request(tool: &Tool, mut arguments: JsonObject) -> Result<Request, InvalidArguments> {
    let operation = Operation::of(tool);
    arguments.extend(tool.fixed.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value))));
    let mut path = operation.path.clone();
    for name in &operation.in_path {
        let value = arguments.remove(name).as_ref().and_then(text).filter(|text| !text.is_empty());
        let value = value.ok_or_else(|| InvalidArguments(format!("The argument `{name}` is missing.")))?;
        let segment = utf8_percent_encode(&value, NON_ALPHANUMERIC).to_string();
        path = path.replace(&format!("{{{name}}}"), &segment);
    }
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    for name in &operation.in_query {
        match arguments.remove(name) {
            None | Some(Value::Null) => {}
            Some(value) => {
                let value = text(&value).ok_or_else(|| {
                    InvalidArguments(format!("The argument `{name}` must be a string, a number or a list."))
                })?;
                query.append_pair(name, &value);
            }
        }
    }
    let query = query.finish();
    let uri = if query.is_empty() { path } else { format!("{path}?{query}") };
    let mut body = JsonObject::new();
    for name in operation.in_body.iter().flatten() {
        if let Some(value) = arguments.remove(name) {
            body.insert(name.clone(), value);
        }
    }
    if let Some((name, _)) = arguments.iter().next() {
        return Err(InvalidArguments(format!(
            "Unknown argument `{name}`{}.",
            similar_name_hint(operation, name)
        )));
    }
    let mut request = Request::new(Body::empty());
    *request.method_mut() = operation.method.clone();
    *request.uri_mut() =
        uri.parse().map_err(|_| InvalidArguments("The arguments are too long for a URL.".into()))?;
    if operation.in_body.is_some() {
        *request.body_mut() = Body::from(Value::Object(body).to_string());
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert(header::CONTENT_TYPE, json);
    }
    Ok(request)
}

/// Returns a value in the format of a path or a query. Agents often send lists as JSON arrays.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Array(items) => {
            items.iter().map(text).collect::<Option<Vec<_>>>().map(|items| items.join(","))
        }
        Value::Null | Value::Object(_) => None,
    }
}

/// Returns a hint with the argument name that is most similar to an unknown name.
fn similar_name_hint(operation: &Operation, name: &str) -> String {
    let arguments = operation.input["properties"].as_object().into_iter().flat_map(JsonObject::keys);
    arguments
        .map(|argument| (strsim::jaro_winkler(argument, name), argument))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|(left, _), (right, _)| left.total_cmp(right))
        .map_or_else(String::new, |(_, argument)| format!("; the most similar argument is `{argument}`"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::transport::mcp::tools::find;

    fn composed(tool: &str, arguments: Value) -> Result<String, String> {
        let Value::Object(arguments) = arguments else { panic!("no object") };
        let composed = build_request(find(tool).unwrap(), arguments);
        composed
            .map(|request| format!("{} {}", request.method(), request.uri()))
            .map_err(|InvalidArguments(why)| why)
    }

    /// Returns a value whose operations respond with this number of bytes.
    fn client_with_response(bytes: usize) -> OperationClient {
        let body = move || async move {
            let chunk = Bytes::from(vec![b' '; 64 << 10]);
            let chunks =
                (0..bytes.div_ceil(chunk.len())).map(move |_| Ok::<_, std::io::Error>(chunk.clone()));
            Body::from_stream(futures_util::stream::iter(chunks))
        };
        let operations = Router::new().fallback(body);
        let (parts, ()) = axum::http::Request::new(()).into_parts();
        OperationClient::of(&operations, &Arc::new(ConcurrencyLimit::for_analyses()), &parts)
    }

    async fn call(client: &OperationClient) -> Result<usize, String> {
        let reply = client.call(find("list_projects").unwrap(), JsonObject::new()).await;
        reply.map(|reply| reply.body.len()).map_err(|failed| format!("{}: {}", failed.status, failed.message))
    }

    #[tokio::test]
    async fn replies_are_bounded() {
        let advice = "request fewer reports, fewer series or a shorter time range.";
        assert_eq!(
            call(&client_with_response(REPLY_BYTES + 1)).await,
            Err(format!("413 Payload Too Large: The limit for one response is 32 MiB; {advice}"))
        );
        let client =
            OperationClient { budget: AtomicUsize::new(300 << 10), ..client_with_response(200 << 10) };
        assert_eq!(call(&client).await, Ok(256 << 10));
        assert_eq!(
            call(&client).await,
            Err(format!(
                "413 Payload Too Large: The limit for the responses of one call is 256 MiB; {advice}"
            ))
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_reply_needs_a_permit() {
        let small = client_with_response(FREE_BYTES);
        assert_eq!(call(&small).await, Ok(FREE_BYTES));
        assert!(small.permit.get().is_none());
        let large = client_with_response(2 * FREE_BYTES);
        assert_eq!(call(&large).await, Ok(2 * FREE_BYTES));
        // The same client waits for the permit, and the call with the permit needs no other permit.
        let second =
            OperationClient { analyses: Arc::clone(&large.analyses), ..client_with_response(2 * FREE_BYTES) };
        let busy = "503 Service Unavailable: The server is busy; try again in a moment.";
        assert_eq!(call(&second).await, Err(busy.to_owned()));
        assert_eq!(call(&large).await, Ok(2 * FREE_BYTES));
        drop(large);
        assert_eq!(call(&second).await, Ok(2 * FREE_BYTES));
    }

    #[test]
    fn arguments_go_where_the_operation_has_them() {
        let listed =
            composed("list_branches", json!({ "project": "a b/c", "per_page": 3, "archived": null }));
        assert_eq!(listed.unwrap(), "GET /v0/projects/a%20b%2Fc/branches?per_page=3");
        let perf = json!({
            "project": "lab", "branches": ["1", "2"], "testbeds": "3", "benchmarks": "4", "measures": "5"
        });
        assert_eq!(
            composed("perf_image", perf).unwrap(),
            "GET /v0/projects/lab/perf/img?branches=1%2C2&testbeds=3&benchmarks=4&measures=5&format=jpeg"
        );
        let renamed = json!({ "project": "lab", "branch": "main", "name": "trunk" });
        assert_eq!(composed("update_branch", renamed).unwrap(), "PATCH /v0/projects/lab/branches/main");
    }

    #[test]
    fn what_cannot_be_sent_is_said() {
        let why = |arguments| composed("view_alert", arguments).unwrap_err();
        assert_eq!(why(json!({ "project": "lab" })), "The argument `alert` is missing.");
        assert_eq!(why(json!({ "project": "", "alert": "x" })), "The argument `project` is missing.");
        assert_eq!(
            why(json!({ "project": "lab", "alert": "x", "projects": 1 })),
            "Unknown argument `projects`; the most similar argument is `project`."
        );
    }
}
