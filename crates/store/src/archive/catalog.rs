//! Tables, columns, foreign keys and assigned keys of a database, read from the catalog of its engine.

use std::{borrow::Cow, collections::BTreeMap};

use uuid::Uuid;

use crate::{
    error::Result,
    tx::Tx,
    value::{Kind, Value},
};

/// A table.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) name: String,
    pub(super) columns: Vec<Column>,
}

/// A column of a table.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: Kind,
}

impl Table {
    pub(super) fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }
}

/// A foreign key that a restore drops and adds again, which is faster than checking each row.
pub(super) struct ForeignKey {
    table: String,
    name: String,
    definition: String,
}

/// Returns all tables, without search indexes, which the engine maintains.
pub(super) fn tables(tx: &mut Tx<'_>) -> Result<Vec<Table>> {
    let sql = if tx.is_postgres() {
        "select cast(columns.table_name as text), cast(column_name as text), cast(data_type as text)
         from information_schema.columns join information_schema.tables
           on tables.table_schema = columns.table_schema and tables.table_name = columns.table_name
         where columns.table_schema = current_schema() and table_type = 'BASE TABLE'
         order by columns.table_name collate \"C\", ordinal_position"
    } else {
        "select list.name, info.name, info.type from pragma_table_list as list join pragma_table_info(list.name) as info
         where list.schema = 'main' and list.type = 'table' and list.name not like 'sqlite\\_%' escape '\\'
         order by list.name, info.cid"
    };
    let mut tables: Vec<Table> = Vec::new();
    tx.each(sql, &[], |row| {
        let (table, name, kind): (String, String, String) = {
            let cells = &mut row.cells();
            (cells.read()?, cells.read()?, cells.read()?)
        };
        let column = Column { name, kind: kind_of(&kind) };
        match tables.last_mut() {
            Some(last) if last.name == table => last.columns.push(column),
            _ => tables.push(Table { name: table, columns: vec![column] }),
        }
        Ok(())
    })?;
    Ok(tables)
}

fn kind_of(type_name: &str) -> Kind {
    match type_name.to_ascii_lowercase().as_str() {
        "bigint" | "integer" => Kind::Int,
        "double precision" | "real" => Kind::Real,
        "boolean" => Kind::Bool,
        "uuid" => Kind::Uuid,
        "bytea" | "blob" => Kind::Blob,
        _ => Kind::Text,
    }
}

