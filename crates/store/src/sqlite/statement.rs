//! Statements of the embedded engine: translation, binding, execution and reading. This module contains no
//! transactions.

use std::borrow::Cow;

use rusqlite::{
    Connection, StatementStatus, ToSql,
    types::{ToSqlOutput, ValueRef},
};
use uuid::Uuid;

use crate::{
    error::{Error, Result},
    migrate::SEARCH_INDEX_TABLES,
    row::{OnRow, Row},
    sql::expand_lists,
    value::{Kind, Param, Value},
};

pub(crate) fn each(
    connection: &Connection,
    sql: &str,
    params: &[&dyn Param],
    row: &mut OnRow<'_>,
) -> Result<()> {
    let mut statement = connection.prepare_cached(&translate(sql))?;
    let mut rows =
        statement.query(rusqlite::params_from_iter(params.iter().map(|param| Bound(param.value()))))?;
    while let Some(next) = rows.next()? {
        row(&Row::Sqlite(next))?;
    }
    Ok(())
}

/// Returns the query plan of a statement and its number of virtual machine steps.
pub(crate) fn explain(connection: &Connection, sql: &str, params: &[&dyn Param]) -> Result<String> {
    let mut plan = String::new();
    each(connection, &format!("explain query plan {sql}"), params, &mut |row| {
        let cells = &mut row.cells();
        cells.skip(3);
        plan.push_str(&cells.read::<String>()?);
        plan.push('\n');
        Ok(())
    })?;
    let mut statement = connection.prepare(&translate(sql))?;
    let mut rows =
        statement.query(rusqlite::params_from_iter(params.iter().map(|param| Bound(param.value()))))?;
    while rows.next()?.is_some() {}
    drop(rows);
    Ok(format!("{plan}steps={}", statement.get_status(StatementStatus::VmStep)))
}

pub(crate) fn execute(connection: &Connection, sql: &str, params: &[&dyn Param]) -> Result<u64> {
    let mut statement = connection.prepare_cached(&translate(sql))?;
    let rows =
        statement.execute(rusqlite::params_from_iter(params.iter().map(|param| Bound(param.value()))))?;
    Ok(rows as u64)
}

/// Returns the numbers of rows per statement. One row for most tables, because for more rows SQLite copies every
/// changed page, to be able to roll back the single statement. Many rows for a table with a search index, because every
/// statement flushes that index; only a few sizes, because each size is a prepared statement.
fn sizes(table: &str) -> &'static [usize] {
    if SEARCH_INDEX_TABLES.contains(&table) { &[512, 64, 8, 1] } else { &[1] }
}

/// Inserts rows. Calls `each` after every statement with the number of rows that it inserted.
pub(crate) fn insert_many(
    connection: &Connection,
    table: &str,
    columns: &[(&str, Kind)],
    rows: &[Vec<Value<'_>>],
    suffix: &str,
    mut each: impl FnMut(usize),
) -> Result<()> {
    let names = columns.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let mut rest = rows;
    for &size in sizes(table) {
        let mut statement = None;
        while let Some((some, others)) = rest.split_at_checked(size) {
            let statement = match &mut statement {
                Some(statement) => statement,
                unprepared => {
                    let row = format!("({})", vec!["?"; columns.len()].join(", "));
                    let places = vec![row; size].join(", ");
                    let sql = format!("insert into {table} ({names}) values {places} {suffix}");
                    unprepared.insert(connection.prepare_cached(&sql)?)
                }
            };
            each(statement.execute(rusqlite::params_from_iter(some.iter().flatten().map(Borrowed)))?);
            rest = others;
        }
    }
    Ok(())
}

pub(crate) fn value<'r>(row: &'r rusqlite::Row<'_>, index: usize) -> Result<Value<'r>> {
    Ok(match row.get_ref(index)? {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Int(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(text) => Value::Text(Cow::Borrowed(
            std::str::from_utf8(text).map_err(|error| Error::Engine(error.into()))?,
        )),
        ValueRef::Blob(bytes) => Value::Blob(bytes),
    })
}

/// Translates PostgreSQL syntax to SQLite: `$1` becomes `?1` (SQLite treats `$1` as a name and numbers names by their
/// first use), and `{ints $1}` and similar lists become a list read from JSON.
fn translate(sql: &str) -> Cow<'_, str> {
    if !sql.contains(['$', '{']) {
        return Cow::Borrowed(sql);
    }
    let sql = expand_lists(sql, |_, param| format!("(select value from json_each({param}))"));
    Cow::Owned(sql.replace('$', "?"))
}

struct Bound<'a>(Value<'a>);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(output(&self.0))
    }
}

struct Borrowed<'a>(&'a Value<'a>);

impl ToSql for Borrowed<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(output(self.0))
    }
}

fn output<'a>(value: &'a Value<'_>) -> ToSqlOutput<'a> {
    use rusqlite::types::Value as Owned;
    match value {
        Value::Null => ToSqlOutput::Owned(Owned::Null),
        Value::Bool(flag) => ToSqlOutput::Owned(Owned::Integer(i64::from(*flag))),
        Value::Int(number) => ToSqlOutput::Owned(Owned::Integer(*number)),
        Value::Real(number) => ToSqlOutput::Owned(Owned::Real(*number)),
        Value::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        Value::Blob(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
        Value::Uuid(uuid) => ToSqlOutput::Owned(Owned::Text(text_of(uuid))),
        Value::Ints(list) => ToSqlOutput::Owned(Owned::Text(format!("{list:?}"))),
        Value::Uuids(list) => {
            let list: Vec<_> = list.iter().map(text_of).collect();
            ToSqlOutput::Owned(Owned::Text(format!("{list:?}")))
        }
        Value::Texts(list) => ToSqlOutput::Owned(Owned::Text(json_list(list))),
    }
}

fn json_list(list: &[&str]) -> String {
    serde_json::to_string(list).expect("texts are JSON")
}

fn text_of(uuid: &Uuid) -> String {
    uuid.hyphenated().to_string()
}

#[cfg(test)]
mod tests {
    use super::translate;

    #[test]
    fn statements_are_translated() {
        assert_eq!(translate("select 1"), "select 1");
        assert_eq!(translate("a = $2 and b = $1"), "a = ?2 and b = ?1");
        assert_eq!(
            translate("id in {ints $1} and x = $2"),
            "id in (select value from json_each(?1)) and x = ?2"
        );
    }
}
