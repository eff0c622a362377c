//! Compares each metric of a new report with its threshold and writes the metrics.

use std::collections::HashMap;

use tidemark_api::Notifies;
use tidemark_stats::{Model, PreparedModel};
use tidemark_store::{
    BranchId, HeadId, MeasureId, ModelId, ProjectId, ReportId, SpecId, TestbedId, ThresholdId, Tx,
    WriteContext, alert, delivery, detection,
    metric::{self, PackedMetric, ThresholdCheck},
    series::{self, Series, SeriesKey},
    threshold,
};

use super::{
    resolve::ResolvedMetric,
    sample::{EarlierValues, SampleRequest, sample_limit},
};
use crate::domain::error::Result;

/// The position of a new report.
pub(super) struct ReportContext {
    pub(super) project: ProjectId,
    pub(super) branch: BranchId,
    pub(super) head: HeadId,
    pub(super) testbed: TestbedId,
    /// Reports of jobs are compared with reports on the same spec.
    pub(super) spec: Option<SpecId>,
    pub(super) report: ReportId,
    /// Only reports with a smaller key are earlier.
    pub(super) before: ReportId,
    pub(super) start_time: tidemark_api::Timestamp,
}

/// A threshold with its prepared model.
struct PreparedThreshold {
    threshold: ThresholdId,
    model: ModelId,
    settings: Model,
    prepared: PreparedModel,
    /// Maximum sample size.
    most: usize,
    judged: i64,
    alerts: i64,
}

/// Compares the metrics with their thresholds and writes them, their alerts and the notification. Returns whether a notification
/// was enqueued.
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
    let (packed, alerts) = judge(&metrics, &mut judges, &earlier_values);
    metric::insert(tx, context.report, &packed)?;
    alert::insert(tx, fresh, context.project, (context.report, context.head, context.start_time), &alerts)?;
    let counts: Vec<_> = judges
        .values()
        .filter(|judge| judge.judged > 0)
        .map(|judge| (judge.threshold, judge.judged, judge.alerts))
        .collect();
    threshold::add_counts(tx, &counts)?;
    let is_enqueued =
        !alerts.is_empty() && detection::settings(tx, context.project)?.notifies == Notifies::Alerts;
    Ok(is_enqueued && delivery::enqueue(tx, fresh, context.project, context.report)?)
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
        let judge =
            PreparedThreshold { threshold: one.id, model, settings, prepared, most, judged: 0, alerts: 0 };
        Some((one.measure, judge))
    });
    Ok(judges.collect())
}

/// Compares each metric with its sample.
fn judge(
    metrics: &[(Series, ResolvedMetric<'_>)],
    judges: &mut HashMap<MeasureId, PreparedThreshold>,
    earlier_values: &EarlierValues,
) -> (Vec<PackedMetric>, Vec<alert::NewAlertRow>) {
    let (mut samples, mut sample) = (earlier_values.samples(), Vec::new());
    let mut packed = Vec::with_capacity(metrics.len());
    let mut alerts = Vec::new();
    let mut place = 0;
    for iterations in metrics.chunk_by(|(left, _), (right, _)| left.id == right.id) {
        let series = iterations[0].0.id;
        samples.extract(series, &mut sample);
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
                if let Some(side) = crossed.filter(|_| !item.ignored) {
                    judge.alerts += 1;
                    let (threshold, limit) = (judge.threshold, side.into());
                    alerts.push(alert::NewAlertRow { threshold, benchmark, variant, place, metric, limit });
                }
                // This iteration is the newest value in the sample of the next one.
                if iterations.len() > 1 {
                    sample.insert(0, value);
                    sample.truncate(judge.most);
                }
            }
            packed.push(metric);
            place += 1;
        }
    }
    (packed, alerts)
}
