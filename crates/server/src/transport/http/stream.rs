//! Streamed responses: written while the server reads the database, and never in memory as a whole.
//!
//! A streamed response holds a database connection until the client has received it. Therefore a concurrency limit
//! (`App::streams`) bounds the number of streams, and the server aborts streams of clients that are too slow.

use std::{
    io::{self, Write},
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::{Duration, Instant},
};

use axum::body::{Body, Bytes};
use futures_util::stream;
use serde::Serialize;
use tidemark_store::Tx;
use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot},
    time::timeout,
};
use tracing::Instrument;

use super::error::{Error, Result};
use crate::domain::app::App;

/// Size of a chunk in bytes.
const CHUNK: usize = 64 * 1024;
/// Maximum number of chunks waiting for the client. Most responses are shorter than these chunks, so that a slow client does
/// not hold the database connection.
const MAX_QUEUED_CHUNKS: usize = 16;
/// Maximum time that a client may block the writer, in a single wait or as the sum of waits below [`MIN_RATE`]: a network can
/// fail for some seconds and recover.
const MAX_WAIT: Duration = Duration::from_secs(20);
/// Minimum average rate of a client in bytes per second, before compression (about a tenth after it): slower than any
/// connection that is suitable for responses of this length.
const MIN_RATE: u32 = 512 * 1024;
/// Maximum duration of a response: until its end, the database keeps all rows that were changed or deleted in the meantime.
const MAX_DURATION: Duration = Duration::from_secs(15 * 60);

/// A part of a response. A response without the last chunk is incomplete.
enum Chunk {
    More(Bytes),
    Last(Bytes),
}

/// Buffers written bytes and sends them in chunks.
pub(super) struct Sink {
    buffer: Vec<u8>,
    chunks: mpsc::Sender<Chunk>,
    /// Whether a chunk has been sent.
    is_started: Arc<AtomicBool>,
    wait_budget: Duration,
    begin: Instant,
    abort: Option<Abort>,
}

/// Why the client no longer receives the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Abort {
    Disconnected,
    TooSlow,
}

impl Sink {
    fn new(chunks: mpsc::Sender<Chunk>) -> Self {
        Self {
            buffer: Vec::with_capacity(4096),
            chunks,
            is_started: Arc::default(),
            wait_budget: MAX_WAIT,
            begin: Instant::now(),
            abort: None,
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    // Serde writes JSON in very small pieces.
    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= CHUNK { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.abort.is_some() {
            // Some writers retry when they are dropped.
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let chunk = std::mem::replace(&mut self.buffer, Vec::with_capacity(CHUNK + CHUNK / 4));
        let earned = Duration::from_secs(1).mul_f64(chunk.len() as f64 / f64::from(MIN_RATE));
        self.is_started.store(true, Ordering::Relaxed);
        let asked = Instant::now();
        let wait_budget = self.wait_budget.min(MAX_DURATION.saturating_sub(self.begin.elapsed()));
        let send = self.chunks.send(Chunk::More(chunk.into()));
        let (abort, kind) = match Handle::current().block_on(timeout(wait_budget, send)) {
            Ok(Ok(())) => {
                let left = self.wait_budget.saturating_sub(asked.elapsed());
                self.wait_budget = MAX_WAIT.min(left + earned);
                return Ok(());
            }
            Ok(Err(_)) => (Abort::Disconnected, io::ErrorKind::BrokenPipe),
            Err(_) => (Abort::TooSlow, io::ErrorKind::TimedOut),
        };
        self.abort = Some(abort);
        Err(kind.into())
    }
}

/// A JSON array that is written item by item.
pub(super) struct List<'a> {
    sink: &'a mut Sink,
    separator: &'static [u8],
}

impl<'a> List<'a> {
    pub(super) fn new(sink: &'a mut Sink) -> Self {
        Self { sink, separator: b"[" }
    }

    pub(super) fn push(&mut self, item: &impl Serialize) -> Result<()> {
        self.sink.write_all(self.separator)?;
        self.separator = b",";
        serde_json::to_writer(&mut *self.sink, item).map_err(|error| Error::Internal(error.into()))
    }

    /// Writes the end of the array and returns the sink.
    pub(super) fn end(self) -> Result<&'a mut Sink> {
        self.sink.write_all(if self.separator == b"[" { b"[]" } else { b"]" })?;
        Ok(self.sink)
    }
}

/// Why a response is incomplete.
enum Incomplete {
    Aborted(Abort),
    Failed(Error),
}

impl From<tidemark_store::Error> for Incomplete {
    fn from(error: tidemark_store::Error) -> Self {
        Self::Failed(error.into())
    }
}

/// Returns a body that is written on one snapshot of the database, for a client at this address. `begin` returns values that
/// are known before the body, for example for headers, and the function that writes the body. An error before the first chunk
/// becomes an error response; a later error aborts the body, so that the client detects the incomplete response.
pub(super) async fn body<H, F, W>(app: &App, address: Option<IpAddr>, begin: F) -> Result<(H, Body)>
where
    H: Send + 'static,
    F: FnOnce(&mut Tx<'_>) -> Result<(H, W)> + Send + 'static,
    W: FnOnce(&mut Tx<'_>, &mut Sink) -> Result<()>,
{
    let permit = app.streams.acquire(address).await?;
    let (sender, mut chunks) = mpsc::channel(MAX_QUEUED_CHUNKS);
    let (known, head) = oneshot::channel();
    let mut sink = Sink::new(sender.clone());
    let (db, is_started) = (app.db.clone(), Arc::clone(&sink.is_started));
    let work = move |tx: &mut Tx<'_>| {
        let _permit = permit;
        let written = begin(tx).and_then(|(head, write)| {
            // Sending fails only if the client has disconnected; then writing fails too.
            let _ = known.send(head);
            write(tx, &mut sink)
        });
        // If the stream was aborted, the error of the writer is only a consequence.
        match (written, sink.abort) {
            (Ok(()), _) => Ok(sink.buffer),
            (Err(_), Some(abort)) => Err(Incomplete::Aborted(abort)),
            (Err(error), None) => Err(Incomplete::Failed(error)),
        }
    };
    let read = async move {
        match db.read(work).await {
            Ok(rest) => {
                let _ = sender.send(Chunk::Last(rest.into())).await;
            }
            Err(Incomplete::Aborted(Abort::Disconnected)) => {
                tracing::debug!("client disconnected before the end of the response");
            }
            Err(Incomplete::Aborted(Abort::TooSlow)) => {
                tracing::warn!("response aborted: the client reads too slowly");
            }
            Err(Incomplete::Failed(error)) if is_started.load(Ordering::Relaxed) => {
                tracing::error!(cause = error.cause(), "response aborted");
            }
            Err(Incomplete::Failed(error)) => return Err(error),
        }
        Ok(())
    };
    let reading = tokio::spawn(read.in_current_span());
    match chunks.recv().await {
        Some(first) => {
            let head = head.await.map_err(|error| Error::Internal(error.into()))?;
            Ok((head, body_of(first, chunks)))
        }
        None => match reading.await {
            Ok(Err(error)) => Err(error),
            Ok(Ok(())) => Err(Error::Internal("an answer was not written".into())),
            Err(error) => Err(Error::Internal(error.into())),
        },
    }
}

/// Returns a body that consists of these chunks.
fn body_of(first: Chunk, mut chunks: mpsc::Receiver<Chunk>) -> Body {
    let mut first = Some(first);
    let mut ended = false;
    let next = move |context: &mut Context<'_>| {
        // The compression layer polls again after the end.
        if ended {
            return Poll::Ready(None);
        }
        let chunk = match first.take() {
            Some(first) => Poll::Ready(Some(first)),
            None => chunks.poll_recv(context),
        };
        chunk.map(|chunk| {
            ended = !matches!(chunk, Some(Chunk::More(_)));
            Some(match chunk {
                Some(Chunk::More(bytes) | Chunk::Last(bytes)) => Ok(bytes),
                None => Err(io::Error::other("the answer could not be finished")),
            })
        })
    };
    Body::from_stream(stream::poll_fn(next))
}

#[cfg(test)]
mod tests {
    use tokio::task::spawn_blocking;

