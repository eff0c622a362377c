//! The database: one door for reading, one for writing, whichever engine is behind it.
//!
//! A closure gets a [`Tx`] and runs inside one transaction on a thread of its own, so there is no `.await` between
//! begin and commit. Every statement is written once, in PostgreSQL's notation (`$1`); what differs between the
//! engines is settled here and in `migrate.rs` and nowhere else.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tidemark_api::page::{Direction, Page};

use crate::{
    error::{Error, Result},
    postgres::{self, Postgres},
    sqlite::{self, Sqlite},
    value::{Column, Param, Value},
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
        self.read(move |tx| {
            tx.plans = Some(Vec::new());
            work(tx)?;
            Ok(tx.plans.take().unwrap_or_default())
        })
        .await
    }

    /// Whether several servers may work on this database at once.
    pub fn is_shared(&self) -> bool {
        matches!(self.engine, Engine::Postgres(_))
    }
}

/// One transaction.
pub struct Tx<'c> {
    connection: Connection<'c>,
    statements: &'c AtomicU64,
    plans: Option<Vec<String>>,
}

enum Connection<'c> {
    Sqlite(&'c rusqlite::Connection),
    Postgres(postgres::Connection<'c>),
}

impl<'c> Tx<'c> {
    pub(crate) fn sqlite(connection: &'c rusqlite::Connection, statements: &'c AtomicU64) -> Self {
        Self { connection: Connection::Sqlite(connection), statements, plans: None }
    }

    pub(crate) fn postgres(connection: postgres::Connection<'c>, statements: &'c AtomicU64) -> Self {
        Self { connection: Connection::Postgres(connection), statements, plans: None }
    }

    /// Runs a statement and hands each row to `row`.
    pub fn each(
        &mut self,
        sql: &str,
        params: &[&dyn Param],
        row: impl FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<()> {
        self.statements.fetch_add(1, Ordering::Relaxed);
        if let Some(plans) = &mut self.plans {
            plans.push(match &self.connection {
                Connection::Sqlite(connection) => sqlite::explain(connection, sql, params)?,
                Connection::Postgres(connection) => connection.explain(sql, params)?,
            });
        }
        match &self.connection {
            Connection::Sqlite(connection) => sqlite::each(connection, sql, params, row),
            Connection::Postgres(connection) => connection.each(sql, params, row),
        }
    }

    /// All rows, in the order of the statement.
    pub fn all<T>(
        &mut self,
        sql: &str,
        params: &[&dyn Param],
        mut map: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut rows = Vec::new();
        self.each(sql, params, |row| {
            rows.push(map(row)?);
            Ok(())
        })?;
        Ok(rows)
    }

    /// The first row, if there is one.
    pub fn optional<T>(
        &mut self,
        sql: &str,
        params: &[&dyn Param],
        mut map: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut first = None;
        self.each(sql, params, |row| {
            if first.is_none() {
                first = Some(map(row)?);
            }
            Ok(())
        })?;
        Ok(first)
    }

    /// The first row, or `NotFound` naming the kind of thing looked for.
    pub fn one<T>(
        &mut self,
        noun: &'static str,
        sql: &str,
        params: &[&dyn Param],
        map: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<T> {
        self.optional(sql, params, map)?.ok_or(Error::NotFound(noun))
    }

    /// The only column of the only row of a statement that always has one, such as a count.
    pub fn value<T: Column>(&mut self, sql: &str, params: &[&dyn Param]) -> Result<T> {
        self.one("value", sql, params, |row| row.get(0))
    }

    /// Runs a statement that returns nothing; answers how many rows it touched.
    pub fn execute(&mut self, sql: &str, params: &[&dyn Param]) -> Result<u64> {
        self.statements.fetch_add(1, Ordering::Relaxed);
        match &self.connection {
            Connection::Sqlite(connection) => sqlite::execute(connection, sql, params),
            Connection::Postgres(connection) => connection.execute(sql, params),
        }
    }

    /// One page of a list, and how many rows there are in all.
    pub fn page<T>(
        &mut self,
        list: &List<'_>,
        params: &[&dyn Param],
        page: &Page,
        map: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<(Vec<T>, i64)> {
        let List { columns, from, order } = list;
        let total = self.value(&format!("select count(*) from {from}"), params)?;
        let (limit, offset) = (page.limit(), page.offset());
        if limit == 0 || offset >= total {
            return Ok((Vec::new(), total));
        }
        let next = params.len() + 1;
        let sql = format!("select {columns} from {from} order by {order} limit ${next} offset ${}", next + 1);
        let mut params = params.to_vec();
        params.push(&limit);
        params.push(&offset);
        Ok((self.all(&sql, &params, map)?, total))
    }

    /// Keeps other writers of the same thing out until this transaction ends. On SQLite there is only one writer.
    pub fn lock(&mut self, lock: Lock) -> Result<()> {
        match &self.connection {
            Connection::Sqlite(_) => Ok(()),
            Connection::Postgres(_) => {
                let (space, key) = lock.key();
                self.each("select pg_advisory_xact_lock($1, $2)", &[&space, &key], |_| Ok(()))
            }
        }
    }

    /// The words that let several servers claim different rows of one queue.
    pub fn skip_locked(&self) -> &'static str {
        match &self.connection {
            Connection::Sqlite(_) => "",
            Connection::Postgres(_) => "for update skip locked",
        }
    }

    /// Inserts many rows at the cost of one statement. `suffix` may hold an `on conflict` clause.
    pub fn insert_many(
        &mut self,
        table: &str,
        columns: &[(&str, Kind)],
        rows: &[Vec<Value<'_>>],
        suffix: &str,
    ) -> Result<u64> {
        if rows.is_empty() {
            return Ok(0);
        }
        self.statements.fetch_add(1, Ordering::Relaxed);
        match &self.connection {
            Connection::Sqlite(connection) => sqlite::insert_many(connection, table, columns, rows, suffix),
            Connection::Postgres(connection) => connection.insert_many(table, columns, rows, suffix),
        }
    }

    /// The condition that a row of `table` has a text in its name or slug or, with `by_uuid`, a UUID from `$3` to `$4`;
    /// and the value to bind to `$2` for it. Texts of three characters and more are found by an index.
    pub(crate) fn matching(&self, table: &str, text: &str, by_uuid: bool) -> (String, String) {
        match &self.connection {
            Connection::Sqlite(_) => {
                let (keys, bound) = if text.chars().count() >= 3 {
                    let keys = format!("select rowid from {table}_search where {table}_search match $2");
                    (keys, format!("\"{}\"", text.replace('"', "\"\"")))
                } else {
                    let pattern = "lower(name) || '\n' || slug like $2 escape '\\'";
                    (format!("select id from {table} where project_id = $1 and {pattern}"), contains(text))
                };
                let uuids = format!(" union all select id from {table} where uuid between $3 and $4");
                (format!("{table}.id in ({keys}{})", if by_uuid { &uuids } else { "" }), bound)
            }
            Connection::Postgres(_) => {
                // The expression of the index, to the letter. A subquery would be joined, and the join now and then be
                // planned as a walk through the whole table.
                let pattern = format!("lower({table}.name) || chr(10) || {table}.slug like $2 escape '\\'");
                let uuids = format!(" or {table}.uuid between $3 and $4");
                (format!("({pattern}{})", if by_uuid { &uuids } else { "" }), contains(text))
            }
        }
    }

    pub(crate) fn batch(&mut self, sql: &str) -> Result<()> {
        match &self.connection {
            Connection::Sqlite(connection) => Ok(connection.execute_batch(sql)?),
            Connection::Postgres(connection) => connection.batch(sql),
        }
    }

    pub(crate) fn is_postgres(&self) -> bool {
        matches!(self.connection, Connection::Postgres(_))
    }
}

/// The parts of a list statement, kept apart so that the total is counted without sorting.
#[derive(Clone, Copy, Debug)]
pub struct List<'a> {
    /// What to select.
    pub columns: &'a str,
    /// Tables, joins and the `where` clause.
    pub from: &'a str,
    /// A total order: ties end with the key.
    pub order: &'a str,
}

/// What a writer can have to itself.
#[derive(Clone, Copy, Debug)]
pub enum Lock {
    /// The founding of the server: its identity and its first user.
    Server,
    /// The members and the state of one organization.
    Organization(i64),
    /// The sign-in state of one user.
    User(i64),
    /// The order of the plots, the heads and thresholds, and the names and slugs of one project.
    Project(i64),
    /// The making of projects by their first runs.
    Projects,
}

impl Lock {
    fn key(self) -> (i32, i32) {
        // A collision of the folded key only makes two writers wait for each other.
        let fold = |key: i64| {
            let bytes = key.to_le_bytes();
            i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
        };
        match self {
            Self::Server => (1, 0),
            Self::Organization(key) => (2, fold(key)),
            Self::User(key) => (3, fold(key)),
            Self::Project(key) => (4, fold(key)),
            Self::Projects => (5, 0),
        }
    }
}

/// The type of a column that is written by the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An integer or a time.
    Int,
    /// A floating point number.
    Real,
    /// A truth value.
    Bool,
    /// Text.
    Text,
    /// A UUID.
    Uuid,
    /// Bytes.
    Blob,
}

/// The columns of a row, read one after the other.
pub struct Cells<'a> {
    row: &'a Row<'a>,
    next: usize,
}

impl Cells<'_> {
    /// Reads the next column.
    pub fn take<T: Column>(&mut self) -> Result<T> {
        self.next += 1;
        self.row.get(self.next - 1)
    }

    /// Passes over so many columns.
    pub fn skip(&mut self, columns: usize) {
        self.next += columns;
    }
}

