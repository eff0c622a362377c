//! Reads the rest of a request body after an early response, so that a client that is still writing can read the response.
//!
//! If a server closes a connection while the client writes, the connection is reset and the client loses the response. Draining
//! covers every response that the server sends before the end of a body: rejected credentials, invalid ranges, bodies that are
//! too large.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    body::{Body, Bytes, HttpBody},
    extract::Request,
    http::{Version, header},
};
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use tokio::{runtime::Handle, time::timeout};

/// Maximum number of bytes to read after a response.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// Maximum time to read after a response.
const MAX_TIME: Duration = Duration::from_secs(20);

/// Wraps the body of a request so that it is drained when the handler drops it.
pub(super) fn drain_on_drop(request: Request) -> Request {
    // HTTP/2 can end the body of one request without closing the connection.
    if request.version() > Version::HTTP_11 || request.body().is_end_stream() {
        return request;
    }
    let is_expected = !request.headers().contains_key(header::EXPECT);
    request.map(|body| Body::new(DrainOnDrop { body, is_expected, is_ended: false }))
}

/// A request body whose rest is read when it is dropped.
struct DrainOnDrop {
    body: Body,
    /// Whether the client sends the body. A client with `Expect: 100-continue` sends it after the server starts to read.
    is_expected: bool,
    is_ended: bool,
}

impl HttpBody for DrainOnDrop {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.is_expected = true;
        let polled = Pin::new(&mut self.body).poll_frame(context);
        self.is_ended |= matches!(polled, Poll::Ready(None | Some(Err(_))));
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for DrainOnDrop {
    fn drop(&mut self) {
        if self.is_ended || !self.is_expected || self.body.is_end_stream() {
            return;
        }
        let Ok(runtime) = Handle::try_current() else { return };
        let body = std::mem::take(&mut self.body);
        runtime.spawn(timeout(MAX_TIME, drain(body)));
    }
}

async fn drain(mut body: Body) {
    let mut bytes = 0;
    while let Some(Ok(frame)) = body.frame().await {
        bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
        if bytes > MAX_BYTES {
            return;
        }
    }
}
