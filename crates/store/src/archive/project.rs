//! Archive of one project: its dimensions, reports with their metrics, thresholds, alerts, events, changes, mutes and plots. Members,
//! keys, notices, code host connections, jobs and images belong to a server and are not part of it.
//!
//! An import keeps UUIDs and assigns new primary keys: it adds the same number to all keys of a table, so that their order does not
//! change. `tables.rs` lists the columns that contain keys.

mod tables;

use std::{
    borrow::Cow,
    collections::BTreeMap,
    io::{Read, Write},
};

use serde::{Deserialize, Serialize};
use tidemark_api::{Slug, Timestamp};
use uuid::Uuid;

use self::tables::{OTHER_TABLES, ProjectTable, TABLES};
use super::{
    ArchiveHeader, ArchiveSummary, Trailer, catalog,
    format::{self, Frame, FrameReader, FrameWriter},
    read_tables,
};
use crate::{
    OrganizationId, ProjectId,
    error::{Error, Result},
    metric,
    migrate::{self, AppliedMigration},
    tx::Tx,
    value::Value,
    vector,
};

/// Identity of an archived project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchivedProject {
    /// UUID.
    pub uuid: Uuid,
    /// Name.
    pub name: String,
    /// Slug.
    pub slug: String,
    /// Lowest and highest key of each table.
    keys: BTreeMap<String, (i64, i64)>,
}

/// Returns an error if a table is neither in the list of project tables nor in the list of other tables.
pub fn verify_tables(tx: &mut Tx<'_>) -> Result<()> {
    for known in catalog::tables(tx)? {
        if OTHER_TABLES.contains(&known.name.as_str()) {
            continue;
        }
        let listed = TABLES.iter().find(|table| table.name == known.name);
        let Some(listed) = listed else {
            return Err(Error::engine(format!(
                "archive/project/tables.rs does not list the table {}",
                known.name
            )));
        };
        let is_listed = |name: &str| {
            listed.keys.iter().any(|(column, _)| *column == name) || listed.nulls.contains(&name)
        };
        let keys = known.columns.iter().filter(|column| column.name == "id" || column.name.ends_with("_id"));
        let mut unlisted = keys.filter(|column| !is_listed(&column.name) && column.name != "organization_id");
        if let Some(column) = unlisted.next() {
            let (table, column) = (&known.name, &column.name);
            return Err(Error::engine(format!(
                "archive/project/tables.rs does not list the key {table}.{column}"
            )));
        }
    }
    Ok(())
}

/// Writes a project.
pub fn export(
    tx: &mut Tx<'_>,
    project: ProjectId,
    created: Timestamp,
    out: impl Write,
) -> Result<ArchiveSummary> {
    let sql = "select uuid, name, slug from project where id = $1";
    let ((uuid, name), slug): ((Uuid, String), String) = tx.fetch_one("project", sql, &[&project])?;
    let mut header = ArchiveHeader::new(tx, created)?;
    require_current(&header.migrations)?;
    let keys = key_ranges(tx, project)?;
    header.project = Some(ArchivedProject { uuid, name, slug, keys });
    let mut out = FrameWriter::start(out)?;
    out.json(Frame::Header, &header)?;
    let tables = catalog::tables(tx)?;
    let mut rows = BTreeMap::new();
    for table in TABLES {
        let known =
            tables.iter().find(|known| known.name == table.name).ok_or_else(|| missing(table.name))?;
        let order = if table.has_key() { "order by id" } else { "" };
        let clause = format!("where {} {order}", table.condition(project));
        rows.insert(table.name.to_owned(), super::write_table(tx, &mut out, known, None, &clause)?);
    }
    out.end(&Trailer { rows: rows.clone() })?;
    Ok(ArchiveSummary { header, rows })
}

/// Returns the lowest and the highest key of the rows of a project in each table.
fn key_ranges(tx: &mut Tx<'_>, project: ProjectId) -> Result<BTreeMap<String, (i64, i64)>> {
    let select = |table: &ProjectTable| {
        let (name, condition) = (table.name, table.condition(project));
        format!("select '{name}', min(id), max(id) from {name} where {condition} having count(*) > 0")
    };
    let tables = TABLES.iter().filter(|table| table.has_key());
    let sql = tables.map(select).collect::<Vec<_>>().join(" union all ");
    let mut keys = BTreeMap::new();
    tx.each(&sql, &[], |row| {
        let cells = &mut row.cells();
        keys.insert(cells.read()?, (cells.read()?, cells.read()?));
        Ok(())
    })?;
    Ok(keys)
}

