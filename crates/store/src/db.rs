//! The database: functions to read and to write, independent of the engine.
//!
//! A closure gets a [`Tx`] and runs in one transaction on its own thread, so there is no `.await` between begin and
//! commit.

use std::{
    any::Any,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::{
    error::{Error, Result},
    postgres::{Mode, Postgres},
    sqlite::Sqlite,
    tx::Tx,
};

/// Location of the database.
#[derive(Clone, Debug)]
pub enum Location {
    /// A file of the embedded engine.
    Sqlite {
        /// Database file; its folder must exist.
        file: PathBuf,
        /// Maximum time to wait for a lock of another process.
        busy_timeout: Duration,
        /// Page cache of the writer, in KiB.
        cache_kib: u32,
    },
    /// A PostgreSQL server.
    Postgres {
        /// A `postgres://` URL.
        url: String,
        /// Maximum number of connections of this process.
        connections: usize,
    },
}

/// Handle of the database; clones share it.
#[derive(Clone)]
pub struct Db {
    engine: Engine,
    statements: Arc<AtomicU64>,
}

#[derive(Clone)]
enum Engine {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

/// Utilization of the connections, for the operator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionLoad {
    /// Connections that may serve reads.
    pub connections: usize,
    /// Connections in use.
    pub busy: usize,
    /// Calls that wait for a connection or for the writer.
    pub waiting: usize,
}

impl Db {
    /// Opens the database and applies pending migrations. A SQLite database with pending migrations is backed up before.
    pub async fn open(location: &Location) -> Result<Self> {
        let this = Self::open_as(location, true).await?;
        if let Engine::Postgres(postgres) = &this.engine {
            postgres.migrate().await?;
        }
        Ok(this)
    }

    /// Opens the database as it is, to archive it, or to restore an archive to an empty database.
    pub async fn open_unchanged(location: &Location) -> Result<Self> {
        Self::open_as(location, false).await
    }

    async fn open_as(location: &Location, migrates: bool) -> Result<Self> {
        let statements = Arc::new(AtomicU64::new(0));
        let engine = match location {
            Location::Sqlite { file, busy_timeout, cache_kib } => {
                Engine::Sqlite(Sqlite::open(file, *busy_timeout, *cache_kib, migrates).await?)
            }
            Location::Postgres { url, connections } => {
                Engine::Postgres(Postgres::open(url, *connections).await?)
            }
        };
        Ok(Self { engine, statements })
    }

    /// Runs `work` on one snapshot, read-only.
    pub async fn read<T, E, F>(&self, work: F) -> Result<T, E>
    where
        F: FnOnce(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        restore(self.run(Mode::Read, erase(work)).await)
    }

    /// Runs `work` in one transaction: all of its writes are on disk after `Ok`, none after `Err`.
    pub async fn write<T, E, F>(&self, work: F) -> Result<T, E>
    where
        F: FnOnce(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        restore(self.run(Mode::Write, erase(work)).await)
    }

    async fn run(&self, mode: Mode, work: Work) -> Result<Answer, Failure> {
        let statements = Arc::clone(&self.statements);
        match (&self.engine, mode) {
            (Engine::Sqlite(sqlite), Mode::Read) => sqlite.read(statements, work).await,
            (Engine::Sqlite(sqlite), Mode::Write) => sqlite.write(statements, work).await,
            (Engine::Postgres(postgres), mode) => postgres.run(statements, mode, work).await,
        }
    }

    /// Passes the messages that other servers on this database send with [`Tx::notify`] under a topic, a plain word, to
    /// `on_message`. Returns when the connection is lost; never returns on an engine without other servers.
    pub async fn listen(&self, topic: &str, on_message: impl FnMut(&str)) -> Result<()> {
        match &self.engine {
            Engine::Sqlite(_) => std::future::pending().await,
            Engine::Postgres(postgres) => postgres.listen(topic, on_message).await,
        }
    }

    /// Writes a consistent online copy of the embedded database to `target`. Returns `None` on PostgreSQL, which has
    /// its own backup tools.
    pub async fn backup(&self, target: PathBuf) -> Option<Result<()>> {
        match &self.engine {
            Engine::Sqlite(sqlite) => Some(sqlite.backup(target).await),
            Engine::Postgres(_) => None,
        }
    }

    /// Completes the accepted work and closes all connections.
    pub async fn close(&self) {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.close().await,
            Engine::Postgres(postgres) => postgres.close(),
        }
    }

    /// Returns the utilization of the connections.
    pub fn load(&self) -> ConnectionLoad {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.load(),
            Engine::Postgres(postgres) => postgres.load(),
        }
    }

    /// Returns the number of statements run so far; tests check the cost of an operation with it.
    pub fn statements(&self) -> u64 {
        self.statements.load(Ordering::Relaxed)
    }

    /// Returns the plans of the statements that a read runs, each with its cost; tests check with them which indexes
    /// are used.
    pub async fn explain<F>(&self, work: F) -> Result<Vec<String>>
    where
        F: FnOnce(&mut Tx<'_>) -> Result<()> + Send + 'static,
    {
        self.read(move |tx| tx.explain(work)).await
    }

    /// Whether several servers can use this database at the same time.
    pub fn is_shared(&self) -> bool {
        matches!(self.engine, Engine::Postgres(_))
    }
}

/// A closure without the types of its answer and its error. The code of the engines and of the runtime is compiled once
/// for this type instead of once per closure, of which there are about 500.
type Work = Box<dyn FnOnce(&mut Tx<'_>) -> Result<Answer, Failure> + Send>;

/// Answer of a closure.
type Answer = Box<dyn Any + Send>;

/// Why a closure has no answer.
enum Failure {
    /// The database failed.
    Engine(Error),
    /// The closure failed, with an error of the type of its caller.
    Work(Box<dyn Any + Send>),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}

fn erase<T, E, F>(work: F) -> Work
where
    F: FnOnce(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
    T: Send + 'static,
    E: Send + 'static,
{
    Box::new(move |tx| match work(tx) {
        Ok(answer) => Ok(Box::new(answer)),
        Err(error) => Err(Failure::Work(Box::new(error))),
    })
}

/// Returns an answer or an error with the types that [`erase`] removed.
fn restore<T: 'static, E: From<Error> + 'static>(outcome: Result<Answer, Failure>) -> Result<T, E> {
    let mismatch = |_| Error::engine("a closure answered with another type");
    match outcome {
        Ok(answer) => Ok(*answer.downcast().map_err(mismatch)?),
        Err(Failure::Engine(error)) => Err(error.into()),
        Err(Failure::Work(error)) => Err(*error.downcast().map_err(mismatch)?),
    }
}
