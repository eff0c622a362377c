//! Metrics of a report with their thresholds, the worst first. A value outside a threshold is an alert; the verdict on a run
//! compares it with its baseline, see [`verdict`](crate::verdict).

use std::{cmp::Ordering, collections::HashMap};

use tidemark_stats::Worse;

use crate::format;
use tidemark_api::{BoundaryLimit, MetricBoundary, MetricUuid, Report, ReportMeasure, ReportResult};

/// Position of a value relative to its threshold, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ThresholdStatus {
    /// Outside the limit in the worse direction of the measure, or the worse direction is unknown.
    Worse,
    /// Outside the limit in the better direction of the measure.
    Better,
    /// Outside the limit, but the series is muted.
    Muted,
    /// Within the limits.
    Within,
    /// There is a threshold, but the sample is too small for limits.
    NoBaseline,
    /// There is no threshold.
    NoThreshold,
}

impl ThresholdStatus {
    /// Returns the status of a value outside this limit.
    pub fn of_crossing(limit: BoundaryLimit, worse: Worse) -> Self {
        match (limit, worse) {
            (BoundaryLimit::Upper, Worse::Down) | (BoundaryLimit::Lower, Worse::Up) => Self::Better,
            _ => Self::Worse,
        }
    }

    /// Whether the value was compared with limits.
    pub fn has_limits(self) -> bool {
        !matches!(self, Self::NoBaseline | Self::NoThreshold)
    }

    /// Whether the value is outside its limits.
    pub fn is_outside(self) -> bool {
        matches!(self, Self::Worse | Self::Better)
    }
}

/// A metric of a report with its threshold.
pub struct MetricRow<'a> {
    /// Position relative to the threshold.
    pub status: ThresholdStatus,
    /// By how much the value is worse than the baseline, as a share; negative if better.
    degradation: f64,
    /// Benchmark.
    pub result: &'a ReportResult,
    /// Measure and value.
    pub measured: &'a ReportMeasure,
}

/// Returns the metrics of a report, the worst first.
pub fn rows(report: &Report) -> Vec<MetricRow<'_>> {
    let alerts = report.alerts.iter().flatten();
    let crossed: HashMap<MetricUuid, (BoundaryLimit, bool)> =
        alerts.map(|alert| (alert.metric.uuid, (alert.limit, alert.muted.is_some()))).collect();
    let mut rows: Vec<MetricRow<'_>> = Vec::new();
    for result in report.results.iter().flatten().flatten() {
        for measured in &result.measures {
            rows.push(MetricRow::new(result, measured, crossed.get(&measured.metric.uuid).copied()));
        }
    }
    rows.sort_by(|left, right| {
        let degradation = right.degradation.partial_cmp(&left.degradation).unwrap_or(Ordering::Equal);
        left.status.cmp(&right.status).then(degradation)
    });
    rows
}

impl<'a> MetricRow<'a> {
    fn new(
        result: &'a ReportResult,
        measured: &'a ReportMeasure,
        crossed: Option<(BoundaryLimit, bool)>,
    ) -> Self {
        let worse = measured.measure.worse();
        let judged = measured
            .boundary
            .is_some_and(|boundary| boundary.lower_limit.is_some() || boundary.upper_limit.is_some());
        let status = match crossed {
            Some((_, true)) => ThresholdStatus::Muted,
            Some((limit, false)) => ThresholdStatus::of_crossing(limit, worse),
            None if judged => ThresholdStatus::Within,
            None if measured.threshold.is_some() => ThresholdStatus::NoBaseline,
            None => ThresholdStatus::NoThreshold,
        };
        let degradation = degradation(change_of(measured), worse);
        Self { status, degradation, result, measured }
    }

    /// Returns the benchmark with its parameters.
    pub fn benchmark(&self) -> String {
        let parameters = self.result.variant.as_ref().map(|variant| &variant.parameters);
        format::benchmark(self.result.benchmark.name.as_str(), parameters)
    }

    /// Returns the value in its most readable unit.
    pub fn value(&self) -> String {
        format::quantity(self.measured.metric.value, self.units())
    }

    /// Returns the baseline of the threshold; empty if there is none.
    pub fn baseline(&self) -> String {
        let baseline = self.boundary().baseline;
        baseline.map_or_else(String::new, |baseline| format::quantity(baseline, self.units()))
    }

    /// Returns the difference from the baseline in percent; empty if there is no baseline.
    pub fn change(&self) -> String {
        self.relative_change().map_or_else(String::new, format::percent)
    }

    /// Returns the difference from the baseline as a share of the baseline.
    pub fn relative_change(&self) -> Option<f64> {
        change_of(self.measured)
    }

    /// Returns the limits of the threshold; empty if there are none.
    pub fn limit(&self) -> String {
        let MetricBoundary { lower_limit, upper_limit, .. } = self.boundary();
        format::range(lower_limit, upper_limit, self.units())
    }

    fn units(&self) -> &str {
        self.measured.measure.units.as_str()
    }

    fn boundary(&self) -> MetricBoundary {
        self.measured.boundary.unwrap_or_default()
    }
}

fn change_of(measured: &ReportMeasure) -> Option<f64> {
    change(measured.metric.value, measured.boundary?.baseline)
}

/// Returns the difference of a value from its baseline, as a share of the baseline.
pub fn change(value: f64, baseline: Option<f64>) -> Option<f64> {
    let baseline = baseline?;
    Some((value - baseline) / baseline.abs()).filter(|change| change.is_finite())
}

/// Returns by how much a change is worse; negative if it is better.
pub fn degradation(change: Option<f64>, worse: Worse) -> f64 {
    let change = change.unwrap_or(0.0);
    match worse {
        Worse::Up => change,
        Worse::Down => -change,
        Worse::Unknown => change.abs(),
    }
}

/// Returns the number of values outside their threshold as text; `None` if there are no thresholds.
pub fn limits(rows: &[MetricRow<'_>]) -> Option<String> {
    let count = |status: fn(ThresholdStatus) -> bool| rows.iter().filter(|row| status(row.status)).count();
    let outside = count(ThresholdStatus::is_outside);
    let muted = count(|status| status == ThresholdStatus::Muted);
    let judged = outside + muted + count(|status| status == ThresholdStatus::Within);
    let limits = match (outside, judged, count(|status| status == ThresholdStatus::NoBaseline)) {
        (0, 0, 0) => None,
        (0, 0, 1) => Some("the threshold of 1 value has too few earlier values".to_owned()),
        (0, 0, waiting) => Some(format!("the thresholds of {waiting} values have too few earlier values")),
        (0, ..) => Some("no value outside the configured threshold".to_owned()),
        (1, ..) => Some("1 value outside the configured threshold".to_owned()),
        (outside, ..) => Some(format!("{outside} values outside the configured threshold")),
    };
    match muted {
        0 => limits,
        muted => limits.map(|limits| format!("{limits}, {muted} muted outside it")),
    }
}
