//! The reports of a project that raised alerts, or with which people were told of changes, the newest first. What is told of them is decided elsewhere.

use std::collections::HashMap;

use tidemark_api::{
    BenchmarkName, BoundaryLimit, BranchName, GitHash, Measure, MetricBoundary, Parameters, ReportUuid,
    ResourceName, Timestamp,
};

use crate::{ProjectId, ReportId, Result, Row, Tx, measure, part::Part, sql::Conditions};

/// A report that raised alerts or changes.
#[derive(Clone, Debug)]
pub struct Event {
    /// The report.
    pub report: ReportUuid,
    /// When it raised them.
    pub told: Timestamp,
    /// The branch that was measured.
    pub branch: BranchName,
    /// The commit that was measured, if it is known.
    pub hash: Option<GitHash>,
    /// Where it was measured.
    pub testbed: ResourceName,
}

/// An alert of an event.
#[derive(Clone, Debug)]
pub struct Alert {
    /// The benchmark.
    pub benchmark: BenchmarkName,
    /// Its parameters, if it was run with some.
    pub parameters: Option<Parameters>,
    /// The measure.
    pub measure: Measure,
    /// What was measured.
    pub value: f64,
    /// What it was held against.
    pub boundary: MetricBoundary,
    /// The limit that was crossed.
    pub limit: BoundaryLimit,
}

/// A change of an event.
#[derive(Clone, Debug)]
pub struct Moved {
    /// The benchmark.
    pub benchmark: BenchmarkName,
    /// Its parameters, if it was run with some.
    pub parameters: Option<Parameters>,
    /// The measure.
    pub measure: Measure,
    /// The level before.
    pub before: f64,
    /// The level after.
    pub after: f64,
    /// By which share of the old level the new one differs.
    pub effect: Option<f64>,
    /// Whether it is worse (1), better (-1) or neither (0).
    pub worse: i64,
    /// The commit that it began with, if that is known.
    pub since: Option<GitHash>,
}

/// The newest events with changes, at most so many. Each change is handed to `take` with the place of its event in the answer.
pub fn changes(
    tx: &mut Tx<'_>,
    project: ProjectId,
    which: &Part,
    most: u32,
    mut take: impl FnMut(usize, Moved),
) -> Result<Vec<Event>> {
    let live = "change.project_id = $1 and change.raised is not null and change.withdrawn is null";
    let mut conditions = Conditions::new(live.to_owned(), vec![&project]);
    conditions.and("report.branch_id =", &which.branch);
    conditions.and("report.testbed_id =", &which.testbed);
    conditions.and("change.measure_id =", &which.measure);
    let sql = format!(
        "select report.id, report.uuid, max(change.raised), branch.name, version.hash, testbed.name
         from change join report on report.id = change.raised_id join branch on branch.id = report.branch_id
         join version on version.id = report.version_id join testbed on testbed.id = report.testbed_id
         where {} group by report.id, report.uuid, branch.name, version.hash, testbed.name
         order by max(change.raised) desc, report.id desc limit {most}",
        conditions.sql
    );
    let found = tx.all(&sql, &conditions.params, event)?;
    let places: HashMap<ReportId, usize> =
        found.iter().enumerate().map(|(place, (report, _))| (*report, place)).collect();
    let keys: Vec<i64> = found.iter().map(|(report, _)| report.get()).collect();
    let keys = keys.as_slice();
    let live = "change.raised_id in {ints $1} and change.withdrawn is null";
    let mut conditions = Conditions::new(live.to_owned(), vec![&keys]);
    conditions.and("change.measure_id =", &which.measure);
    let sql = format!(
        "select change.raised_id, benchmark.name, variant.parameters, change.old_level, change.new_level,
                change.effect, change.worse, version.hash, {} from change
         join benchmark on benchmark.id = change.benchmark_id left join variant on variant.id = change.variant_id
         join report as first on first.id = change.report_id join version on version.id = first.version_id
         join measure on measure.id = change.measure_id {}
         where {} order by benchmark.name, measure.name, change.id",
        measure::COLUMNS,
        measure::JOINS,
        conditions.sql
    );
    tx.each(&sql, &conditions.params, |row| {
        let cells = &mut row.cells();
        let report = cells.take()?;
        let (benchmark, parameters) = (cells.take()?, cells.take()?);
        let (before, after, effect) = (cells.take()?, cells.take()?, cells.take()?);
        let (worse, since) = (cells.take()?, cells.take()?);
        let measure = measure::read(cells)?;
        if let Some(place) = places.get(&report) {
            take(*place, Moved { benchmark, parameters, measure, before, after, effect, worse, since });
        }
        Ok(())
    })?;
    Ok(found.into_iter().map(|(_, event)| event).collect())
}

