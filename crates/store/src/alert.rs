//! Alerts: metrics outside the limits of a threshold.

use tidemark_api::{
    Alert, AlertStatus, AlertUuid, Benchmark, BoundaryLimit, Iteration, Metric, MetricAlert, MetricBoundary,
    Muted, Page, ProjAlertsSort, ReportUuid, Threshold, Timestamp, Variant, Version, page::Direction,
};
use uuid::Uuid;

use crate::{
    AlertId, BenchmarkId, Error, EventId, HeadId, ModelId, MuteId, ProjectId, ReportId, Result, ThresholdId,
    Tx, WriteContext,
    columns::{columns, insert_columns},
    head, metric,
    series_filter::SeriesFilter,
    sql::{Conditions, direction},
    threshold,
    value::distinct,
};

/// An alert to insert.
#[derive(Clone, Copy, Debug)]
pub struct NewAlertRow {
    /// Threshold.
    pub threshold: ThresholdId,
    /// Benchmark.
    pub benchmark: BenchmarkId,
    /// Variant of the benchmark, or 0.
    pub variant: i64,
    /// Index of the metric in the vector of the report.
    pub place: u32,
    /// Metric with the model and the limits that it was compared with.
    pub metric: metric::PackedMetric,
    /// Limit that the metric exceeded.
    pub limit: BoundaryLimit,
    /// Event that the alert belongs to.
    pub event: EventId,
    /// Whether the event is expected, so that the alert needs no review.
    pub is_expected: bool,
    /// Mute of the series.
    pub mute: Option<MuteId>,
}

/// Inserts the alerts of a report. The feed contains the report if an alert needs review and is not muted, also after the mute
/// has expired: the feed must not list old reports as new.
pub fn insert(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    project: ProjectId,
    (report, head, start_time): (ReportId, HeadId, Timestamp),
    alerts: &[NewAlertRow],
) -> Result<()> {
    if alerts.is_empty() {
        return Ok(());
    }
    let row = |alert: &NewAlertRow| {
        let metric = &alert.metric;
        let judged = metric.judged.ok_or_else(|| Error::engine("an alert without a model"))?;
        let MetricBoundary { baseline, lower_limit, upper_limit } = judged.boundary();
        Ok(AlertInsert {
            uuid: context.uuid(),
            project_id: project,
            report_id: report,
            head_id: head,
            threshold_id: alert.threshold,
            model_id: judged.model,
            benchmark_id: alert.benchmark,
            variant_id: alert.variant,
            place: alert.place,
            iteration: metric.iteration,
            value: metric.value,
            lower_value: metric.lower_value,
            upper_value: metric.upper_value,
            baseline,
            lower_limit,
            upper_limit,
            crossed: alert.limit,
            status: if alert.is_expected { AlertStatus::Dismissed } else { AlertStatus::Active },
            event_id: alert.event,
            dismissed_by_event: alert.is_expected,
            mute_id: alert.mute,
            start_time,
            created: context.now,
            modified: context.now,
        })
    };
    let rows = alerts.iter().map(row).collect::<Result<Vec<_>>>()?;
    tx.insert_many("alert", &rows, "")?;
    if alerts.iter().any(|alert| !alert.is_expected && alert.mute.is_none()) {
        tx.execute("update report set alerted = $2 where id = $1", &[&report, &context.now])?;
    }
    Ok(())
}

insert_columns! {
    struct AlertInsert {
        uuid: Uuid,
        project_id: ProjectId,
        report_id: ReportId,
        head_id: HeadId,
        threshold_id: ThresholdId,
        model_id: ModelId,
        benchmark_id: BenchmarkId,
        variant_id: i64,
        place: u32,
        iteration: u32,
        value: f64,
        lower_value: Option<f64>,
        upper_value: Option<f64>,
        baseline: Option<f64>,
        lower_limit: Option<f64>,
        upper_limit: Option<f64>,
        crossed: BoundaryLimit,
        status: AlertStatus,
        event_id: EventId,
        dismissed_by_event: bool,
        mute_id: Option<MuteId>,
        start_time: Timestamp,
        created: Timestamp,
        modified: Timestamp,
    }
}

