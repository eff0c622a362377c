//! Reports of a project with alerts or notified changes, newest first, for the feed. Another module renders the feed.

use std::collections::HashMap;

use tidemark_api::{
    BenchmarkName, BoundaryLimit, BranchName, GitHash, Measure, MetricBoundary, Parameters, ReportUuid,
    ResourceName, Timestamp,
};

use crate::{
    ProjectId, ReportId, Result, Tx, change::NOT_HELD_BACK, columns::columns, series_filter::SeriesFilter,
    sql::Conditions,
};

/// A report with alerts or notified changes.
#[derive(Clone, Debug)]
pub struct FeedEvent {
    /// Report.
    pub report: ReportUuid,
    /// Time when the alerts or changes were raised.
    pub raised: Timestamp,
    /// Branch.
    pub branch: BranchName,
    /// Commit, if known.
    pub hash: Option<GitHash>,
    /// Testbed.
    pub testbed: ResourceName,
}

columns! {
    /// The report of an event. The column of the time differs between changes and alerts.
    struct Origin {
        id: ReportId = "report.id",
        report: ReportUuid = "report.uuid",
        branch: BranchName = "branch.name",
        hash: Option<GitHash> = "version.hash",
        testbed: ResourceName = "testbed.name",
    }
}

fn event((raised, origin): (Timestamp, Origin)) -> (ReportId, FeedEvent) {
    let Origin { id, report, branch, hash, testbed } = origin;
    (id, FeedEvent { report, raised, branch, hash, testbed })
}

/// An alert of an event.
#[derive(Clone, Debug)]
pub struct FeedAlert {
    /// Benchmark.
    pub benchmark: BenchmarkName,
    /// Parameters of the benchmark, if any.
    pub parameters: Option<Parameters>,
    /// Measure.
    pub measure: Measure,
    /// Value of the metric.
    pub value: f64,
    /// Baseline and limits of the metric.
    pub boundary: MetricBoundary,
    /// Limit that the value exceeded.
    pub limit: BoundaryLimit,
}

columns!(FeedAlert {
    benchmark: "benchmark.name",
    parameters: "variant.parameters",
    measure: Measure,
    value: "alert.value",
    boundary: MetricBoundary {
        baseline: "alert.baseline",
        lower_limit: "alert.lower_limit",
        upper_limit: "alert.upper_limit",
    },
    limit: "alert.crossed",
});

columns! {
    /// A change of an event.
    #[derive(Clone, Debug)]
    pub struct FeedChange {
        /// Benchmark.
        pub benchmark: BenchmarkName = "benchmark.name",
        /// Parameters of the benchmark, if any.
        pub parameters: Option<Parameters> = "variant.parameters",
        /// Measure.
        pub measure: Measure,
        /// Old level.
        pub before: f64 = "change.old_level",
        /// New level.
        pub after: f64 = "change.new_level",
        /// Difference of the levels as a fraction of the old level.
        pub effect: Option<f64> = "change.effect",
        /// Direction: regression (1), improvement (-1) or unknown (0).
        pub worse: i64 = "change.worse",
        /// First commit of the new level, if known.
        pub since: Option<GitHash> = "version.hash",
    }
}

