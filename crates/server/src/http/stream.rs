//! Answers that are written while they are read from the database, so that their length costs no memory.

use std::{
    io::{self, Write},
    time::Duration,
};

use axum::body::{Body, Bytes};
use futures_util::{StreamExt, stream};
use tidemark_store::Tx;
use tokio::{runtime::Handle, sync::mpsc, time::timeout};

use super::error::{Error, Result};
use crate::App;

/// How much is gathered before it is sent.
const CHUNK: usize = 64 * 1024;
/// How many chunks may wait for a slow client.
const WAITING: usize = 4;
/// How long a client may take for a chunk; the database is read meanwhile, and that must end.
const PATIENCE: Duration = Duration::from_secs(30);

/// Takes what is written and sends it on.
pub(super) struct Sink {
    buffer: Vec<u8>,
    chunks: mpsc::Sender<io::Result<Bytes>>,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= CHUNK {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let chunk = std::mem::replace(&mut self.buffer, Vec::with_capacity(CHUNK + CHUNK / 4));
        let sent = Handle::current().block_on(timeout(PATIENCE, self.chunks.send(Ok(chunk.into()))));
        match sent {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(io::Error::new(io::ErrorKind::BrokenPipe, "the client has gone")),
            Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "the client is too slow")),
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Busy(Some(error.into()))
    }
}

/// The body that `write` writes, on one snapshot of the database. A failure before the first chunk is an answer of its
/// own; one after it breaks the body off, so that nobody takes a part for the whole.
pub(super) async fn body<F>(app: &App, write: F) -> Result<Body>
where
    F: FnOnce(&mut Tx<'_>, &mut Sink) -> Result<()> + Send + 'static,
{
    let (sender, mut chunks) = mpsc::channel(WAITING);
    let mut sink = Sink { buffer: Vec::with_capacity(4096), chunks: sender.clone() };
    let db = app.db.clone();
    let reading = tokio::spawn(async move {
        let read = db.read(move |tx| write(tx, &mut sink).map(|()| sink.buffer)).await;
        match read {
            Ok(rest) => {
                let _ = sender.send(Ok(rest.into())).await;
                Ok(())
            }
            Err(error) => {
                let _ = sender.send(Err(io::Error::other("the answer could not be finished"))).await;
                Err(error)
            }
        }
    });
    match chunks.recv().await {
        Some(Ok(first)) => {
            // Compression asks once more after the end, which not every stream would stand.
            let rest = stream::poll_fn(move |context| chunks.poll_recv(context));
            Ok(Body::from_stream(stream::iter([Ok(first)]).chain(rest)))
        }
        Some(Err(_)) | None => match reading.await {
            Ok(Err(error)) => Err(error),
            Ok(Ok(())) => Ok(Body::empty()),
            Err(error) => Err(Error::Internal(error.into())),
        },
    }
}
