//! Calls an operation for a tool: through the same router as everybody's requests, as the same caller and from the same
//! address, so that rights and limits are those of the operation.

use std::net::SocketAddr;

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{ConnectInfo, Request},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header, request::Parts},
};
use http_body_util::{BodyExt, Limited};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rmcp::model::JsonObject;
use serde_json::Value;
use tower::ServiceExt;

use super::{schema::Operation, tools::Tool};
use crate::auth::cookie::X_TIDEMARK_CONSOLE;

/// The longest answer that is read to be looked through; what an agent gets is far shorter.
const MOST_BYTES: usize = 64 << 20;

/// What says who calls and from where.
const PASSED_ON: [HeaderName; 7] = [
    header::AUTHORIZATION,
    header::COOKIE,
    X_TIDEMARK_CONSOLE,
    HeaderName::from_static("sec-fetch-site"),
    header::ORIGIN,
    header::HOST,
    HeaderName::from_static("x-forwarded-for"),
];

/// A way to the operations for one caller.
#[derive(Clone, Debug)]
pub(super) struct Line {
    operations: Router,
    headers: HeaderMap,
    peer: Option<ConnectInfo<SocketAddr>>,
}

/// What an operation answered.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// What was asked for.
    pub(super) path: String,
}

/// Arguments that make no request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unusable(pub(super) String);

impl Line {
    /// A way for whoever sent a request.
    pub(super) fn of(operations: &Router, parts: &Parts) -> Self {
        let mut headers = HeaderMap::new();
        for name in PASSED_ON {
            for value in parts.headers.get_all(&name) {
                headers.append(&name, value.clone());
            }
        }
        Self { operations: operations.clone(), headers, peer: parts.extensions.get().copied() }
    }

    /// Calls the operation of a tool.
    pub(super) async fn call(&self, tool: &Tool, arguments: JsonObject) -> Result<Reply, Unusable> {
        let mut request = compose(tool, arguments)?;
        let path = request.uri().to_string();
        request.headers_mut().extend(self.headers.clone());
        if let Some(peer) = self.peer {
            request.extensions_mut().insert(peer);
        }
        let Ok(answer) = self.operations.clone().oneshot(request).await;
        let (head, body) = answer.into_parts();
        let (status, headers) = (head.status, head.headers);
        let body = match Limited::new(body, MOST_BYTES).collect().await {
            Ok(body) => body.to_bytes(),
            Err(_) => {
                return Err(Unusable(
                    "The answer is too long to be looked through, or broke off; ask for less.".into(),
                ));
            }
        };
        Ok(Reply { status, headers, body, path })
    }
}

/// The request that arguments make.
fn compose(tool: &Tool, mut arguments: JsonObject) -> Result<Request, Unusable> {
    let operation = Operation::of(tool);
    arguments.extend(tool.fixed.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value))));
    let mut path = operation.path.clone();
    for name in &operation.in_path {
        let value = arguments.remove(name).as_ref().and_then(text).filter(|text| !text.is_empty());
        let value = value.ok_or_else(|| Unusable(format!("The argument `{name}` is missing.")))?;
        let segment = utf8_percent_encode(&value, NON_ALPHANUMERIC).to_string();
        path = path.replace(&format!("{{{name}}}"), &segment);
    }
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    for name in &operation.in_query {
        match arguments.remove(name) {
            None | Some(Value::Null) => {}
            Some(value) => {
                let value = text(&value)
                    .ok_or_else(|| Unusable(format!("The argument `{name}` must be a text or a number.")))?;
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
        return Err(Unusable(format!("There is no argument `{name}`{}.", likely(operation, name))));
    }
    let mut request = Request::new(Body::empty());
    *request.method_mut() = operation.method.clone();
    *request.uri_mut() =
        uri.parse().map_err(|_| Unusable("The arguments are too long for an address.".into()))?;
    if operation.in_body.is_some() {
        *request.body_mut() = Body::from(Value::Object(body).to_string());
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert(header::CONTENT_TYPE, json);
    }
    Ok(request)
}

/// A value as a path or a query has it. Agents like to send lists as such.
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

/// What somebody may have meant.
fn likely(operation: &Operation, name: &str) -> String {
    let arguments = operation.input["properties"].as_object().into_iter().flat_map(JsonObject::keys);
    arguments
        .map(|argument| (strsim::jaro_winkler(argument, name), argument))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|(left, _), (right, _)| left.total_cmp(right))
        .map_or_else(String::new, |(_, argument)| format!("; `{argument}` may be meant"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::mcp::tools::find;

    fn composed(tool: &str, arguments: Value) -> Result<String, String> {
        let Value::Object(arguments) = arguments else { panic!("no object") };
        let composed = compose(find(tool).unwrap(), arguments);
        composed.map(|request| format!("{} {}", request.method(), request.uri())).map_err(|Unusable(why)| why)
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
            "There is no argument `projects`; `project` may be meant."
        );
    }
}
