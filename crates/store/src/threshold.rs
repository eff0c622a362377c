//! Thresholds: models for a branch, testbed and measure, with their counts of checked metrics and alerts.

use std::collections::{BTreeMap, HashMap};

use tidemark_api::{
    Branch, Measure, MeasureDirection, Shared, Testbed,
    id::ThresholdUuid,
    page::{Direction, Page, ProjThresholdsSort},
    threshold::{Model, Threshold, ThresholdModel},
    time::Timestamp,
};
use tidemark_stats as stats;
use uuid::Uuid;

use crate::{
    BranchId, Error, IN_USE, List, MeasureId, ModelId, ProjectId, ReportId, Result, TestbedId, ThresholdId,
    Tx, WriteContext,
    columns::{columns, insert_columns},
    event_alert, head, model,
    sql::direction,
};

columns! {
    /// A threshold with its primary key.
    #[derive(Clone, Debug)]
    pub struct ThresholdRow {
        /// Primary key.
        pub id: ThresholdId = "threshold.id",
        /// Representation in the API.
        pub threshold: Threshold,
    }
}

columns!(Threshold {
    uuid: "threshold.uuid",
    project: "project.uuid",
    branch: Branch,
    testbed: Testbed,
    measure: Measure,
    model: Option<Model>,
    created: "threshold.created",
    modified: "threshold.modified",
});

/// Filter of the thresholds to list.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThresholdFilter {
    /// Only thresholds of this branch.
    pub branch: Option<BranchId>,
    /// Only thresholds of this testbed.
    pub testbed: Option<TestbedId>,
    /// Only thresholds of this measure.
    pub measure: Option<MeasureId>,
    /// Only thresholds with an archived dimension, instead of the others.
    pub archived: bool,
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

const CURRENT_MODEL: &str = "model.replaced is null";

/// Inserts a threshold with its first model.
pub fn create(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    project: ProjectId,
    branch: BranchId,
    testbed: TestbedId,
    measure: MeasureId,
    model: &stats::Model,
) -> Result<ThresholdRow> {
    let uuid = ThresholdUuid::from(context.uuid());
    let id: ThresholdId = tx.fetch_one(
        "threshold",
        "insert into threshold (uuid, project_id, branch_id, testbed_id, measure_id, created, modified)
         values ($1, $2, $3, $4, $5, $6, $6) returning id",
        &[&uuid, &project, &branch, &testbed, &measure, &context.now],
    )?;
    model::insert_many(tx, context, &[(id, *model)])?;
    find(tx, project, uuid)
}

/// Returns the threshold with this UUID and its current model.
pub fn find(tx: &mut Tx<'_>, project: ProjectId, threshold: ThresholdUuid) -> Result<ThresholdRow> {
    let sql = format!(
        "select {{columns}} from {} where threshold.project_id = $1 and threshold.uuid = $2",
        tables(CURRENT_MODEL)
    );
    tx.fetch_one("threshold", &sql, &[&project, &threshold])
}

/// Lists the thresholds of a project.
pub fn list(
    tx: &mut Tx<'_>,
    project: ProjectId,
    filter: &ThresholdFilter,
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
            from: &format!(
                "{} where threshold.project_id = $1 and {state}
                 and (cast($2 as bigint) is null or threshold.branch_id = $2)
                 and (cast($3 as bigint) is null or threshold.testbed_id = $3)
                 and (cast($4 as bigint) is null or threshold.measure_id = $4)",
                tables(CURRENT_MODEL)
            ),
            order: &format!("threshold.{column} {direction}, threshold.id {direction}"),
        },
        &[&project, &filter.branch, &filter.testbed, &filter.measure],
        page,
    )
}

