//! The embedded engine: one writer thread with group commit, a pool of readers, write-ahead logging.
//!
//! Writers queue at the thread; it runs as many of them as are waiting and commits them together. A commit is on disk
//! (`synchronous=FULL`) before any of them hears of it. The first of a group has the transaction to itself and ends it
//! if it fails; only those that join it need savepoints, which keep a copy of every page that changes. A job whose
//! caller has given up is skipped, or undone if that happens while it runs.

pub(crate) mod statement;

use std::{
    fs::File,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use rusqlite::{Connection, ErrorCode, OpenFlags, config::DbConfig, ffi};
use tokio::{
    sync::{Semaphore, mpsc, oneshot},
    task::spawn_blocking,
};

use crate::{
    db::Load,
    error::{Error, Result},
    migrate,
    tx::Tx,
};

/// Jobs that may wait for the writer before callers are held back.
const QUEUE: usize = 1024;
/// Jobs that share one commit at the most, so that the first does not wait for ever.
const GROUP: usize = 128;
/// Pages in the write-ahead log before they are copied into the database: reports one after the other change the same
/// pages, which are then copied once.
const LOG_PAGES: i64 = 4096;
/// How long a call waits for a reader before it is told that the database is busy.
const PATIENCE: Duration = Duration::from_secs(15);

/// A job runs inside the open transaction and answers how to report its end once the commit is known.
type Job = Box<dyn FnOnce(&Connection, Scope) -> Report + Send>;
type Report = Box<dyn FnOnce(Option<&rusqlite::Error>) + Send>;

/// What a job undoes when it fails.
#[derive(Clone, Copy)]
enum Scope {
    /// All of the transaction: there is nothing else in it.
    Transaction,
    /// What it did itself.
    Savepoint,
}

#[derive(Clone)]
pub(crate) struct Sqlite {
    file: Arc<PathBuf>,
    busy_timeout: Duration,
    writer: Arc<Mutex<Option<mpsc::Sender<Job>>>>,
    stopped: Arc<tokio::sync::Mutex<Option<oneshot::Receiver<()>>>>,
    readers: Arc<Mutex<Vec<Connection>>>,
    permits: Arc<Semaphore>,
    size: usize,
    waiting: Arc<AtomicU64>,
}

impl Sqlite {
    pub(crate) async fn open(file: &Path, busy_timeout: Duration, cache_kib: u32) -> Result<Self> {
        let path = file.to_owned();
        let writer = blocking(move || {
            create_for_owner(&path)?;
            let connection = Connection::open(&path)?;
            prepare(&connection, busy_timeout)?;
            connection.pragma_update(None, "journal_mode", "wal")?;
            connection.pragma_update(None, "synchronous", "full")?;
            connection.pragma_update(None, "wal_autocheckpoint", LOG_PAGES)?;
            connection.pragma_update(None, "cache_size", -i64::from(cache_kib))?;
            in_transaction(&connection, "begin immediate", |connection| {
                migrate::run(&mut Tx::sqlite(connection, &AtomicU64::new(0)))
            })?;
            Ok::<_, Error>(connection)
        })
        .await?;

        let (sender, receiver) = mpsc::channel(QUEUE);
        let (ended, stopped) = oneshot::channel();
        thread::Builder::new()
            .name("sqlite-writer".into())
            .spawn(move || {
                write_until_closed(&writer, receiver);
                drop(writer);
                let _ = ended.send(());
            })
            .map_err(|error| Error::Engine(error.into()))?;

        let size = thread::available_parallelism().map_or(4, |cores| cores.get() * 4).clamp(8, 32);
        Ok(Self {
            file: Arc::new(file.to_owned()),
            busy_timeout,
            writer: Arc::new(Mutex::new(Some(sender))),
            stopped: Arc::new(tokio::sync::Mutex::new(Some(stopped))),
            readers: Arc::default(),
            permits: Arc::new(Semaphore::new(size)),
            size,
            waiting: Arc::default(),
        })
    }

    pub(crate) async fn read<T, E, F>(&self, statements: Arc<AtomicU64>, work: F) -> Result<T, E>
    where
        F: FnOnce(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let waiting = Waiting::count(&self.waiting);
        let permit = tokio::time::timeout(PATIENCE, Arc::clone(&self.permits).acquire_owned()).await;
        drop(waiting);
        let Ok(Ok(permit)) = permit else {
            return Err(Error::Busy("no connection became free in time".into()).into());
        };
        let this = self.clone();
        blocking(move || {
            let _permit = permit;
            let connection = this.reader()?;
            let answer = in_transaction(&connection, "begin", |connection| {
                work(&mut Tx::sqlite(connection, &statements))
            });
            // A connection whose closure panicked is not put back.
            this.readers.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            answer
        })
        .await
    }

    pub(crate) async fn write<T, E, F>(&self, statements: Arc<AtomicU64>, work: F) -> Result<T, E>
    where
        F: FnOnce(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let closed = || Error::Busy("the database is closing".into());
        let sender = self.writer.lock().unwrap_or_else(PoisonError::into_inner).clone().ok_or_else(closed)?;
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |connection, scope| {
            // Whoever gave up has been told that it failed, and may try again: it must not happen after all.
            let outcome = if answer.is_closed() {
                Err(abandoned().into())
            } else {
                in_scope(connection, scope, |connection| {
                    let done = work(&mut Tx::sqlite(connection, &statements))?;
                    if answer.is_closed() { Err(abandoned().into()) } else { Ok(done) }
                })
            };
            Box::new(move |failure| {
                let outcome = match failure {
                    Some(failure) => outcome.and_then(|_| Err(not_committed(failure).into())),
                    None => outcome,
                };
                let _ = answer.send(outcome);
            })
        });
        let _waiting = Waiting::count(&self.waiting);
        let sent = sender.send(job).await;
        drop(sender);
        let answer = answered.await;
        sent.map_err(|_| closed())?;
        answer.map_err(|_| Error::engine("the write was abandoned by a panic"))?
    }

    pub(crate) async fn backup(&self, target: PathBuf) -> Result<()> {
        let this = self.clone();
        blocking(move || {
            let source = this.connect_reader()?;
            create_for_owner(&target)?;
            let mut copy = Connection::open(&target)?;
            let backup = rusqlite::backup::Backup::new(&source, &mut copy)?;
            // All pages in one step: the copy is one snapshot, and in write-ahead mode nobody waits for it.
            match backup.step(-1)? {
                rusqlite::backup::StepResult::Done => Ok(()),
                _ => Err(Error::Busy("the copy could not be finished".into())),
            }
        })
        .await
    }

    pub(crate) async fn close(&self) {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(stopped) = self.stopped.lock().await.take() {
            let _ = stopped.await;
        }
        self.permits.close();
        self.readers.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    pub(crate) fn load(&self) -> Load {
        let waiting = self.waiting.load(Ordering::Relaxed);
        Load {
            connections: self.size,
            busy: self.size.saturating_sub(self.permits.available_permits()),
            waiting: usize::try_from(waiting).unwrap_or(usize::MAX),
        }
    }

    fn reader(&self) -> Result<Connection> {
        let free = self.readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        free.map_or_else(|| self.connect_reader(), Ok)
    }

    fn connect_reader(&self) -> Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(self.file.as_path(), flags)?;
        prepare(&connection, self.busy_timeout)?;
        connection.pragma_update(None, "query_only", true)?;
        Ok(connection)
    }
}

