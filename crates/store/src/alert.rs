//! Alerts: metrics outside the limits of a threshold.

use tidemark_api::{
    Alert, AlertStatus, AlertUuid, BoundaryLimit, Iteration, Metric, MetricAlert, MetricBoundary, Page,
    ProjAlertsSort, Timestamp, Variant, Version, page::Direction,
};

use crate::{
    AlertId, BenchmarkId, Cells, Error, Fresh, HeadId, Kind, ModelId, Param, ProjectId, ReportId, Result,
    ThresholdId, Tx, Value, benchmark, branch, head, measure, metric, model,
    series_filter::SeriesFilter,
    sql::{Conditions, direction},
    testbed, threshold,
    value::distinct,
};

/// An alert to insert.
#[derive(Clone, Copy, Debug)]
pub struct New {
    /// Threshold.
    pub threshold: ThresholdId,
    /// Benchmark.
    pub benchmark: BenchmarkId,
    /// Variant of the benchmark, or 0.
    pub variant: i64,
    /// Index of the metric in the vector of the report.
    pub place: u32,
    /// Metric with the model and the limits that it was compared with.
    pub metric: metric::Packed,
    /// Limit that the metric exceeded.
    pub limit: BoundaryLimit,
}

/// Inserts the alerts of a report.
pub fn insert(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    project: ProjectId,
    (report, head, start_time): (ReportId, HeadId, Timestamp),
    alerts: &[New],
) -> Result<()> {
    if alerts.is_empty() {
        return Ok(());
    }
    let rows: Vec<(uuid::Uuid, &New, ModelId, MetricBoundary)> = alerts
        .iter()
        .map(|alert| {
            let judged = alert.metric.judged.ok_or_else(|| Error::engine("an alert without a model"))?;
            Ok((fresh.uuid(), alert, judged.model, judged.boundary()))
        })
        .collect::<Result<_>>()?;
    let rows: Vec<Vec<Value<'_>>> = rows
        .iter()
        .map(|(uuid, alert, model, boundary)| {
            let columns: [&dyn Param; 20] = [
                uuid,
                &project,
                &report,
                &head,
                &alert.threshold,
                model,
                &alert.benchmark,
                &alert.variant,
                &alert.place,
                &alert.metric.iteration,
                &alert.metric.value,
                &alert.metric.lower_value,
                &alert.metric.upper_value,
                &boundary.baseline,
                &boundary.lower_limit,
                &boundary.upper_limit,
                &alert.limit,
                &AlertStatus::Active,
                &start_time,
                &fresh.now,
            ];
            let mut row: Vec<Value<'_>> = columns.into_iter().map(Param::value).collect();
            row.push(fresh.now.value());
            row
        })
        .collect();
    let columns = [
        ("uuid", Kind::Uuid),
        ("project_id", Kind::Int),
        ("report_id", Kind::Int),
        ("head_id", Kind::Int),
        ("threshold_id", Kind::Int),
        ("model_id", Kind::Int),
        ("benchmark_id", Kind::Int),
        ("variant_id", Kind::Int),
        ("place", Kind::Int),
        ("iteration", Kind::Int),
        ("value", Kind::Real),
        ("lower_value", Kind::Real),
        ("upper_value", Kind::Real),
        ("baseline", Kind::Real),
        ("lower_limit", Kind::Real),
        ("upper_limit", Kind::Real),
        ("crossed", Kind::Text),
        ("status", Kind::Text),
        ("start_time", Kind::Int),
        ("created", Kind::Int),
        ("modified", Kind::Int),
    ];
    tx.insert_many("alert", &columns, &rows, "")?;
    tx.execute("update report set alerted = $2 where id = $1", &[&report, &fresh.now])?;
    Ok(())
}

fn columns() -> String {
    format!(
        "alert.id, alert.report_id, alert.uuid, report.uuid, alert.iteration, alert.place, alert.value,
         alert.lower_value, alert.upper_value, alert.baseline, alert.lower_limit, alert.upper_limit, alert.crossed,
         alert.status, alert.created, alert.modified, variant.uuid, variant.parameters, {}, threshold.uuid,
         threshold.created, threshold.modified, {}, version.number, version.hash, {}, {}, {}",
        benchmark::COLUMNS,
        branch::columns(),
        testbed::columns(),
        measure::COLUMNS,
        model::COLUMNS
    )
}