/// Replaces or removes the current model.
pub fn replace_model(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    threshold: ThresholdId,
    model: Option<&stats::Model>,
) -> Result<()> {
    mark_models_replaced(tx, &[threshold.get()], context.now)?;
    if let Some(model) = model {
        model::insert_many(tx, context, &[(threshold, *model)])?;
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
pub fn copy_models(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    project: ProjectId,
    source: BranchId,
    target: BranchId,
) -> Result<()> {
    let wanted = by_dimensions(tx, source)?;
    let present = by_dimensions(tx, target)?;
    let missing: Vec<_> = wanted.keys().filter(|key| !present.contains_key(key)).copied().collect();
    if !missing.is_empty() {
        insert(tx, context, project, target, &missing)?;
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
        mark_models_replaced(tx, &changed, context.now)?;
    }
    model::insert_many(tx, context, &models)
}

/// A threshold of a branch and a testbed, with its current model.
#[derive(Clone, Copy, Debug)]
pub struct LaneThreshold {
    /// Threshold.
    pub id: ThresholdId,
    /// Measure.
    pub measure: MeasureId,
    /// Direction in which the measure gets worse.
    pub worse: stats::Worse,
    /// Current model, unless it was removed.
    pub model: Option<(ModelId, stats::Model)>,
}

/// Returns the thresholds of a branch and a testbed.
pub fn of_lane(tx: &mut Tx<'_>, branch: BranchId, testbed: TestbedId) -> Result<Vec<LaneThreshold>> {
    let rows: Vec<ThresholdSettings> = tx.fetch_all(
        "select {columns} from threshold join measure on measure.id = threshold.measure_id
         left join model on model.threshold_id = threshold.id and model.replaced is null
         where threshold.branch_id = $1 and threshold.testbed_id = $2 order by threshold.id",
        &[&branch, &testbed],
    )?;
    let active = |row: ThresholdSettings| {
        let model = row.model_id.zip(row.model.map(|model| model.settings()));
        let worse = MeasureDirection::worse(&row.slug, row.direction);
        LaneThreshold { id: row.id, measure: row.measure, worse, model }
    };
    Ok(rows.into_iter().map(active).collect())
}

columns! {
    /// A threshold with its current model.
    struct ThresholdSettings {
        id: ThresholdId = "threshold.id",
        testbed: TestbedId = "threshold.testbed_id",
        measure: MeasureId = "threshold.measure_id",
        slug: String = "measure.slug",
        direction: Option<MeasureDirection> = "measure.direction",
        model_id: Option<ModelId> = "model.id",
        model: Option<Model>,
    }
}

/// Sets the models of the thresholds of a branch and a testbed; with `reset`, removes the models of all other
/// thresholds.
pub fn set_models(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    project: ProjectId,
    (branch, testbed): (BranchId, TestbedId),
    wanted: &[(MeasureId, stats::Model)],
    reset: bool,
) -> Result<()> {
    let mut present: HashMap<MeasureId, LaneThreshold> =
        of_lane(tx, branch, testbed)?.into_iter().map(|one| (one.measure, one)).collect();
    let missing: Vec<_> = wanted
        .iter()
        .filter(|(measure, _)| !present.contains_key(measure))
        .map(|(measure, _)| (testbed, *measure))
        .collect();
    if !missing.is_empty() {
        insert(tx, context, project, branch, &missing)?;
        present = of_lane(tx, branch, testbed)?.into_iter().map(|one| (one.measure, one)).collect();
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
        mark_models_replaced(tx, &changed, context.now)?;
    }
    model::insert_many(tx, context, &models)
}

/// What a report adds to the counts of a threshold.
#[derive(Clone, Copy, Debug)]
pub struct ThresholdCounts {
    /// Threshold.
    pub threshold: ThresholdId,
    /// Number of checked metrics.
    pub judged: i64,
    /// Number of active alerts.
    pub active: i64,
    /// Number of dismissed alerts.
    pub dismissed: i64,
}

/// Adds to the numbers of checked metrics and alerts of thresholds.
pub fn add_counts(tx: &mut Tx<'_>, counts: &[ThresholdCounts]) -> Result<()> {
    let rows: Vec<NewCount> = counts
        .iter()
        .map(|ThresholdCounts { threshold, judged, active, dismissed }| NewCount {
            threshold_id: *threshold,
            judged: *judged,
            active: *active,
            dismissed: *dismissed,
            silenced: 0,
        })
        .collect();
    let suffix = "on conflict (threshold_id) do update set judged = threshold_count.judged + excluded.judged,
                      active = threshold_count.active + excluded.active,
                      dismissed = threshold_count.dismissed + excluded.dismissed";
    tx.insert_many("threshold_count", &rows, suffix)
}

insert_columns! {
    struct NewCount {
        threshold_id: ThresholdId,
        judged: i64,
        active: i64,
        dismissed: i64,
        silenced: i64,
    }
}

/// Subtracts the counts of a report that is being deleted: its checked metrics, by model, and its alerts.
pub(crate) fn subtract_counts(tx: &mut Tx<'_>, report: ReportId, judged: &BTreeMap<i64, i64>) -> Result<()> {
    if judged.is_empty() {
        return Ok(());
    }
    let models: Vec<i64> = judged.keys().copied().collect();
    let mut counts: BTreeMap<ThresholdId, i64> = BTreeMap::new();
    let rows: Vec<(ThresholdId, i64)> =
        tx.fetch_all("select threshold_id, id from model where id in {ints $1}", &[&models])?;
    for (threshold, model) in rows {
        *counts.entry(threshold).or_default() -= judged.get(&model).copied().unwrap_or_default();
    }
    let counts: Vec<_> = counts
        .into_iter()
        .map(|(threshold, judged)| ThresholdCounts { threshold, judged, active: 0, dismissed: 0 })
        .collect();
    add_counts(tx, &counts)?;
    event_alert::subtract(tx, report)?;
    tx.execute("delete from alert where report_id = $1", &[&report])?;
    let thresholds: Vec<i64> = counts.iter().map(|one| one.threshold.get()).collect();
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
    let rows: Vec<(ModelId, ThresholdModel)> = tx.fetch_all(
        "select model.id, {columns} from model join threshold on threshold.id = model.threshold_id
         join project on project.id = threshold.project_id where model.id in {ints $1}",
        &[&models],
    )?;
    Ok(rows.into_iter().map(|(id, threshold)| (id, Shared::new(threshold))).collect())
}

columns!(ThresholdModel {
    uuid: "threshold.uuid",
    project: "project.uuid",
    model: Model,
    created: "threshold.created",
});

type ByDimensions = HashMap<(TestbedId, MeasureId), (ThresholdId, Option<stats::Model>)>;

fn by_dimensions(tx: &mut Tx<'_>, branch: BranchId) -> Result<ByDimensions> {
    let rows: Vec<ThresholdSettings> = tx.fetch_all(
        "select {columns} from threshold join measure on measure.id = threshold.measure_id
         left join model on model.threshold_id = threshold.id and model.replaced is null
         where threshold.branch_id = $1 order by threshold.id",
        &[&branch],
    )?;
    let settings = |row: ThresholdSettings| {
        ((row.testbed, row.measure), (row.id, row.model.map(|model| model.settings())))
    };
    Ok(rows.into_iter().map(settings).collect())
}

/// Inserts thresholds without models.
fn insert(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    project: ProjectId,
    branch: BranchId,
    dimensions: &[(TestbedId, MeasureId)],
) -> Result<()> {
    let rows: Vec<NewThreshold> = dimensions
        .iter()
        .map(|(testbed, measure)| NewThreshold {
            uuid: context.uuid(),
            project_id: project,
            branch_id: branch,
            testbed_id: *testbed,
            measure_id: *measure,
            created: context.now,
            modified: context.now,
        })
        .collect();
    tx.insert_many("threshold", &rows, "")
}

insert_columns! {
    struct NewThreshold {
        uuid: Uuid,
        project_id: ProjectId,
        branch_id: BranchId,
        testbed_id: TestbedId,
        measure_id: MeasureId,
        created: Timestamp,
        modified: Timestamp,
    }
}

fn mark_models_replaced(tx: &mut Tx<'_>, thresholds: &[i64], now: Timestamp) -> Result<()> {
    tx.execute(
        "update model set replaced = $2 where threshold_id in {ints $1} and replaced is null",
        &[&thresholds, &now],
    )?;
    tx.execute("update threshold set modified = $2 where id in {ints $1}", &[&thresholds, &now])?;
    Ok(())
}
