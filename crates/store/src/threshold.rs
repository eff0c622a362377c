//! Thresholds: models for a branch, testbed and measure, with their counts of checked metrics and alerts.

use std::collections::{BTreeMap, HashMap};

use tidemark_api::{
    Shared,
    id::ThresholdUuid,
    page::{Direction, Page, ProjThresholdsSort},
    threshold::{Threshold, ThresholdModel},
    time::Timestamp,
};
use tidemark_stats as stats;

use crate::{
    BranchId, Cells, Error, Fresh, IN_USE, Kind, List, MeasureId, ModelId, Param, ProjectId, ReportId,
    Result, Row, TestbedId, ThresholdId, Tx, Value, branch, head, measure, model, sql::direction, testbed,
};

/// A threshold with its primary key.
#[derive(Clone, Debug)]
pub struct ThresholdRow {
    /// Primary key.
    pub id: ThresholdId,
    /// Representation in the API.
    pub threshold: Threshold,
}

/// Filter of the thresholds to list.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filter {
    /// Only thresholds of this branch.
    pub branch: Option<BranchId>,
    /// Only thresholds of this testbed.
    pub testbed: Option<TestbedId>,
    /// Only thresholds of this measure.
    pub measure: Option<MeasureId>,
    /// Only thresholds with an archived dimension, instead of the others.
    pub archived: bool,
}

fn columns() -> String {
    format!(
        "threshold.id, threshold.uuid, threshold.created, threshold.modified, {}, {}, {}, {}",
        branch::columns(),
        testbed::columns(),
        measure::COLUMNS,
        model::COLUMNS
    )
}

fn tables(model: &str) -> String {
    format!(
        "threshold join project on project.id = threshold.project_id
         join branch on branch.id = threshold.branch_id
         join head on head.branch_id = branch.id and head.replaced is null {}
         join testbed on testbed.id = threshold.testbed_id left join spec on spec.id = testbed.spec_id
         join measure on measure.id = threshold.measure_id
         left join model on model.threshold_id = threshold.id and {model}",
        head::JOINS
    )
}

const IN_FORCE: &str = "model.replaced is null";

fn read(cells: &mut Cells<'_>) -> Result<ThresholdRow> {
    let (id, uuid, created, modified) = (cells.take()?, cells.take()?, cells.take()?, cells.take()?);
    let branch = branch::read(cells)?;
    let threshold = Threshold {
        uuid,
        project: branch.project,
        branch,
        testbed: testbed::read(cells)?,
        measure: measure::read(cells)?,
        model: model::read(cells)?,
        created,
        modified,
    };
    Ok(ThresholdRow { id, threshold })
}

fn read_row(row: &Row<'_>) -> Result<ThresholdRow> {
    read(&mut row.cells())
}

/// Inserts a threshold with its first model.
pub fn create(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    project: ProjectId,
    branch: BranchId,
    testbed: TestbedId,
    measure: MeasureId,
    model: &stats::Model,
) -> Result<ThresholdRow> {
    let uuid = ThresholdUuid::from(fresh.uuid());
    let id: ThresholdId = tx.one(
        "threshold",
        "insert into threshold (uuid, project_id, branch_id, testbed_id, measure_id, created, modified)
         values ($1, $2, $3, $4, $5, $6, $6) returning id",
        &[&uuid, &project, &branch, &testbed, &measure, &fresh.now],
        |row| row.get(0),
    )?;
    model::insert_many(tx, fresh, &[(id, *model)])?;
    find(tx, project, uuid)
}

/// Returns the threshold with this UUID and its current model.
pub fn find(tx: &mut Tx<'_>, project: ProjectId, threshold: ThresholdUuid) -> Result<ThresholdRow> {
    tx.one(
        "threshold",
        &format!(
            "select {} from {} where threshold.project_id = $1 and threshold.uuid = $2",
            columns(),
            tables(IN_FORCE)
        ),
        &[&project, &threshold],
        read_row,
    )
}

