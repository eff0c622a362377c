//! Alerts of events: which event an alert belongs to, and the series of an event that have alerts. The events themselves are
//! in `event`.

use std::collections::HashMap;

use tidemark_api::{
    Benchmark, EventAlert, EventStatus, Measure, MeasureDirection, MetricBoundary, Testbed, Timestamp,
    Variant, Version,
};

use crate::{
    BenchmarkId, EventId, HeadId, MeasureId, ReportId, Result, TestbedId, Tx, VersionId,
    columns::{columns, insert_columns},
    series::SeriesKey,
    threshold,
    value::distinct,
};

columns! {
    /// A series with a change or with alerts in an open or expected event.
    #[derive(Clone, Copy, Debug)]
    pub struct LiveSeries {
        /// Event.
        pub event: EventId = "event_id",
        /// Status of the event: open or expected.
        pub status: EventStatus = "status",
        /// First version with which the event may have begun.
        pub first: VersionId = "first_version",
        /// Benchmark, variant and measure.
        pub series_key: SeriesKey,
        /// Whether this is a change; otherwise alerts.
        pub is_change: bool = "is_change",
        /// Whether the newest value that was compared with the limits is outside of them.
        pub is_outside: bool = "outside",
        /// Newest version whose value was compared with the limits; of a change, the first version of its event.
        pub last: VersionId = "last_version",
        /// Highest value that is expected; `None` if no higher value is.
        pub expected_highest: Option<f64> = "highest",
        /// Lowest value that is expected; `None` if no lower value is.
        pub expected_lowest: Option<f64> = "lowest",
    }
}

/// Series with alerts of the events of head `$1` that began with version `$3` or earlier, on testbed `$2`.
const ALERT_SERIES: &str = "select event.id as event_id, event.status as status, event.first_version as first_version,
         series.benchmark_id as benchmark_id, series.variant_id as variant_id, series.measure_id as measure_id,
         false as is_change, series.outside as outside, series.last_version as last_version,
         series.expected_highest as highest, series.expected_lowest as lowest
     from event join event_series as series on series.event_id = event.id
     where event.head_id = $1 and event.first_version <= $3 and series.testbed_id = $2";

/// Returns the series of a head and a testbed that are in open or expected events which began with a version or earlier.
pub fn live_series(
    tx: &mut Tx<'_>,
    head: HeadId,
    testbed: TestbedId,
    version: VersionId,
) -> Result<Vec<LiveSeries>> {
    let sql = format!(
        "select {{columns}} from (
             {ALERT_SERIES} and event.status in ('open', 'expected')
             union all
             select event.id, event.status, event.first_version, change.benchmark_id, change.variant_id,
                 change.measure_id, true, false, event.first_version,
                 case when change.new_level > change.old_level then change.new_level end,
                 case when change.new_level < change.old_level then change.new_level end
             from event join change on change.event_id = event.id
             where event.head_id = $1 and event.status in ('open', 'expected') and event.first_version <= $3
               and change.testbed_id = $2 and change.withdrawn is null) as live"
    );
    tx.fetch_all(&sql, &[&head, &testbed, &version])
}

/// Returns the series of a head and a testbed whose newest value is outside its limits and that are in open events which
/// began with a version or earlier.
pub fn outside_series(
    tx: &mut Tx<'_>,
    head: HeadId,
    testbed: TestbedId,
    version: VersionId,
) -> Result<Vec<LiveSeries>> {
    let sql = format!(
        "select {{columns}} from ({ALERT_SERIES} and event.status = 'open' and series.outside) as live"
    );
    tx.fetch_all(&sql, &[&head, &testbed, &version])
}

/// Returns the newest open event of a head that may have begun with a version and that the machine did not cause.
pub fn open_event(tx: &mut Tx<'_>, head: HeadId, version: VersionId) -> Result<Option<EventId>> {
    tx.fetch_optional(
        "select id from event where head_id = $1 and status = 'open' and cause = 'code'
           and first_version <= $2 and last_version >= $2 order by id desc limit 1",
        &[&head, &version],
    )
}

