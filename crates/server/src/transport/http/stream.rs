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
const WAITING: usize = 16;
/// Maximum time that a client may block the writer, in a single wait or as the sum of waits below [`LEAST_RATE`]: a network can
/// fail for some seconds and recover.
const PATIENCE: Duration = Duration::from_secs(20);
/// Minimum average rate of a client in bytes per second, before compression (about a tenth after it): slower than any
/// connection that is suitable for responses of this length.
const LEAST_RATE: u32 = 512 * 1024;
/// Maximum duration of a response: until its end, the database keeps all rows that were changed or deleted in the meantime.
const LONGEST: Duration = Duration::from_secs(15 * 60);

/// A part of a response. A response without the last piece is incomplete.
enum Piece {
    More(Bytes),
    Last(Bytes),
}

/// Buffers written bytes and sends them in chunks.
pub(super) struct Sink {
    buffer: Vec<u8>,
    pieces: mpsc::Sender<Piece>,
    /// Whether a chunk has been sent.
    begun: Arc<AtomicBool>,
    patience: Duration,
    begin: Instant,
    lost: Option<Lost>,
}

/// Why the client no longer receives the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lost {
    Gone,
    Slow,
}

impl Sink {
    fn new(pieces: mpsc::Sender<Piece>) -> Self {
        Self {
            buffer: Vec::with_capacity(4096),
            pieces,
            begun: Arc::default(),
            patience: PATIENCE,
            begin: Instant::now(),
            lost: None,
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
        if self.lost.is_some() {
            // Some writers retry when they are dropped.
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let chunk = std::mem::replace(&mut self.buffer, Vec::with_capacity(CHUNK + CHUNK / 4));
        let earned = Duration::from_secs(1).mul_f64(chunk.len() as f64 / f64::from(LEAST_RATE));
        self.begun.store(true, Ordering::Relaxed);
        let asked = Instant::now();
        let patience = self.patience.min(LONGEST.saturating_sub(self.begin.elapsed()));
        let send = self.pieces.send(Piece::More(chunk.into()));
        let (lost, kind) = match Handle::current().block_on(timeout(patience, send)) {
            Ok(Ok(())) => {
                let left = self.patience.saturating_sub(asked.elapsed());
                self.patience = PATIENCE.min(left + earned);
                return Ok(());
            }
            Ok(Err(_)) => (Lost::Gone, io::ErrorKind::BrokenPipe),
            Err(_) => (Lost::Slow, io::ErrorKind::TimedOut),
        };
        self.lost = Some(lost);
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
enum Unfinished {
    Lost(Lost),
    Failed(Error),
}

impl From<tidemark_store::Error> for Unfinished {
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
    let (sender, mut pieces) = mpsc::channel(WAITING);
    let (known, head) = oneshot::channel();
    let mut sink = Sink::new(sender.clone());
    let (db, begun) = (app.db.clone(), Arc::clone(&sink.begun));
    let work = move |tx: &mut Tx<'_>| {
        let _permit = permit;
        let written = begin(tx).and_then(|(head, write)| {
            // Sending fails only if the client has disconnected; then writing fails too.
            let _ = known.send(head);
            write(tx, &mut sink)
        });
        // If the client was lost, the error of the writer is only a consequence.
        match (written, sink.lost) {
            (Ok(()), _) => Ok(sink.buffer),
            (Err(_), Some(lost)) => Err(Unfinished::Lost(lost)),
            (Err(error), None) => Err(Unfinished::Failed(error)),
        }
    };
    let read = async move {
        match db.read(work).await {
            Ok(rest) => {
                let _ = sender.send(Piece::Last(rest.into())).await;
            }
            Err(Unfinished::Lost(Lost::Gone)) => {
                tracing::debug!("client disconnected before the end of the response");
            }
            Err(Unfinished::Lost(Lost::Slow)) => {
                tracing::warn!("response aborted: the client reads too slowly");
            }
            Err(Unfinished::Failed(error)) if begun.load(Ordering::Relaxed) => {
                tracing::error!(cause = error.cause(), "response aborted");
            }
            Err(Unfinished::Failed(error)) => return Err(error),
        }
        Ok(())
    };
    let reading = tokio::spawn(read.in_current_span());
    match pieces.recv().await {
        Some(first) => {
            let head = head.await.map_err(|error| Error::Internal(error.into()))?;
            Ok((head, rest(first, pieces)))
        }
        None => match reading.await {
            Ok(Err(error)) => Err(error),
            Ok(Ok(())) => Err(Error::Internal("an answer was not written".into())),
            Err(error) => Err(Error::Internal(error.into())),
        },
    }
}

/// Returns a body that consists of these pieces.
fn rest(first: Piece, mut pieces: mpsc::Receiver<Piece>) -> Body {
    let mut first = Some(first);
    let mut ended = false;
    let next = move |context: &mut Context<'_>| {
        // The compression layer polls again after the end.
        if ended {
            return Poll::Ready(None);
        }
        let piece = match first.take() {
            Some(first) => Poll::Ready(Some(first)),
            None => pieces.poll_recv(context),
        };
        piece.map(|piece| {
            ended = !matches!(piece, Some(Piece::More(_)));
            Some(match piece {
                Some(Piece::More(bytes) | Piece::Last(bytes)) => Ok(bytes),
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
        let (sender, pieces) = mpsc::channel(2);
        let sink = Sink { patience: Duration::from_millis(50), ..Sink::new(sender) };
        let (sink, error) = write(sink, 2).await;
        assert_eq!((sink.lost, error), (None, None));
        let sink = Sink { patience: Duration::from_millis(50), ..sink };
        let (sink, error) = write(sink, 1).await;
        assert_eq!((sink.lost, error), (Some(Lost::Slow), Some(io::ErrorKind::TimedOut)));
        let sink = Sink { patience: PATIENCE, ..sink };
        let (sink, error) = write(sink, 1).await;
        assert_eq!((sink.lost, error), (Some(Lost::Slow), Some(io::ErrorKind::BrokenPipe)), "at once");
        drop(pieces);
    }

    #[tokio::test]
    async fn patience_is_spent_by_waiting_and_earned_by_taking() {
        let (sender, mut pieces) = mpsc::channel(1);
        let (mut sink, mut error) = write(Sink::new(sender), 1).await;
        assert_eq!((sink.patience, error), (PATIENCE, None), "no more is earned than there was");
        // 64 KiB add an eighth of a second. On a busy machine the writer may start to wait too late to use up more.
        while sink.patience == PATIENCE {
            let writing = tokio::spawn(write(sink, 1));
            tokio::time::sleep(Duration::from_millis(250)).await;
            pieces.recv().await.unwrap();
            (sink, error) = writing.await.unwrap();
            assert_eq!(error, None);
        }
        // A client that reads everything at once restores the full time.
        tokio::spawn(async move { while pieces.recv().await.is_some() {} });
        while sink.patience < PATIENCE {
            (sink, error) = write(sink, 1).await;
            assert_eq!(error, None);
        }
    }

    #[tokio::test]
    async fn a_client_that_leaves_differs_from_a_slow_one() {
        let (sender, pieces) = mpsc::channel(1);
        drop(pieces);
        let (sink, error) = write(Sink::new(sender), 1).await;
        assert_eq!((sink.lost, error), (Some(Lost::Gone), Some(io::ErrorKind::BrokenPipe)));
    }
}