/// Lists the thresholds of a project.
pub fn list(
    tx: &mut Tx<'_>,
    project: ProjectId,
    filter: &Filter,
    sort: ProjThresholdsSort,
    page: &Page,
) -> Result<(Vec<Threshold>, i64)> {
    let (column, default) = match sort {
        ProjThresholdsSort::Created => ("created", Direction::Asc),
        ProjThresholdsSort::Modified => ("modified", Direction::Desc),
    };
    let direction = direction(page.direction.unwrap_or(default));
    let state = if filter.archived {
        "(branch.archived is not null or testbed.archived is not null or measure.archived is not null)"
    } else {
        "branch.archived is null and testbed.archived is null and measure.archived is null"
    };
    tx.page(
        &List {
            columns: &columns(),
            from: &format!(
                "{} where threshold.project_id = $1 and {state}
                 and (cast($2 as bigint) is null or threshold.branch_id = $2)
                 and (cast($3 as bigint) is null or threshold.testbed_id = $3)
                 and (cast($4 as bigint) is null or threshold.measure_id = $4)",
                tables(IN_FORCE)
            ),
            order: &format!("threshold.{column} {direction}, threshold.id {direction}"),
        },
        &[&project, &filter.branch, &filter.testbed, &filter.measure],
        page,
        |row| Ok(read_row(row)?.threshold),
    )
}

/// Replaces or removes the current model.
pub fn put(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    threshold: ThresholdId,
    model: Option<&stats::Model>,
) -> Result<()> {
    retire(tx, &[threshold.get()], fresh.now)?;
    if let Some(model) = model {
        model::insert_many(tx, fresh, &[(threshold, *model)])?;
    }
    Ok(())
}

/// Deletes a threshold and its models; a threshold that has checked a metric is a conflict.
pub fn delete(tx: &mut Tx<'_>, threshold: ThresholdId) -> Result<()> {
    let sql = "delete from threshold where id = $1
               and not exists (select 1 from threshold_count where threshold_id = $1 and judged > 0)";
    match tx.execute(sql, &[&threshold])? {
        0 => Err(Error::Conflict(IN_USE.into())),
        _ => Ok(()),
    }
}

/// Copies the models of the thresholds of a branch to another branch, per testbed and measure. Thresholds without a
/// counterpart lose their model.
pub fn mirror(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    project: ProjectId,
    source: BranchId,
    target: BranchId,
) -> Result<()> {
    let wanted = by_dimensions(tx, source)?;
    let present = by_dimensions(tx, target)?;
    let missing: Vec<_> = wanted.keys().filter(|key| !present.contains_key(key)).copied().collect();
    if !missing.is_empty() {
        insert(tx, fresh, project, target, &missing)?;
    }
    let (mut changed, mut models) = (Vec::new(), Vec::new());
    for (key, (id, before)) in by_dimensions(tx, target)? {
        let model = wanted.get(&key).and_then(|(_, model)| *model);
        if model == before {
            continue;
        }
        changed.push(id.get());
        models.extend(model.map(|model| (id, model)));
    }
    if !changed.is_empty() {
        retire(tx, &changed, fresh.now)?;
    }
    model::insert_many(tx, fresh, &models)
}

/// A threshold of a branch and a testbed, with its current model.
#[derive(Clone, Copy, Debug)]
pub struct Active {
    /// Threshold.
    pub id: ThresholdId,
    /// Measure.
    pub measure: MeasureId,
    /// Current model, unless it was removed.
    pub model: Option<(ModelId, stats::Model)>,
}