insert_columns! {
    /// What a report adds to a series of an event.
    #[derive(Clone, Copy, Debug)]
    pub struct EventSeries {
        /// Event.
        event_id: EventId,
        /// Testbed.
        testbed_id: TestbedId,
        /// Measure.
        measure_id: MeasureId,
        /// Benchmark.
        benchmark_id: BenchmarkId,
        /// Variant of the benchmark, or 0.
        variant_id: i64,
        /// Number of alerts.
        alerts: i64,
        /// Version of the report.
        first_version: VersionId,
        /// Version of the report.
        last_version: VersionId,
        /// Whether the value is outside its limits.
        outside: bool,
        /// 1 if an alert is a regression, otherwise -1.
        worse: i64,
        /// Largest distance of an alert from its baseline, as a share.
        size: f64,
        /// Highest value above an upper limit.
        highest: Option<f64>,
        /// Lowest value below a lower limit.
        lowest: Option<f64>,
    }
}

/// Adds the alerts of a report to the series of events, and records which series are within their limits again.
pub fn add(tx: &mut Tx<'_>, series: &[EventSeries]) -> Result<()> {
    tx.insert_many(
        "event_series",
        series,
        "on conflict (event_id, testbed_id, measure_id, benchmark_id, variant_id) do update set
             alerts = event_series.alerts + excluded.alerts,
             first_version = case when excluded.alerts > 0 and excluded.first_version < event_series.first_version
                 then excluded.first_version else event_series.first_version end,
             last_version = case when excluded.last_version > event_series.last_version
                 then excluded.last_version else event_series.last_version end,
             outside = case when excluded.last_version >= event_series.last_version
                 then excluded.outside else event_series.outside end,
             worse = case when excluded.worse > event_series.worse then excluded.worse else event_series.worse end,
             size = case when excluded.size > event_series.size then excluded.size else event_series.size end,
             highest = case when excluded.highest is null or event_series.highest >= excluded.highest
                 then event_series.highest else excluded.highest end,
             lowest = case when excluded.lowest is null or event_series.lowest <= excluded.lowest
                 then event_series.lowest else excluded.lowest end",
    )
}

/// Updates the series of measures after the direction of the measures changed. Returns the events of the series.
pub(crate) fn reclassify(
    tx: &mut Tx<'_>,
    measures: &[i64],
    direction: Option<MeasureDirection>,
) -> Result<Vec<EventId>> {
    let is_regression = match direction {
        Some(MeasureDirection::LowerIsBetter) => "highest is not null",
        Some(MeasureDirection::HigherIsBetter) => "lowest is not null",
        None => "true",
    };
    let sql = format!(
        "update event_series set worse = case when {is_regression} then 1 else -1 end
         where measure_id in {{ints $1}} returning event_id"
    );
    tx.fetch_all(&sql, &[&measures])
}

/// Subtracts the alerts of a report that is about to be deleted from the series of their events. A series without alerts no
/// longer belongs to the event.
pub(crate) fn subtract(tx: &mut Tx<'_>, report: ReportId) -> Result<()> {
    let events: Vec<i64> = tx.fetch_all(
        "select distinct event_id from alert where report_id = $1 and event_id is not null",
        &[&report],
    )?;
    if events.is_empty() {
        return Ok(());
    }
    tx.execute(
        "update event_series set alerts = left_alerts, highest = left_highest, lowest = left_lowest
         from (select alert.event_id as own_event, threshold.testbed_id as own_testbed,
                   threshold.measure_id as own_measure, alert.benchmark_id as own_benchmark,
                   alert.variant_id as own_variant, sum(case when alert.report_id <> $2 then 1 else 0 end) as left_alerts,
                   max(case when alert.report_id <> $2 and alert.crossed = 'upper' then alert.value end) as left_highest,
                   min(case when alert.report_id <> $2 and alert.crossed = 'lower' then alert.value end) as left_lowest
               from alert join threshold on threshold.id = alert.threshold_id
               where alert.event_id in {ints $1}
               group by alert.event_id, threshold.testbed_id, threshold.measure_id, alert.benchmark_id,
                   alert.variant_id) as remaining
         where event_id = own_event and testbed_id = own_testbed and measure_id = own_measure
           and benchmark_id = own_benchmark and variant_id = own_variant",
        &[&events, &report],
    )?;
    tx.execute("delete from event_series where event_id in {ints $1} and alerts = 0", &[&events])?;
    Ok(())
}

columns! {
    /// First alert of a series in an event.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct FirstAlert {
        /// Event.
        pub event: EventId = "event.id",
        /// Benchmark, variant and measure.
        pub series_key: SeriesKey,
        /// Version of the alert.
        pub version: VersionId = "event_series.first_version",
    }
}