    use super::*;

    async fn write(mut sink: Sink, chunks: usize) -> (Sink, Option<io::ErrorKind>) {
        let write = move || {
            let written = (0..chunks).try_for_each(|_| sink.write_all(&[b' '; CHUNK]));
            (sink, written.err().map(|error| error.kind()))
        };
        spawn_blocking(write).await.unwrap()
    }

    #[tokio::test]
    async fn a_client_that_takes_nothing_is_given_up() {
        let (sender, chunks) = mpsc::channel(2);
        let sink = Sink { wait_budget: Duration::from_millis(50), ..Sink::new(sender) };
        let (sink, error) = write(sink, 2).await;
        assert_eq!((sink.abort, error), (None, None));
        let sink = Sink { wait_budget: Duration::from_millis(50), ..sink };
        let (sink, error) = write(sink, 1).await;
        assert_eq!((sink.abort, error), (Some(Abort::TooSlow), Some(io::ErrorKind::TimedOut)));
        let sink = Sink { wait_budget: MAX_WAIT, ..sink };
        let (sink, error) = write(sink, 1).await;
        assert_eq!((sink.abort, error), (Some(Abort::TooSlow), Some(io::ErrorKind::BrokenPipe)), "at once");
        drop(chunks);
    }

    #[tokio::test]
    async fn patience_is_spent_by_waiting_and_earned_by_taking() {
        let (sender, mut chunks) = mpsc::channel(1);
        let (mut sink, mut error) = write(Sink::new(sender), 1).await;
        assert_eq!((sink.wait_budget, error), (MAX_WAIT, None), "no more is earned than there was");
        // 64 KiB add an eighth of a second. On a busy machine the writer may start to wait too late to use up more.
        while sink.wait_budget == MAX_WAIT {
            let writing = tokio::spawn(write(sink, 1));
            tokio::time::sleep(Duration::from_millis(250)).await;
            chunks.recv().await.unwrap();
            (sink, error) = writing.await.unwrap();
            assert_eq!(error, None);
        }
        // A client that reads everything at once restores the full time.
        tokio::spawn(async move { while chunks.recv().await.is_some() {} });
        while sink.wait_budget < MAX_WAIT {
            (sink, error) = write(sink, 1).await;
            assert_eq!(error, None);
        }
    }

    #[tokio::test]
    async fn a_client_that_leaves_differs_from_a_slow_one() {
        let (sender, chunks) = mpsc::channel(1);
        drop(chunks);
        let (sink, error) = write(Sink::new(sender), 1).await;
        assert_eq!((sink.abort, error), (Some(Abort::Disconnected), Some(io::ErrorKind::BrokenPipe)));
    }
}