/// Returns the thresholds of a branch and a testbed.
pub fn active(tx: &mut Tx<'_>, branch: BranchId, testbed: TestbedId) -> Result<Vec<Active>> {
    tx.all(
        &format!(
            "select threshold.id, threshold.measure_id, model.id, {} from threshold
             left join model on model.threshold_id = threshold.id and model.replaced is null
             where threshold.branch_id = $1 and threshold.testbed_id = $2 order by threshold.id",
            model::COLUMNS
        ),
        &[&branch, &testbed],
        |row| {
            let cells = &mut row.cells();
            let (id, measure, model) = (cells.take()?, cells.take()?, cells.take::<Option<ModelId>>()?);
            let settings = model::read(cells)?.map(|model| model.settings());
            Ok(Active { id, measure, model: model.zip(settings) })
        },
    )
}

/// Sets the models of the thresholds of a branch and a testbed; with `reset`, removes the models of all other
/// thresholds.
pub fn set(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    project: ProjectId,
    (branch, testbed): (BranchId, TestbedId),
    wanted: &[(MeasureId, stats::Model)],
    reset: bool,
) -> Result<()> {
    let mut present: HashMap<MeasureId, Active> =
        active(tx, branch, testbed)?.into_iter().map(|one| (one.measure, one)).collect();
    let missing: Vec<_> = wanted
        .iter()
        .filter(|(measure, _)| !present.contains_key(measure))
        .map(|(measure, _)| (testbed, *measure))
        .collect();
    if !missing.is_empty() {
        insert(tx, fresh, project, branch, &missing)?;
        present = active(tx, branch, testbed)?.into_iter().map(|one| (one.measure, one)).collect();
    }
    let (mut changed, mut models) = (Vec::new(), Vec::new());
    for (measure, model) in wanted {
        if let Some(one) = present.remove(measure)
            && one.model.map(|(_, model)| model) != Some(*model)
        {
            changed.push(one.id.get());
            models.push((one.id, *model));
        }
    }
    if reset {
        changed.extend(present.values().filter(|one| one.model.is_some()).map(|one| one.id.get()));
    }
    if !changed.is_empty() {
        retire(tx, &changed, fresh.now)?;
    }
    model::insert_many(tx, fresh, &models)
}

/// Adds to the numbers of checked metrics and active alerts of thresholds.
pub fn count(tx: &mut Tx<'_>, counts: &[(ThresholdId, i64, i64)]) -> Result<()> {
    let rows: Vec<Vec<Value<'_>>> = counts
        .iter()
        .map(|(threshold, judged, active)| {
            let columns: [&dyn Param; 5] = [threshold, judged, active, &0, &0];
            columns.into_iter().map(Param::value).collect()
        })
        .collect();
    let columns = ["threshold_id", "judged", "active", "dismissed", "silenced"].map(|name| (name, Kind::Int));
    let suffix = "on conflict (threshold_id) do update set judged = threshold_count.judged + excluded.judged,
                      active = threshold_count.active + excluded.active";
    tx.insert_many("threshold_count", &columns, &rows, suffix)?;
    Ok(())
}

/// Subtracts the counts of a report that is being deleted: its checked metrics, by model, and its alerts.
pub(crate) fn forget(tx: &mut Tx<'_>, report: ReportId, judged: &BTreeMap<i64, i64>) -> Result<()> {
    if judged.is_empty() {
        return Ok(());
    }
    let models: Vec<i64> = judged.keys().copied().collect();
    let mut counts: BTreeMap<ThresholdId, i64> = BTreeMap::new();
    tx.each("select threshold_id, id from model where id in {ints $1}", &[&models], |row| {
        let count = judged.get(&row.get(1)?).copied().unwrap_or_default();
        *counts.entry(row.get(0)?).or_default() -= count;
        Ok(())
    })?;
    let counts: Vec<_> = counts.into_iter().map(|(threshold, judged)| (threshold, judged, 0)).collect();
    count(tx, &counts)?;
    tx.execute("delete from alert where report_id = $1", &[&report])?;
    let thresholds: Vec<i64> = counts.iter().map(|(threshold, ..)| threshold.get()).collect();
    count_alerts(tx, &thresholds)
}

