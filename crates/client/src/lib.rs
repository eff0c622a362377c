//! Client of the HTTP API: requests and responses in the types of `tidemark-api`, credentials, time limits and retries.
//! Programs that use the client process the responses and print the errors.

mod download;
mod error;
mod request;
mod resource;
mod retry;
pub mod run;
pub mod series;
pub mod server;

use std::{
    cell::Cell,
    io::Read,
    marker::PhantomData,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

pub use error::{Authentication, ConnectionProblem, Error};
use error::{ContactedServer, FailedAttempt};
pub use request::{ApiResponse, Request};
pub use resource::*;
pub use retry::{Retry, RetryPolicy, RetryableFailure, retry_after};
use serde::de::DeserializeOwned;
use tidemark_api::{Direction, Page, SERVER_VERSION_HEADER, Url};
pub use ureq::http;
use ureq::{
    Agent, AsSendBody, Body,
    http::{Response, header, request::Builder},
    tls::{Certificate, RootCerts, TlsConfig},
};

/// Prefix of the operations that check a mailed token, and the operation that also requires a credential.
const SIGN_IN: &str = "/v0/auth/";
const ACCEPT: &str = "/v0/auth/accept";
/// Maximum size of a response, in bytes.
const RESPONSE_MAX: u64 = 1 << 30;
/// Items per page when all items are read: the maximum of the API.
const PER_PAGE: u8 = u8::MAX;
/// Maximum number of pages of a list: 2.5 million items. Stops a list that a server never ends.
const MAX_PAGES: u32 = 10_000;
/// Time limit of all pages of a list together. The client requests no page after it.
const LIST_TIMEOUT: Duration = Duration::from_secs(6 * 3600);

/// Connection settings of a client.
#[derive(Clone, Debug)]
pub struct ClientSettings {
    /// Address of the server, with an optional path prefix of the API.
    pub host: Url,
    /// Key or token, if any.
    pub credential: Option<Credential>,
    /// Time limit and retries of requests.
    pub retry_policy: RetryPolicy,
    /// Whether to accept any certificate.
    pub insecure: bool,
}

/// Credential of the caller. `Debug` masks it.
#[derive(Clone)]
pub struct Credential(String);

impl Credential {
    /// Returns the credential, or `None` if the text is not valid in a header.
    pub fn new(text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())).then_some(Self(text))
    }
}

impl std::fmt::Debug for Credential {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(tidemark_api::name::MASK)
    }
}

/// A server in this process: a function from request to response.
pub type InProcessServer = Rc<dyn Fn(http::Request<Vec<u8>>) -> Response<Vec<u8>>>;

/// How requests reach the server.
#[derive(Clone)]
enum Transport {
    Http(Agent),
    InProcessServer(InProcessServer),
}

