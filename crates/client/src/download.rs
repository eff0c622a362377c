//! Responses that are read while they arrive, for example an export, which can be larger than the memory.

use std::{
    io::{Cursor, Read},
    time::Duration,
};

use ureq::http::header;

use crate::{Client, Error, Request, Transport, error::FailedAttempt, read_body, retry_after};

/// Time limit of a whole download.
const DOWNLOAD_TIMEOUT: Duration = Duration::from_secs(6 * 3600);
/// Maximum size of an error response, in bytes.
const ERROR_MAX: u64 = 1 << 20;

impl Client {
    /// Sends a request and returns the body of the response, to be read while it arrives. The time limit of requests applies to
    /// the beginning of the response. A response that ends early is an error of the reader.
    pub fn download<T>(&self, request: &Request<T>) -> Result<Box<dyn Read>, Error> {
        let once = || self.try_download(request);
        let body = self.settings.retry_policy.retry(once, |retry| (self.on_retry)(retry));
        body.map_err(|(failed, attempts)| {
            failed.into_error(&self.contacted(request.method, &request.path), attempts)
        })
    }

    fn try_download<T>(&self, request: &Request<T>) -> Result<Box<dyn Read>, FailedAttempt> {
        let Transport::Http(agent) = &self.transport else {
            return Ok(Box::new(Cursor::new(self.try_once(request)?.bytes)));
        };
        let timeout = self.settings.retry_policy.timeout;
        let failed = |error: ureq::Error| FailedAttempt::without_response(&error, timeout);
        let prepared = self.prepare(request).body(()).map_err(|error| failed(error.into()))?;
        let prepared = agent
            .configure_request(prepared)
            .timeout_global(Some(DOWNLOAD_TIMEOUT))
            .timeout_connect(Some(timeout))
            .timeout_recv_response(Some(timeout))
            .build();
        let (head, mut body) = agent.run(prepared).map_err(failed)?.into_parts();
        if head.status.is_success() {
            return Ok(Box::new(body.into_reader()));
        }
        let text = |name| Some(head.headers.get(name)?.to_str().ok()?.trim().to_owned());
        let delay =
            text(header::RETRY_AFTER).and_then(|value| retry_after(&value, text(header::DATE).as_deref()));
        let message = read_body(&mut body, ERROR_MAX).unwrap_or_default();
        let location = text(header::LOCATION);
        Err(FailedAttempt::with_response(head.status.as_u16(), &message, delay, location.as_deref()))
    }
}