/// Converts a value to the type of a column. SQLite stores a Boolean as an integer, and a UUID as text.
pub(super) fn convert(value: Value<'_>, kind: Kind) -> Value<'_> {
    match (kind, value) {
        (Kind::Bool, Value::Int(number)) => Value::Bool(number != 0),
        (Kind::Int, Value::Bool(flag)) => Value::Int(flag.into()),
        (Kind::Uuid, Value::Text(text)) => match Uuid::parse_str(&text) {
            Ok(uuid) => Value::Uuid(uuid),
            // The engine rejects it.
            Err(_) => Value::Text(text),
        },
        (Kind::Text, Value::Uuid(uuid)) => Value::Text(Cow::Owned(uuid.hyphenated().to_string())),
        (_, value) => value,
    }
}

/// Returns the highest key that was ever assigned in each table.
pub(super) fn last_keys(tx: &mut Tx<'_>) -> Result<BTreeMap<String, i64>> {
    let sql = if tx.is_postgres() {
        "select cast(sequencename as text), last_value from pg_sequences
         where schemaname = current_schema() and last_value is not null"
    } else {
        "select name, seq from sqlite_sequence"
    };
    let found: Vec<(String, i64)> = tx.fetch_all(sql, &[])?;
    let table = |name: String| name.strip_suffix("_id_seq").map(str::to_owned).unwrap_or(name);
    Ok(found.into_iter().map(|(name, key)| (table(name), key)).collect())
}

/// Sets the highest assigned key of each table to the given key or to the highest key in the table.
pub(super) fn set_last_keys(tx: &mut Tx<'_>, keys: &BTreeMap<String, i64>) -> Result<()> {
    if !tx.is_postgres() {
        let assigned = last_keys(tx)?;
        let keys = keys.iter().filter(|(_, key)| **key > 0);
        let last: Vec<(&str, i64)> = keys
            .map(|(table, key)| {
                (table.as_str(), assigned.get(table).map_or(*key, |assigned| *key.max(assigned)))
            })
            .collect();
        let names: Vec<&str> = last.iter().map(|(table, _)| *table).collect();
        tx.execute("delete from sqlite_sequence where name in {texts $1}", &[&names.as_slice()])?;
        let rows: Vec<Vec<Value<'_>>> = last
            .iter()
            .map(|(table, key)| vec![Value::Text(Cow::Borrowed(*table)), Value::Int(*key)])
            .collect();
        return tx.insert_values("sqlite_sequence", &[("name", Kind::Text), ("seq", Kind::Int)], &rows);
    }
    // These names are from the catalog, not from the archive.
    let identities: Vec<String> = tx.fetch_all(
        "select cast(table_name as text) from information_schema.columns
         where table_schema = current_schema() and column_name = 'id' and is_identity = 'YES'",
        &[],
    )?;
    let set = |table: &String| {
        let key = keys.get(table).copied().unwrap_or_default();
        format!(
            "select setval(pg_get_serial_sequence('{table}', 'id'), last_key)
             from (select greatest((select max(id) from {table}), {key}) as last_key) as assigned where last_key > 0;"
        )
    };
    tx.batch(&identities.iter().map(set).collect::<String>())
}

/// Drops all foreign keys, or defers them until the end of the transaction, so that tables can be filled in any order.
pub(super) fn drop_foreign_keys(tx: &mut Tx<'_>) -> Result<Vec<ForeignKey>> {
    if !tx.is_postgres() {
        tx.batch("pragma defer_foreign_keys = on")?;
        return Ok(Vec::new());
    }
    let mut keys = Vec::new();
    tx.each(
        "select cast(cast(conrelid as regclass) as text), cast(conname as text), pg_get_constraintdef(oid)
         from pg_constraint where contype = 'f' and connamespace = (
             select oid from pg_namespace where nspname = current_schema())
         order by conrelid, conname",
        &[],
        |row| {
            let cells = &mut row.cells();
            keys.push(ForeignKey { table: cells.read()?, name: cells.read()?, definition: cells.read()? });
            Ok(())
        },
    )?;
    let drop = |key: &ForeignKey| format!("alter table {} drop constraint {};", key.table, key.name);
    tx.batch(&keys.iter().map(drop).collect::<String>())?;
    Ok(keys)
}

/// Adds foreign keys again, which checks all rows.
pub(super) fn add_foreign_keys(tx: &mut Tx<'_>, keys: &[ForeignKey]) -> Result<()> {
    let add = |key: &ForeignKey| {
        format!("alter table {} add constraint {} {};", key.table, key.name, key.definition)
    };
    tx.batch(&keys.iter().map(add).collect::<String>())
}

/// Prevents other transactions from inserting rows into tables, so that they assign no keys. SQLite has only one writer.
pub(super) fn lock_tables(tx: &mut Tx<'_>, tables: &[&str]) -> Result<()> {
    if !tx.is_postgres() {
        return tx.batch("pragma defer_foreign_keys = on");
    }
    tx.batch(&format!("lock table {} in share row exclusive mode", tables.join(", ")))
}

/// Returns the highest key of each table that was assigned or that a row has.
pub(super) fn used_keys<'a>(
    tx: &mut Tx<'_>,
    tables: impl Iterator<Item = &'a str>,
) -> Result<BTreeMap<String, i64>> {
    let select = |table| format!("select '{table}', coalesce(max(id), 0) from {table}");
    let sql = tables.map(select).collect::<Vec<_>>().join(" union all ");
    let rows: Vec<(String, i64)> = tx.fetch_all(&sql, &[])?;
    let mut used = last_keys(tx)?;
    for (table, key) in rows {
        let highest = used.entry(table).or_default();
        *highest = key.max(*highest);
    }
    Ok(used)
}