/// A call that waits, for as long as this value lives: a call that is given up no longer does.
struct Waiting(Arc<AtomicU64>);

impl Waiting {
    fn count(counter: &Arc<AtomicU64>) -> Self {
        counter.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(counter))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Makes the file of a database, which only its owner may read; the engine gives the files beside it the same rights.
fn create_for_owner(file: &Path) -> Result<()> {
    let mut options = File::options();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file).map_err(|error| Error::Engine(error.into()))?;
    Ok(())
}

fn prepare(connection: &Connection, busy_timeout: Duration) -> Result<()> {
    connection.busy_timeout(busy_timeout)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "temp_store", "memory")?;
    connection.set_prepared_statement_cache_capacity(256);
    // A statement keeps its plan: without statistics, to plan it anew for each value finds the same one again.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// Takes jobs until every sender is gone. The engine takes no statistics then: those of a small database would mislead
/// it as soon as there is more, and without any it goes by the indexes, which are made for what is asked.
fn write_until_closed(connection: &Connection, mut jobs: mpsc::Receiver<Job>) {
    while let Some(first) = jobs.blocking_recv() {
        let mut reports = Vec::new();
        let mut run = |job: Job, scope| {
            if let Ok(report) = catch_unwind(AssertUnwindSafe(|| job(connection, scope))) {
                reports.push(report);
            }
            reports.len()
        };
        let begun = connection.execute_batch("begin immediate");
        if let Err(error) = &begun {
            tracing::warn!(%error, "the database could not be locked for writing");
        }
        run(first, Scope::Transaction);
        let failed = begun.is_ok() && connection.is_autocommit();
        // Those who still wait get a transaction that has not been ended. If none could be begun, each of them finds
        // that out and reports it itself.
        while (begun.is_err() || !connection.is_autocommit())
            && let Ok(job) = jobs.try_recv()
            && run(job, Scope::Savepoint) < GROUP
        {}
        let committed = begun.and_then(|()| commit(connection));
        if let Err(error) = &committed
            && !failed
        {
            tracing::error!(%error, "a group of writes could not be committed");
            let _ = connection.execute_batch("rollback");
        }
        for report in reports {
            report(committed.as_ref().err());
        }
    }
}

