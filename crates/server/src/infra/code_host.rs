//! Client of the APIs of code hosts. `crates/render/src/code_host.rs` defines the requests and the meaning of the responses.

use std::time::{Duration, Instant};

use serde_json::Value;
use tidemark_api::job::JobCallbackKind;
use tidemark_render::code_host::{self, CodeHost};
use ureq::{
    Agent, AsSendBody, Body,
    http::{Request, Response, header},
};

use crate::infra::{mail::DeliveryError, outgoing};

/// Time limit of all requests of one attempt together. The background worker aborts an attempt slightly later.
const TIME_LIMIT: Duration = Duration::from_secs(30);
/// Maximum number of bytes that are read from a response.
const MAX_RESPONSE_BYTES: u64 = 16 << 20;

/// A code host or a webhook, with the credentials for it.
pub(crate) struct Host {
    agent: Agent,
    base: String,
    headers: Vec<(&'static str, String)>,
    deadline: Instant,
}

/// Why a request failed.
#[derive(Debug)]
pub(crate) struct RequestError {
    /// The reason, without a period and without the address.
    pub(crate) reason: String,
    /// Whether a retry may succeed.
    pub(crate) is_temporary: bool,
    /// The status of the response, if there is one.
    pub(crate) status: Option<u16>,
}

impl From<RequestError> for DeliveryError {
    fn from(error: RequestError) -> Self {
        match error.is_temporary {
            true => Self::Temporary(error.reason),
            false => Self::Permanent(error.reason),
        }
    }
}

impl Host {
    /// Creates a client whose requests must end within 30 seconds from now.
    pub(crate) fn new(kind: JobCallbackKind, url: &str, token: &str, allows_private: bool) -> Self {
        let base = url.trim_end_matches('/').to_owned();
        let headers = code_host::headers(kind, token);
        let deadline = Instant::now() + TIME_LIMIT;
        Self { agent: outgoing::agent(&base, allows_private), base, headers, deadline }
    }

    /// Runs a request within the remaining time.
    fn run(&self, request: Request<impl AsSendBody>) -> Result<Response<Body>, ureq::Error> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ureq::Error::Timeout(ureq::Timeout::Global));
        }
        let limit = left.min(outgoing::TIMEOUT);
        self.agent.run(self.agent.configure_request(request).timeout_global(Some(limit)).build())
    }
}

impl CodeHost for Host {
    type Error = RequestError;

    fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, RequestError> {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.base));
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        let answer = match body {
            Some(body) => request
                .header(header::CONTENT_TYPE, "application/json")
                .body(body.to_string())
                .map_err(ureq::Error::from)
                .and_then(|request| self.run(request)),
            None => request.body(()).map_err(ureq::Error::from).and_then(|request| self.run(request)),
        };
        let request_error =
            |error: ureq::Error| RequestError { reason: error.to_string(), is_temporary: true, status: None };
        let mut answer = answer.map_err(request_error)?;
        let status = answer.status().as_u16();
        let waits = answer.headers().contains_key(header::RETRY_AFTER);
        let read = outgoing::read_body(answer.body_mut(), MAX_RESPONSE_BYTES);
        let value: Value = serde_json::from_slice(&read.map_err(request_error)?).unwrap_or_default();
        match status {
            200..300 => Ok(value),
            _ => Err(RequestError {
                reason: code_host::reason(status, &value),
                is_temporary: code_host::is_rate_limited(status, &value, waits) || status >= 500,
                status: Some(status),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_after_the_deadline_are_not_sent() {
        // A socket, because the host must not even connect.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let host = Host::new(JobCallbackKind::Webhook, &url, "x", true);
        let host = Host { deadline: Instant::now(), ..host };
        let error = host.send("POST", "", None).unwrap_err();
        assert_eq!((error.reason.as_str(), error.is_temporary), ("timeout: global", true));
        assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    }
}