/// Client of one server.
pub struct Client {
    transport: Transport,
    settings: ClientSettings,
    base: String,
    on_retry: Box<dyn Fn(&Retry<'_>)>,
    /// Called once, with the first response.
    on_first_response: Cell<Option<OnVersion>>,
}

/// Receives the client and the Tidemark version of the server, if the first response has it.
type OnVersion = Box<dyn FnOnce(&Client, Option<&str>)>;

impl Client {
    /// Creates a client. It calls `on_retry` before every wait, so that the program can report the delay.
    pub fn new(settings: ClientSettings, on_retry: impl Fn(&Retry<'_>) + 'static) -> Self {
        let agent = agent(settings.host.as_ref(), settings.retry_policy.timeout, settings.insecure);
        Self::with_transport(Transport::Http(agent), settings, on_retry)
    }

    /// Calls a function with the version of the server once it is known: after the first response that has the version,
    /// or after the first successful response without a version.
    #[must_use]
    pub fn on_version(self, on_version: impl FnOnce(&Self, Option<&str>) + 'static) -> Self {
        self.on_first_response.set(Some(Box::new(on_version)));
        self
    }

    /// Returns a client for optional requests: one attempt with this time limit, no retries, no calls of `on_retry`.
    pub fn without_retries(&self, timeout: Duration) -> Self {
        let retry_policy = RetryPolicy { attempts: 1, timeout, ..self.settings.retry_policy };
        let settings = ClientSettings { retry_policy, ..self.settings.clone() };
        Self::with_transport(self.transport.clone(), settings, |_| ())
    }

    /// Creates a client of a server in this process. The host is only a name, and the server applies its own time
    /// limits.
    pub fn in_process(
        server: InProcessServer,
        settings: ClientSettings,
        on_retry: impl Fn(&Retry<'_>) + 'static,
    ) -> Self {
        Self::with_transport(Transport::InProcessServer(server), settings, on_retry)
    }

    fn with_transport(
        transport: Transport,
        settings: ClientSettings,
        on_retry: impl Fn(&Retry<'_>) + 'static,
    ) -> Self {
        let base = settings.host.as_ref().trim_end_matches('/').to_owned();
        Self { transport, settings, base, on_retry: Box::new(on_retry), on_first_response: Cell::new(None) }
    }

    /// Sends a request and parses the response.
    pub fn send<T: DeserializeOwned>(&self, request: &Request<T>) -> Result<T, Error> {
        self.fetch(request)?.read()
    }

    /// Reads a list page by page until its end and passes each page to `on_page`.
    pub fn pages<T: DeserializeOwned>(
        &self,
        list: &Request<Vec<T>>,
        direction: Option<Direction>,
        on_page: impl FnMut(&ApiResponse<Vec<T>>, Vec<T>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.pages_within(LIST_TIMEOUT, list, direction, on_page)
    }

    fn pages_within<T: DeserializeOwned>(
        &self,
        limit: Duration,
        list: &Request<Vec<T>>,
        direction: Option<Direction>,
        mut on_page: impl FnMut(&ApiResponse<Vec<T>>, Vec<T>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let started = Instant::now();
        for page in 1..=MAX_PAGES {
            let answer = self.fetch(&list.clone().query(&Page { page, per_page: PER_PAGE, direction }))?;
            let items = answer.read()?;
            let is_last = items.len() < usize::from(PER_PAGE);
            on_page(&answer, items)?;
            if is_last {
                return Ok(());
            }
            if started.elapsed() >= limit {
                let reason = format!(
                    "the list was not complete after {page} page(s) and {} s; narrow it with a filter",
                    limit.as_secs()
                );
                return Err(Error::IncompleteList { reason });
            }
        }
        let reason = format!("the list has more than {MAX_PAGES} pages; narrow it with a filter");
        Err(Error::IncompleteList { reason })
    }

    /// Sends a request until it succeeds, fails permanently or has no attempts left. Retries a request that is not
    /// idempotent only if the server cannot have processed it.
    pub fn fetch<T>(&self, request: &Request<T>) -> Result<ApiResponse<T>, Error> {
        let once = || {
            self.try_once(request).map_err(|mut failed| {
                failed.is_retryable &= request.idempotent || !failed.may_have_arrived;
                failed
            })
        };
        let answer = self.settings.retry_policy.retry(once, |retry| (self.on_retry)(retry));
        answer.map_err(|(failed, attempts)| {
            failed.into_error(&self.contacted(request.method, &request.path), attempts)
        })
    }

    /// Describes this server for the error of a request.
    fn contacted(&self, method: &str, path: &str) -> ContactedServer<'_> {
        let has_credential = self.settings.credential.is_some();
        // A mailed token is in the body; the account that accepts an invitation needs a credential, too.
        let is_sign_in = method == "POST" && path.starts_with(SIGN_IN) && (has_credential || path != ACCEPT);
        let authentication = match has_credential {
            _ if is_sign_in => Authentication::NotApplicable,
            true => Authentication::Credential,
            false => Authentication::Anonymous,
        };
        let is_in_process = matches!(self.transport, Transport::InProcessServer(_));
        ContactedServer { host: &self.base, is_in_process, authentication }
    }

    /// Sends a body to a path outside of the API, once, and returns any response.
    pub fn exchange(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Response<Vec<u8>>, Error> {
        let mut request = Builder::new().method("POST").uri(format!("{}{path}", self.base));
        if let Some(Credential(text)) = &self.settings.credential {
            request = request.header(header::AUTHORIZATION, format!("Bearer {text}"));
        }
        request = request.header(header::CONTENT_TYPE, "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let timeout = self.settings.retry_policy.timeout;
        request
            .body(Some(body))
            .map_err(ureq::Error::from)
            .and_then(|request| self.transmit(request))
            .map_err(|error| {
                FailedAttempt::without_response(&error, timeout).into_error(&self.contacted("POST", path), 1)
            })
    }

    /// Sends a request and reads the whole response. Reports the version of the first response.
    fn transmit(&self, request: http::Request<Option<&[u8]>>) -> Result<Response<Vec<u8>>, ureq::Error> {
        let answer = self.transport.send(request, self.settings.retry_policy.timeout)?;
        let version = answer.headers().get(SERVER_VERSION_HEADER).and_then(|value| value.to_str().ok());
        // An error response without a version may come from a proxy.
        if (version.is_some() || answer.status().is_success())
            && let Some(on_version) = self.on_first_response.take()
        {
            on_version(self, version);
        }
        Ok(answer)
    }

    /// Returns a request with its headers, without its body.
    fn prepare<T>(&self, request: &Request<T>) -> Builder {
        let Request { method, path, body, .. } = request;
        let mut request = Builder::new().method(*method).uri(format!("{}{path}", self.base));
        if let Some(Credential(text)) = &self.settings.credential {
            request = request.header(header::AUTHORIZATION, format!("Bearer {text}"));
        }
        if body.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        request
    }

    /// Sends a request once and reads its response.
    fn try_once<T>(&self, request: &Request<T>) -> Result<ApiResponse<T>, FailedAttempt> {
        let answer = self
            .prepare(request)
            .body(request.body.as_deref())
            .map_err(ureq::Error::from)
            .and_then(|request| self.transmit(request))
            .map_err(|error| FailedAttempt::without_response(&error, self.settings.retry_policy.timeout))?;
        let status = answer.status().as_u16();
        let text = |name: &str| Some(answer.headers().get(name)?.to_str().ok()?.trim().to_owned());
        let number = |name| text(name)?.parse().ok();
        let retry_after = text("retry-after").and_then(|value| retry_after(&value, text("date").as_deref()));
        let (location, server_version) = (text("location"), text(SERVER_VERSION_HEADER));
        let (total, truncated) = (number("x-total-count"), number("x-perf-truncated"));
        match status {
            200..300 => {
                let claim_token = text("x-claim-token");
                let bytes = answer.into_body();
                let host = self.base.clone();
                Ok(ApiResponse {
                    host,
                    bytes,
                    total,
                    truncated,
                    server_version,
                    claim_token,
                    kind: PhantomData,
                })
            }
            _ => Err(FailedAttempt::with_response(status, answer.body(), retry_after, location.as_deref())),
        }
    }
}

/// Returns an agent for the host of an address, with the settings of every request of this program: a time limit for
/// the whole request, no redirects, and the certificates of the operating system.
pub fn agent(base: &str, timeout: Duration, insecure: bool) -> Agent {
    let mut config = Agent::config_builder()
        .timeout_global(Some(timeout))
        .user_agent(concat!("tidemark/", env!("CARGO_PKG_VERSION")))
        .http_status_as_error(false)
        // Send a credential only to the configured host, not to the target of a redirect.
        .max_redirects(0)
        .max_redirects_will_error(false);
    // Loading the certificates of the operating system takes longer than the rest of a request.
    if base.starts_with("https:") {
        config = config.tls_config(tls(insecure));
    }
    config.build().new_agent()
}

impl Transport {
    /// Sends a request and reads the whole response.
    fn send(
        &self,
        request: http::Request<Option<&[u8]>>,
        timeout: Duration,
    ) -> Result<Response<Vec<u8>>, ureq::Error> {
        let (head, body) = request.into_parts();
        match self {
            Self::InProcessServer(server) => {
                Ok(server(http::Request::from_parts(head, body.map(<[u8]>::to_vec).unwrap_or_default())))
            }
            Self::Http(agent) => {
                let answer = match body {
                    Some(body) => run(agent, http::Request::from_parts(head, body), timeout),
                    None => run(agent, http::Request::from_parts(head, ()), timeout),
                };
                let (head, mut body) = answer?.into_parts();
                Ok(Response::from_parts(head, read_body(&mut body, RESPONSE_MAX)?))
            }
        }
    }
}

/// Reads the body of a response. The limit counts decompressed bytes: a small response can expand to gigabytes.
pub fn read_body(body: &mut Body, limit: u64) -> Result<Vec<u8>, ureq::Error> {
    let mut bytes = Vec::new();
    body.as_reader().take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit { Err(ureq::Error::BodyExceedsLimit(limit)) } else { Ok(bytes) }
}

fn run(
    agent: &Agent,
    request: http::Request<impl AsSendBody>,
    timeout: Duration,
) -> Result<Response<Body>, ureq::Error> {
    agent.run(agent.configure_request(request).timeout_global(Some(timeout)).build())
}

/// Returns a TLS configuration that trusts the certificates of the operating system.
fn tls(insecure: bool) -> TlsConfig {
    // Skips certificates that cannot be parsed.
    let certificates = rustls_native_certs::load_native_certs().certs;
    let roots: Vec<Certificate<'static>> =
        certificates.iter().map(|certificate| Certificate::from_der(certificate).to_owned()).collect();
    TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(&roots))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
        .disable_verification(insecure)
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a list that never ends. Returns the number of pages that were read and the error message.
    fn read_endless_list(limit: Duration) -> (u32, String) {
        let full_page = format!("[{}]", vec!["0"; usize::from(PER_PAGE)].join(","));
        let server: InProcessServer = Rc::new(move |_| Response::new(full_page.clone().into_bytes()));
        let retry_policy = RetryPolicy {
            timeout: Duration::from_secs(600),
            attempts: 1,
            min_delay: Duration::ZERO,
            max_delay: Duration::ZERO,
        };
        let host = "http://localhost".parse().unwrap();
        let settings = ClientSettings { host, credential: None, retry_policy, insecure: false };
        let client = Client::in_process(server, settings, |_| ());
        let mut pages = 0;
        let list = Request::<Vec<u8>>::get(&[&"numbers"]);
        let error = client.pages_within(limit, &list, None, |_, _| {
            pages += 1;
            Ok(())
        });
        let Err(Error::IncompleteList { reason }) = error else { panic!("{error:?}") };
        (pages, reason)
    }

    #[test]
    fn an_endless_list_is_read_to_the_maximum_number_of_pages() {
        let reason = "the list has more than 10000 pages; narrow it with a filter";
        assert_eq!(read_endless_list(LIST_TIMEOUT), (MAX_PAGES, reason.to_owned()));
    }

    #[test]
    fn an_endless_list_is_read_to_the_time_limit() {
        let reason = "the list was not complete after 1 page(s) and 0 s; narrow it with a filter";
        assert_eq!(read_endless_list(Duration::ZERO), (1, reason.to_owned()));
    }
}
