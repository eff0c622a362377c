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
    Error, List, Lock, Param, Result, SpecId, Tx, WriteContext,
    columns::columns,
    slug,
    sql::{contains, direction},
};

columns!(Spec {
    uuid: "spec.uuid",
    name: "spec.name",
    slug: "spec.slug",
    os: "spec.os",
    architecture: "spec.architecture",
    sandbox: "spec.sandbox",
    cpu: "spec.cpu",
    memory: "spec.memory",
    disk: "spec.disk",
    network: "spec.network",
    fallback: "spec.fallback",
    created: "spec.created",
    modified: "spec.modified",
    archived: "spec.archived",
});

columns! {
    /// A spec with its primary key.
    #[derive(Clone, Debug)]
    pub struct SpecRow {
        /// Primary key.
        pub id: SpecId = "spec.id",
        /// Representation in the API.
        pub spec: Spec,
    }
}

/// Inserts a spec. If it is the fallback spec, which serves jobs without a spec, it replaces the current one.
pub fn create(tx: &mut Tx<'_>, context: &WriteContext, new: &NewSpec) -> Result<SpecRow> {
    let uuid = SpecUuid::from(context.uuid());
    let slug = slug::unused(context, uuid.uuid(), new.slug.as_ref(), new.name.as_str(), |slug| {
        tx.value("select exists (select 1 from spec where slug = $1)", &[slug])
    })?;
    if new.fallback {
        clear_fallback(tx, context.now)?;
    }
    let number = |number: u64| i64::try_from(number).map_err(|error| Error::Engine(error.into()));
    let id = tx.fetch_one(
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
            &new.fallback.then_some(context.now),
            &context.now,
        ],
    )?;
    by_id(tx, id)
}

/// Returns the primary key of the spec with this slug or UUID, unless it is archived.
pub fn find(tx: &mut Tx<'_>, spec: &ResourceId) -> Result<SpecId> {
    let (column, value) = reference(spec);
    let sql = format!("select id from spec where {column} = $1 and archived is null");
    tx.fetch_one("spec", &sql, &[value])
}

/// Returns the spec with this slug or UUID, including archived ones.
pub fn get(tx: &mut Tx<'_>, spec: &ResourceId) -> Result<SpecRow> {
    let (column, value) = reference(spec);
    let sql = format!("select {{columns}} from spec where {column} = $1");
    tx.fetch_one("spec", &sql, &[value])
}

/// Returns the spec with this primary key.
pub fn by_id(tx: &mut Tx<'_>, spec: SpecId) -> Result<SpecRow> {
    tx.fetch_one("spec", "select {columns} from spec where id = $1", &[&spec])
}

/// Returns the fallback spec, which serves jobs without a spec, if any.
pub fn fallback(tx: &mut Tx<'_>) -> Result<Option<SpecRow>> {
    tx.fetch_optional("select {columns} from spec where fallback is not null and archived is null", &[])
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
    tx.page(&List { from, order: &order }, &[&filter.name, &search, &filter.archived.unwrap_or(false)], page)
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
    tx.fetch_one("spec", "select {columns} from spec where uuid = $1", &[&spec])
}

/// Returns the specs with these UUIDs, including archived ones, with their primary keys.
pub fn by_uuids(tx: &mut Tx<'_>, uuids: &[Uuid]) -> Result<HashMap<Uuid, (SpecId, Spec)>> {
    if uuids.is_empty() {
        return Ok(HashMap::new());
    }
    let rows: Vec<SpecRow> =
        tx.fetch_all("select {columns} from spec where uuid in {uuids $1}", &[&uuids])?;
    Ok(rows.into_iter().map(|SpecRow { id, spec }| (spec.uuid.uuid(), (id, spec))).collect())
}
