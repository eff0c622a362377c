//! The verdict on a report, as a table for people: what got worse comes first.

use std::{cmp::Ordering, collections::HashMap};

use tidemark_api::{BoundaryLimit, MetricUuid, Report, ReportMeasure, ReportResult};
use tidemark_stats::Worse;

use crate::output::{self, Color, Column, Table};

/// What became of a metric, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Regression,
    Improvement,
    Pass,
    NoBaseline,
    NoThreshold,
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
struct Row<'a> {
    verdict: Verdict,
    /// By how much it is worse than expected, as a share; negative if better.
    badness: f64,
    result: &'a ReportResult,
    measured: &'a ReportMeasure,
}

/// The table and a summary.
pub(crate) fn show(report: &Report, colors: bool) -> String {
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
    let several = report.results.as_ref().is_some_and(|results| results.len() > 1);
    let mut table = Table::new([
        Column::Left("Verdict"),
        Column::Left("Benchmark"),
        Column::Right("Iteration"),
        Column::Left("Measure"),
        Column::Right("Value"),
        Column::Right("Baseline"),
        Column::Right("Change"),
        Column::Right("Limit"),
    ]);
    for row in &rows {
        let color = match row.verdict {
            Verdict::Regression => Some(Color::Red),
            Verdict::Improvement => Some(Color::Green),
            _ => None,
        };
        table.push_colored(color.filter(|_| colors), row.cells(several));
    }
    format!("{table}\n{}.\n", summary(&rows))
}

impl<'a> Row<'a> {
    fn new(result: &'a ReportResult, measured: &'a ReportMeasure, crossed: Option<BoundaryLimit>) -> Self {
        let worse = measured.measure.worse();
        let judged = measured
            .boundary
            .is_some_and(|boundary| boundary.lower_limit.is_some() || boundary.upper_limit.is_some());
        let verdict = match (crossed, worse) {
            (Some(BoundaryLimit::Upper), Worse::Down) | (Some(BoundaryLimit::Lower), Worse::Up) => {
                Verdict::Improvement
            }
            (Some(_), _) => Verdict::Regression,
            (None, _) if judged => Verdict::Pass,
            (None, _) if measured.threshold.is_some() => Verdict::NoBaseline,
            (None, _) => Verdict::NoThreshold,
        };
        let change = change(measured).unwrap_or(0.0);
        let badness = match worse {
            Worse::Up => change,
            Worse::Down => -change,
            Worse::Unknown => change.abs(),
        };
        Self { verdict, badness, result, measured }
    }

    fn cells(&self, several: bool) -> [String; 8] {
        let Self { result, measured, .. } = self;
        let units = measured.measure.units.as_str();
        let boundary = measured.boundary.unwrap_or_default();
        let parameters = result.variant.as_ref().map(|variant| &variant.parameters);
        [
            words(self.verdict).1.to_owned(),
            output::benchmark(result.benchmark.name.as_str(), parameters),
            if several { result.iteration.to_string() } else { String::new() },
            output::plain(measured.measure.name.as_str()),
            output::quantity(measured.metric.value, units),
            boundary.baseline.map_or_else(String::new, |baseline| output::quantity(baseline, units)),
            change(measured).map_or_else(String::new, |change| format!("{:+.2} %", change * 100.0)),
            output::range(boundary.lower_limit, boundary.upper_limit, units),
        ]
    }
}

/// How far a value is from its baseline, as a share of it.
fn change(measured: &ReportMeasure) -> Option<f64> {
    let baseline = measured.boundary?.baseline?;
    Some((measured.metric.value - baseline) / baseline.abs()).filter(|change| change.is_finite())
}

fn words(verdict: Verdict) -> (Verdict, &'static str, &'static str, &'static str) {
    WORDS[verdict as usize]
}

fn summary(rows: &[Row<'_>]) -> String {
    let mut parts = Vec::new();
    for (verdict, _, one, many) in WORDS {
        match rows.iter().filter(|row| row.verdict == verdict).count() {
            0 => {}
            1 => parts.push(format!("1 {one}")),
            count => parts.push(format!("{count} {many}")),
        }
    }
    parts.join(", ")
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
