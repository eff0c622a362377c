//! A mock code host: it responds like GitHub and GitLab, and records its requests.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use insta::{Settings, internals::SettingsBindDropGuard};
use serde_json::{Value, json};

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
    /// Responses with priority: prefix of the request, status, a header and the body.
    pub(crate) trouble: Vec<(&'static str, u16, &'static str, Value)>,
}

impl CodeHost {
    pub(crate) fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State::default()));
        let known = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (known, stream) = (Arc::clone(&known), stream.unwrap());
                thread::spawn(move || serve(&known, stream));
            }
        });
        let mut settings = Settings::clone_current();
        settings.add_filter("[[:xdigit:]]{8}(-[[:xdigit:]]{4}){3}-[[:xdigit:]]{12}", "[uuid]");
        settings.add_filter("(start|end)_time=[0-9]*", "${1}_time=[time]");
        Self { address, state, _filters: settings.bind_to_scope() }
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

fn serve(state: &Mutex<State>, stream: TcpStream) {
    let mut stream = BufReader::new(stream);
    loop {
        let mut first = String::new();
        if stream.read_line(&mut first).unwrap_or(0) == 0 {
            return;
        }
        let (mut length, mut credential) = (0, String::new());
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse().unwrap(),
                "authorization" | "private-token" => credential = value.to_owned(),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let request = first.rsplit_once(' ').unwrap().0.to_owned();
        let mut state = state.lock().unwrap();
        state.requests.push((format!("{request} as {credential}"), body.clone()));
        let (status, header, answer) = state.answer(&request, &body);
        drop(state);
        let answer = answer.to_string();
        let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n{header}\r\n", answer.len());
        if stream.get_mut().write_all((head + &answer).as_bytes()).is_err() {
            return;
        }
    }
}

impl State {
    fn answer(&mut self, request: &str, body: &Value) -> (u16, String, Value) {
        if let Some(index) = self.trouble.iter().position(|(start, ..)| request.starts_with(start)) {
            let (_, status, header, answer) = self.trouble.remove(index);
            return (status, header.to_owned(), answer);
        }
        let (method, target) = request.split_once(' ').unwrap();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        let number = |text: &str| text.parse::<u64>().unwrap();
        let (status, answer) = match (method, parts.as_slice()) {
            ("POST", ["hook"]) => (204, Value::Null),
            ("GET", ["user"]) => (200, json!({ "id": 5 })),
            ("POST", [.., "check-runs"]) => (201, json!({ "id": 1001 })),
            ("PATCH", [.., "check-runs", _]) => (200, json!({ "id": 1001 })),
            ("GET", [.., "pulls"]) => (200, self.pulls.clone()),
            ("GET", [.., "comments" | "notes"]) => {
                let page: usize = query.rsplit_once("page=").unwrap().1.parse().unwrap();
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
        (status, String::new(), answer)
    }
}
