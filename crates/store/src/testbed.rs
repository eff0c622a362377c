//! Testbeds: the environments in which benchmarks run.

use std::collections::HashMap;

use tidemark_api::{
    id::{NameId, ResourceId},
    name::ResourceName,
    page::Page,
    slug::Slug,
    testbed::{Testbed, TestbedFilter, TestbedPatch},
    time::Timestamp,
};
use uuid::Uuid;

use crate::{
    Cells, Fresh, ProjectId, Result, SpecId, TestbedId, Tx,
    dimension::{self, TESTBED, Wanted, only},
    spec,
};

/// Columns of a testbed with its spec, for [`read`].
pub(crate) fn columns() -> String {
    format!(
        "testbed.uuid, project.uuid, testbed.name, testbed.slug, testbed.created, testbed.modified, \
         testbed.archived, {}",
        spec::COLUMNS
    )
}

/// Joins that [`columns`] requires.
pub(crate) const JOINS: &str =
    "join project on project.id = testbed.project_id left join spec on spec.id = testbed.spec_id";

pub(crate) fn read(cells: &mut Cells<'_>) -> Result<Testbed> {
    Ok(Testbed {
        uuid: cells.take()?,
        project: cells.take()?,
        name: cells.take()?,
        slug: cells.take()?,
        created: cells.take()?,
        modified: cells.take()?,
        archived: cells.take()?,
        spec: spec::read(cells)?,
    })
}

/// Inserts a testbed.
pub fn create(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    project: ProjectId,
    name: &ResourceName,
    slug: Option<&Slug>,
    spec: Option<SpecId>,
) -> Result<TestbedId> {
    let uuid = fresh.uuid();
    let slug = TESTBED.slug(tx, fresh, project, uuid, slug, name.as_ref())?;
    let id = tx.one(
        "testbed",
        "insert into testbed (uuid, project_id, name, slug, spec_id, created, modified)
         values ($1, $2, $3, $4, $5, $6, $6) returning id",
        &[&uuid, &project, name, &slug, &spec, &fresh.now],
        |row| row.get(0),
    )?;
    TESTBED.count(tx, project, 1, 0)?;
    Ok(id)
}

/// Returns the primary key of the testbed with this slug or UUID.
pub fn find(tx: &mut Tx<'_>, project: ProjectId, testbed: &ResourceId) -> Result<TestbedId> {
    TESTBED.find(tx, project, testbed).map(TestbedId::from)
}

/// Returns the primary key of the testbed with this UUID, slug or name, if it exists.
pub fn resolve(tx: &mut Tx<'_>, project: ProjectId, testbed: &NameId) -> Result<Option<TestbedId>> {
    Ok(TESTBED.resolve(tx, project, testbed)?.map(TestbedId::from))
}

/// Returns the primary key of a testbed. Creates it if it is missing and restores it if it is archived.
pub fn ensure(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    project: ProjectId,
    testbed: &NameId,
    name: &ResourceName,
) -> Result<TestbedId> {
    let wanted = Wanted { reference: Some(testbed), name: name.as_str(), slug: None, units: None };
    only(TESTBED.ensure(tx, fresh, project, &[wanted])?)
}

/// Returns a testbed.
pub fn view(tx: &mut Tx<'_>, testbed: TestbedId) -> Result<Testbed> {
    let sql = format!("select {} from testbed {JOINS} where testbed.id = $1", columns());
    tx.one("testbed", &sql, &[&testbed], |row| read(&mut row.cells()))
}

/// Returns the testbeds of a project with these UUIDs, with their primary keys.
pub fn by_uuids(
    tx: &mut Tx<'_>,
    project: ProjectId,
    uuids: &[Uuid],
) -> Result<HashMap<Uuid, (TestbedId, Testbed)>> {
    let sql = format!(
        "select testbed.id, {} from testbed {JOINS} where testbed.project_id = $1 and testbed.uuid in {{uuids $2}}",
        columns()
    );
    let rows = tx.all(&sql, &[&project, &uuids], |row| {
        let cells = &mut row.cells();
        let id = cells.take()?;
        let testbed = read(cells)?;
        Ok((testbed.uuid.uuid(), (id, testbed)))
    })?;
    Ok(rows.into_iter().collect())
}

/// Lists the testbeds of a project, by name.
pub fn list(
    tx: &mut Tx<'_>,
    project: ProjectId,
    filter: &TestbedFilter,
    page: &Page,
) -> Result<(Vec<Testbed>, i64)> {
    let filter = dimension::Filter {
        name: filter.name.as_ref().map(ResourceName::as_str),
        search: filter.search.as_ref().map(AsRef::as_ref),
        archived: filter.archived.unwrap_or(false),
    };
    TESTBED.list(tx, project, filter, page, (&columns(), JOINS), |row| read(&mut row.cells()))
}

/// Updates a testbed.
pub fn update(
    tx: &mut Tx<'_>,
    project: ProjectId,
    testbed: TestbedId,
    patch: &TestbedPatch,
    now: Timestamp,
) -> Result<()> {
    let change = dimension::Change {
        name: patch.name.as_ref().map(ResourceName::as_str),
        slug: patch.slug.as_ref(),
        archived: patch.archived,
    };
    TESTBED.update(tx, project, testbed.get(), change, now)
}

/// Sets or removes the spec of a testbed.
pub fn set_spec(tx: &mut Tx<'_>, testbed: TestbedId, spec: Option<SpecId>, now: Timestamp) -> Result<()> {
    tx.execute(
        "update testbed set spec_id = $2, modified = $3 where id = $1 and spec_id is distinct from $2",
        &[&testbed, &spec, &now],
    )?;
    Ok(())
}

/// Deletes a testbed that no report and no threshold uses.
pub fn delete(tx: &mut Tx<'_>, project: ProjectId, testbed: TestbedId) -> Result<()> {
    TESTBED.delete(tx, project, testbed.get())
}