/// One row of a result.
pub enum Row<'a> {
    /// A row of the embedded engine.
    Sqlite(&'a rusqlite::Row<'a>),
    /// A row of PostgreSQL.
    Postgres(&'a tokio_postgres::Row),
}

impl Row<'_> {
    /// Reads the column at `index`, counted from 0.
    pub fn get<T: Column>(&self, index: usize) -> Result<T> {
        T::read(self.value(index)?)
    }

    /// The columns from the first on.
    pub fn cells(&self) -> Cells<'_> {
        Cells { row: self, next: 0 }
    }

    /// Hands the bytes of the column at `index` to `read`, without a copy.
    pub(crate) fn bytes<T>(&self, index: usize, read: impl FnOnce(&[u8]) -> T) -> Result<T> {
        match self.value(index)? {
            Value::Blob(bytes) => Ok(read(bytes)),
            _ => Err(Error::engine("expected bytes")),
        }
    }

    fn value(&self, index: usize) -> Result<Value<'_>> {
        match self {
            Self::Sqlite(row) => sqlite::value(row, index),
            Self::Postgres(row) => postgres::value(row, index),
        }
    }
}

/// Replaces `{ints $1}`, `{uuids $1}` and `{texts $1}` by what the engine understands.
pub(crate) fn expand_lists(sql: &str, list: impl Fn(Kind, &str) -> String) -> String {
    let mut out = String::with_capacity(sql.len() + 64);
    let mut rest = sql;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let (token, after) = after.split_once('}').unwrap_or((after, ""));
        match token.split_once(' ') {
            Some(("ints", param)) => out.push_str(&list(Kind::Int, param)),
            Some(("uuids", param)) => out.push_str(&list(Kind::Uuid, param)),
            Some(("texts", param)) => out.push_str(&list(Kind::Text, param)),
            _ => out.push_str(token),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// A `like` pattern that matches `text` anywhere, with its own wildcards taken literally (`escape '\'`). Only ASCII
/// is folded, as `lower` does on both engines.
pub(crate) fn contains(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 2);
    pattern.push('%');
    for character in text.to_ascii_lowercase().chars() {
        if matches!(character, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern.push('%');
    pattern
}

/// The SQL word for a direction.
pub(crate) fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Asc => "asc",
        Direction::Desc => "desc",
    }
}