/// Returns the newest events with changes, at most `most`. Passes each change to `take` with the index of its event in
/// the result.
pub fn changes(
    tx: &mut Tx<'_>,
    project: ProjectId,
    which: &SeriesFilter,
    most: u32,
    mut take: impl FnMut(usize, FeedChange),
) -> Result<Vec<FeedEvent>> {
    let live = "change.project_id = $1 and change.raised is not null and change.withdrawn is null";
    let mut conditions = Conditions::new(format!("{live} and {NOT_HELD_BACK}"), vec![&project]);
    conditions.and("report.branch_id =", &which.branch);
    conditions.and("report.testbed_id =", &which.testbed);
    conditions.and("change.measure_id =", &which.measure);
    let sql = format!(
        "select max(change.raised), {{columns}}
         from change join report on report.id = change.raised_id join branch on branch.id = report.branch_id
         join version on version.id = report.version_id join testbed on testbed.id = report.testbed_id
         where {} group by report.id, report.uuid, branch.name, version.hash, testbed.name
         order by max(change.raised) desc, report.id desc limit {most}",
        conditions.sql
    );
    let found: Vec<_> = tx.fetch_all(&sql, &conditions.params)?.into_iter().map(event).collect();
    let places: HashMap<ReportId, usize> =
        found.iter().enumerate().map(|(place, (report, _))| (*report, place)).collect();
    let keys: Vec<i64> = found.iter().map(|(report, _)| report.get()).collect();
    let keys = keys.as_slice();
    let live = "change.raised_id in {ints $1} and change.withdrawn is null";
    let mut conditions = Conditions::new(format!("{live} and {NOT_HELD_BACK}"), vec![&keys]);
    conditions.and("change.measure_id =", &which.measure);
    let sql = format!(
        "select change.raised_id, {{columns}} from change
         join benchmark on benchmark.id = change.benchmark_id left join variant on variant.id = change.variant_id
         join report as first on first.id = change.report_id join version on version.id = first.version_id
         join measure on measure.id = change.measure_id join project on project.id = measure.project_id
         where {} order by benchmark.name, measure.name, change.id",
        conditions.sql
    );
    tx.fetch_each(&sql, &conditions.params, |(report, change): (ReportId, FeedChange), _| {
        if let Some(place) = places.get(&report) {
            take(*place, change);
        }
        Ok(())
    })?;
    Ok(found.into_iter().map(|(_, event)| event).collect())
}

/// Returns the newest events with alerts that are not muted, at most `most`. Passes each alert to `take` with the index of its event in
/// the result: a report can have thousands of alerts, and the caller keeps only the alerts that it shows.
pub fn alerts(
    tx: &mut Tx<'_>,
    project: ProjectId,
    which: &SeriesFilter,
    most: u32,
    mut take: impl FnMut(usize, FeedAlert),
) -> Result<Vec<FeedEvent>> {
    let mut reports =
        Conditions::new("report.project_id = $1 and report.alerted is not null".into(), vec![&project]);
    reports.and("report.branch_id =", &which.branch);
    reports.and("report.testbed_id =", &which.testbed);
    reports.sql.push_str(" and exists (select 1 from alert");
    if which.measure.is_some() {
        reports.sql.push_str(" join threshold on threshold.id = alert.threshold_id");
    }
    reports.sql.push_str(" where alert.report_id = report.id and alert.mute_id is null");
    reports.and("threshold.measure_id =", &which.measure);
    reports.sql.push(')');
    let sql = format!(
        "select report.alerted, {{columns}}
         from report join branch on branch.id = report.branch_id join version on version.id = report.version_id
         join testbed on testbed.id = report.testbed_id where {} order by report.alerted desc, report.id desc
         limit {most}",
        reports.sql
    );
    let found: Vec<_> = tx.fetch_all(&sql, &reports.params)?.into_iter().map(event).collect();
    let places: HashMap<ReportId, usize> =
        found.iter().enumerate().map(|(place, (report, _))| (*report, place)).collect();
    let keys: Vec<i64> = found.iter().map(|(report, _)| report.get()).collect();
    let keys = keys.as_slice();
    let mut alerts =
        Conditions::new("alert.report_id in {ints $1} and alert.mute_id is null".into(), vec![&keys]);
    alerts.and("threshold.measure_id =", &which.measure);
    let sql = format!(
        "select alert.report_id, {{columns}} from alert
         join benchmark on benchmark.id = alert.benchmark_id left join variant on variant.id = alert.variant_id
         join threshold on threshold.id = alert.threshold_id
         join measure on measure.id = threshold.measure_id join project on project.id = measure.project_id
         where {} order by benchmark.name, measure.name, alert.id",
        alerts.sql
    );
    tx.fetch_each(&sql, &alerts.params, |(report, alert): (ReportId, FeedAlert), _| {
        if let Some(place) = places.get(&report) {
            take(*place, alert);
        }
        Ok(())
    })?;
    Ok(found.into_iter().map(|(_, event)| event).collect())
}