/// Imports a project into an organization, under its own slug or another one. Fails if the project exists.
pub fn import(
    tx: &mut Tx<'_>,
    organization: OrganizationId,
    slug: Option<&Slug>,
    input: impl Read,
) -> Result<ArchiveSummary> {
    let mut input = FrameReader::start(input)?;
    let header: ArchiveHeader = input.json(Frame::Header)?;
    let Some(project) = &header.project else {
        return Err(Error::engine("it is a backup of a whole server; use `tidemark restore`"));
    };
    migrate::verify(&header.migrations)?;
    let (theirs, ours) = (header.migrations.last().map_or(0, |last| last.number), migrate::schema());
    if theirs != ours {
        return Err(Error::engine(format!(
            "Tidemark {} wrote it with schema {theirs}, and this is Tidemark {} with schema {ours}; upgrade the server of the project, \
             and export the project again",
            header.release,
            migrate::RELEASE,
        )));
    }
    require_current(&migrate::applied(tx)?)?;
    let slug = slug.map_or(project.slug.as_str(), Slug::as_str);
    reject_existing(tx, organization, project, slug)?;
    catalog::lock_tables(tx, &TABLES.iter().map(|table| table.name).collect::<Vec<_>>())?;
    let tables = catalog::tables(tx)?;
    let with_keys = TABLES.iter().filter(|table| table.has_key()).map(|table| table.name);
    let used = catalog::used_keys(tx, with_keys)?;
    let range = |(table, (first, last)): (&String, &(i64, i64))| {
        let next = used.get(table).copied().unwrap_or_default() + 1;
        (table.clone(), KeyRange::new(table, *first, *last, next))
    };
    let ranges: BTreeMap<String, KeyRange> = project.keys.iter().map(range).collect();
    let rows = read_tables(&mut input, |archived, records| {
        let name = archived.name.as_str();
        let listed = TABLES.iter().find(|table| table.name == name).ok_or_else(|| missing(name))?;
        let known = tables.iter().find(|known| known.name == name).ok_or_else(|| missing(name))?;
        let Some(records) = records else { return Ok(()) };
        let mut renumbered = Vec::with_capacity(records.len());
        for record in records {
            let values = format::decode(record, archived.columns.len())?;
            let mut row = Vec::with_capacity(record.len());
            for (column, value) in archived.columns.iter().map(String::as_str).zip(&values) {
                match (name, column) {
                    ("project", "organization_id") => {
                        format::encode(&mut row, &Value::Int(organization.get()))?;
                    }
                    ("project", "slug") => format::encode(&mut row, &Value::Text(Cow::Borrowed(slug)))?,
                    _ if listed.nulls.contains(&column) => format::encode(&mut row, &Value::Null)?,
                    _ => match listed.keys.iter().find(|(key, _)| *key == column) {
                        None => format::encode(&mut row, value)?,
                        Some((_, table)) => {
                            ranges
                                .get(*table)
                                .copied()
                                .unwrap_or_default()
                                .renumber(column, value, &mut row)?;
                        }
                    },
                }
            }
            renumbered.push(row);
        }
        super::insert(tx, known, archived, &renumbered)
    })?;
    let last =
        |(table, range): (&String, &KeyRange)| (table.clone(), range.last.saturating_add(range.offset));
    catalog::set_last_keys(tx, &ranges.iter().map(last).collect())?;
    Ok(ArchiveSummary { header, rows })
}

/// Rejects a database of an older release, whose tables may differ.
fn require_current(applied: &[AppliedMigration]) -> Result<()> {
    migrate::verify(applied)?;
    if applied.last().map(|last| last.number) == Some(migrate::schema()) {
        return Ok(());
    }
    Err(Error::engine(format!(
        "the database has an older schema than Tidemark {}; start the server of this release once to upgrade it",
        migrate::RELEASE
    )))
}

fn reject_existing(
    tx: &mut Tx<'_>,
    organization: OrganizationId,
    project: &ArchivedProject,
    slug: &str,
) -> Result<()> {
    let ArchivedProject { uuid, name, .. } = project;
    let exists = |tx: &mut Tx<'_>, sql: &str, params: &[&dyn crate::Param]| {
        tx.value::<i64>(&format!("select count(*) from project where {sql}"), params).map(|count| count > 0)
    };
    if exists(tx, "uuid = $1", &[uuid])? {
        return Err(Error::engine(format!(
            "the project {slug} ({uuid}) exists on this server; delete it before the import"
        )));
    }
    if exists(tx, "slug = $1", &[&slug])? {
        return Err(Error::engine(format!(
            "another project has the slug {slug}; choose another slug with --slug"
        )));
    }
    if exists(tx, "organization_id = $1 and name = $2", &[&organization, name])? {
        return Err(Error::engine(format!(
            "another project of the organization has the name {name}; rename it before the import"
        )));
    }
    Ok(())
}

/// Keys of a table in the archive, and the number to add to them.
#[derive(Clone, Copy, Debug, Default)]
struct KeyRange {
    first: i64,
    last: i64,
    offset: i64,
}

impl KeyRange {
    /// Moves the keys behind the used keys.
    fn new(table: &str, first: i64, last: i64, next: i64) -> Self {
        // Metrics contain the position of a series in a group of neighboring series, which does not change.
        let group = if table == "series" { metric::SERIES_PER_ROW } else { 1 };
        let offset = ((next + group - 1).div_euclid(group) * group)
            .saturating_sub(first.saturating_sub(first.rem_euclid(group)));
        Self { first, last, offset }
    }

    /// Appends a value with new keys to a row.
    fn renumber(self, column: &str, value: &Value<'_>, row: &mut Vec<u8>) -> Result<()> {
        match *value {
            Value::Int(0) if column == "variant_id" => format::encode(row, value),
            Value::Int(bucket) if column == "bucket" => {
                format::encode(row, &Value::Int(bucket.saturating_add(self.offset / metric::SERIES_PER_ROW)))
            }
            Value::Int(key) if column == "start_version_id" && !(self.first..=self.last).contains(&key) => {
                format::encode(row, &Value::Null)
            }
            // A deleted row: its neighbor takes its place in comparisons of keys. No panic: the header may be damaged.
            Value::Int(key) => {
                let key = key.max(self.first).min(self.last).saturating_add(self.offset);
                format::encode(row, &Value::Int(key))
            }
            Value::Blob(bytes) => {
                let bytes = match column {
                    "series" => vector::renumber_series(bytes, self.offset)?,
                    "factors" => vector::renumber_measures(bytes, self.offset),
                    _ => metric::renumber_models(bytes, self.offset)?,
                };
                format::encode(row, &Value::Blob(&bytes))
            }
            _ => format::encode(row, value),
        }
    }
}

fn missing(table: &str) -> Error {
    Error::engine(format!("the archive or the database has no table {table}"))
}
