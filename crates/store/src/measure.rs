//! Measures: the measured quantities.

use std::{collections::HashMap, sync::Arc};

use tidemark_api::{
    Shared,
    id::{NameId, ResourceId},
    measure::{Measure, MeasureFilter, MeasurePatch, UNKNOWN_UNITS, built_in},
    name::ResourceName,
    page::Page,
    slug::Slug,
    time::Timestamp,
};
use uuid::Uuid;

use crate::{
    Cells, Fresh, MeasureId, ProjectId, Result, Tx,
    dimension::{self, MEASURE, Wanted},
};

/// Columns of a measure, for [`read`].
pub(crate) const COLUMNS: &str = "measure.uuid, project.uuid, measure.name, measure.slug, measure.units, \
     measure.created, measure.modified, measure.archived";
/// Joins that [`COLUMNS`] requires.
pub(crate) const JOINS: &str = "join project on project.id = measure.project_id";

pub(crate) fn read(cells: &mut Cells<'_>) -> Result<Measure> {
    Ok(Measure {
        uuid: cells.take()?,
        project: cells.take()?,
        name: cells.take()?,
        slug: cells.take()?,
        units: cells.take()?,
        created: cells.take()?,
        modified: cells.take()?,
        archived: cells.take()?,
    })
}

/// Inserts a measure.
pub fn create(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    project: ProjectId,
    name: &ResourceName,
    slug: Option<&Slug>,
    units: &ResourceName,
) -> Result<MeasureId> {
    let uuid = fresh.uuid();
    let slug = MEASURE.slug(tx, fresh, project, uuid, slug, name.as_ref())?;
    let id = tx.one(
        "measure",
        "insert into measure (uuid, project_id, name, slug, units, created, modified)
         values ($1, $2, $3, $4, $5, $6, $6) returning id",
        &[&uuid, &project, name, &slug, units, &fresh.now],
        |row| row.get(0),
    )?;
    MEASURE.count(tx, project, 1, 0)?;
    Ok(id)
}

/// Returns the primary key of the measure with this slug or UUID.
pub fn find(tx: &mut Tx<'_>, project: ProjectId, measure: &ResourceId) -> Result<MeasureId> {
    MEASURE.find(tx, project, measure).map(MeasureId::from)
}

/// Returns the primary key of the measure with this UUID, slug or name, if it exists.
pub fn resolve(tx: &mut Tx<'_>, project: ProjectId, measure: &NameId) -> Result<Option<MeasureId>> {
    Ok(MEASURE.resolve(tx, project, measure)?.map(MeasureId::from))
}

/// Returns the primary keys of the measures, in the same order. Creates missing measures, built-in ones with their own
/// name, slug and units, and restores archived ones.
pub fn ensure(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    project: ProjectId,
    measures: &[(&NameId, &ResourceName, Option<&ResourceName>)],
) -> Result<Vec<MeasureId>> {
    let wanted: Vec<_> = measures
        .iter()
        .map(|(reference, name, units)| {
            let reference = Some(*reference);
            match built_in(name.as_str()) {
                Some(known) => {
                    Wanted { reference, name: known.name, slug: Some(known.slug), units: Some(known.units) }
                }
                None => {
                    let units = Some(units.map_or(UNKNOWN_UNITS, ResourceName::as_str));
                    Wanted { reference, name: name.as_str(), slug: None, units }
                }
            }
        })
        .collect();
    Ok(MEASURE.ensure(tx, fresh, project, &wanted)?.into_iter().map(MeasureId::from).collect())
}

/// Returns the measures with these primary keys.
pub fn by_ids(tx: &mut Tx<'_>, ids: &[i64]) -> Result<HashMap<MeasureId, Shared<Measure>>> {
    let mut found = HashMap::with_capacity(ids.len());
    tx.each(
        &format!("select {COLUMNS}, measure.id from measure {JOINS} where measure.id in {{ints $1}}"),
        &[&ids],
        |row| {
            let cells = &mut row.cells();
            let measure = read(cells)?;
            found.insert(cells.take()?, Shared::new(measure));
            Ok(())
        },
    )?;
    Ok(found)
}

/// Returns the measures of a project with these UUIDs, with their primary keys.
pub fn by_uuids(
    tx: &mut Tx<'_>,
    project: ProjectId,
    uuids: &[Uuid],
) -> Result<HashMap<Uuid, (MeasureId, Arc<Measure>)>> {
    let sql = format!(
        "select {COLUMNS}, measure.id from measure {JOINS}
         where measure.project_id = $1 and measure.uuid in {{uuids $2}}"
    );
    let rows = tx.all(&sql, &[&project, &uuids], |row| {
        let cells = &mut row.cells();
        let found = read(cells)?;
        Ok((found.uuid.uuid(), (cells.take()?, Arc::new(found))))
    })?;
    Ok(rows.into_iter().collect())
}

/// Returns a measure.
pub fn view(tx: &mut Tx<'_>, measure: MeasureId) -> Result<Measure> {
    let sql = format!("select {COLUMNS} from measure {JOINS} where measure.id = $1");
    tx.one("measure", &sql, &[&measure], |row| read(&mut row.cells()))
}

/// Lists the measures of a project, by name.
pub fn list(
    tx: &mut Tx<'_>,
    project: ProjectId,
    filter: &MeasureFilter,
    page: &Page,
) -> Result<(Vec<Measure>, i64)> {
    let filter = dimension::Filter {
        name: filter.name.as_ref().map(ResourceName::as_str),
        search: filter.search.as_ref().map(AsRef::as_ref),
        archived: filter.archived.unwrap_or(false),
    };
    MEASURE.list(tx, project, filter, page, (COLUMNS, JOINS), |row| read(&mut row.cells()))
}

/// Updates a measure.
pub fn update(
    tx: &mut Tx<'_>,
    project: ProjectId,
    measure: MeasureId,
    patch: &MeasurePatch,
    now: Timestamp,
) -> Result<()> {
    if let Some(units) = &patch.units {
        tx.execute("update measure set units = $2 where id = $1", &[&measure, units])?;
    }
    let change = dimension::Change {
        name: patch.name.as_ref().map(ResourceName::as_str),
        slug: patch.slug.as_ref(),
        archived: patch.archived,
    };
    MEASURE.update(tx, project, measure.get(), change, now)
}

/// Deletes a measure that no metric and no threshold uses.
pub fn delete(tx: &mut Tx<'_>, project: ProjectId, measure: MeasureId) -> Result<()> {
    MEASURE.delete(tx, project, measure.get())
}
