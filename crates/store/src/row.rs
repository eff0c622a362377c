//! A row of a result, from either engine.

use crate::{
    columns::FromRow,
    error::{Error, Result},
    postgres,
    sqlite::statement,
    value::Value,
};

/// A row of a result.
pub enum Row<'a> {
    /// A row of the embedded engine.
    Sqlite(&'a rusqlite::Row<'a>),
    /// A row of PostgreSQL.
    Postgres(&'a tokio_postgres::Row),
}

/// Receiver of the rows of a result.
pub(crate) type OnRow<'f> = dyn FnMut(&Row<'_>) -> Result<()> + 'f;

impl Row<'_> {
    /// Returns a reader of the columns, starting with the first.
    pub fn cells(&self) -> Cells<'_> {
        Cells { row: self, next: 0 }
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

impl<'a> Cells<'a> {
    /// Reads the next columns.
    pub fn read<T: FromRow>(&mut self) -> Result<T> {
        T::from_row(self)
    }

    /// Reads the next column as bytes, without a copy.
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8]> {
        match self.value()? {
            Value::Blob(bytes) => Ok(bytes),
            _ => Err(Error::engine("expected bytes")),
        }
    }

    /// Returns the value of the next column.
    pub(crate) fn value(&mut self) -> Result<Value<'a>> {
        let value = self.row.value(self.next)?;
        self.next += 1;
        Ok(value)
    }

    /// Whether the next column is null.
    pub(crate) fn is_null(&self) -> Result<bool> {
        Ok(self.row.value(self.next)? == Value::Null)
    }

    /// Skips columns.
    pub(crate) fn skip(&mut self, columns: usize) {
        self.next += columns;
    }
}
