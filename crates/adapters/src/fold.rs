//! Folds several metrics of the same benchmark and measure into one, including ranges that only some of them have.

use std::cmp::Ordering;

use tidemark_api::Fold;

use crate::MetricRef;

/// Folds the metrics of several results, at least one, for the same benchmark and measure.
pub fn fold(mut metrics: Vec<MetricRef<'_>>, fold: Fold) -> MetricRef<'_> {
    if fold == Fold::Mean {
        return mean(&metrics);
    }
    metrics.sort_by(|left, right| compare(left, right));
    let (middle, last) = (metrics.len() / 2, metrics.len() - 1);
    match fold {
        Fold::Median if metrics.len().is_multiple_of(2) => mean(&metrics[middle - 1..=middle]),
        Fold::Median => metrics[middle],
        Fold::Max => metrics[last],
        Fold::Min | Fold::Mean => metrics[0],
    }
}

/// Orders by value, then by upper and lower end of the range; a missing end comes first.
fn compare(a: &MetricRef<'_>, b: &MetricRef<'_>) -> Ordering {
    let bound = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        (a, b) => a.is_some().cmp(&b.is_some()),
    };
    let values = a.value.total_cmp(&b.value);
    values.then(bound(a.upper_value, b.upper_value)).then(bound(a.lower_value, b.lower_value))
}

/// Computes the mean of the values and of the range ends. If only some metrics have an end, the value replaces a missing one.
fn mean<'a>(metrics: &[MetricRef<'a>]) -> MetricRef<'a> {
    let bounds = |bound: fn(&MetricRef<'_>) -> Option<f64>| {
        metrics
            .iter()
            .any(|metric| bound(metric).is_some())
            .then(|| mean_of(metrics.iter().map(|metric| bound(metric).unwrap_or(metric.value))))
    };
    MetricRef {
        value: mean_of(metrics.iter().map(|metric| metric.value)),
        lower_value: bounds(|metric| metric.lower_value),
        upper_value: bounds(|metric| metric.upper_value),
        ..metrics[0]
    }
}

/// Computes the mean of finite numbers, with Neumaier's compensated summation.
pub(crate) fn mean_of(numbers: impl ExactSizeIterator<Item = f64> + Clone) -> f64 {
    let count = numbers.len() as f64;
    let (mut sum, mut lost) = (0.0_f64, 0.0_f64);
    for number in numbers.clone() {
        let next = sum + number;
        lost += if sum.abs() >= number.abs() { (sum - next) + number } else { (number - next) + sum };
        sum = next;
    }
    let mean = (sum + lost) / count;
    // The sum of very large numbers can overflow although their mean does not.
    if mean.is_finite() { mean } else { numbers.map(|number| number / count).sum() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ParsedMetric;

    /// Folds by minimum, maximum, mean and median.
    fn folded(metrics: &[ParsedMetric]) -> Vec<String> {
        let show = |metric: MetricRef<'_>| {
            let bound = |bound: Option<f64>| bound.map_or_else(|| "-".to_owned(), |bound| bound.to_string());
            let (lower, upper) = (bound(metric.lower_value), bound(metric.upper_value));
            format!("{} [{lower}, {upper}]", metric.value)
        };
        Fold::ALL
            .iter()
            .map(|how| show(fold(metrics.iter().map(ParsedMetric::as_ref).collect(), *how)))
            .collect()
    }

    #[test]
    fn values_are_folded_by_each_method() {
        let values =
            |values: &[f64]| values.iter().map(|value| ParsedMetric::latency(*value)).collect::<Vec<_>>();
        assert_eq!(
            folded(&values(&[10.0, 14.0, 12.0])),
            ["10 [-, -]", "14 [-, -]", "12 [-, -]", "12 [-, -]"]
        );
        assert_eq!(folded(&values(&[10.0, 14.0])), ["10 [-, -]", "14 [-, -]", "12 [-, -]", "12 [-, -]"]);
        assert_eq!(folded(&values(&[10.0])), ["10 [-, -]"; 4]);
    }

    #[test]
    fn the_value_replaces_a_missing_range_end() {
        let lower = ParsedMetric { lower_value: Some(8.0), ..ParsedMetric::latency(10.0) };
        assert_eq!(
            folded(&[lower, ParsedMetric::latency(20.0)]),
            ["10 [8, -]", "20 [-, -]", "15 [14, -]", "15 [14, -]"]
        );
    }

    #[test]
    fn equal_values_are_ordered_by_their_ends() {
        let plain = ParsedMetric::latency(1.0);
        let upper = ParsedMetric { upper_value: Some(2.0), ..plain.clone() };
        let both = ParsedMetric { lower_value: Some(0.5), ..upper.clone() };
        assert_eq!(
            folded(&[both, plain, upper]),
            ["1 [-, -]", "1 [0.5, 2]", "1 [0.8333333333333334, 1.6666666666666667]", "1 [-, 2]"]
        );
    }

    #[test]
    fn means_neither_overflow_nor_lose_digits() {
        let max = ParsedMetric::latency(f64::MAX);
        assert_eq!(fold(vec![max.as_ref(), max.as_ref()], Fold::Mean), max.as_ref());
        assert_eq!(mean_of([1e100, 1.0, -1e100, 1.0].into_iter()), 0.5);
    }
}
