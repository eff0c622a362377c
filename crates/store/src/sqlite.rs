//! Embedded engine: one writer thread with group commit, a pool of readers, write-ahead logging.
//!
//! Writes wait in the queue of the writer thread, which runs all queued writes and commits them together. A commit is
//! on disk (`synchronous=FULL`) before the callers get their results. The first write of a group uses the transaction
//! directly and ends it if it fails; only the writes that join the group need savepoints, which keep a copy of every
//! changed page. A write whose caller has dropped the future is skipped, or rolled back if the write is already
//! running.

mod copy;
pub(crate) mod statement;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode, OpenFlags, config::DbConfig, ffi};
use tokio::{
    sync::{Semaphore, mpsc, oneshot},
    task::spawn_blocking,
};

use crate::{
    db::ConnectionLoad,
    error::{Error, Result},
    migrate,
    tx::Tx,
};

/// Maximum number of writes in the queue; further callers wait.
const QUEUE_CAPACITY: usize = 1024;
/// Maximum number of writes per commit, to limit the latency of the first one.
const GROUP_COMMIT_MAX: usize = 128;
/// Pages in the write-ahead log before a checkpoint: consecutive reports change the same pages, which are then copied
/// once.
const WAL_CHECKPOINT_PAGES: i64 = 4096;
/// Maximum time that a call waits for a reader before it fails with `Busy`.
const READER_TIMEOUT: Duration = Duration::from_secs(15);

/// Delay between attempts to change the journal mode.
const BUSY_RETRY_DELAY: Duration = Duration::from_millis(5);

/// A write. It runs in the open transaction and returns a function that reports the result once the commit is known.
type WriteJob = Box<dyn FnOnce(&Connection, RollbackScope) -> CommitCallback + Send>;
type CommitCallback = Box<dyn FnOnce(Option<&rusqlite::Error>) + Send>;

/// What a failed write rolls back.
#[derive(Clone, Copy)]
enum RollbackScope {
    /// The whole transaction, which contains no other write.
    Transaction,
    /// Only the write itself.
    Savepoint,
}

#[derive(Clone)]
pub(crate) struct Sqlite {
    file: Arc<PathBuf>,
    busy_timeout: Duration,
    writer: Arc<Mutex<Option<mpsc::Sender<WriteJob>>>>,
    stopped: Arc<tokio::sync::Mutex<Option<oneshot::Receiver<()>>>>,
    readers: Arc<Mutex<Vec<Connection>>>,
    permits: Arc<Semaphore>,
    size: usize,
    waiting: Arc<AtomicU64>,
}

