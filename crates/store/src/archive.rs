//! Archive: all rows of a database in one stream that is independent of the engine. An archive of SQLite can be restored to
//! PostgreSQL and vice versa.
//!
//! An archive has the migrations of its database. A restore applies these migrations first, inserts the rows, and applies the newer
//! migrations of this release last, so that a release can restore the archives of all older releases. `format.rs` describes the
//! encoding. The stream is not compressed.

mod catalog;
mod format;
pub mod project;

use std::{
    collections::BTreeMap,
    io::{Read, Write},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tidemark_api::Timestamp;

use self::{
    catalog::Table,
    format::{Frame, FrameReader, FrameWriter},
};
use crate::{
    error::{Error, Result},
    migrate::{self, AppliedMigration, RELEASE},
    tx::Tx,
    value::{Kind, Value},
};

pub use self::{format::MAGIC, project::ArchivedProject};

/// Maximum number of rows per insert.
const BATCH_ROWS: usize = 500;
/// Number of bytes after which an insert starts.
const BATCH_BYTES: usize = 1 << 20;
/// Table of the applied migrations, which are in the header instead.
const MIGRATION: &str = "migration";

/// Start of an archive.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ArchiveHeader {
    /// Release that wrote the archive.
    pub release: String,
    /// Time of the backup.
    pub created: Timestamp,
    /// Engine of the database: `sqlite` or `postgres`.
    pub engine: String,
    migrations: Vec<AppliedMigration>,
    /// Project, if the archive contains only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<ArchivedProject>,
}

impl ArchiveHeader {
    fn new(tx: &mut Tx<'_>, created: Timestamp) -> Result<Self> {
        let engine = if tx.is_postgres() { "postgres" } else { "sqlite" };
        Ok(Self {
            release: RELEASE.to_owned(),
            created,
            engine: engine.to_owned(),
            migrations: migrate::applied(tx)?,
            project: None,
        })
    }
}

/// Start of the rows of a table.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct TableHeader {
    name: String,
    columns: Vec<String>,
    /// Highest key that was ever assigned, if the engine records it. A key of a deleted row must not be reused.
    last_key: Option<i64>,
}

/// End of an archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Trailer {
    rows: BTreeMap<String, u64>,
}

/// Contents of an archive.
#[derive(Clone, Debug)]
pub struct ArchiveSummary {
    /// Header.
    pub header: ArchiveHeader,
    /// Number of rows of each table.
    pub rows: BTreeMap<String, u64>,
}

impl ArchiveSummary {
    /// Returns the number of rows of all tables.
    pub fn total_rows(&self) -> u64 {
        self.rows.values().sum()
    }
}

/// Writes all rows of the snapshot of a transaction.
pub fn write(tx: &mut Tx<'_>, created: Timestamp, out: impl Write) -> Result<ArchiveSummary> {
    tx.lift_time_limits()?;
    let header = ArchiveHeader::new(tx, created)?;
    let mut out = FrameWriter::start(out)?;
    out.json(Frame::Header, &header)?;
    let last_keys = catalog::last_keys(tx)?;
    let mut rows = BTreeMap::new();
    for table in catalog::tables(tx)?.into_iter().filter(|table| table.name != MIGRATION) {
        let last_key = last_keys.get(&table.name).copied();
        let count = write_table(tx, &mut out, &table, last_key, "")?;
        rows.insert(table.name, count);
    }
    out.end(&Trailer { rows: rows.clone() })?;
    Ok(ArchiveSummary { header, rows })
}

/// Writes the rows of a table that match a clause, and returns their number.
fn write_table(
    tx: &mut Tx<'_>,
    out: &mut FrameWriter<impl Write>,
    table: &Table,
    last_key: Option<i64>,
    clause: &str,
) -> Result<u64> {
    let columns: Vec<String> = table.columns.iter().map(|column| column.name.clone()).collect();
    let sql = format!("select {} from {} {clause}", columns.join(", "), table.name);
    out.json(Frame::Table, &TableHeader { name: table.name.clone(), columns, last_key })?;
    let (mut count, mut record) = (0, Vec::new());
    tx.stream(&sql, |row| {
        record.clear();
        let mut cells = row.cells();
        for _ in &table.columns {
            format::encode(&mut record, &cells.value()?)?;
        }
        count += 1;
        out.frame(Frame::Row, &record)
    })?;
    Ok(count)
}

/// Creates the tables of an archive in an empty database, inserts its rows, and applies the newer migrations of this release.
pub fn restore(tx: &mut Tx<'_>, input: impl Read) -> Result<ArchiveSummary> {
    let restored = restore_unchanged(tx, input)?;
    migrate::pending(tx)?.apply(tx)?;
    Ok(restored)
}

