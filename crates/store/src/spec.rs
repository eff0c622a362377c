//! Specs: types of machines for jobs.

use std::collections::HashMap;

use tidemark_api::{
    id::{ResourceId, SpecUuid},
    page::{Direction, Page, SpecsSort},
    spec::{NewSpec, Spec, SpecFilter, SpecPatch},
    time::Timestamp,
};
use uuid::Uuid;

use crate::{
    Cells, Error, Fresh, List, Lock, Param, Result, SpecId, Tx, slug,
    sql::{contains, direction},
};

/// Columns of a spec, for [`read`].
pub(crate) const COLUMNS: &str = "spec.uuid, spec.name, spec.slug, spec.os, spec.architecture, spec.sandbox, \
     spec.cpu, spec.memory, spec.disk, spec.network, spec.fallback, spec.created, spec.modified, spec.archived";
const COUNT: usize = 14;

/// Reads a spec that may be absent (left join).
pub(crate) fn read(cells: &mut Cells<'_>) -> Result<Option<Spec>> {
    let Some(uuid) = cells.take()? else {
        cells.skip(COUNT - 1);
        return Ok(None);
    };
    Ok(Some(Spec {
        uuid,
        name: cells.take()?,
        slug: cells.take()?,
        os: cells.take()?,
        architecture: cells.take()?,
        sandbox: cells.take()?,
        cpu: cells.take()?,
        memory: cells.take()?,
        disk: cells.take()?,
        network: cells.take()?,
        fallback: cells.take()?,
        created: cells.take()?,
        modified: cells.take()?,
        archived: cells.take()?,
    }))
}

/// A spec with its primary key.
#[derive(Clone, Debug)]
pub struct SpecRow {
    /// Primary key.
    pub id: SpecId,
    /// Representation in the API.
    pub spec: Spec,
}

fn read_found(cells: &mut Cells<'_>) -> Result<SpecRow> {
    let id = cells.take()?;
    Ok(SpecRow { id, spec: read(cells)?.ok_or(Error::NotFound("spec"))? })
}

/// Inserts a spec. If it is the fallback spec, which serves jobs without a spec, it replaces the current one.
pub fn create(tx: &mut Tx<'_>, fresh: &Fresh, new: &NewSpec) -> Result<SpecRow> {
    let uuid = SpecUuid::from(fresh.uuid());
    let slug = slug::choose(fresh, uuid.uuid(), new.slug.as_ref(), new.name.as_str(), |slug| {
        tx.value("select exists (select 1 from spec where slug = $1)", &[slug])
    })?;
    if new.fallback {
        clear_fallback(tx, fresh.now)?;
    }
    let number = |number: u64| i64::try_from(number).map_err(|error| Error::Engine(error.into()));
    let id = tx.one(
        "spec",
        "insert into spec (uuid, name, slug, os, architecture, sandbox, cpu, memory, disk, network, fallback, created,
                           modified)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12) returning id",
        &[
            &uuid,
            &new.name,
            &slug,
            &new.os,
            &new.architecture,
            &new.sandbox,
            &new.cpu.get(),
            &number(new.memory.get())?,
            &number(new.disk.get())?,
            &new.network,
            &new.fallback.then_some(fresh.now),
            &fresh.now,
        ],
        |row| row.get(0),
    )?;
    by_id(tx, id)
}

/// Returns the primary key of the spec with this slug or UUID, unless it is archived.
pub fn find(tx: &mut Tx<'_>, spec: &ResourceId) -> Result<SpecId> {
    let (column, value) = reference(spec);
    let sql = format!("select id from spec where {column} = $1 and archived is null");
    tx.one("spec", &sql, &[value], |row| row.get(0))
}

/// Returns the spec with this slug or UUID, including archived ones.
pub fn get(tx: &mut Tx<'_>, spec: &ResourceId) -> Result<SpecRow> {
    let (column, value) = reference(spec);
    let sql = format!("select id, {COLUMNS} from spec where {column} = $1");
    tx.one("spec", &sql, &[value], |row| read_found(&mut row.cells()))
}

/// Returns the spec with this primary key.
pub fn by_id(tx: &mut Tx<'_>, spec: SpecId) -> Result<SpecRow> {
    let sql = format!("select id, {COLUMNS} from spec where id = $1");
    tx.one("spec", &sql, &[&spec], |row| read_found(&mut row.cells()))
}