/// Commits, unless one of the jobs met a full or failing disk and the engine has undone all of them since.
fn commit(connection: &Connection) -> rusqlite::Result<()> {
    if connection.is_autocommit() {
        let code = ffi::Error::new(ffi::SQLITE_ABORT_ROLLBACK);
        return Err(rusqlite::Error::SqliteFailure(code, Some("one of them ended the transaction".into())));
    }
    connection.execute_batch("commit")
}

/// The end of a job that nobody waits for any more.
fn abandoned() -> Error {
    Error::Busy("the caller has given up".into())
}

/// What a job is told that did its work in vain.
fn not_committed(failure: &rusqlite::Error) -> Error {
    let reason = format!("a group of writes could not be committed: {failure}").into();
    match failure.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => Error::Full(reason),
        _ => Error::Busy(reason),
    }
}

fn in_scope<T, E: From<Error>>(
    connection: &Connection,
    scope: Scope,
    work: impl FnOnce(&Connection) -> Result<T, E>,
) -> Result<T, E> {
    if connection.is_autocommit() {
        return Err(Error::Busy("the database is locked by another process".into()).into());
    }
    let (begin, undo, end) = match scope {
        Scope::Transaction => ("", "rollback", ""),
        Scope::Savepoint => ("savepoint job", "rollback to job; release job", "release job"),
    };
    connection.execute_batch(begin).map_err(Error::from)?;
    let mut guard = Rollback { connection, sql: undo, armed: true };
    let answer = work(connection)?;
    connection.execute_batch(end).map_err(Error::from)?;
    guard.armed = false;
    Ok(answer)
}

fn in_transaction<T, E: From<Error>>(
    connection: &Connection,
    begin: &str,
    work: impl FnOnce(&Connection) -> Result<T, E>,
) -> Result<T, E> {
    connection.execute_batch(begin).map_err(Error::from)?;
    let mut guard = Rollback { connection, sql: "rollback", armed: true };
    let answer = work(connection)?;
    connection.execute_batch("commit").map_err(Error::from)?;
    guard.armed = false;
    Ok(answer)
}

/// Undoes what was begun when its scope is left early, by an error or a panic.
struct Rollback<'c> {
    connection: &'c Connection,
    sql: &'static str,
    armed: bool,
}

impl Drop for Rollback<'_> {
    fn drop(&mut self) {
        // A full disk may have ended the transaction already; then there is nothing to undo.
        if self.armed && !self.connection.is_autocommit() {
            let _ = self.connection.execute_batch(self.sql);
        }
    }
}

async fn blocking<T, E, F>(work: F) -> Result<T, E>
where
    F: FnOnce() -> Result<T, E> + Send + 'static,
    T: Send + 'static,
    E: From<Error> + Send + 'static,
{
    spawn_blocking(work).await.map_err(|error| Error::Engine(error.into()))?
}