impl Sqlite {
    pub(crate) async fn open(
        file: &Path,
        busy_timeout: Duration,
        cache_kib: u32,
        migrates: bool,
    ) -> Result<Self> {
        let path = file.to_owned();
        let writer = blocking(move || {
            copy::create_for_owner(&path)?;
            let connection = Connection::open(&path)?;
            prepare(&connection, busy_timeout)?;
            retry_while_busy(busy_timeout, || connection.pragma_update(None, "journal_mode", "wal"))?;
            connection.pragma_update(None, "synchronous", "full")?;
            connection.pragma_update(None, "wal_autocheckpoint", WAL_CHECKPOINT_PAGES)?;
            connection.pragma_update(None, "cache_size", -i64::from(cache_kib))?;
            if migrates {
                in_transaction(&connection, "begin immediate", |connection| migrate(&path, connection))?;
            }
            Ok::<_, Error>(connection)
        })
        .await?;

        let (sender, receiver) = mpsc::channel(QUEUE_CAPACITY);
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
        let waiting = WaitingCall::count(&self.waiting);
        let permit = tokio::time::timeout(READER_TIMEOUT, Arc::clone(&self.permits).acquire_owned()).await;
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
            // A connection whose closure panicked is not returned to the pool.
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
        let job: WriteJob = Box::new(move |connection, scope| {
            // A caller that dropped the future may retry, so the write must not be committed.
            let outcome = if answer.is_closed() {
                Err(caller_dropped().into())
            } else {
                in_scope(connection, scope, |connection| {
                    let done = work(&mut Tx::sqlite(connection, &statements))?;
                    if answer.is_closed() { Err(caller_dropped().into()) } else { Ok(done) }
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
        let _waiting = WaitingCall::count(&self.waiting);
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
            copy::copy(&source, &target)
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

    pub(crate) fn load(&self) -> ConnectionLoad {
        let waiting = self.waiting.load(Ordering::Relaxed);
        ConnectionLoad {
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

/// Counts a waiting call for the lifetime of this value, so that abandoned calls are not counted.
struct WaitingCall(Arc<AtomicU64>);

impl WaitingCall {
    fn count(counter: &Arc<AtomicU64>) -> Self {
        counter.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(counter))
    }
}

impl Drop for WaitingCall {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Applies pending migrations. An existing database is backed up before.
fn migrate(file: &Path, connection: &Connection) -> Result<()> {
    let statements = AtomicU64::new(0);
    let tx = &mut Tx::sqlite(connection, &statements);
    let pending = migrate::pending(tx)?;
    if pending.is_upgrade() {
        // The copy does not contain the open transaction, and no other process can write meanwhile.
        copy::before_upgrade(file, connection)?;
    }
    pending.apply(tx)
}

/// Repeats a step while another process locks the database. SQLite waits by itself, except for a change of the journal
/// mode, which several processes attempt if they create the database at the same time.
fn retry_while_busy(timeout: Duration, step: impl Fn() -> rusqlite::Result<()>) -> Result<()> {
    let started = Instant::now();
    loop {
        match step() {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && started.elapsed() < timeout =>
            {
                thread::sleep(BUSY_RETRY_DELAY);
            }
            result => return Ok(result?),
        }
    }
}

fn prepare(connection: &Connection, busy_timeout: Duration) -> Result<()> {
    connection.busy_timeout(busy_timeout)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "temp_store", "memory")?;
    connection.set_prepared_statement_cache_capacity(256);
    // Keeps the plan of a statement: without statistics, planning again for each value gives the same plan.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// Runs writes until all senders are dropped. SQLite collects no statistics: statistics of a small database would
/// mislead its planner when the database grows; without statistics the planner uses the indexes, which match the
/// queries.
fn write_until_closed(connection: &Connection, mut jobs: mpsc::Receiver<WriteJob>) {
    while let Some(first) = jobs.blocking_recv() {
        let mut reports = Vec::new();
        let mut run = |job: WriteJob, scope| {
            if let Ok(report) = catch_unwind(AssertUnwindSafe(|| job(connection, scope))) {
                reports.push(report);
            }
            reports.len()
        };
        let begun = connection.execute_batch("begin immediate");
        if let Err(error) = &begun {
            tracing::warn!(%error, "the database could not be locked for writing");
        }
        run(first, RollbackScope::Transaction);
        let failed = begun.is_ok() && connection.is_autocommit();
        // Queued writes join the transaction if it is still open. If it could not be started, each write fails with its
        // own error.
        while (begun.is_err() || !connection.is_autocommit())
            && let Ok(job) = jobs.try_recv()
            && run(job, RollbackScope::Savepoint) < GROUP_COMMIT_MAX
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

/// Commits, unless SQLite rolled back the whole transaction because of a full or failing disk.
fn commit(connection: &Connection) -> rusqlite::Result<()> {
    if connection.is_autocommit() {
        let code = ffi::Error::new(ffi::SQLITE_ABORT_ROLLBACK);
        return Err(rusqlite::Error::SqliteFailure(code, Some("one of them ended the transaction".into())));
    }
    connection.execute_batch("commit")
}

/// Returns the error of a write whose caller dropped the future.
fn caller_dropped() -> Error {
    Error::Busy("the caller has given up".into())
}

/// Returns the error of a write that succeeded but was not committed.
fn not_committed(failure: &rusqlite::Error) -> Error {
    let reason = format!("a group of writes could not be committed: {failure}").into();
    match failure.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => Error::Full(reason),
        _ => Error::Busy(reason),
    }
}

fn in_scope<T, E: From<Error>>(
    connection: &Connection,
    scope: RollbackScope,
    work: impl FnOnce(&Connection) -> Result<T, E>,
) -> Result<T, E> {
    if connection.is_autocommit() {
        return Err(Error::Busy("the database is locked by another process".into()).into());
    }
    let (begin, undo, end) = match scope {
        RollbackScope::Transaction => ("", "rollback", ""),
        RollbackScope::Savepoint => ("savepoint job", "rollback to job; release job", "release job"),
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

/// Rolls back when its scope is left early, by an error or a panic.
struct Rollback<'c> {
    connection: &'c Connection,
    sql: &'static str,
    armed: bool,
}

impl Drop for Rollback<'_> {
    fn drop(&mut self) {
        // A full disk may have ended the transaction already; then there is nothing to roll back.
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
