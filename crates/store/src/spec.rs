//! Specs: what a machine offers.

use std::collections::HashMap;

use tidemark_api::{
    id::{ResourceId, SpecUuid},
    spec::Spec,
};
use uuid::Uuid;

use crate::{Cells, Param, Result, SpecId, Tx};

/// The columns of a spec, for [`read`].
pub(crate) const COLUMNS: &str = "spec.uuid, spec.name, spec.slug, spec.os, spec.architecture, spec.sandbox, \
     spec.cpu, spec.memory, spec.disk, spec.network, spec.fallback, spec.created, spec.modified, spec.archived";
const COUNT: usize = 14;

/// Reads a spec that may be absent (a left join).
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

/// The key of the spec with this slug or UUID that is in use.
pub fn find(tx: &mut Tx<'_>, spec: &ResourceId) -> Result<SpecId> {
    let (column, value): (_, &dyn Param) = match spec {
        ResourceId::Uuid(uuid) => ("uuid", uuid),
        ResourceId::Slug(slug) => ("slug", slug),
    };
    let sql = format!("select id from spec where {column} = $1 and archived is null");
    tx.one("spec", &sql, &[value], |row| row.get(0))
}

/// One spec, archived ones included.
pub fn view(tx: &mut Tx<'_>, spec: SpecUuid) -> Result<Option<Spec>> {
    let sql = format!("select {COLUMNS} from spec where uuid = $1");
    tx.one("spec", &sql, &[&spec], |row| read(&mut row.cells()))
}

/// The specs with these UUIDs, archived ones included, with their keys.
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
