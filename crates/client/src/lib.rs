//! The client of the HTTP API: requests and answers in the types of `tidemark-api`, credentials, time limits and
//! retries. What to do with an answer, and how to tell people about a failure, is up to the programs that use it.

mod error;
pub mod job;
pub mod perf;
pub mod project;
pub mod report;
pub mod run;
pub mod server;

use std::{sync::Arc, thread, time::Duration};

use error::Attempt;
pub use error::Error;
use serde::{Serialize, de::DeserializeOwned};
use tidemark_api::Url;
use ureq::{
    Agent, AsSendBody, Body,
    http::{Request, Response, header},
    tls::{Certificate, RootCerts, TlsConfig},
};

/// The most bytes of an answer that are read.
const ANSWER_MAX: u64 = 1 << 30;

/// How to reach a server.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its address, with or without a path that its API is below.
    pub host: Url,
    /// A key or a token, if there is one.
    pub credential: Option<Credential>,
    /// How long one request may take, from looking up the name to the last byte of the answer.
    pub timeout: Duration,
    /// How often a request is tried before giving up, at least once.
    pub attempts: u32,
    /// How long to wait before the second attempt; each further wait is twice as long.
    pub first_wait: Duration,
    /// The longest wait. If a server asks for more, it is not tried again.
    pub longest_wait: Duration,
    /// Whether any certificate will do.
    pub insecure: bool,
}

/// What authenticates a caller. It does not show itself.
#[derive(Clone)]
pub struct Credential(String);

impl Credential {
    /// Takes a key or a token, if it can stand in a header.
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

/// A request that is about to be tried again.
#[derive(Debug)]
pub struct Retry<'a> {
    /// Why it has to be.
    pub reason: &'a str,
    /// How long it is waited before.
    pub wait: Duration,
    /// The number of the attempt to come, counted from one.
    pub attempt: u32,
    /// How many there will be at the most.
    pub attempts: u32,
}

/// A client of one server.
pub struct Client {
    agent: Agent,
    settings: Settings,
    base: String,
    on_retry: Box<dyn Fn(&Retry<'_>)>,
}

impl Client {
    /// Makes a client. `on_retry` is told before every wait, so that nobody takes it for a hang.
    pub fn new(settings: Settings, on_retry: impl Fn(&Retry<'_>) + 'static) -> Self {
        let base = settings.host.as_ref().trim_end_matches('/').to_owned();
        let agent = agent(&base, settings.timeout, settings.insecure);
        Self { agent, settings, base, on_retry: Box::new(on_retry) }
    }

    /// The same client for what can be done without: it asks once, waits no longer than this and says nothing.
    pub fn hasty(&self, timeout: Duration) -> Self {
        let settings = Settings { attempts: 1, timeout, ..self.settings.clone() };
        Self { agent: self.agent.clone(), settings, base: self.base.clone(), on_retry: Box::new(|_| ()) }
    }

    pub(crate) fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        self.send("GET", path, None)
    }

    pub(crate) fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, Error> {
        let body = serde_json::to_vec(body).map_err(|error| Error::Strange {
            reason: format!("the request cannot be written as JSON: {error}"),
        })?;
        self.send("POST", path, Some(&body))
    }

    /// Sends a request until it is answered, refused for good, or there is no attempt left. What is sent here may
    /// arrive twice.
    fn send<T: DeserializeOwned>(&self, method: &str, path: &str, body: Option<&[u8]>) -> Result<T, Error> {
        let Settings { attempts, first_wait, longest_wait, .. } = self.settings;
        let mut wait = first_wait.min(longest_wait);
        let mut attempt = 1;
        loop {
            let failed = match self.try_once(method, path, body) {
                Ok(answer) => {
                    return serde_json::from_slice(&answer).map_err(|error| Error::Strange {
                        reason: format!("its answer is not what this program knows ({error})"),
                    });
                }
                Err(failed) => failed,
            };
            let asked = failed.retry_after.unwrap_or(wait);
            if !failed.passes || attempt >= attempts.max(1) || asked > longest_wait {
                return Err(failed.into_error(&self.base, attempt));
            }
            let reason = failed.reason();
            attempt += 1;
            (self.on_retry)(&Retry { reason: &reason, wait: asked, attempt, attempts });
            thread::sleep(asked);
            wait = (wait * 2).min(longest_wait);
        }
    }

    /// Sends a request once and reads its answer.
    fn try_once(&self, method: &str, path: &str, body: Option<&[u8]>) -> Result<Vec<u8>, Attempt> {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.base));
        if let Some(Credential(text)) = &self.settings.credential {
            request = request.header(header::AUTHORIZATION, format!("Bearer {text}"));
        }
        let answer = match body {
            Some(body) => request
                .header(header::CONTENT_TYPE, "application/json")
                .body(body)
                .map_err(ureq::Error::from)
                .and_then(|request| self.run(request)),
            None => request.body(()).map_err(ureq::Error::from).and_then(|request| self.run(request)),
        };
        let failed = |error| Attempt::failed(&error, self.settings.timeout);
        let mut answer = answer.map_err(failed)?;
        let status = answer.status().as_u16();
        let retry_after = answer
            .headers()
            .get(header::RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.trim().parse().ok())
            .map(Duration::from_secs);
        let location = answer.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
        let location = location.map(str::to_owned);
        let bytes = answer.body_mut().with_config().limit(ANSWER_MAX).read_to_vec().map_err(failed)?;
        match status {
            200..300 => Ok(bytes),
            _ => Err(Attempt::answered(status, &bytes, retry_after, location.as_deref())),
        }
    }

    fn run(&self, request: Request<impl AsSendBody>) -> Result<Response<Body>, ureq::Error> {
        let timeout = Some(self.settings.timeout);
        self.agent.run(self.agent.configure_request(request).timeout_global(timeout).build())
    }
}

/// What sends requests to the host of an address, as every request of this program is sent: a limit on the whole of it,
/// no redirects, and trust in what the system trusts.
pub fn agent(base: &str, timeout: Duration, insecure: bool) -> Agent {
    let mut config = Agent::config_builder()
        .timeout_global(Some(timeout))
        .user_agent(concat!("tidemark/", env!("CARGO_PKG_VERSION")))
        .http_status_as_error(false)
        // A credential is for the host that was named, not for one that it points at.
        .max_redirects(0)
        .max_redirects_will_error(false);
    // Reading the certificates of the system takes longer than everything else.
    if base.starts_with("https:") {
        config = config.tls_config(tls(insecure));
    }
    config.build().new_agent()
}

/// Trusts what the system trusts.
fn tls(insecure: bool) -> TlsConfig {
    // A certificate that the system has but cannot read is not trusted; the others are.
    let certificates = rustls_native_certs::load_native_certs().certs;
    let roots: Vec<Certificate<'static>> =
        certificates.iter().map(|certificate| Certificate::from_der(certificate).to_owned()).collect();
    TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(&roots))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
        .disable_verification(insecure)
        .build()
}
