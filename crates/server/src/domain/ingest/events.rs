//! Assigns the alerts of a new report to events. An alert joins the event of its series; the other alerts of a report open one
//! event. An event whose series are all within their limits again recovers.

use std::collections::{BTreeMap, HashMap, HashSet};

use tidemark_api::{BoundaryLimit, ChangeCause, EventStatus, EventUuid};
use tidemark_stats::Worse;
use tidemark_store::{
    EventId, Tx, WriteContext,
    alert::NewAlertRow,
    event::{self, NewEvent},
    event_alert::{self, EventSeries, LiveSeries},
    series::SeriesKey,
};

use super::judge::{JudgedAlert, ReportContext};
use crate::domain::error::{Error, Result};

/// Tolerance of an expected value if the threshold has no baseline, as a share of the value.
const TOLERANCE_WITHOUT_BASELINE: f64 = 0.05;

/// Sets the events of alerts that are about to be written, and creates the events that do not exist yet. `within` are the series
/// of the report whose values are within their limits.
pub(super) fn assign(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    context: &ReportContext,
    alerts: &mut [JudgedAlert],
    within: &[SeriesKey],
) -> Result<()> {
    let (head, testbed, version) = (context.head, context.testbed, context.version);
    let live = if alerts.is_empty() {
        event_alert::outside_series(tx, head, testbed, version)?
    } else {
        event_alert::live_series(tx, head, testbed, version)?
    };
    let mut by_series: HashMap<SeriesKey, Vec<&LiveSeries>> = HashMap::new();
    for one in &live {
        by_series.entry(one.series_key).or_default().push(one);
    }
    let mut without = Vec::new();
    for alert in alerts.iter_mut() {
        match by_series.get(&alert.series_key).and_then(|series| choose(series, &alert.row)) {
            Some(chosen) => {
                alert.row.event = chosen.event;
                alert.row.is_expected = chosen.status == EventStatus::Expected;
            }
            None => without.push(alert),
        }
    }
    if !without.is_empty() {
        let event = match event_alert::open_event(tx, head, version)? {
            Some(event) => Some(event),
            None => event::insert(tx, &[new_event(fresh, context)])?.pop(),
        };
        let event = event.ok_or_else(|| Error::Internal("an event was not inserted".into()))?;
        for alert in without {
            alert.row.event = event;
        }
    }
    let outside: Vec<&LiveSeries> = live
        .iter()
        .filter(|one| one.status == EventStatus::Open && one.is_outside && one.last <= version)
        .collect();
    // Most reports have many values and no series to recover.
    let mut within: HashSet<SeriesKey> = within.iter().filter(|_| !outside.is_empty()).copied().collect();
    // A value at the level of an expected event needs no review, either.
    within.extend(alerts.iter().filter(|alert| alert.row.is_expected).map(|alert| alert.series_key));
    for alert in alerts.iter().filter(|alert| !alert.row.is_expected) {
        within.remove(&alert.series_key);
    }
    let recovered = outside.into_iter().filter(|one| within.contains(&one.series_key));
    let mut events = Vec::new();
    let mut rows: Vec<EventSeries> = recovered
        .map(|one| {
            events.push(one.event);
            within_limits(context, one)
        })
        .collect();
    rows.extend(alerted(context, alerts));
    event_alert::add(tx, &rows)?;
    if events.is_empty() { Ok(()) } else { Ok(event::update_recovery(tx, fresh, &events)?) }
}

/// Returns the series whose event an alert joins: the newest event that is open, or expected with a value that is not worse than
/// expected. An event without a change of the series comes last, so that a value returns from a worse level to the expected one.
fn choose<'a>(series: &[&'a LiveSeries], alert: &NewAlertRow) -> Option<&'a LiveSeries> {
    let has_change = |event: EventId| series.iter().any(|one| one.event == event && one.is_change);
    let joins = |one: &&&LiveSeries| one.status == EventStatus::Open || is_expected(one, alert);
    let is_preferred = |one: &LiveSeries| one.status != EventStatus::Open || has_change(one.event);
    series.iter().filter(joins).max_by_key(|one| (is_preferred(one), one.first, one.event)).copied()
}

