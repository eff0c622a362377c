//! A row of a result, from either engine.

use crate::{
    error::{Error, Result},
    postgres,
    sqlite::statement,
    value::{Column, Value},
};

/// A row of a result.
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

    /// Returns a reader of the columns, starting with the first.
    pub fn cells(&self) -> Cells<'_> {
        Cells { row: self, next: 0 }
    }

    /// Passes the bytes of the column at `index` to `read`, without a copy.
    pub(crate) fn bytes<T>(&self, index: usize, read: impl FnOnce(&[u8]) -> T) -> Result<T> {
        match self.value(index)? {
            Value::Blob(bytes) => Ok(read(bytes)),
            _ => Err(Error::engine("expected bytes")),
        }
    }

    fn value(&self, index: usize) -> Result<Value<'_>> {
        match self {
            Self::Sqlite(row) => statement::value(row, index),
            Self::Postgres(row) => postgres::value(row, index),
        }
    }
}

/// Sequential reader of the columns of a row.
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

    /// Skips columns.
    pub fn skip(&mut self, columns: usize) {
        self.next += columns;
    }
}
