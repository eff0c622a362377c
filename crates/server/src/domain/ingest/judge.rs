//! Compares each metric of a new report with its threshold and writes the metrics.

use std::collections::HashMap;

use tidemark_api::Notifies;
use tidemark_stats::{Model, PreparedModel, Worse};
use tidemark_store::{
    BranchId, EventId, HeadId, MeasureId, ModelId, ProjectId, ReportId, SpecId, TestbedId, ThresholdId, Tx,
    VersionId, WriteContext, alert, delivery, detection, measure,
    metric::{self, PackedMetric, ThresholdCheck},
    series::{self, Series, SeriesKey},
    threshold::{self, ThresholdCounts},
};

use super::{
    events,
    resolve::ResolvedMetric,
    sample::{EarlierValues, SampleRequest, sample_limit},
};
use crate::domain::{confirmation, error::Result, mute::Mutes};

/// The position of a new report.
pub(super) struct ReportContext {
    pub(super) project: ProjectId,
    pub(super) branch: BranchId,
    pub(super) head: HeadId,
    pub(super) testbed: TestbedId,
    pub(super) version: VersionId,
    /// Reports of jobs are compared with reports on the same spec.
    pub(super) spec: Option<SpecId>,
    pub(super) report: ReportId,
    /// Only reports with a smaller key are earlier.
    pub(super) before: ReportId,
    pub(super) start_time: tidemark_api::Timestamp,
}

/// An alert to write, with its series.
pub(super) struct JudgedAlert {
    pub(super) row: alert::NewAlertRow,
    pub(super) series_key: SeriesKey,
    /// Direction in which the measure gets worse.
    pub(super) worse: Worse,
}

/// A threshold with its prepared model.
struct PreparedThreshold {
    threshold: ThresholdId,
    model: ModelId,
    settings: Model,
    prepared: PreparedModel,
    /// Maximum sample size.
    most: usize,
    /// Direction in which the measure gets worse.
    worse: Worse,
    judged: i64,
}

/// Compares the metrics with their thresholds and writes them, their alerts and the notification. Returns whether a notification
/// was enqueued, or waits for a confirmation.
pub(super) fn write(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    context: &ReportContext,
    items: Vec<ResolvedMetric<'_>>,
) -> Result<bool> {
    let metrics = attach(tx, context, items)?;
    let mut judges = prepare_thresholds(tx, context, metrics.len())?;
    let requests = metrics
        .chunk_by(|(left, _), (right, _)| left.id == right.id)
        .filter_map(|chunk| {
            let (series, item) = &chunk[0];
            let judge = judges.get(&item.series_key.measure)?;
            SampleRequest::new(*series, &judge.settings, judge.most, context.start_time)
        })
        .collect();
    let earlier_values = EarlierValues::read(tx, context, requests)?;
    let mut judgment = judge(&metrics, &mut judges, &earlier_values);
    metric::insert(tx, context.report, &judgment.packed)?;
    let measures = metrics.iter().map(|(_, item)| item.series_key.measure);
    measure::record_run(tx, context.report, context.start_time, measures)?;
    if !judges.is_empty() {
        events::assign(tx, fresh, context, &mut judgment.alerts, &judgment.within)?;
    }
    let mut alerts: Vec<alert::NewAlertRow> = judgment.alerts.into_iter().map(|alert| alert.row).collect();
    mute_alerts(tx, fresh, context, &mut alerts)?;
    alert::insert(tx, fresh, context.project, (context.report, context.head, context.start_time), &alerts)?;
    threshold::add_counts(tx, &counts(&judges, &alerts))?;
    // Users have already reviewed the alerts of an expected event, and want no notification about muted series.
    let notified = alerts.iter().filter(|alert| !alert.is_expected && alert.mute.is_none());
    let events: Vec<EventId> = notified.map(|alert| alert.event).collect();
    if events.is_empty() {
        return Ok(false);
    }
    let settings = detection::settings(tx, context.project)?;
    if settings.notifies != Notifies::Alerts {
        return Ok(false);
    }
    // A suspected event also wakes the background tasks: they request the job that confirms it.
    Ok(confirmation::suspect(tx, fresh, settings.confirm, context.report, &events)?
        || delivery::enqueue(tx, fresh, context.project, context.report)?)
}

/// Counts the checked metrics and the alerts of each threshold.
fn counts(
    judges: &HashMap<MeasureId, PreparedThreshold>,
    alerts: &[alert::NewAlertRow],
) -> Vec<ThresholdCounts> {
    let mut raised: HashMap<ThresholdId, (i64, i64)> = HashMap::new();
    for alert in alerts {
        let (active, dismissed) = raised.entry(alert.threshold).or_default();
        *if alert.is_expected { dismissed } else { active } += 1;
    }
    judges
        .values()
        .filter(|judge| judge.judged > 0)
        .map(|judge| {
            let (active, dismissed) = raised.get(&judge.threshold).copied().unwrap_or_default();
            ThresholdCounts { threshold: judge.threshold, judged: judge.judged, active, dismissed }
        })
        .collect()
}