/// Whether the value of an alert is not worse than the expected level: it is at most the tolerance of the threshold, which is the
/// distance of the limit from the baseline, beyond the worst expected value.
fn is_expected(series: &LiveSeries, alert: &NewAlertRow) -> bool {
    let value = alert.metric.value;
    let boundary = alert.metric.judged.map(|judged| judged.boundary());
    let baseline = boundary.and_then(|boundary| boundary.baseline);
    let (expected, limit) = match alert.limit {
        BoundaryLimit::Upper => (series.expected_highest, boundary.and_then(|boundary| boundary.upper_limit)),
        BoundaryLimit::Lower => (series.expected_lowest, boundary.and_then(|boundary| boundary.lower_limit)),
    };
    let Some(expected) = expected else { return false };
    let tolerance = match baseline.zip(limit) {
        Some((baseline, limit)) => (limit - baseline).abs(),
        None => expected.abs() * TOLERANCE_WITHOUT_BASELINE,
    };
    match alert.limit {
        BoundaryLimit::Upper => value <= expected + tolerance,
        BoundaryLimit::Lower => value >= expected - tolerance,
    }
}

fn new_event(fresh: &WriteContext, context: &ReportContext) -> NewEvent {
    NewEvent {
        uuid: EventUuid::from(fresh.uuid()),
        project_id: context.project,
        head_id: context.head,
        first_version: context.version,
        last_version: context.version,
        cause: ChangeCause::Code,
        status: EventStatus::Open,
        start_time: context.start_time,
        created: fresh.now,
        modified: fresh.now,
    }
}

/// Returns the row of a series that is within its limits again.
fn within_limits(context: &ReportContext, series: &LiveSeries) -> EventSeries {
    let SeriesKey { benchmark, variant, measure } = series.series_key;
    EventSeries {
        event_id: series.event,
        testbed_id: context.testbed,
        measure_id: measure,
        benchmark_id: benchmark,
        variant_id: variant,
        alerts: 0,
        first_version: context.version,
        last_version: context.version,
        outside: false,
        worse: -1,
        size: 0.0,
        highest: None,
        lowest: None,
    }
}

/// Returns the rows of the series with alerts, one per event and series.
fn alerted(context: &ReportContext, alerts: &[JudgedAlert]) -> Vec<EventSeries> {
    let mut rows: BTreeMap<(EventId, SeriesKey), EventSeries> = BTreeMap::new();
    for JudgedAlert { row, series_key, worse } in alerts {
        let entry = rows.entry((row.event, *series_key)).or_insert_with(|| EventSeries {
            event_id: row.event,
            testbed_id: context.testbed,
            measure_id: series_key.measure,
            benchmark_id: series_key.benchmark,
            variant_id: series_key.variant,
            alerts: 0,
            first_version: context.version,
            last_version: context.version,
            outside: true,
            worse: -1,
            size: 0.0,
            highest: None,
            lowest: None,
        });
        let value = row.metric.value;
        entry.alerts += 1;
        entry.worse = entry.worse.max(direction(row.limit, *worse));
        entry.size = entry.size.max(size(row));
        match row.limit {
            BoundaryLimit::Upper => {
                entry.highest = Some(entry.highest.map_or(value, |highest| highest.max(value)));
            }
            BoundaryLimit::Lower => {
                entry.lowest = Some(entry.lowest.map_or(value, |lowest| lowest.min(value)));
            }
        }
    }
    rows.into_values().collect()
}

/// Returns 1 for a regression and -1 for an improvement. A limit of a measure without a worse direction protects from regressions.
fn direction(limit: BoundaryLimit, worse: Worse) -> i64 {
    match (limit, worse) {
        (BoundaryLimit::Upper, Worse::Down) | (BoundaryLimit::Lower, Worse::Up) => -1,
        _ => 1,
    }
}

