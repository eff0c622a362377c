//! One connection: its timeouts, and the requests in progress on it.

use std::{
    future::{Future, Ready, ready},
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    body::HttpBody,
    http::{Response, StatusCode},
};
use axum_server::accept::Accept;
use futures_util::future::BoxFuture;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Instant, Sleep, sleep_until},
};
use tower::Service;

use super::{Activity, CloseTime, Slot};

/// Maximum time in which a client receives no byte of a response.
pub(super) const WRITE_TIMEOUT: Duration = Duration::from_secs(60);

/// An accepted connection. It fails if the client sends no request in time or receives no byte of a response in time, or if a
/// new connection replaces it.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    slot: Slot,
    /// Timeout for the next request.
    request_timer: Pin<Box<Sleep>>,
    /// Timeout for the next write, while the client receives nothing.
    write_timer: Option<Pin<Box<Sleep>>>,
}

impl Connection {
    pub(super) fn new(stream: TcpStream, slot: Slot) -> Self {
        Self { stream, slot, request_timer: Box::pin(sleep_until(Instant::now())), write_timer: None }
    }

    /// Fails if the connection has to close.
    fn poll_due(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        match self.slot.activity.close_time(context.waker()) {
            CloseTime::Never => Ok(()),
            CloseTime::Now => {
                Err(io::Error::new(io::ErrorKind::ConnectionAborted, "another connection needs the room"))
            }
            CloseTime::At(moment) => {
                if self.request_timer.deadline() != moment {
                    self.request_timer.as_mut().reset(moment);
                }
                match self.request_timer.as_mut().poll(context) {
                    Poll::Pending => Ok(()),
                    Poll::Ready(()) => Err(io::Error::new(
                        io::ErrorKind::TimedOut,
                        "no request came in time, or the client does not read an answer",
                    )),
                }
            }
        }
    }

    /// Returns the result of a write, and fails if the client has received nothing for too long.
    fn poll_written<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.write_timer = None;
            return written;
        }
        self.poll_due(context)?;
        let timer =
            self.write_timer.get_or_insert_with(|| Box::pin(sleep_until(Instant::now() + WRITE_TIMEOUT)));
        match timer.as_mut().poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) => Poll::Ready(Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the client does not read the answer",
            ))),
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.poll_due(context)?;
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.poll_written(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.poll_written(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// Counts the requests in progress on each connection.
#[derive(Clone, Copy, Debug)]
pub struct Tracking;

impl<S> Accept<Connection, S> for Tracking {
    type Stream = Connection;
    type Service = Tracked<S>;
    type Future = Ready<io::Result<(Connection, Tracked<S>)>>;

    fn accept(&self, stream: Connection, service: S) -> Self::Future {
        let activity = Arc::clone(&stream.slot.activity);
        ready(Ok((stream, Tracked { service, activity })))
    }
}

/// The service of one connection.
#[derive(Clone, Debug)]
pub struct Tracked<S> {
    service: S,
    activity: Arc<Activity>,
}

impl<S, R, B> Service<R> for Tracked<S>
where
    S: Service<R, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: 'static,
    B: 'static,
{
    type Response = Response<TrackedBody<B>>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Self::Response, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, request: R) -> Self::Future {
        let running = Running::begin(&self.activity);
        let answer = self.service.call(request);
        Box::pin(async move {
            let response = answer.await?;
            if response.status() == StatusCode::SWITCHING_PROTOCOLS {
                running.0.upgrade();
            }
            let number = running.0.begin_response();
            Ok(response.map(|body| TrackedBody { body, number, running }))
        })
    }
}

/// A request in progress, until it is dropped.
#[derive(Debug)]
struct Running(Arc<Activity>);

impl Running {
    fn begin(activity: &Arc<Activity>) -> Self {
        activity.begin();
        Self(Arc::clone(activity))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// The body of a response. Its request is in progress until the last byte.
#[derive(Debug)]
pub struct TrackedBody<B> {
    body: B,
    /// Number of the response on its connection.
    number: u64,
    running: Running,
}

impl<B> Drop for TrackedBody<B> {
    fn drop(&mut self) {
        self.running.0.end_response(self.number);
    }
}

impl<B: HttpBody + Unpin> HttpBody for TrackedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<B::Data>, B::Error>>> {
        // The HTTP library polls for more bytes only after the client has received earlier bytes.
        self.running.0.record_received(self.number);
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.body.size_hint()
    }
}