columns! {
    struct AlertRow {
        uuid: AlertUuid = "alert.uuid",
        report: ReportUuid = "report.uuid",
        version: Version,
        iteration: u32 = "alert.iteration",
        place: u32 = "alert.place",
        benchmark: Benchmark,
        variant: Option<Variant>,
        value: f64 = "alert.value",
        lower_value: Option<f64> = "alert.lower_value",
        upper_value: Option<f64> = "alert.upper_value",
        threshold: Threshold,
        baseline: Option<f64> = "alert.baseline",
        lower_limit: Option<f64> = "alert.lower_limit",
        upper_limit: Option<f64> = "alert.upper_limit",
        limit: BoundaryLimit = "alert.crossed",
        status: AlertStatus = "alert.status",
        muted: Option<Muted>,
        created: Timestamp = "alert.created",
        modified: Timestamp = "alert.modified",
    }
}
columns!(Alert from AlertRow);

impl From<AlertRow> for Alert {
    fn from(row: AlertRow) -> Self {
        let AlertRow { value, lower_value, upper_value, baseline, lower_limit, upper_limit, .. } = row;
        let mut threshold = row.threshold;
        threshold.branch.head.version = Some(row.version);
        Self {
            uuid: row.uuid,
            report: row.report,
            iteration: Iteration::new(row.iteration),
            benchmark: row.benchmark,
            variant: row.variant,
            metric: Metric { uuid: metric::uuid(row.report, row.place), value, lower_value, upper_value },
            threshold,
            boundary: MetricBoundary { baseline, lower_limit, upper_limit },
            limit: row.limit,
            status: row.status,
            muted: row.muted,
            created: row.created,
            modified: row.modified,
        }
    }
}

