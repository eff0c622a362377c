//! Archive of one project: its dimensions, reports with their metrics, thresholds, alerts, events, changes, mutes and plots. Members,
//! keys, notices, code host connections, jobs and images belong to a server and are not part of it.
//!
//! An import keeps UUIDs and assigns new primary keys: it adds the same number to all keys of a table, so that their order does not
//! change. `tables.rs` lists the columns that contain keys.

mod checks;
mod key_range;
mod tables;

use std::{
    borrow::Cow,
    collections::BTreeMap,
    io::{Read, Write},
};

use serde::{Deserialize, Serialize};
use tidemark_api::{Slug, Timestamp};
use uuid::Uuid;

use self::{
    key_range::KeyRange,
    tables::{OTHER_TABLES, ProjectTable, TABLES},
};
use super::{
    ArchiveHeader, ArchiveSummary, TableHeader, Trailer,
    catalog::{self, Table},
    format::{self, Frame, FrameReader, FrameWriter},
    read_tables,
};
use crate::{
    OrganizationId, ProjectId,
    error::{Error, Result},
    migrate::{self, AppliedMigration},
    tx::Tx,
    value::Value,
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
        if let Some(column) = known.columns.iter().find(|column| !checks::is_listed(&known.name, column)) {
            let (table, column) = (&known.name, &column.name);
            return Err(Error::engine(format!(
                "archive/project/checks.rs does not list the text {table}.{column}"
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
    tx.lift_time_limits()?;
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
    tx.lift_time_limits()?;
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
    let slug = match slug {
        Some(slug) => slug.clone(),
        None => Slug::stored(project.slug.clone()).map_err(|_| damaged("its slug is not valid"))?,
    };
    reject_existing(tx, organization, project, slug.as_str())?;
    catalog::lock_tables(tx, &TABLES.iter().map(|table| table.name).collect::<Vec<_>>())?;
    let tables = catalog::tables(tx)?;
    let with_keys = TABLES.iter().filter(|table| table.has_key()).map(|table| table.name);
    let used = catalog::used_keys(tx, with_keys)?;
    let mut ranges: BTreeMap<&str, KeyRange> = BTreeMap::new();
    for (name, (first, last)) in &project.keys {
        let table = TABLES.iter().find(|table| table.name == name && table.has_key());
        let table = table.ok_or_else(|| unknown(name))?.name;
        let used = used.get(table).copied().unwrap_or_default();
        ranges.insert(table, KeyRange::new(table, (*first, *last), used)?);
    }
    let mut found_keys: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    let rows = read_tables(&mut input, |archived, records| {
        let name = archived.name.as_str();
        let listed = TABLES.iter().find(|table| table.name == name).ok_or_else(|| unknown(name))?;
        let known = tables.iter().find(|known| known.name == name).ok_or_else(|| missing(name))?;
        let Some(records) = records else { return require_columns(known, archived) };
        let mut renumbered = Vec::with_capacity(records.len());
        for record in records {
            let values = format::decode(record, archived.columns.len())?;
            let mut row = Vec::with_capacity(record.len());
            for (column, value) in archived.columns.iter().map(String::as_str).zip(&values) {
                match (name, column, value) {
                    ("project", "organization_id", _) => {
                        format::encode(&mut row, &Value::Int(organization.get()))?;
                        continue;
                    }
                    ("project", "slug", _) => {
                        format::encode(&mut row, &Value::Text(Cow::Borrowed(slug.as_str())))?;
                        continue;
                    }
                    ("project", "uuid", value) if !is_uuid(value, project.uuid) => {
                        return Err(damaged("its project differs from the project of its header"));
                    }
                    ("project", "name", value) if *value != Value::Text(Cow::Borrowed(&project.name)) => {
                        return Err(damaged("its project differs from the project of its header"));
                    }
                    (_, "id", Value::Int(key)) => {
                        let keys = found_keys.entry(name.to_owned()).or_insert((*key, *key));
                        *keys = (keys.0.min(*key), keys.1.max(*key));
                    }
                    _ => {}
                }
                match listed.keys.iter().find(|(key, _)| *key == column) {
                    _ if listed.nulls.contains(&column) => format::encode(&mut row, &Value::Null)?,
                    Some((_, table)) => {
                        let range = ranges.get(table).copied().unwrap_or_default();
                        range.renumber(column, value, &mut row)?;
                    }
                    None => {
                        checks::verify(name, column, known.column(column).map(|column| column.kind), value)?;
                        format::encode(&mut row, value)?;
                    }
                }
            }
            renumbered.push(row);
        }
        super::insert(tx, known, archived, &renumbered)
    })?;
    if rows.get("project") != Some(&1) {
        return Err(damaged("it does not contain exactly one project"));
    }
    // The keys of other rows would be assigned to later rows of the server.
    if found_keys != project.keys {
        return Err(damaged("its rows do not have the keys of its header"));
    }
    let last = ranges.iter().map(|(table, range)| ((*table).to_owned(), range.new_last()));
    catalog::set_last_keys(tx, &last.collect())?;
    Ok(ArchiveSummary { header, rows })
}

/// Rejects a table without exactly the columns of the database.
fn require_columns(known: &Table, archived: &TableHeader) -> Result<()> {
    let mut known: Vec<&str> = known.columns.iter().map(|column| column.name.as_str()).collect();
    let mut found: Vec<&str> = archived.columns.iter().map(String::as_str).collect();
    known.sort_unstable();
    found.sort_unstable();
    if known == found { Ok(()) } else { Err(damaged(&format!("its columns of {} differ", archived.name))) }
}

fn is_uuid(value: &Value<'_>, uuid: Uuid) -> bool {
    match value {
        Value::Uuid(found) => *found == uuid,
        Value::Text(text) => Uuid::parse_str(text).is_ok_and(|found| found == uuid),
        _ => false,
    }
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

fn missing(table: &str) -> Error {
    Error::engine(format!("the archive or the database has no table {table}"))
}

fn unknown(table: &str) -> Error {
    let table: String = table.chars().take(64).collect();
    damaged(&format!("it has the unknown table {table:?}"))
}

fn damaged(reason: &str) -> Error {
    Error::engine(format!("the archive is damaged: {reason}"))
}
