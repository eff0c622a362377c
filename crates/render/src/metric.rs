//! The metrics of a report and their thresholds, the worst first. A value outside a threshold is told as that; the verdict on
//! a run is made against earlier runs, see [`verdict`](crate::verdict).

use std::{cmp::Ordering, collections::HashMap};

use tidemark_stats::Worse;

use crate::format;
use tidemark_api::{BoundaryLimit, MetricBoundary, MetricUuid, Report, ReportMeasure, ReportResult};

/// Where a value is with respect to its threshold, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ThresholdStatus {
    /// Outside the limit on the side where the measure gets worse, or it is not known which side that is.
    Worse,
    /// Outside the limit on the side where the measure gets better.
    Better,
    /// Within the limits.
    Within,
    /// There is a threshold, and too few values for its limits.
    NoBaseline,
    /// There is no threshold.
    NoThreshold,
}

impl ThresholdStatus {
    /// What it means that a limit was crossed.
    pub fn of_crossing(limit: BoundaryLimit, worse: Worse) -> Self {
        match (limit, worse) {
            (BoundaryLimit::Upper, Worse::Down) | (BoundaryLimit::Lower, Worse::Up) => Self::Better,
            _ => Self::Worse,
        }
    }

    /// Whether the value is outside its limits.
    pub fn is_outside(self) -> bool {
        matches!(self, Self::Worse | Self::Better)
    }
}

/// A metric of the report with its threshold.
pub struct MetricRow<'a> {
    /// Where it is with respect to its threshold.
    pub standing: ThresholdStatus,
    /// By how much it is worse than expected, as a share; negative if better.
    badness: f64,
    /// The benchmark.
    pub result: &'a ReportResult,
    /// The measure and its value.
    pub measured: &'a ReportMeasure,
}

/// The metrics of a report, the worst first.
pub fn rows(report: &Report) -> Vec<MetricRow<'_>> {
    let alerts = report.alerts.iter().flatten();
    let crossed: HashMap<MetricUuid, BoundaryLimit> =
        alerts.map(|alert| (alert.metric.uuid, alert.limit)).collect();
    let mut rows: Vec<MetricRow<'_>> = Vec::new();
    for result in report.results.iter().flatten().flatten() {
        for measured in &result.measures {
            rows.push(MetricRow::new(result, measured, crossed.get(&measured.metric.uuid).copied()));
        }
    }
    rows.sort_by(|left, right| {
        let badness = right.badness.partial_cmp(&left.badness).unwrap_or(Ordering::Equal);
        left.standing.cmp(&right.standing).then(badness)
    });
    rows
}

impl<'a> MetricRow<'a> {
    fn new(result: &'a ReportResult, measured: &'a ReportMeasure, crossed: Option<BoundaryLimit>) -> Self {
        let worse = measured.measure.worse();
        let judged = measured
            .boundary
            .is_some_and(|boundary| boundary.lower_limit.is_some() || boundary.upper_limit.is_some());
        let standing = match crossed {
            Some(limit) => ThresholdStatus::of_crossing(limit, worse),
            None if judged => ThresholdStatus::Within,
            None if measured.threshold.is_some() => ThresholdStatus::NoBaseline,
            None => ThresholdStatus::NoThreshold,
        };
        let badness = badness(change_of(measured), worse);
        Self { standing, badness, result, measured }
    }

    /// The benchmark with its parameters.
    pub fn benchmark(&self) -> String {
        let parameters = self.result.variant.as_ref().map(|variant| &variant.parameters);
        format::benchmark(self.result.benchmark.name.as_str(), parameters)
    }

    /// The value in the unit in which it reads best.
    pub fn value(&self) -> String {
        format::quantity(self.measured.metric.value, self.units())
    }

    /// What was expected; empty if nothing was.
    pub fn baseline(&self) -> String {
        let baseline = self.boundary().baseline;
        baseline.map_or_else(String::new, |baseline| format::quantity(baseline, self.units()))
    }

    /// How far the value is from the baseline, in percent; empty if there is none.
    pub fn change(&self) -> String {
        change_of(self.measured).map_or_else(String::new, format::percent)
    }

    /// What the value may be; empty if it may be anything.
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

/// How far a value is from its baseline, as a share of it.
pub fn change(value: f64, baseline: Option<f64>) -> Option<f64> {
    let baseline = baseline?;
    Some((value - baseline) / baseline.abs()).filter(|change| change.is_finite())
}

/// By how much a change is for the worse; negative if it is for the better.
pub fn badness(change: Option<f64>, worse: Worse) -> f64 {
    let change = change.unwrap_or(0.0);
    match worse {
        Worse::Up => change,
        Worse::Down => -change,
        Worse::Unknown => change.abs(),
    }
}

/// How many values are outside their threshold, in a few words; nothing where there are no thresholds.
pub fn limits(rows: &[MetricRow<'_>]) -> Option<String> {
    let count =
        |standing: fn(ThresholdStatus) -> bool| rows.iter().filter(|row| standing(row.standing)).count();
    let outside = count(ThresholdStatus::is_outside);
    let judged = outside + count(|standing| standing == ThresholdStatus::Within);
    match (outside, judged, count(|standing| standing == ThresholdStatus::NoBaseline)) {
        (0, 0, 0) => None,
        (0, 0, 1) => Some("the threshold of 1 value has too few earlier values".to_owned()),
        (0, 0, waiting) => Some(format!("the thresholds of {waiting} values have too few earlier values")),
        (0, ..) => Some("no value outside the configured threshold".to_owned()),
        (1, ..) => Some("1 value outside the configured threshold".to_owned()),
        (outside, ..) => Some(format!("{outside} values outside the configured threshold")),
    }
}
