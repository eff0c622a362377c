//! Statistics of series, as a summary of a history with thousands of points. The statistics are in `tidemark-stats`.

use serde_json::{Value, json};
use tidemark_api::{Perf, PerfMetric, PerfMetrics};
use tidemark_stats::{levels, median, median_absolute_deviation, noise};

/// Maximum number of points that are searched for changes of level.
const MAX_POINTS: usize = 256;

/// Returns the statistics of every series of a response.
pub(super) fn of(perf: &Perf) -> Value {
    let series: Vec<_> = perf.results.iter().map(of_series).collect();
    json!({ "project": perf.project.slug, "series": series })
}

fn of_series(series: &PerfMetrics) -> Value {
    let values: Vec<f64> = series.metrics.iter().map(|metric| metric.metric.value).collect();
    let center = median(&values);
    let noise = noise(&values);
    let (first_half, second_half) = values.split_at(values.len() / 2);
    let trend = share(median(first_half), median(second_half));
    json!({
        "branch": { "name": series.branch.name, "uuid": series.branch.uuid, "head": series.branch.head.uuid },
        "testbed": { "name": series.testbed.name, "uuid": series.testbed.uuid },
        "benchmark": { "name": series.benchmark.name, "uuid": series.benchmark.uuid },
        "parameters": series.variant.as_ref().map(|variant| json!(variant.parameters)),
        "measure": {
            "name": series.measure.name, "uuid": series.measure.uuid, "units": series.measure.units,
            "direction": series.measure.direction,
        },
        "count": values.len(),
        "first": series.metrics.first().map(point),
        "last": series.metrics.last().map(point),
        "min": values.iter().copied().reduce(f64::min),
        "max": values.iter().copied().reduce(f64::max),
        "median": center,
        "median_deviation": median_absolute_deviation(&values),
        "noise_percent": percent(noise.zip(center).map(|(noise, center)| noise / center.abs())),
        "second_half_against_first_percent": percent(trend),
        "last_change": last_change(&series.metrics, &values),
        "alerts": {
            "total": series.metrics.iter().filter(|metric| metric.alert.is_some()).count(),
            "newest": series.metrics.iter().rev().find_map(|metric| metric.alert).map(|alert| alert.uuid),
        },
    })
}

/// Returns the last change of level.
fn last_change(metrics: &[PerfMetric], values: &[f64]) -> Option<Value> {
    let skipped = values.len().saturating_sub(MAX_POINTS);
    let levels = levels(&values[skipped..]);
    let [.., before, after] = levels.as_slice() else { return None };
    let since = metrics.get(skipped + after.start)?;
    Some(json!({
        "since": point(since),
        "before": before.median,
        "after": after.median,
        "change_percent": percent(share(Some(before.median), Some(after.median))),
    }))
}

/// Returns a value with its position in the history.
pub(super) fn point(metric: &PerfMetric) -> Value {
    json!({
        "value": metric.metric.value,
        "version": metric.version.number,
        "hash": metric.version.hash,
        "start_time": metric.start_time,
        "report": metric.report,
    })
}

/// Returns the relative difference of the second value from the first.
pub(super) fn share(from: Option<f64>, to: Option<f64>) -> Option<f64> {
    let (from, to) = (from?, to?);
    (from != 0.0).then(|| (to - from) / from.abs())
}

/// Returns a share in percent, rounded to three decimal places.
pub(super) fn percent(share: Option<f64>) -> Option<f64> {
    share.filter(|share| share.is_finite()).map(|share| (share * 100_000.0).round() / 1000.0)
}
