//! Numbers for the badge of a project, or of one of its branches, testbeds, benchmarks or measures. Another module
//! renders the badge.

use crate::{EventId, ProjectId, Result, Tx, columns::columns, series_filter::SeriesFilter, sql::Conditions};

/// Returns the number of active alerts that are not muted, without alerts of archived branches, testbeds and measures; `None` if no report
/// matches.
pub fn alerts(tx: &mut Tx<'_>, project: ProjectId, which: &SeriesFilter) -> Result<Option<i64>> {
    if !is_measured(tx, project, which)? {
        return Ok(None);
    }
    // The counts per threshold do not distinguish benchmarks.
    let (count, from) = match which.benchmark {
        None => (
            "cast(coalesce(sum(counted.active - (
                 select count(*) from alert where alert.threshold_id = counted.threshold_id
                 and alert.mute_id is not null and alert.status = 'active')), 0) as bigint)",
            "threshold_count as counted",
        ),
        Some(_) => ("count(*)", "alert as counted"),
    };
    let mut conditions = Conditions::new(
        "threshold.project_id = $1 and branch.archived is null and testbed.archived is null
         and measure.archived is null"
            .into(),
        vec![&project],
    );
    conditions.and("threshold.branch_id =", &which.branch);
    conditions.and("threshold.testbed_id =", &which.testbed);
    conditions.and("threshold.measure_id =", &which.measure);
    conditions.and(
        "counted.status = 'active' and counted.mute_id is null and counted.benchmark_id =",
        &which.benchmark,
    );
    let sql = format!(
        "select {count} from {from} join threshold on threshold.id = counted.threshold_id
         join branch on branch.id = threshold.branch_id join testbed on testbed.id = threshold.testbed_id
         join measure on measure.id = threshold.measure_id where {}",
        conditions.sql
    );
    Ok(Some(tx.value(&sql, &conditions.params)?))
}

columns! {
    /// A benchmark that regressed in an open event.
    #[derive(Clone, Debug)]
    pub struct RegressedBenchmark {
        /// Event.
        pub event: EventId = "event.id",
        /// Branch.
        pub branch: String = "branch.name",
        /// Testbed.
        pub testbed: String = "testbed.name",
        /// Benchmark.
        pub benchmark: String = "benchmark.name",
    }
}

/// Returns the benchmarks that regressed in open events, by a change or by an alert; `None` if no report matches.
pub fn regressions(
    tx: &mut Tx<'_>,
    project: ProjectId,
    which: &SeriesFilter,
) -> Result<Option<Vec<RegressedBenchmark>>> {
    if !is_measured(tx, project, which)? {
        return Ok(None);
    }
    let mut conditions = Conditions::new(
        "change.project_id = $1 and change.withdrawn is null
         and event.status = 'open' and change.worse = 1 and head.replaced is null
         and branch.archived is null and testbed.archived is null and measure.archived is null"
            .into(),
        vec![&project],
    );
    conditions.and("head.branch_id =", &which.branch);
    conditions.and("change.testbed_id =", &which.testbed);
    conditions.and("change.benchmark_id =", &which.benchmark);
    conditions.and("change.measure_id =", &which.measure);
    let changes = format!(
        "select {{columns}} from change join event on event.id = change.event_id
         join head on head.id = change.head_id
         join branch on branch.id = head.branch_id join testbed on testbed.id = change.testbed_id
         join benchmark on benchmark.id = change.benchmark_id
         join measure on measure.id = change.measure_id where {} group by event.id, branch.name, testbed.name, benchmark.name",
        conditions.sql
    );
    let mut regressed: Vec<RegressedBenchmark> = tx.fetch_all(&changes, &conditions.params)?;
    let mut conditions = Conditions::new(
        "event.project_id = $1 and event.status = 'open' and series.worse = 1 and head.replaced is null
         and branch.archived is null and testbed.archived is null and measure.archived is null"
            .into(),
        vec![&project],
    );
    conditions.and("head.branch_id =", &which.branch);
    conditions.and("series.testbed_id =", &which.testbed);
    conditions.and("series.benchmark_id =", &which.benchmark);
    conditions.and("series.measure_id =", &which.measure);
    let alerts = format!(
        "select {{columns}} from event_series as series join event on event.id = series.event_id
         join head on head.id = event.head_id
         join branch on branch.id = head.branch_id join testbed on testbed.id = series.testbed_id
         join benchmark on benchmark.id = series.benchmark_id
         join measure on measure.id = series.measure_id where {} group by event.id, branch.name, testbed.name, benchmark.name",
        conditions.sql
    );
    regressed.extend(tx.fetch_all::<RegressedBenchmark>(&alerts, &conditions.params)?);
    Ok(Some(regressed))
}

/// Whether a report matches.
fn is_measured(tx: &mut Tx<'_>, project: ProjectId, which: &SeriesFilter) -> Result<bool> {
    let mut lanes = Conditions::new("branch.project_id = $1 and lane.reports > 0".into(), vec![&project]);
    lanes.and("lane.branch_id =", &which.branch);
    lanes.and("lane.testbed_id =", &which.testbed);
    if which.benchmark.is_some() || which.measure.is_some() {
        lanes.sql.push_str(" and exists (select 1 from series where series.testbed_id = lane.testbed_id");
        lanes.and("series.benchmark_id =", &which.benchmark);
        lanes.and("series.measure_id =", &which.measure);
        lanes.sql.push(')');
    }
    let sql = format!(
        "select count(*) from (select 1 as one from lane join branch on branch.id = lane.branch_id where {}
         limit 1) as found",
        lanes.sql
    );
    Ok(tx.value::<i64>(&sql, &lanes.params)? > 0)
}
