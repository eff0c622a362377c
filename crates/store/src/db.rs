//! The database: one door for reading, one for writing, whichever engine is behind it.
//!
//! A closure gets a [`Tx`] and runs inside one transaction on a thread of its own, so there is no `.await` between
//! begin and commit.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::{
    error::{Error, Result},
    postgres::{self, Postgres},
    sqlite::Sqlite,
    tx::Tx,
};

/// Where the data lives.
#[derive(Clone, Debug)]
pub enum Location {
    /// A file of the embedded engine.
    Sqlite {
        /// The database file; its folder must exist.
        file: PathBuf,
        /// How long to wait for a lock held by another process.
        busy_timeout: Duration,
        /// Page cache of the writer in KiB.
        cache_kib: u32,
    },
    /// A PostgreSQL server.
    Postgres {
        /// A `postgres://` address.
        url: String,
        /// The most connections this process opens.
        connections: usize,
    },
}

/// A handle on the database; clones share it.
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

/// How busy the connections are, for the operator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Connections that may serve reads.
    pub connections: usize,
    /// Connections doing something right now.
    pub busy: usize,
    /// Calls waiting for a connection or for the writer.
    pub waiting: usize,
}

impl Db {
    /// Opens the database and brings its tables up to date.
    pub async fn open(location: &Location) -> Result<Self> {
        let statements = Arc::new(AtomicU64::new(0));
        let engine = match location {
            Location::Sqlite { file, busy_timeout, cache_kib } => {
                Engine::Sqlite(Sqlite::open(file, *busy_timeout, *cache_kib).await?)
            }
            Location::Postgres { url, connections } => {
                Engine::Postgres(Postgres::open(url, *connections).await?)
            }
        };
        Ok(Self { engine, statements })
    }

    /// Runs `work` on one unchanging snapshot; it cannot write.
    pub async fn read<T, E, F>(&self, work: F) -> Result<T, E>
    where
        F: FnOnce(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let statements = Arc::clone(&self.statements);
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.read(statements, work).await,
            Engine::Postgres(postgres) => postgres.run(statements, postgres::Mode::Read, work).await,
        }
    }

    /// Runs `work` in one transaction: all of it is on disk when this returns `Ok`, none of it after an `Err`.
    pub async fn write<T, E, F>(&self, work: F) -> Result<T, E>
    where
        F: FnOnce(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let statements = Arc::clone(&self.statements);
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.write(statements, work).await,
            Engine::Postgres(postgres) => postgres.run(statements, postgres::Mode::Write, work).await,
        }
    }

    /// Hands what other servers on this database tell by [`Tx::notify`] under a topic, a plain word, to `heard`. It ends
    /// when the connection is lost; where there are no other servers, it never does.
    pub async fn listen(&self, topic: &str, heard: impl FnMut(&str)) -> Result<()> {
        match &self.engine {
            Engine::Sqlite(_) => std::future::pending().await,
            Engine::Postgres(postgres) => postgres.listen(topic, heard).await,
        }
    }

    /// Writes an online, consistent copy of the embedded database to `target`; `None` on PostgreSQL, whose own
    /// tools do that.
    pub async fn backup(&self, target: PathBuf) -> Option<Result<()>> {
        match &self.engine {
            Engine::Sqlite(sqlite) => Some(sqlite.backup(target).await),
            Engine::Postgres(_) => None,
        }
    }

    /// Finishes what was accepted and closes every connection.
    pub async fn close(&self) {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.close().await,
            Engine::Postgres(postgres) => postgres.close(),
        }
    }

    /// How busy the connections are.
    pub fn load(&self) -> Load {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.load(),
            Engine::Postgres(postgres) => postgres.load(),
        }
    }

    /// How many statements have been run so far; tests hold the cost of an operation against it.
    pub fn statements(&self) -> u64 {
        self.statements.load(Ordering::Relaxed)
    }

    /// The plans of the statements that a read runs, each with what it cost; tests hold them against the indexes.
    pub async fn explain<F>(&self, work: F) -> Result<Vec<String>>
    where
        F: FnOnce(&mut Tx<'_>) -> Result<()> + Send + 'static,
    {
        self.read(move |tx| tx.explain(work)).await
    }

    /// Whether several servers may work on this database at once.
    pub fn is_shared(&self) -> bool {
        matches!(self.engine, Engine::Postgres(_))
    }
}
