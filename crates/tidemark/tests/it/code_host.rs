//! A mock code host: it responds like GitHub and GitLab, and records its requests.

use std::sync::{Arc, Mutex};

use axum::{Json, http::StatusCode};
use insta::{Settings, internals::SettingsBindDropGuard};
use serde_json::{Value, json};
use tidemark_test_support::{Request, Stub};

use crate::process::wait_until;

/// A code host. While it is open, snapshots contain no UUIDs and times.
pub(crate) struct CodeHost {
    pub(crate) address: String,
    state: Arc<Mutex<State>>,
    _filters: SettingsBindDropGuard,
}

/// State of the host.
#[derive(Default)]
pub(crate) struct State {
    /// All requests, each as a line and the body.
    pub(crate) requests: Vec<(String, Value)>,
    /// Comments of the one pull request.
    pub(crate) comments: Vec<Value>,
    /// Open pull requests.
    pub(crate) pulls: Value,
    /// Responses with priority: prefix of the request, status, `retry-after` and the body.
    pub(crate) trouble: Vec<(&'static str, u16, Option<&'static str>, Value)>,
}

impl CodeHost {
    pub(crate) fn open() -> Self {
        let state = Arc::<Mutex<State>>::default();
        let known = Arc::clone(&state);
        let stub = Stub::start(move |request| {
            let (status, retry_after, answer) = known.lock().unwrap().answer(request);
            let status = StatusCode::from_u16(status).unwrap();
            (status, retry_after.map(|seconds| [("retry-after", seconds)]), Json(answer))
        });
        let mut settings = Settings::clone_current();
        settings.add_filter("[[:xdigit:]]{8}(-[[:xdigit:]]{4}){3}-[[:xdigit:]]{12}", "[uuid]");
        settings.add_filter("(start|end)_time=[0-9]*", "${1}_time=[time]");
        Self { address: stub.address, state, _filters: settings.bind_to_scope() }
    }

    /// Reads or changes the state.
    pub(crate) fn with<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.state.lock().unwrap())
    }

    /// Waits until the host has received this number of requests, and returns them unchanged.
    pub(crate) fn wait_for(&self, count: usize) -> Vec<(String, Value)> {
        wait_until("it is asked too little", || self.with(|state| state.requests.len()) >= count);
        let requests = self.with(|state| std::mem::take(&mut state.requests));
        assert_eq!(requests.len(), count, "{requests:#?}");
        requests
    }

    /// Returns the requests since the last call, with texts split into lines.
    pub(crate) fn requests(&self) -> Vec<(String, Value)> {
        let requests = self.with(|state| std::mem::take(&mut state.requests));
        requests.into_iter().map(|(line, body)| (line, lines(body))).collect()
    }
}

/// Splits the texts in a value into lines.
fn lines(value: Value) -> Value {
    match value {
        Value::String(text) if text.contains('\n') => text.lines().collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| (name, lines(value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        other => other,
    }
}

impl State {
    fn answer(&mut self, request: &Request) -> (u16, Option<&'static str>, Value) {
        let (line, body) = (request.line(), request.json());
        let credential =
            ["authorization", "private-token"].iter().find_map(|name| request.headers.get(*name));
        let credential = credential.map_or("", |value| value.to_str().unwrap());
        self.requests.push((format!("{line} as {credential}"), body.clone()));
        if let Some(index) = self.trouble.iter().position(|(start, ..)| line.starts_with(start)) {
            let (_, status, retry_after, answer) = self.trouble.remove(index);
            return (status, retry_after, answer);
        }
        let parts: Vec<&str> = request.uri.path().split('/').skip(1).collect();
        let number = |text: &str| text.parse::<u64>().unwrap();
        let (status, answer) = match (request.method.as_str(), parts.as_slice()) {
            ("POST", ["hook"]) => (204, Value::Null),
            ("GET", ["user"]) => (200, json!({ "id": 5 })),
            ("POST", [.., "check-runs"]) => (201, json!({ "id": 1001 })),
            ("PATCH", [.., "check-runs", _]) => (200, json!({ "id": 1001 })),
            ("GET", [.., "pulls"]) => (200, self.pulls.clone()),
            ("GET", [.., "comments" | "notes"]) => {
                let page: usize =
                    request.uri.query().unwrap().rsplit_once("page=").unwrap().1.parse().unwrap();
                let page = self.comments.iter().skip((page - 1) * 100).take(100);
                (200, page.cloned().collect())
            }
            ("POST", [.., "comments" | "notes"]) => {
                let comment = json!({
                    "id": 2000 + self.comments.len(), "body": body["body"],
                    "user": { "type": "Bot", "id": 5 }, "author": { "id": 5 }, "author_association": "NONE",
                });
                self.comments.push(comment.clone());
                (201, comment)
            }
            ("PATCH" | "PUT", [.., "comments" | "notes", id]) => {
                let known = self.comments.iter_mut().find(|comment| comment["id"] == number(id)).unwrap();
                known["body"] = body["body"].clone();
                (200, known.clone())
            }
            _ => (404, json!({ "message": "Not Found" })),
        };
        (status, None, answer)
    }
}
