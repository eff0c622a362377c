//! Measures: the measured quantities.

use std::collections::BTreeSet;

use tidemark_api::{
    ProjMeasuresSort,
    id::{MeasureUuid, NameId, ProjectUuid},
    measure::{Measure, MeasureDirection, MeasureFilter, MeasurePatch, UNKNOWN_UNITS, built_in},
    name::ResourceName,
    slug::Slug,
    time::Timestamp,
};
use uuid::Uuid;

use crate::{
    MeasureId, ProjectId, ReportId, Result, Tx, WriteContext, change,
    columns::{columns, insert_columns},
    dimension::{self, Dimension, DimensionFilter, DimensionUpdate, ItemReference, NewItem},
    event, event_alert,
};

columns! {
    struct MeasureColumns {
        uuid: MeasureUuid = "measure.uuid",
        project: ProjectUuid = "project.uuid",
        name: ResourceName = "measure.name",
        slug: Slug = "measure.slug",
        units: ResourceName = "measure.units",
        direction: Option<MeasureDirection> = "measure.direction",
        created: Timestamp = "measure.created",
        modified: Timestamp = "measure.modified",
        archived: Option<Timestamp> = "measure.archived",
    }
}

impl From<MeasureColumns> for Measure {
    fn from(columns: MeasureColumns) -> Self {
        let MeasureColumns { uuid, project, name, slug, units, direction, created, modified, archived } =
            columns;
        let direction = MeasureDirection::resolve(slug.as_str(), direction);
        Self { uuid, project, name, slug, units, direction, created, modified, archived }
    }
}

columns!(Measure from MeasureColumns);

insert_columns! {
    struct NewMeasure<'a> {
        uuid: Uuid,
        project_id: ProjectId,
        name: &'a str,
        slug: &'a Slug,
        units: &'a str,
        created: Timestamp,
        modified: Timestamp,
    }
}

impl Dimension for Measure {
    type Id = MeasureId;
    /// The units.
    type Fields<'a> = &'a str;
    const TABLE: &'static str = "measure";
    const NEWEST_RUN: &'static str =
        "from measure_report join report as newest on newest.id = measure_report.report_id
         where measure_report.measure_id = measure.id
         order by measure_report.start_time desc, measure_report.report_id desc limit 1";

    fn joins() -> String {
        "join project on project.id = measure.project_id".to_owned()
    }

    fn uuid(&self) -> Uuid {
        self.uuid.uuid()
    }

    fn insert(tx: &mut Tx<'_>, items: Vec<(NewItem<'_>, &str)>, suffix: &str) -> Result<Vec<i64>> {
        let items = items.into_iter().map(|(item, units)| {
            let NewItem { uuid, project_id, name, slug, created, modified } = item;
            NewMeasure { uuid, project_id, name, slug, units, created, modified }
        });
        tx.insert_keyed(Self::TABLE, &items.collect::<Vec<_>>(), suffix)
    }
}

impl<'a> From<&'a MeasureFilter> for DimensionFilter<'a> {
    fn from(filter: &'a MeasureFilter) -> Self {
        Self {
            name: filter.name.as_ref().map(ResourceName::as_str),
            search: filter.search.as_ref().map(AsRef::as_ref),
            archived: filter.archived.unwrap_or(false),
            by_newest_run: filter.sort == Some(ProjMeasuresSort::NewestRun),
        }
    }
}

impl<'a> From<&'a MeasurePatch> for DimensionUpdate<'a> {
    fn from(patch: &'a MeasurePatch) -> Self {
        Self {
            name: patch.name.as_ref().map(ResourceName::as_str),
            slug: patch.slug.as_ref(),
            archived: patch.archived,
        }
    }
}

/// Returns the primary keys of the measures, in the same order. Creates missing measures, built-in ones with their own
/// name, slug and units, and restores archived ones.
pub fn ensure(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    project: ProjectId,
    measures: &[(&NameId, &ResourceName, Option<&ResourceName>)],
) -> Result<Vec<MeasureId>> {
    let wanted: Vec<_> = measures
        .iter()
        .map(|(reference, name, units)| {
            let reference = Some(*reference);
            match built_in(name.as_str()) {
                Some(known) => {
                    ItemReference { reference, name: known.name, slug: Some(known.slug), fields: known.units }
                }
                None => {
                    let fields = units.map_or(UNKNOWN_UNITS, ResourceName::as_str);
                    ItemReference { reference, name: name.as_str(), slug: None, fields }
                }
            }
        })
        .collect();
    let keys = dimension::ensure::<Measure>(tx, context, project, &wanted)?;
    Ok(keys.into_iter().map(MeasureId::from).collect())
}

insert_columns! {
    struct MeasureReport {
        measure_id: MeasureId,
        start_time: Timestamp,
        report_id: ReportId,
    }
}

/// Records the measures of a report that has just received its results, for their newest runs.
pub fn record_run(
    tx: &mut Tx<'_>,
    report: ReportId,
    start_time: Timestamp,
    measures: impl IntoIterator<Item = MeasureId>,
) -> Result<()> {
    let measures: BTreeSet<i64> = measures.into_iter().map(MeasureId::get).collect();
    let rows = measures.into_iter().map(MeasureId::from);
    let rows = rows.map(|measure_id| MeasureReport { measure_id, start_time, report_id: report });
    tx.insert_many("measure_report", &rows.collect::<Vec<_>>(), "")
}

/// Sets the units of a measure.
pub fn set_units(tx: &mut Tx<'_>, measure: MeasureId, units: &ResourceName) -> Result<()> {
    tx.execute("update measure set units = $2 where id = $1", &[&measure, units])?;
    Ok(())
}

/// Sets the direction of measures; `None` restores the direction of built-in measures. [`reclassify`] applies it to events.
pub fn set_direction(
    tx: &mut Tx<'_>,
    measures: &[i64],
    direction: Option<MeasureDirection>,
    now: Timestamp,
) -> Result<()> {
    tx.execute(
        "update measure set direction = $2, modified = $3 where id in {ints $1}",
        &[&measures, &direction, &now],
    )?;
    Ok(())
}

/// Applies a new direction of measures to their changes and alerts, and to the status of their events.
pub fn reclassify(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    measures: &[i64],
    direction: Option<MeasureDirection>,
) -> Result<()> {
    let mut events = change::reclassify(tx, measures, direction)?;
    events.extend(event_alert::reclassify(tx, measures, direction)?);
    if events.is_empty() { Ok(()) } else { event::update_recovery(tx, context, &events) }
}
