//! Answers that are written while they are read from the database, so that they are never held as a whole.
//!
//! Such an answer keeps a database connection for as long as its client takes to fetch it. Therefore a limit
//! (`App::streams`) bounds how many are written at a time, and the server aborts those with too slow a client.

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

/// How much is gathered before it is sent.
const CHUNK: usize = 64 * 1024;
/// How many chunks may wait for the client. Most answers are shorter than all of these, and then no client, however
/// slow, keeps the database.
const WAITING: usize = 16;
/// How long a client may keep the writer waiting, be it at once or by being slower than [`LEAST_RATE`] for longer: a
/// network may fail for some seconds, and recover.
const PATIENCE: Duration = Duration::from_secs(20);
/// How many bytes a second, before compression, which makes them a tenth, a client must take in the long run: slower
/// than any line that is fit for answers of this length.
const LEAST_RATE: u32 = 512 * 1024;
/// How long an answer may take at all: until it ends, the database keeps what has been changed since.
const LONGEST: Duration = Duration::from_secs(15 * 60);

/// A part of an answer. What ends without the last one is not whole.
enum Piece {
    More(Bytes),
    Last(Bytes),
}

/// Takes what is written and sends it on.
pub(super) struct Sink {
    buffer: Vec<u8>,
    pieces: mpsc::Sender<Piece>,
    /// Whether anything has been sent.
    begun: Arc<AtomicBool>,
    patience: Duration,
    begin: Instant,
    lost: Option<Lost>,
}

/// Why there is nobody to write to any more.
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

    // JSON is written in very small pieces.
    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= CHUNK { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.lost.is_some() {
            // Some writers try again when they are dropped.
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

/// A JSON list that is written item by item.
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

    /// Ends the list, and answers what it was written to.
    pub(super) fn end(self) -> Result<&'a mut Sink> {
        self.sink.write_all(if self.separator == b"[" { b"[]" } else { b"]" })?;
        Ok(self.sink)
    }
}

/// Why an answer was not finished.
enum Unfinished {
    Lost(Lost),
    Failed(Error),
}

impl From<tidemark_store::Error> for Unfinished {
    fn from(error: tidemark_store::Error) -> Self {
        Self::Failed(error.into())
    }
}

/// A body for somebody at this address that is written on one snapshot of the database, with what is known of it
/// beforehand, such as the values of headers: `begin` answers that, and what writes the body. A failure before the first chunk is an answer of its own;
/// one after it breaks the body off, so that nobody takes a part for the whole.
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
            // Whoever asked has gone if this fails, and writing will tell.
            let _ = known.send(head);
            write(tx, &mut sink)
        });
        // What a writer makes of a lost client is not the reason.
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
            Err(Unfinished::Lost(Lost::Gone)) => tracing::debug!("a client left before its answer ended"),
            Err(Unfinished::Lost(Lost::Slow)) => {
                tracing::warn!("an answer was broken off because its client took it too slowly");
            }
            Err(Unfinished::Failed(error)) if begun.load(Ordering::Relaxed) => {
                tracing::error!(cause = error.cause(), "an answer was broken off");
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

/// The body of these pieces.
fn rest(first: Piece, mut pieces: mpsc::Receiver<Piece>) -> Body {
    let mut first = Some(first);
    let mut ended = false;
    let next = move |context: &mut Context<'_>| {
        // Compression asks once more after the end.
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
        // 64 KiB earn an eighth of a second. On a busy machine the writer may begin to wait too late to spend more.
        while sink.patience == PATIENCE {
            let writing = tokio::spawn(write(sink, 1));
            tokio::time::sleep(Duration::from_millis(250)).await;
            pieces.recv().await.unwrap();
            (sink, error) = writing.await.unwrap();
            assert_eq!(error, None);
        }
        // A client that takes everything at once earns it back.
        tokio::spawn(async move { while pieces.recv().await.is_some() {} });
        while sink.patience < PATIENCE {
            (sink, error) = write(sink, 1).await;
            assert_eq!(error, None);
        }
    }

    #[tokio::test]
    async fn a_client_that_leaves_is_told_from_a_slow_one() {
        let (sender, pieces) = mpsc::channel(1);
        drop(pieces);
        let (sink, error) = write(Sink::new(sender), 1).await;
        assert_eq!((sink.lost, error), (Some(Lost::Gone), Some(io::ErrorKind::BrokenPipe)));
    }
}