fn joins() -> String {
    format!(
        "join project on project.id = alert.project_id
         join report on report.id = alert.report_id
         join benchmark on benchmark.id = alert.benchmark_id
         left join variant on variant.id = alert.variant_id
         left join mute on mute.id = alert.mute_id
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

/// Returns the alerts of reports, ordered by iteration, benchmark and measure.
pub(crate) fn of_reports(tx: &mut Tx<'_>, reports: &[i64]) -> Result<Vec<(ReportId, Alert)>> {
    let sql = format!(
        "select alert.report_id, {{columns}} from alert {} where alert.report_id in {{ints $1}}
         order by alert.iteration, benchmark.name, measure.name, alert.id",
        joins()
    );
    tx.fetch_all(&sql, &[&reports])
}

/// Returns the alerts of the metrics of reports, keyed by report and index in the vector.
pub fn of_metrics(tx: &mut Tx<'_>, reports: &[i64]) -> Result<Vec<((ReportId, u32), MetricAlert)>> {
    tx.fetch_all("select report_id, place, {columns} from alert where report_id in {ints $1}", &[&reports])
}

columns!(MetricAlert { uuid: "uuid", limit: "crossed", status: "status", modified: "modified" });

/// Returns an alert and its primary key.
pub fn find(tx: &mut Tx<'_>, project: ProjectId, alert: AlertUuid) -> Result<(AlertId, Alert)> {
    let sql = format!(
        "select alert.id, {{columns}} from alert {} where alert.project_id = $1 and alert.uuid = $2",
        joins()
    );
    tx.fetch_one("alert", &sql, &[&project, &alert])
}

/// Lists the alerts of a project: active alerts first, then by time, benchmark and iteration.
pub fn list(
    tx: &mut Tx<'_>,
    project: ProjectId,
    filter: &tidemark_api::AlertFilter,
    page: &Page,
) -> Result<(Vec<Alert>, i64)> {
    let state = if filter.archived.unwrap_or_default() {
        "(branch.archived is not null or testbed.archived is not null or measure.archived is not null)"
    } else {
        "branch.archived is null and testbed.archived is null and measure.archived is null"
    };
    let mut thresholds = Conditions::new(
        format!(
            "join branch on branch.id = threshold.branch_id join testbed on testbed.id = threshold.testbed_id
             join measure on measure.id = threshold.measure_id where threshold.project_id = $1 and {state}"
        ),
        vec![&project],
    );
    thresholds.and("threshold.uuid =", &filter.threshold);
    let mut alerts = Conditions::new(
        format!(
            "alert.project_id = $1 and alert.threshold_id in (select threshold.id from threshold {})",
            thresholds.sql
        ),
        thresholds.params.clone(),
    );
    alerts.and("alert.status =", &filter.status);
    if let Some(event) = &filter.event {
        alerts.params.push(event);
        let place = alerts.params.len();
        alerts.sql.push_str(&format!(
            " and alert.event_id in (select id from event where project_id = $1 and uuid = ${place})"
        ));
    }
    let total: i64 = if filter.event.is_some() {
        tx.value(&format!("select count(*) from alert where {}", alerts.sql), &alerts.params)?
    } else {
        let counted = filter.status.map_or("active + dismissed + silenced", AlertStatus::as_str);
        let sql = format!(
            "select cast(coalesce(sum({counted}), 0) as bigint) from threshold_count
             join threshold on threshold.id = threshold_count.threshold_id {}",
            thresholds.sql
        );
        tx.value(&sql, &thresholds.params)?
    };
    let (limit, offset) = (page.limit(), page.offset());
    if limit == 0 || offset >= total {
        return Ok((Vec::new(), total));
    }
    let (column, default) = match filter.sort.unwrap_or_default() {
        ProjAlertsSort::Created => ("start_time", Direction::Asc),
        ProjAlertsSort::Modified => ("modified", Direction::Desc),
    };
    let direction = direction(page.direction.unwrap_or(default));
    let order = format!(
        "alert.status, alert.{column} {direction}, benchmark.name, alert.iteration, alert.id {direction}"
    );
    let size = alerts.page(limit, &offset);
    let sql = format!(
        "select {{columns}} from (
             select alert.id as page_id from alert join benchmark on benchmark.id = alert.benchmark_id
             where {} order by {order} {size}
         ) as page join alert on alert.id = page.page_id {} order by {order}",
        alerts.sql,
        joins()
    );
    let mut rows = tx.fetch_all(&sql, &alerts.params)?;
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

columns! {
    struct UpdatedAlert {
        threshold: i64 = "threshold_id",
        event: Option<i64> = "event_id",
    }
}

/// Updated alerts.
#[derive(Clone, Debug, Default)]
pub struct UpdatedAlerts {
    /// Number of alerts.
    pub number: u64,
    /// Keys of their events.
    pub events: Vec<i64>,
}

/// Updates alerts; without a status, updates only their modification time. The caller updates their events with
/// [`follow_alerts`](crate::event::follow_alerts).
pub fn update(
    tx: &mut Tx<'_>,
    project: ProjectId,
    which: &AlertFilter,
    status: Option<AlertStatus>,
    now: Timestamp,
) -> Result<UpdatedAlerts> {
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
        "update alert set status = coalesce(cast($2 as text), status), modified = $3,
             dismissed_by_event = dismissed_by_event and cast($2 as text) is null
         where {} returning {{columns}}",
        alerts.sql
    );
    let updated: Vec<UpdatedAlert> = tx.fetch_all(&sql, &alerts.params)?;
    threshold::count_alerts(tx, &distinct(updated.iter().map(|alert| alert.threshold)))?;
    let events = distinct(updated.iter().filter_map(|alert| alert.event));
    Ok(UpdatedAlerts { number: updated.len() as u64, events })
}

/// Silences the active alerts of a head that is replaced.
pub(crate) fn silence(tx: &mut Tx<'_>, head: HeadId, now: Timestamp) -> Result<()> {
    let thresholds: Vec<i64> = tx.fetch_all(
        "update alert set status = 'silenced', modified = $2 where head_id = $1 and status = 'active'
         returning threshold_id",
        &[&head, &now],
    )?;
    threshold::count_alerts(tx, &distinct(thresholds.into_iter()))
}