/// Returns the fallback spec, which serves jobs without a spec, if any.
pub fn fallback(tx: &mut Tx<'_>) -> Result<Option<SpecRow>> {
    let sql = format!("select id, {COLUMNS} from spec where fallback is not null and archived is null");
    tx.optional(&sql, &[], |row| read_found(&mut row.cells()))
}

/// Lists all specs of this server.
pub fn list(tx: &mut Tx<'_>, filter: &SpecFilter, page: &Page) -> Result<(Vec<Spec>, i64)> {
    let order = match filter.sort.unwrap_or_default() {
        SpecsSort::Name => {
            let direction = direction(page.direction.unwrap_or(Direction::Asc));
            format!("lower(spec.name) {direction}, spec.id {direction}")
        }
        SpecsSort::Created => {
            let direction = direction(page.direction.unwrap_or(Direction::Desc));
            format!("spec.created {direction}, spec.id {direction}")
        }
    };
    let from = "spec where (cast($1 as text) is null or spec.name = $1)
         and (cast($2 as text) is null or lower(spec.name) like $2 escape '\\' or spec.slug like $2 escape '\\'
              or cast(spec.uuid as text) like $2 escape '\\')
         and (spec.archived is not null) = $3";
    let search = filter.search.as_ref().map(|search| contains(search.as_ref()));
    let (rows, total) = tx.page(
        &List { columns: COLUMNS, from, order: &order },
        &[&filter.name, &search, &filter.archived.unwrap_or(false)],
        page,
        |row| read(&mut row.cells()),
    )?;
    Ok((rows.into_iter().flatten().collect(), total))
}

/// Updates a spec. Archiving a spec removes it from its testbeds and as the fallback spec.
pub fn update(tx: &mut Tx<'_>, spec: SpecId, patch: &SpecPatch, now: Timestamp) -> Result<()> {
    tx.execute(
        "update spec set name = coalesce($2, name), slug = coalesce($3, slug), modified = $4 where id = $1",
        &[&spec, &patch.name, &patch.slug, &now],
    )?;
    match patch.archived {
        Some(true) => {
            tx.execute(
                "update spec set archived = coalesce(archived, $2), fallback = null where id = $1",
                &[&spec, &now],
            )?;
            tx.execute(
                "update testbed set spec_id = null, modified = $2 where spec_id = $1",
                &[&spec, &now],
            )?;
            return Ok(());
        }
        Some(false) => {
            tx.execute("update spec set archived = null where id = $1", &[&spec])?;
        }
        None => {}
    }
    match patch.fallback {
        Some(true) => {
            clear_fallback(tx, now)?;
            tx.execute("update spec set fallback = $2 where id = $1", &[&spec, &now])?;
        }
        Some(false) => {
            tx.execute("update spec set fallback = null where id = $1", &[&spec])?;
        }
        None => {}
    }
    Ok(())
}

/// Deletes a spec that no runner and no job uses.
pub fn delete(tx: &mut Tx<'_>, spec: SpecId) -> Result<()> {
    tx.execute("delete from spec where id = $1", &[&spec])?;
    Ok(())
}

/// Clears the current fallback spec, so that another spec can replace it.
fn clear_fallback(tx: &mut Tx<'_>, now: Timestamp) -> Result<()> {
    tx.lock(Lock::Specs)?;
    tx.execute("update spec set fallback = null, modified = $1 where fallback is not null", &[&now])?;
    Ok(())
}

fn reference(spec: &ResourceId) -> (&'static str, &dyn Param) {
    match spec {
        ResourceId::Uuid(uuid) => ("uuid", uuid),
        ResourceId::Slug(slug) => ("slug", slug),
    }
}

/// Returns a spec, including archived ones.
pub fn view(tx: &mut Tx<'_>, spec: SpecUuid) -> Result<Option<Spec>> {
    let sql = format!("select {COLUMNS} from spec where uuid = $1");
    tx.one("spec", &sql, &[&spec], |row| read(&mut row.cells()))
}

/// Returns the specs with these UUIDs, including archived ones, with their primary keys.
pub fn by_uuids(tx: &mut Tx<'_>, uuids: &[Uuid]) -> Result<HashMap<Uuid, (SpecId, Spec)>> {
    if uuids.is_empty() {
        return Ok(HashMap::new());
    }
    let mut found = HashMap::new();
    tx.each(&format!("select id, {COLUMNS} from spec where uuid in {{uuids $1}}"), &[&uuids], |row| {
        let cells = &mut row.cells();
        let id = cells.take()?;
        if let Some(spec) = read(cells)? {
            found.insert(spec.uuid.uuid(), (id, spec));
        }
        Ok(())
    })?;
    Ok(found)
}