fn joins() -> String {
    format!(
        "join project on project.id = alert.project_id
         join report on report.id = alert.report_id
         join benchmark on benchmark.id = alert.benchmark_id
         left join variant on variant.id = alert.variant_id
         join threshold on threshold.id = alert.threshold_id
         join model on model.id = alert.model_id
         join branch on branch.id = threshold.branch_id
         join head on head.id = report.head_id {}
         join version on version.id = report.version_id
         join testbed on testbed.id = threshold.testbed_id left join spec on spec.id = report.spec_id
         join measure on measure.id = threshold.measure_id",
        head::JOINS
    )
}

fn read(cells: &mut Cells<'_>) -> Result<(AlertId, ReportId, Alert)> {
    let (id, report_id) = (cells.take()?, cells.take()?);
    let (uuid, report, iteration) = (cells.take()?, cells.take()?, cells.take::<u32>()?);
    let metric = Metric {
        uuid: metric::uuid(report, cells.take()?),
        value: cells.take()?,
        lower_value: cells.take()?,
        upper_value: cells.take()?,
    };
    let boundary =
        MetricBoundary { baseline: cells.take()?, lower_limit: cells.take()?, upper_limit: cells.take()? };
    let (limit, status) = (cells.take()?, cells.take()?);
    let (created, modified) = (cells.take()?, cells.take()?);
    let variant = match (cells.take()?, cells.take()?) {
        (Some(uuid), Some(parameters)) => Some(Variant { uuid, parameters }),
        _ => None,
    };
    let benchmark = benchmark::read(cells)?;
    let (threshold, threshold_created, threshold_modified) = (cells.take()?, cells.take()?, cells.take()?);
    let mut branch = branch::read(cells)?;
    branch.head.version = Some(Version { number: cells.take()?, hash: cells.take()? });
    let threshold = tidemark_api::Threshold {
        uuid: threshold,
        project: branch.project,
        branch,
        testbed: testbed::read(cells)?,
        measure: measure::read(cells)?,
        model: model::read(cells)?,
        created: threshold_created,
        modified: threshold_modified,
    };
    let alert = Alert {
        uuid,
        report,
        iteration: Iteration::new(iteration),
        benchmark,
        variant,
        metric,
        threshold,
        boundary,
        limit,
        status,
        created,
        modified,
    };
    Ok((id, report_id, alert))
}

/// Returns the alerts of reports, ordered by iteration, benchmark and measure.
pub(crate) fn of_reports(tx: &mut Tx<'_>, reports: &[i64]) -> Result<Vec<(ReportId, Alert)>> {
    tx.all(
        &format!(
            "select {} from alert {} where alert.report_id in {{ints $1}}
             order by alert.iteration, benchmark.name, measure.name, alert.id",
            columns(),
            joins()
        ),
        &[&reports],
        |row| {
            let (_, report, alert) = read(&mut row.cells())?;
            Ok((report, alert))
        },
    )
}

/// Returns the alerts of the metrics of reports, keyed by report and index in the vector.
pub fn of_metrics(tx: &mut Tx<'_>, reports: &[i64]) -> Result<Vec<((ReportId, u32), MetricAlert)>> {
    tx.all(
        "select report_id, place, uuid, crossed, status, modified from alert where report_id in {ints $1}",
        &[&reports],
        |row| {
            let alert = MetricAlert {
                uuid: row.get(2)?,
                limit: row.get(3)?,
                status: row.get(4)?,
                modified: row.get(5)?,
            };
            Ok(((row.get(0)?, row.get(1)?), alert))
        },
    )
}

/// Returns an alert and its primary key.
pub fn find(tx: &mut Tx<'_>, project: ProjectId, alert: AlertUuid) -> Result<(AlertId, Alert)> {
    let sql = format!(
        "select {} from alert {} where alert.project_id = $1 and alert.uuid = $2",
        columns(),
        joins()
    );
    tx.one("alert", &sql, &[&project, &alert], |row| {
        let (id, _, alert) = read(&mut row.cells())?;
        Ok((id, alert))
    })
}