/// Creates the tables of an archive in an empty database and inserts its rows, with the schema of the archive.
pub fn restore_unchanged(tx: &mut Tx<'_>, input: impl Read) -> Result<ArchiveSummary> {
    tx.lift_time_limits()?;
    if !catalog::tables(tx)?.is_empty() {
        return Err(Error::engine("the database is not empty; restore to a new, empty database"));
    }
    let mut input = FrameReader::start(input)?;
    let header: ArchiveHeader = input.json(Frame::Header)?;
    if let Some(project) = &header.project {
        return Err(Error::engine(format!(
            "it contains only the project {}; use `tidemark project import`",
            project.slug
        )));
    }
    migrate::create(tx, &header.migrations)?;
    let tables: BTreeMap<String, Table> =
        catalog::tables(tx)?.into_iter().map(|table| (table.name.clone(), table)).collect();
    let constraints = catalog::drop_foreign_keys(tx)?;
    let mut last_keys = BTreeMap::new();
    let rows = read_tables(&mut input, |table, records| match records {
        None => {
            let known = tables.get(&table.name).ok_or_else(|| unknown_table(&table.name))?;
            if let Some(column) = table.columns.iter().find(|name| known.column(name).is_none()) {
                return Err(Error::engine(format!(
                    "the archive has an unknown column {column} of {}",
                    table.name
                )));
            }
            last_keys.insert(table.name.clone(), table.last_key.unwrap_or_default());
            Ok(())
        }
        Some(records) => {
            insert(tx, tables.get(&table.name).ok_or_else(|| unknown_table(&table.name))?, table, records)
        }
    })?;
    catalog::add_foreign_keys(tx, &constraints)?;
    catalog::set_last_keys(tx, &last_keys)?;
    Ok(ArchiveSummary { header, rows })
}

/// Reads a whole archive and rejects it if it is damaged or incomplete, or if this release cannot restore it.
pub fn check(input: impl Read) -> Result<ArchiveSummary> {
    let mut input = FrameReader::start(input)?;
    let header: ArchiveHeader = input.json(Frame::Header)?;
    migrate::verify(&header.migrations)?;
    let rows = read_tables(&mut input, |table, records| {
        let mut records = records.into_iter().flatten();
        records.try_for_each(|record| format::decode(record, table.columns.len()).map(drop))
    })?;
    Ok(ArchiveSummary { header, rows })
}

/// Returns a fingerprint of the rows of each table. It does not depend on the engine, the order of the rows and the order of the
/// columns.
pub fn fingerprint(input: impl Read) -> Result<BTreeMap<String, String>> {
    let mut input = FrameReader::start(input)?;
    let _: ArchiveHeader = input.json(Frame::Header)?;
    let mut sums: BTreeMap<String, [u8; 32]> = BTreeMap::new();
    read_tables(&mut input, |table, records| {
        let sum = sums.entry(table.name.clone()).or_default();
        for record in records.into_iter().flatten() {
            let mut values: Vec<_> =
                table.columns.iter().zip(format::decode(record, table.columns.len())?).collect();
            values.sort_by_key(|(name, _)| *name);
            let mut row = Vec::new();
            for (_, value) in values {
                let kind = if matches!(value, Value::Uuid(_)) { Kind::Text } else { Kind::Int };
                format::encode(&mut row, &catalog::convert(value, kind))?;
            }
            let hash = Sha256::digest(&row);
            sum.iter_mut().zip(&hash).for_each(|(sum, byte)| *sum = sum.wrapping_add(*byte));
        }
        Ok(())
    })?;
    Ok(sums.into_iter().map(|(table, sum)| (table, hex::encode(sum))).collect())
}

/// Reads all tables. Calls `each` once at the start of every table without records, and then with batches of records.
fn read_tables(
    input: &mut FrameReader<impl Read>,
    mut each: impl FnMut(&TableHeader, Option<&[Vec<u8>]>) -> Result<()>,
) -> Result<BTreeMap<String, u64>> {
    let mut rows = BTreeMap::new();
    let (mut table, mut batch, mut bytes): (Option<TableHeader>, Vec<Vec<u8>>, usize) = (None, Vec::new(), 0);
    loop {
        let (frame, payload) = input.next()?;
        if frame == Frame::Row {
            let current =
                table.as_ref().ok_or_else(|| Error::engine("the archive has a row without a table"))?;
            bytes += payload.len();
            batch.push(payload);
            if batch.len() >= BATCH_ROWS || bytes >= BATCH_BYTES {
                each(current, Some(&batch))?;
                *rows.entry(current.name.clone()).or_default() += batch.len() as u64;
                batch.clear();
                bytes = 0;
            }
            continue;
        }
        if let Some(current) = &table {
            each(current, Some(&batch))?;
            *rows.entry(current.name.clone()).or_default() += batch.len() as u64;
            batch.clear();
            bytes = 0;
        }
        match frame {
            Frame::Table => {
                let next: TableHeader = format::parse(&payload)?;
                if rows.contains_key(&next.name) {
                    return Err(Error::engine(format!("the archive has the table {} twice", next.name)));
                }
                each(&next, None)?;
                table = Some(next);
            }
            Frame::End => {
                let trailer: Trailer = format::parse(&payload)?;
                input.verify_end()?;
                if trailer.rows != rows {
                    return Err(Error::engine("the archive is damaged: its number of rows differs"));
                }
                return Ok(rows);
            }
            Frame::Header | Frame::Row => return Err(Error::engine("the archive has two headers")),
        }
    }
}

fn insert(tx: &mut Tx<'_>, known: &Table, table: &TableHeader, records: &[Vec<u8>]) -> Result<()> {
    if records.is_empty() {
        return Ok(());
    }
    let columns: Vec<_> =
        table.columns.iter().filter_map(|name| Some((name.as_str(), known.column(name)?.kind))).collect();
    let rows = records
        .iter()
        .map(|record| {
            let values = format::decode(record, columns.len())?;
            Ok(values
                .into_iter()
                .zip(&columns)
                .map(|(value, (_, kind))| catalog::convert(value, *kind))
                .collect())
        })
        .collect::<Result<Vec<Vec<Value<'_>>>>>()?;
    tx.insert_values(&table.name, &columns, &rows)
}

fn unknown_table(name: &str) -> Error {
    Error::engine(format!("the archive has an unknown table {name}"))
}