/// Sets the mutes of alerts. A muted alert is written, but causes no notification.
fn mute_alerts(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    context: &ReportContext,
    alerts: &mut [alert::NewAlertRow],
) -> Result<()> {
    if alerts.is_empty() {
        return Ok(());
    }
    let mutes = Mutes::read(tx, context.project, fresh.now)?;
    let benchmarks = alerts.iter().map(|alert| alert.benchmark);
    let muted = mutes.of_benchmarks(tx, context.branch, context.testbed, benchmarks)?;
    for alert in alerts {
        alert.mute = muted.get(&alert.benchmark).copied();
    }
    Ok(())
}

/// Finds the series of each metric and sorts the metrics by series and iteration.
fn attach<'a>(
    tx: &mut Tx<'_>,
    context: &ReportContext,
    items: Vec<ResolvedMetric<'a>>,
) -> Result<Vec<(Series, ResolvedMetric<'a>)>> {
    let mut series_keys: Vec<SeriesKey> = items.iter().map(|item| item.series_key).collect();
    series_keys.dedup();
    let series = series::ensure(tx, context.testbed, context.report, &series_keys)?;
    let mut at = 0;
    let mut metrics: Vec<_> = items
        .into_iter()
        .map(|item| {
            // Both lists are sorted by series key.
            while series_keys[at] != item.series_key {
                at += 1;
            }
            (series[at], item)
        })
        .collect();
    metrics.sort_by_key(|(series, item)| (series.id, item.iteration));
    Ok(metrics)
}

fn prepare_thresholds(
    tx: &mut Tx<'_>,
    context: &ReportContext,
    metrics: usize,
) -> Result<HashMap<MeasureId, PreparedThreshold>> {
    let active = threshold::of_lane(tx, context.branch, context.testbed)?.into_iter();
    let judges = active.filter_map(|one| {
        let (model, settings) = one.model?;
        let prepared = PreparedModel::new(&settings);
        let most = sample_limit(prepared.max_sample_size(), metrics);
        let (threshold, worse) = (one.id, one.worse);
        let judge = PreparedThreshold { threshold, model, settings, prepared, most, worse, judged: 0 };
        Some((one.measure, judge))
    });
    Ok(judges.collect())
}

/// Result of the comparison of all metrics with their limits.
struct Judgment {
    /// The metrics with their limits.
    packed: Vec<PackedMetric>,
    /// The alerts, without their events.
    alerts: Vec<JudgedAlert>,
    /// Series whose values are all within their limits.
    within: Vec<SeriesKey>,
}

/// Compares each metric with its sample.
fn judge(
    metrics: &[(Series, ResolvedMetric<'_>)],
    judges: &mut HashMap<MeasureId, PreparedThreshold>,
    earlier_values: &EarlierValues,
) -> Judgment {
    let (mut samples, mut sample) = (earlier_values.samples(), Vec::new());
    let mut judgment =
        Judgment { packed: Vec::with_capacity(metrics.len()), alerts: Vec::new(), within: Vec::new() };
    let mut place = 0;
    for iterations in metrics.chunk_by(|(left, _), (right, _)| left.id == right.id) {
        let (series, first) = (iterations[0].0.id, &iterations[0].1);
        samples.extract(series, &mut sample);
        let mut is_within = judges.contains_key(&first.series_key.measure);
        for (_, item) in iterations {
            let SeriesKey { benchmark, variant, measure } = item.series_key;
            let value = item.measured.value;
            let mut metric = PackedMetric {
                series,
                iteration: item.iteration,
                value,
                lower_value: item.measured.lower_value,
                upper_value: item.measured.upper_value,
                judged: None,
            };
            if let Some(judge) = judges.get_mut(&measure) {
                let limits = judge.prepared.limits(&sample);
                judge.judged += 1;
                metric.judged = Some(ThresholdCheck { model: judge.model, limits });
                let crossed = limits.and_then(|limits| tidemark_stats::crossed_limit(value, &limits));
                is_within &= limits.is_some() && crossed.is_none();
                if let Some(side) = crossed.filter(|_| !item.ignored) {
                    let row = alert::NewAlertRow {
                        threshold: judge.threshold,
                        benchmark,
                        variant,
                        place,
                        metric,
                        limit: side.into(),
                        event: EventId::from(0),
                        is_expected: false,
                        mute: None,
                    };
                    let (series_key, worse) = (item.series_key, judge.worse);
                    judgment.alerts.push(JudgedAlert { row, series_key, worse });
                }
                // This iteration is the newest value in the sample of the next one.
                if iterations.len() > 1 {
                    sample.insert(0, value);
                    sample.truncate(judge.most);
                }
            }
            judgment.packed.push(metric);
            place += 1;
        }
        if is_within {
            judgment.within.push(first.series_key);
        }
    }
    judgment
}