/// Returns the distance of a value from its baseline as a share of the baseline; without a baseline, from the limit.
fn size(alert: &NewAlertRow) -> f64 {
    let Some(boundary) = alert.metric.judged.map(|judged| judged.boundary()) else { return 0.0 };
    let limit = match alert.limit {
        BoundaryLimit::Upper => boundary.upper_limit,
        BoundaryLimit::Lower => boundary.lower_limit,
    };
    let reference = boundary.baseline.or(limit).unwrap_or_default();
    let size = ((alert.metric.value - reference) / reference).abs();
    if size.is_finite() { size } else { f64::MAX }
}

#[cfg(test)]
mod tests {
    use tidemark_stats::Limits;
    use tidemark_store::{
        BenchmarkId, MeasureId, ModelId, ThresholdId, VersionId,
        metric::{PackedMetric, ThresholdCheck},
    };

    use super::*;

    fn series(event: i64, status: EventStatus, is_change: bool, expected: Option<f64>) -> LiveSeries {
        LiveSeries {
            event: EventId::from(event),
            status,
            first: VersionId::from(event),
            series_key: SeriesKey {
                benchmark: BenchmarkId::from(1),
                variant: 0,
                measure: MeasureId::from(1),
            },
            is_change,
            is_outside: true,
            last: VersionId::from(event),
            expected_highest: expected,
            expected_lowest: None,
        }
    }

    /// An alert with an upper limit of 110.
    fn alert(value: f64, baseline: Option<f64>) -> NewAlertRow {
        let limits = Some(Limits { baseline, lower: None, upper: Some(110.0) });
        NewAlertRow {
            threshold: ThresholdId::from(1),
            benchmark: BenchmarkId::from(1),
            variant: 0,
            place: 0,
            metric: PackedMetric {
                series: 1,
                iteration: 0,
                value,
                lower_value: None,
                upper_value: None,
                judged: Some(ThresholdCheck { model: ModelId::from(1), limits }),
            },
            limit: BoundaryLimit::Upper,
            event: EventId::from(0),
            is_expected: false,
            mute: None,
        }
    }

    fn chosen(series: &[LiveSeries], alert: &NewAlertRow) -> Option<i64> {
        let series: Vec<&LiveSeries> = series.iter().collect();
        choose(&series, alert).map(|one| one.event.get())
    }

    #[test]
    fn a_value_is_expected_up_to_the_tolerance_of_its_threshold() {
        let expected = [series(1, EventStatus::Expected, false, Some(150.0))];
        for (value, baseline, event) in [
            (160.0, Some(100.0), Some(1)),
            (160.5, Some(100.0), None),
            (157.5, None, Some(1)),
            (158.0, None, None),
        ] {
            assert_eq!(chosen(&expected, &alert(value, baseline)), event, "{value} {baseline:?}");
        }
        // No higher value is expected after an improvement.
        let improved = [series(1, EventStatus::Expected, true, None)];
        assert_eq!(chosen(&improved, &alert(120.0, None)), None);
    }

    #[test]
    fn an_alert_joins_the_newest_event_of_its_series() {
        let open = |event, is_change| series(event, EventStatus::Open, is_change, None);
        let expected = |event| series(event, EventStatus::Expected, false, Some(150.0));
        assert_eq!(chosen(&[open(1, true), open(2, true)], &alert(150.0, None)), Some(2));
        assert_eq!(chosen(&[expected(1), open(2, true)], &alert(150.0, None)), Some(2));
        // A worse value opened the second event; the value returned to the expected level.
        assert_eq!(chosen(&[expected(1), open(2, false)], &alert(150.0, None)), Some(1));
        assert_eq!(chosen(&[expected(1), open(2, false)], &alert(200.0, None)), Some(2));
    }
}
