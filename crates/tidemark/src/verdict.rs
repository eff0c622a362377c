//! The verdict on a report: what became of each metric, the worst first, and how it is told in words and in a table.

use std::{cmp::Ordering, collections::HashMap};

use tidemark_api::{BoundaryLimit, MetricBoundary, MetricUuid, Report, ReportMeasure, ReportResult};
use tidemark_stats::Worse;

use crate::{
    history::History,
    output::{self, Color, Column, Table},
};

/// What became of a metric, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
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
pub(crate) struct Row<'a> {
    pub(crate) verdict: Verdict,
    /// By how much it is worse than expected, as a share; negative if better.
    badness: f64,
    pub(crate) result: &'a ReportResult,
    pub(crate) measured: &'a ReportMeasure,
}

/// The metrics of a report, the worst first.
pub(crate) fn rows(report: &Report) -> Vec<Row<'_>> {
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
pub(crate) fn is_repeated(report: &Report) -> bool {
    report.results.as_ref().is_some_and(|results| results.len() > 1)
}

/// The table for a terminal, and a summary.
pub(crate) fn show(report: &Report, rows: &[Row<'_>], history: &History, colors: bool) -> String {
    let several = is_repeated(report);
    let mut table = Table::new([
        Column::Left("Verdict"),
        Column::Left("Benchmark"),
        Column::Right("Iteration"),
        Column::Left("Measure"),
        Column::Right("Value"),
        Column::Right("Baseline"),
        Column::Right("Change"),
        Column::Right("Limit"),
        Column::Left("History"),
    ]);
    for row in rows {
        let color = match row.verdict {
            Verdict::Regression => Some(Color::Red),
            Verdict::Improvement => Some(Color::Green),
            _ => None,
        };
        let iteration = if several { row.result.iteration.to_string() } else { String::new() };
        table.push_colored(
            color.filter(|_| colors),
            [
                row.word().to_owned(),
                row.benchmark(),
                iteration,
                output::plain(row.measured.measure.name.as_str()),
                row.value(),
                row.baseline(),
                row.change(),
                row.limit(),
                history.sparkline(row),
            ],
        );
    }
    // A line that is broken is harder to read than one without its history.
    if let Some(width) = output::terminal_width() {
        table.fit(width);
    }
    format!("{table}\n{}.\n", summary(rows))
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

    /// Whether it crossed a limit, for better or worse.
    pub(crate) fn has_moved(&self) -> bool {
        matches!(self.verdict, Verdict::Regression | Verdict::Improvement)
    }

    /// What its verdict is called.
    pub(crate) fn word(&self) -> &'static str {
        WORDS[self.verdict as usize].1
    }

    /// The benchmark with its parameters.
    pub(crate) fn benchmark(&self) -> String {
        let parameters = self.result.variant.as_ref().map(|variant| &variant.parameters);
        output::benchmark(self.result.benchmark.name.as_str(), parameters)
    }

    /// The value in the unit in which it reads best.
    pub(crate) fn value(&self) -> String {
        output::quantity(self.measured.metric.value, self.units())
    }

    /// What was expected; empty if nothing was.
    pub(crate) fn baseline(&self) -> String {
        let baseline = self.boundary().baseline;
        baseline.map_or_else(String::new, |baseline| output::quantity(baseline, self.units()))
    }

    /// How far the value is from the baseline, in percent; empty if there is none.
    pub(crate) fn change(&self) -> String {
        change(self.measured).map_or_else(String::new, |change| format!("{} %", output::percent(change)))
    }

    /// What the value may be; empty if it may be anything.
    pub(crate) fn limit(&self) -> String {
        let MetricBoundary { lower_limit, upper_limit, .. } = self.boundary();
        output::range(lower_limit, upper_limit, self.units())
    }

    fn units(&self) -> &str {
        self.measured.measure.units.as_str()
    }

    fn boundary(&self) -> MetricBoundary {
        self.measured.boundary.unwrap_or_default()
    }
}

/// How far a value is from its baseline, as a share of it.
fn change(measured: &ReportMeasure) -> Option<f64> {
    let baseline = measured.boundary?.baseline?;
    Some((measured.metric.value - baseline) / baseline.abs()).filter(|change| change.is_finite())
}

/// How many there are of each verdict, the worst first.
pub(crate) fn summary(rows: &[Row<'_>]) -> String {
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