/// Returns the first alerts since a version of each series and event, for benchmarks of a head and a testbed; oldest first.
pub fn first_alerts(
    tx: &mut Tx<'_>,
    head: HeadId,
    testbed: TestbedId,
    since: VersionId,
    benchmarks: &[i64],
) -> Result<Vec<FirstAlert>> {
    tx.fetch_all(
        "select {columns} from event join event_series on event_series.event_id = event.id
         where event.head_id = $1 and event_series.testbed_id = $2 and event_series.first_version >= $3
           and event_series.benchmark_id in {ints $4} order by event_series.first_version, event.id",
        &[&head, &testbed, &since, &benchmarks],
    )
}

/// Applies the status of an event to its alerts: `open` activates the alerts that the event dismissed, or all alerts if the event was
/// dismissed, and any other status dismisses the active alerts. `expected` also records the values that are expected.
pub(crate) fn apply_status(
    tx: &mut Tx<'_>,
    event: EventId,
    status: EventStatus,
    was_dismissed: bool,
    now: Timestamp,
) -> Result<()> {
    if status == EventStatus::Expected {
        tx.execute(
            "update event_series set expected_highest = highest, expected_lowest = lowest where event_id = $1",
            &[&event],
        )?;
    }
    let sql = match status {
        // A user dismissed all alerts of the event.
        EventStatus::Open if was_dismissed => {
            "update alert set status = 'active', dismissed_by_event = false, modified = $2
             where event_id = $1 and status = 'dismissed' returning threshold_id"
        }
        EventStatus::Open => {
            "update alert set status = 'active', dismissed_by_event = false, modified = $2
             where event_id = $1 and status = 'dismissed' and dismissed_by_event returning threshold_id"
        }
        _ => {
            "update alert set status = 'dismissed', dismissed_by_event = true, modified = $2
             where event_id = $1 and status = 'active' returning threshold_id"
        }
    };
    let thresholds: Vec<i64> = tx.fetch_all(sql, &[&event, &now])?;
    threshold::count_alerts(tx, &distinct(thresholds.into_iter()))
}

/// Returns the number of alerts of events.
pub(crate) fn count(tx: &mut Tx<'_>, events: &[i64]) -> Result<HashMap<EventId, u32>> {
    let counts: Vec<(EventId, u32)> = tx.fetch_all(
        "select event_id, cast(sum(alerts) as bigint) from event_series where event_id in {ints $1} group by event_id",
        &[&events],
    )?;
    Ok(counts.into_iter().collect())
}

/// Returns the newest alerts of events, at most `most` of each, newest first.
pub(crate) fn of_events(
    tx: &mut Tx<'_>,
    events: &[i64],
    most: usize,
) -> Result<HashMap<EventId, Vec<EventAlert>>> {
    // The key of the oldest alert to return comes from the index, because an event may have many thousands of alerts.
    let sql = format!(
        "select alert.event_id, {{columns}}
         from event join alert on alert.event_id = event.id
           and alert.id >= coalesce((select newest.id from alert as newest where newest.event_id = event.id
                                     order by newest.id desc limit 1 offset {}), 0)
         join project on project.id = alert.project_id join report on report.id = alert.report_id
         join version on version.id = report.version_id join threshold on threshold.id = alert.threshold_id
         join testbed on testbed.id = threshold.testbed_id left join spec on spec.id = testbed.spec_id
         join benchmark on benchmark.id = alert.benchmark_id left join variant on variant.id = alert.variant_id
         join measure on measure.id = threshold.measure_id
         where event.id in {{ints $1}} order by alert.id desc",
        most.saturating_sub(1)
    );
    let rows: Vec<(EventId, EventAlert)> = tx.fetch_all(&sql, &[&events])?;
    let mut alerts: HashMap<EventId, Vec<EventAlert>> = HashMap::new();
    for (event, alert) in rows {
        alerts.entry(event).or_default().push(alert);
    }
    Ok(alerts)
}

columns!(EventAlert {
    uuid: "alert.uuid",
    report: "report.uuid",
    version: Version,
    threshold: "threshold.uuid",
    testbed: Testbed,
    benchmark: Benchmark,
    variant: Option<Variant>,
    measure: Measure,
    value: "alert.value",
    boundary: MetricBoundary {
        baseline: "alert.baseline",
        lower_limit: "alert.lower_limit",
        upper_limit: "alert.upper_limit",
    },
    limit: "alert.crossed",
    status: "alert.status",
    start_time: "alert.start_time",
});
