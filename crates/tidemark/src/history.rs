//! Sparklines: the history of the series of a report. One request fetches all of them; they are optional, so a failure leaves
//! them out.

use std::{collections::HashMap, time::Duration};

use tidemark_api::{
    BenchmarkUuid, MeasureUuid, PerfQuery, Report, ReportUuid, ResourceId, VariantUuid,
    perf::MAX_PERMUTATIONS,
};
use tidemark_client::{Client, series};

use crate::verdict::MetricRow;

/// Time range of the history, in seconds: one month.
const WINDOW: i64 = 30 * 24 * 60 * 60;
/// Maximum number of reports in a sparkline.
const MAX_POINTS: usize = 16;
/// Time limit of the request.
const TIMEOUT: Duration = Duration::from_secs(5);

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Newest values of each series, one per report.
#[derive(Default)]
pub(crate) struct History(HashMap<(BenchmarkUuid, Option<VariantUuid>, MeasureUuid), Vec<f64>>);

impl History {
    /// Fetches the history of the rows of a report, limited to the first rows that fit into one response.
    pub(crate) fn of(client: &Client, report: &Report, rows: &[MetricRow<'_>]) -> Self {
        let (mut benchmarks, mut measures): (Vec<BenchmarkUuid>, Vec<MeasureUuid>) = (Vec::new(), Vec::new());
        for row in rows {
            let (benchmark, measure) = (row.result.benchmark.uuid, row.measured.measure.uuid);
            let (new_benchmark, new_measure) =
                (!benchmarks.contains(&benchmark), !measures.contains(&measure));
            let permutations =
                (benchmarks.len() + usize::from(new_benchmark)) * (measures.len() + usize::from(new_measure));
            if permutations > MAX_PERMUTATIONS {
                break;
            }
            benchmarks.extend(new_benchmark.then_some(benchmark));
            measures.extend(new_measure.then_some(measure));
        }
        if benchmarks.is_empty() {
            return Self::default();
        }
        let query = PerfQuery {
            branches: report.branch.uuid.to_string(),
            heads: Some(report.branch.head.uuid.to_string()),
            testbeds: report.testbed.uuid.to_string(),
            benchmarks: list(&benchmarks),
            measures: list(&measures),
            start_time: Some(report.start_time.plus_seconds(-WINDOW).into()),
            end_time: Some(report.end_time.into()),
            ..PerfQuery::default()
        };
        let project = ResourceId::Uuid(report.project.uuid.uuid());
        let found = series::values(&client.without_retries(TIMEOUT), &project, &query).unwrap_or_default();
        Self(
            found
                .into_iter()
                .map(|series| ((series.benchmark, series.variant, series.measure), newest(&series.values)))
                .collect(),
        )
    }

    /// Returns the history of a row as bars; empty if there are too few values.
    pub(crate) fn sparkline(&self, row: &MetricRow<'_>) -> String {
        let variant = row.result.variant.as_ref().map(|variant| variant.uuid);
        let key = (row.result.benchmark.uuid, variant, row.measured.measure.uuid);
        self.0.get(&key).map_or_else(String::new, |values| bars(values))
    }
}

fn list<T: ToString>(ids: &[T]) -> String {
    ids.iter().map(T::to_string).collect::<Vec<_>>().join(",")
}

/// Returns the means of the newest reports, the oldest first. Iterations of a report are consecutive.
fn newest(values: &[(ReportUuid, f64)]) -> Vec<f64> {
    let mut reports = values.chunk_by(|left, right| left.0 == right.0).rev();
    let mean = |values: &[(ReportUuid, f64)]| {
        values.iter().map(|(_, value)| value / values.len() as f64).sum::<f64>()
    };
    let mut means: Vec<f64> = reports.by_ref().take(MAX_POINTS).map(mean).collect();
    means.reverse();
    means
}

/// Returns one bar per value: the smallest is the lowest, the largest the highest.
fn bars(values: &[f64]) -> String {
    if values.len() < 2 {
        return String::new();
    }
    let (lowest, highest) =
        values.iter().fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(*value), high.max(*value)));
    let bar = |value: &f64| {
        let share = (value - lowest) / (highest - lowest);
        // If all values are equal, the bars have medium height.
        let share = if share.is_finite() { share } else { 0.5 };
        BARS[((share * BARS.len() as f64) as usize).min(BARS.len() - 1)]
    };
    values.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_high_as_their_values() {
        assert_eq!(bars(&[1.0, 2.0, 3.0]), "▁▅█");
        assert_eq!(bars(&[5.0, 5.0]), "▅▅");
        assert_eq!(bars(&[-1.0, f64::MAX]), "▁█");
        assert_eq!(bars(&[1.0]), "");
    }

    #[test]
    fn a_report_is_one_bar() {
        let report = |number: u128| ReportUuid::from(uuid::Uuid::from_u128(number));
        let values = [(report(1), 1.0), (report(1), 3.0), (report(2), 5.0)];
        assert_eq!(newest(&values), [2.0, 5.0]);
        let many: Vec<_> = (0..40).map(|number| (report(number), number as f64)).collect();
        assert_eq!(newest(&many), (24..40).map(f64::from).collect::<Vec<_>>());
    }
}
