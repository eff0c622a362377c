//! A transaction and the ways to run a statement. Statements use PostgreSQL syntax (`$1`); the file of each engine
//! translates it. `sql.rs` and `migrate.rs` contain the few statements that differ between the engines.

use std::sync::atomic::{AtomicU64, Ordering};

use tidemark_api::page::Page;

use crate::{
    columns::{FromRow, Insert, expand},
    error::{Error, Result},
    postgres,
    row::{Cells, OnRow, Row},
    sqlite::statement,
    value::{Kind, Param, Value},
};

/// A transaction.
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

    /// Runs a statement and passes each row to `row`.
    pub fn each(
        &mut self,
        sql: &str,
        params: &[&dyn Param],
        mut row: impl FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<()> {
        self.each_dyn(sql, params, &mut row)
    }

    /// Compiled once instead of once per closure.
    fn each_dyn(&mut self, sql: &str, params: &[&dyn Param], row: &mut OnRow<'_>) -> Result<()> {
        self.statements.fetch_add(1, Ordering::Relaxed);
        if let Some(plans) = &mut self.plans {
            plans.push(match &self.connection {
                Connection::Sqlite(connection) => statement::explain(connection, sql, params)?,
                Connection::Postgres(connection) => connection.explain(sql, params)?,
            });
        }
        match &self.connection {
            Connection::Sqlite(connection) => statement::each(connection, sql, params, row),
            Connection::Postgres(connection) => connection.each(sql, params, row),
        }
    }

    /// Runs a statement without parameters and passes each row to `row` as it arrives: not all rows are in memory.
    pub(crate) fn stream(&mut self, sql: &str, mut row: impl FnMut(&Row<'_>) -> Result<()>) -> Result<()> {
        self.statements.fetch_add(1, Ordering::Relaxed);
        match &self.connection {
            Connection::Sqlite(connection) => statement::each(connection, sql, &[], &mut row),
            Connection::Postgres(connection) => connection.stream(sql, &mut row),
        }
    }

    /// Runs a statement and passes each row to `row`, with a reader of the columns after it.
    pub fn fetch_each<T: FromRow>(
        &mut self,
        sql: &str,
        params: &[&dyn Param],
        mut row: impl FnMut(T, &mut Cells<'_>) -> Result<()>,
    ) -> Result<()> {
        self.each(&expand::<T>(sql), params, |found| {
            let mut cells = found.cells();
            row(cells.read()?, &mut cells)
        })
    }

    /// Returns all rows, in the order of the statement.
    pub fn fetch_all<T: FromRow>(&mut self, sql: &str, params: &[&dyn Param]) -> Result<Vec<T>> {
        let mut rows = Vec::new();
        self.fetch_each(sql, params, |row, _| {
            rows.push(row);
            Ok(())
        })?;
        Ok(rows)
    }

    /// Returns the first row, if any.
    pub fn fetch_optional<T: FromRow>(&mut self, sql: &str, params: &[&dyn Param]) -> Result<Option<T>> {
        let mut first = None;
        self.each(&expand::<T>(sql), params, |row| {
            if first.is_none() {
                first = Some(row.cells().read()?);
            }
            Ok(())
        })?;
        Ok(first)
    }

    /// Returns the first row, or `NotFound` with the kind of resource.
    pub fn fetch_one<T: FromRow>(
        &mut self,
        noun: &'static str,
        sql: &str,
        params: &[&dyn Param],
    ) -> Result<T> {
        self.fetch_optional(sql, params)?.ok_or(Error::NotFound(noun))
    }

    /// Returns the single value of a statement that always returns one row, for example a count.
    pub fn value<T: FromRow>(&mut self, sql: &str, params: &[&dyn Param]) -> Result<T> {
        self.fetch_one("value", sql, params)
    }

    /// Runs a statement that returns no rows. Returns the number of affected rows.
    pub fn execute(&mut self, sql: &str, params: &[&dyn Param]) -> Result<u64> {
        self.statements.fetch_add(1, Ordering::Relaxed);
        match &self.connection {
            Connection::Sqlite(connection) => statement::execute(connection, sql, params),
            Connection::Postgres(connection) => connection.execute(sql, params),
        }
    }

    /// Returns one page of a list, and the total number of rows.
    pub fn page<T: FromRow>(
        &mut self,
        list: &List<'_>,
        params: &[&dyn Param],
        page: &Page,
    ) -> Result<(Vec<T>, i64)> {
        let List { from, order } = list;
        let total = self.value(&format!("select count(*) from {from}"), params)?;
        let (limit, offset) = (page.limit(), page.offset());
        if limit == 0 || offset >= total {
            return Ok((Vec::new(), total));
        }
        let next = params.len() + 1;
        let sql =
            format!("select {{columns}} from {from} order by {order} limit ${next} offset ${}", next + 1);
        let mut params = params.to_vec();
        params.push(&limit);
        params.push(&offset);
        Ok((self.fetch_all(&sql, &params)?, total))
    }

    /// Takes an advisory lock until the transaction ends. On SQLite, which has only one writer, this does nothing.
    pub fn lock(&mut self, lock: Lock) -> Result<()> {
        match &self.connection {
            Connection::Sqlite(_) => Ok(()),
            Connection::Postgres(_) => {
                let (space, key) = lock.key();
                self.each("select pg_advisory_xact_lock($1, $2)", &[&space, &key], |_| Ok(()))
            }
        }
    }

    /// Sends messages to the other servers on this database when the transaction commits. On SQLite, which has no other
    /// servers, this does nothing.
    pub fn notify(&mut self, topic: &str, messages: &[&str]) -> Result<()> {
        match &self.connection {
            Connection::Sqlite(_) => Ok(()),
            Connection::Postgres(_) => self.each(
                "select pg_notify($1, message) from unnest {texts $2} as message",
                &[&topic, &messages],
                |_| Ok(()),
            ),
        }
    }

    /// Returns the clause that lets several servers claim different rows of a queue.
    pub fn skip_locked(&self) -> &'static str {
        match &self.connection {
            Connection::Sqlite(_) => "",
            Connection::Postgres(_) => "for update skip locked",
        }
    }

    /// Returns the clause that locks the selected rows of a table against updates until the transaction ends.
    pub fn for_share(&self, table: &str) -> String {
        match &self.connection {
            Connection::Sqlite(_) => String::new(),
            Connection::Postgres(_) => format!("for share of {table}"),
        }
    }

    /// Inserts many rows; counts as one statement. `suffix` may contain an `on conflict` clause.
    pub fn insert_many<T: Insert>(&mut self, table: &str, rows: &[T], suffix: &str) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        self.insert_rows(table, T::COLUMNS, &values(rows), suffix)
    }

    /// Inserts many rows whose columns are only known at run time.
    pub(crate) fn insert_values(
        &mut self,
        table: &str,
        columns: &[(&str, Kind)],
        rows: &[Vec<Value<'_>>],
    ) -> Result<()> {
        self.insert_rows(table, columns, rows, "")
    }

    fn insert_rows(
        &mut self,
        table: &str,
        columns: &[(&str, Kind)],
        rows: &[Vec<Value<'_>>],
        suffix: &str,
    ) -> Result<()> {
        self.statements.fetch_add(1, Ordering::Relaxed);
        match &self.connection {
            Connection::Sqlite(connection) => {
                statement::insert_many(connection, table, columns, rows, suffix, |_| ())
            }
            Connection::Postgres(connection) => connection.insert_many(table, columns, rows, suffix),
        }
    }

    /// Inserts many rows like [`Tx::insert_many`] and returns the primary keys of the inserted rows, in the order of
    /// the rows.
    pub fn insert_keyed<T: Insert>(&mut self, table: &str, rows: &[T], suffix: &str) -> Result<Vec<i64>> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let (columns, rows) = (T::COLUMNS, &*values(rows));
        self.statements.fetch_add(1, Ordering::Relaxed);
        match &self.connection {
            Connection::Sqlite(connection) => {
                let mut keys = Vec::with_capacity(rows.len());
                // There is one writer and keys increase, so the keys of one statement are consecutive.
                statement::insert_many(connection, table, columns, rows, suffix, |inserted| {
                    let last = connection.last_insert_rowid();
                    keys.extend((0..inserted as i64).rev().map(|back| last - back));
                })?;
                Ok(keys)
            }
            Connection::Postgres(connection) => connection.insert_keyed(table, columns, rows, suffix),
        }
    }

    pub(crate) fn batch(&mut self, sql: &str) -> Result<()> {
        match &self.connection {
            Connection::Sqlite(connection) => Ok(connection.execute_batch(sql)?),
            Connection::Postgres(connection) => connection.batch(sql),
        }
    }

    /// Removes the time limits that the database or its user has for statements: an operation on all rows takes as long as it takes.
    /// Other transactions wait behind a lock that this one waits for, so this wait stays limited. Does nothing on SQLite.
    pub(crate) fn lift_time_limits(&mut self) -> Result<()> {
        if !self.is_postgres() {
            return Ok(());
        }
        self.batch(
            "set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0;
             set local lock_timeout = '30s'",
        )
    }

    /// Runs `work` and returns the plans of its statements, each with its cost.
    pub(crate) fn explain(&mut self, work: impl FnOnce(&mut Self) -> Result<()>) -> Result<Vec<String>> {
        self.plans = Some(Vec::new());
        work(self)?;
        Ok(self.plans.take().unwrap_or_default())
    }

    /// Whether the engine is PostgreSQL.
    pub fn is_postgres(&self) -> bool {
        matches!(self.connection, Connection::Postgres(_))
    }
}

fn values<T: Insert>(rows: &[T]) -> Vec<Vec<Value<'_>>> {
    rows.iter().map(Insert::values).collect()
}