fn event(row: &Row<'_>) -> Result<(ReportId, Event)> {
    let event = Event {
        report: row.get(1)?,
        told: row.get(2)?,
        branch: row.get(3)?,
        hash: row.get(4)?,
        testbed: row.get(5)?,
    };
    Ok((row.get(0)?, event))
}

/// The newest events with alerts, at most so many. Each alert is handed to `take` with the place of its event in the answer: a
/// report can have raised thousands, and no more of them need to be kept than are told.
pub fn alerts(
    tx: &mut Tx<'_>,
    project: ProjectId,
    which: &Part,
    most: u32,
    mut take: impl FnMut(usize, Alert),
) -> Result<Vec<Event>> {
    let mut reports =
        Conditions::new("report.project_id = $1 and report.alerted is not null".into(), vec![&project]);
    reports.and("report.branch_id =", &which.branch);
    reports.and("report.testbed_id =", &which.testbed);
    reports.sql.push_str(" and exists (select 1 from alert");
    if which.measure.is_some() {
        reports.sql.push_str(" join threshold on threshold.id = alert.threshold_id");
    }
    reports.sql.push_str(" where alert.report_id = report.id");
    reports.and("threshold.measure_id =", &which.measure);
    reports.sql.push(')');
    let sql = format!(
        "select report.id, report.uuid, report.alerted, branch.name, version.hash, testbed.name
         from report join branch on branch.id = report.branch_id join version on version.id = report.version_id
         join testbed on testbed.id = report.testbed_id where {} order by report.alerted desc, report.id desc
         limit {most}",
        reports.sql
    );
    let found = tx.all(&sql, &reports.params, event)?;
    let places: HashMap<ReportId, usize> =
        found.iter().enumerate().map(|(place, (report, _))| (*report, place)).collect();
    let keys: Vec<i64> = found.iter().map(|(report, _)| report.get()).collect();
    let keys = keys.as_slice();
    let mut alerts = Conditions::new("alert.report_id in {ints $1}".into(), vec![&keys]);
    alerts.and("threshold.measure_id =", &which.measure);
    let sql = format!(
        "select alert.report_id, benchmark.name, variant.parameters, alert.value, alert.baseline, alert.lower_limit,
         alert.upper_limit, alert.crossed, {} from alert
         join benchmark on benchmark.id = alert.benchmark_id left join variant on variant.id = alert.variant_id
         join threshold on threshold.id = alert.threshold_id
         join measure on measure.id = threshold.measure_id {}
         where {} order by benchmark.name, measure.name, alert.id",
        measure::COLUMNS,
        measure::JOINS,
        alerts.sql
    );
    tx.each(&sql, &alerts.params, |row| {
        let cells = &mut row.cells();
        let report = cells.take()?;
        let (benchmark, parameters, value) = (cells.take()?, cells.take()?, cells.take()?);
        let boundary = MetricBoundary {
            baseline: cells.take()?,
            lower_limit: cells.take()?,
            upper_limit: cells.take()?,
        };
        let limit = cells.take()?;
        let measure = measure::read(cells)?;
        if let Some(place) = places.get(&report) {
            take(*place, Alert { benchmark, parameters, measure, value, boundary, limit });
        }
        Ok(())
    })?;
    Ok(found.into_iter().map(|(_, event)| event).collect())
}