/// Counts the alerts of thresholds again.
pub(crate) fn count_alerts(tx: &mut Tx<'_>, thresholds: &[i64]) -> Result<()> {
    if thresholds.is_empty() {
        return Ok(());
    }
    let count = |status| {
        format!(
            "{status} = (select count(*) from alert where alert.threshold_id = threshold_count.threshold_id
                         and alert.status = '{status}')"
        )
    };
    let sets = ["active", "dismissed", "silenced"].map(count).join(", ");
    let sql = format!("update threshold_count set {sets} where threshold_id in {{ints $1}}");
    tx.execute(&sql, &[&thresholds])?;
    Ok(())
}

/// Returns the thresholds of these models, as they appear in metrics.
pub fn by_models(tx: &mut Tx<'_>, models: &[i64]) -> Result<HashMap<ModelId, Shared<ThresholdModel>>> {
    if models.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = tx.all(
        &format!(
            "select model.id, threshold.uuid, project.uuid, threshold.created, {} from model
             join threshold on threshold.id = model.threshold_id
             join project on project.id = threshold.project_id where model.id in {{ints $1}}",
            model::COLUMNS
        ),
        &[&models],
        |row| {
            let cells = &mut row.cells();
            let (id, uuid, project, created) = (cells.take()?, cells.take()?, cells.take()?, cells.take()?);
            let model = model::read(cells)?.ok_or_else(|| Error::engine("a model without a UUID"))?;
            Ok((id, Shared::new(ThresholdModel { uuid, project, model, created })))
        },
    )?;
    Ok(rows.into_iter().collect())
}

type ByDimensions = HashMap<(TestbedId, MeasureId), (ThresholdId, Option<stats::Model>)>;

fn by_dimensions(tx: &mut Tx<'_>, branch: BranchId) -> Result<ByDimensions> {
    let rows = tx.all(
        &format!(
            "select threshold.testbed_id, threshold.measure_id, threshold.id, {} from threshold
             left join model on model.threshold_id = threshold.id and model.replaced is null
             where threshold.branch_id = $1 order by threshold.id",
            model::COLUMNS
        ),
        &[&branch],
        |row| {
            let cells = &mut row.cells();
            let key = (cells.take()?, cells.take()?);
            Ok((key, (cells.take()?, model::read(cells)?.map(|model| model.settings()))))
        },
    )?;
    Ok(rows.into_iter().collect())
}

/// Inserts thresholds without models.
fn insert(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    project: ProjectId,
    branch: BranchId,
    dimensions: &[(TestbedId, MeasureId)],
) -> Result<()> {
    let uuids: Vec<_> = dimensions.iter().map(|_| fresh.uuid()).collect();
    let rows: Vec<Vec<Value<'_>>> = dimensions
        .iter()
        .zip(&uuids)
        .map(|((testbed, measure), uuid)| {
            let columns: [&dyn Param; 7] =
                [uuid, &project, &branch, testbed, measure, &fresh.now, &fresh.now];
            columns.into_iter().map(Param::value).collect()
        })
        .collect();
    let columns = [
        ("uuid", Kind::Uuid),
        ("project_id", Kind::Int),
        ("branch_id", Kind::Int),
        ("testbed_id", Kind::Int),
        ("measure_id", Kind::Int),
        ("created", Kind::Int),
        ("modified", Kind::Int),
    ];
    tx.insert_many("threshold", &columns, &rows, "")?;
    Ok(())
}

fn retire(tx: &mut Tx<'_>, thresholds: &[i64], now: Timestamp) -> Result<()> {
    tx.execute(
        "update model set replaced = $2 where threshold_id in {ints $1} and replaced is null",
        &[&thresholds, &now],
    )?;
    tx.execute("update threshold set modified = $2 where id in {ints $1}", &[&thresholds, &now])?;
    Ok(())
}