/// Parts of a list statement, separate so that the total can be counted without sorting.
#[derive(Clone, Copy, Debug)]
pub struct List<'a> {
    /// Tables, joins and the `where` clause.
    pub from: &'a str,
    /// A total order: the primary key breaks ties.
    pub order: &'a str,
}

/// Advisory locks.
#[derive(Clone, Copy, Debug)]
pub enum Lock {
    /// The initialization of the server: its identity and its first user.
    Server,
    /// The members and the state of an organization.
    Organization(i64),
    /// The sign-in state of a user.
    User(i64),
    /// The order of the plots, the heads and thresholds, and the names and slugs of a project.
    Project(i64),
    /// The creation of projects by their first run: with the same slug, or by the same user.
    ProjectCreation(i64),
    /// The manifests of a repository, and the blobs that they need.
    Repository(i64),
    /// The fallback spec, which serves jobs without a spec.
    Specs,
    /// The assignment of jobs to runners.
    Queue,
    /// The storage of all unclaimed organizations together. Taken last, because it blocks all of their writers.
    Unclaimed,
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
            Self::ProjectCreation(key) => (5, fold(key)),
            Self::Repository(key) => (6, fold(key)),
            Self::Specs => (7, 0),
            Self::Queue => (8, 0),
            Self::Unclaimed => (9, 0),
        }
    }
}