/// Lists the alerts of a project: active alerts first, then by time, benchmark and iteration.
pub fn list(
    tx: &mut Tx<'_>,
    project: ProjectId,
    status: Option<AlertStatus>,
    archived: bool,
    sort: ProjAlertsSort,
    page: &Page,
) -> Result<(Vec<Alert>, i64)> {
    let state = if archived {
        "(branch.archived is not null or testbed.archived is not null or measure.archived is not null)"
    } else {
        "branch.archived is null and testbed.archived is null and measure.archived is null"
    };
    let thresholds = format!(
        "join branch on branch.id = threshold.branch_id join testbed on testbed.id = threshold.testbed_id
         join measure on measure.id = threshold.measure_id where threshold.project_id = $1 and {state}"
    );
    let counted = match status {
        Some(status) => status.as_str(),
        None => "active + dismissed + silenced",
    };
    let total: i64 = tx.value(
        &format!(
            "select cast(coalesce(sum({counted}), 0) as bigint) from threshold_count
             join threshold on threshold.id = threshold_count.threshold_id {thresholds}"
        ),
        &[&project],
    )?;
    let (limit, offset) = (page.limit(), page.offset());
    if limit == 0 || offset >= total {
        return Ok((Vec::new(), total));
    }
    let (column, default) = match sort {
        ProjAlertsSort::Created => ("start_time", Direction::Asc),
        ProjAlertsSort::Modified => ("modified", Direction::Desc),
    };
    let direction = direction(page.direction.unwrap_or(default));
    let order = format!(
        "alert.status, alert.{column} {direction}, benchmark.name, alert.iteration, alert.id {direction}"
    );
    let mut alerts = Conditions::new(
        format!(
            "alert.project_id = $1 and alert.threshold_id in (select threshold.id from threshold {thresholds})"
        ),
        vec![&project],
    );
    alerts.and("alert.status =", &status);
    let size = alerts.page(limit, &offset);
    let sql = format!(
        "select {} from (
             select alert.id as page_id from alert join benchmark on benchmark.id = alert.benchmark_id
             where {} order by {order} {size}
         ) as page join alert on alert.id = page.page_id {} order by {order}",
        columns(),
        alerts.sql,
        joins()
    );
    let mut rows = tx.all(&sql, &alerts.params, |row| {
        let (_, _, alert) = read(&mut row.cells())?;
        Ok(alert)
    })?;
    rows.truncate(usize::try_from(limit).unwrap_or_default());
    Ok((rows, total))
}

/// Filter of the alerts to update. `None` matches all alerts.
#[derive(Clone, Copy, Debug, Default)]
pub struct AlertFilter {
    /// Only this alert.
    pub id: Option<AlertId>,
    /// Only alerts with this status.
    pub status: Option<AlertStatus>,
    /// Only alerts of this report.
    pub report: Option<ReportId>,
    /// Only alerts of this branch, testbed, benchmark and measure.
    pub part: SeriesFilter,
}

/// Updates alerts; without a status, updates only their modification time. Returns the number of updated alerts.
pub fn update(
    tx: &mut Tx<'_>,
    project: ProjectId,
    which: &AlertFilter,
    status: Option<AlertStatus>,
    now: Timestamp,
) -> Result<u64> {
    let mut alerts = Conditions::new("project_id = $1".into(), vec![&project, &status, &now]);
    alerts.and("id =", &which.id);
    alerts.and("status =", &which.status);
    alerts.and("report_id =", &which.report);
    let SeriesFilter { branch, testbed, benchmark, measure } = &which.part;
    alerts.and("benchmark_id =", benchmark);
    if branch.is_some() || testbed.is_some() || measure.is_some() {
        alerts.sql.push_str(" and threshold_id in (select id from threshold where project_id = $1");
        alerts.and("branch_id =", branch);
        alerts.and("testbed_id =", testbed);
        alerts.and("measure_id =", measure);
        alerts.sql.push(')');
    }
    let sql = format!(
        "update alert set status = coalesce(cast($2 as text), status), modified = $3 where {} returning threshold_id",
        alerts.sql
    );
    let thresholds: Vec<i64> = tx.all(&sql, &alerts.params, |row| row.get(0))?;
    let updated = thresholds.len() as u64;
    threshold::count_alerts(tx, &distinct(thresholds.into_iter()))?;
    Ok(updated)
}

/// Silences the active alerts of a head that is replaced.
pub(crate) fn silence(tx: &mut Tx<'_>, head: HeadId, now: Timestamp) -> Result<()> {
    let thresholds: Vec<i64> = tx.all(
        "update alert set status = 'silenced', modified = $2 where head_id = $1 and status = 'active'
         returning threshold_id",
        &[&head, &now],
        |row| row.get(0),
    )?;
    threshold::count_alerts(tx, &distinct(thresholds.into_iter()))
}
