//! The verdict on a report: what became of each metric, the worst first, and how it is told in words.

use std::{cmp::Ordering, collections::HashMap};

use tidemark_stats::Worse;

use super::shown;
use crate::{BoundaryLimit, MetricBoundary, MetricUuid, Report, ReportMeasure, ReportResult};

/// What became of a metric, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It crossed a limit for the worse, or nobody knows which way is worse.
    Regression,
    /// It crossed a limit for the better.
    Improvement,
    /// It is within its limits.
    Pass,
    /// There is too little to compare it with.
    NoBaseline,
    /// Nobody watches it.
    NoThreshold,
}

impl Verdict {
    /// What it means that a limit was crossed.
    pub fn of_crossing(limit: BoundaryLimit, worse: Worse) -> Self {
        match (limit, worse) {
            (BoundaryLimit::Upper, Worse::Down) | (BoundaryLimit::Lower, Worse::Up) => Self::Improvement,
            _ => Self::Regression,
        }
    }

    /// What it is called.
    pub fn word(self) -> &'static str {
        WORDS[self as usize].1
    }
}

/// Each verdict with what it is called in a table, and after one and after many in the summary.
const WORDS: [(Verdict, &str, &str, &str); 5] = [
    (Verdict::Regression, "regression", "regression", "regressions"),
    (Verdict::Improvement, "improvement", "improvement", "improvements"),
    (Verdict::Pass, "pass", "pass", "pass"),
    (Verdict::NoBaseline, "no baseline yet", "without a baseline yet", "without a baseline yet"),
    (Verdict::NoThreshold, "no threshold", "without a threshold", "without a threshold"),
];

/// A metric of the report with its verdict.
pub struct Row<'a> {
    /// What became of it.
    pub verdict: Verdict,
    /// By how much it is worse than expected, as a share; negative if better.
    badness: f64,
    /// The benchmark.
    pub result: &'a ReportResult,
    /// The measure and its value.
    pub measured: &'a ReportMeasure,
}

/// The metrics of a report, the worst first.
pub fn rows(report: &Report) -> Vec<Row<'_>> {
    let alerts = report.alerts.iter().flatten();
    let crossed: HashMap<MetricUuid, BoundaryLimit> =
        alerts.map(|alert| (alert.metric.uuid, alert.limit)).collect();
    let mut rows: Vec<Row<'_>> = Vec::new();
    for result in report.results.iter().flatten().flatten() {
        for measured in &result.measures {
            rows.push(Row::new(result, measured, crossed.get(&measured.metric.uuid).copied()));
        }
    }
    rows.sort_by(|left, right| {
        let badness = right.badness.partial_cmp(&left.badness).unwrap_or(Ordering::Equal);
        left.verdict.cmp(&right.verdict).then(badness)
    });
    rows
}

/// Whether a report has more than one iteration, so that its metrics have to be told apart.
pub fn is_repeated(report: &Report) -> bool {
    report.results.as_ref().is_some_and(|results| results.len() > 1)
}

impl<'a> Row<'a> {
    fn new(result: &'a ReportResult, measured: &'a ReportMeasure, crossed: Option<BoundaryLimit>) -> Self {
        let worse = measured.measure.worse();
        let judged = measured
            .boundary
            .is_some_and(|boundary| boundary.lower_limit.is_some() || boundary.upper_limit.is_some());
        let verdict = match crossed {
            Some(limit) => Verdict::of_crossing(limit, worse),
            None if judged => Verdict::Pass,
            None if measured.threshold.is_some() => Verdict::NoBaseline,
            None => Verdict::NoThreshold,
        };
        let badness = badness(change_of(measured), worse);
        Self { verdict, badness, result, measured }
    }

    /// Whether it crossed a limit, for better or worse.
    pub fn has_moved(&self) -> bool {
        matches!(self.verdict, Verdict::Regression | Verdict::Improvement)
    }

    /// What its verdict is called.
    pub fn word(&self) -> &'static str {
        self.verdict.word()
    }

    /// The benchmark with its parameters.
    pub fn benchmark(&self) -> String {
        let parameters = self.result.variant.as_ref().map(|variant| &variant.parameters);
        shown::benchmark(self.result.benchmark.name.as_str(), parameters)
    }

    /// The value in the unit in which it reads best.
    pub fn value(&self) -> String {
        shown::quantity(self.measured.metric.value, self.units())
    }

    /// What was expected; empty if nothing was.
    pub fn baseline(&self) -> String {
        let baseline = self.boundary().baseline;
        baseline.map_or_else(String::new, |baseline| shown::quantity(baseline, self.units()))
    }

    /// How far the value is from the baseline, in percent; empty if there is none.
    pub fn change(&self) -> String {
        change_of(self.measured).map_or_else(String::new, shown::percent)
    }

    /// What the value may be; empty if it may be anything.
    pub fn limit(&self) -> String {
        let MetricBoundary { lower_limit, upper_limit, .. } = self.boundary();
        shown::range(lower_limit, upper_limit, self.units())
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

/// How many there are of each verdict, the worst first.
pub fn summary(rows: &[Row<'_>]) -> String {
    let mut parts = Vec::new();
    for (verdict, _, one, many) in WORDS {
        match rows.iter().filter(|row| row.verdict == verdict).count() {
            0 => {}
            1 => parts.push(format!("1 {one}")),
            count => parts.push(format!("{count} {many}")),
        }
    }
    if parts.is_empty() { "Nothing was measured".to_owned() } else { parts.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verdict_has_its_words() {
        for (index, (verdict, ..)) in WORDS.iter().enumerate() {
            assert_eq!(*verdict as usize, index);
        }
    }
}
