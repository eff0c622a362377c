//! Folding: several results of the same benchmarks become one. What a missing range counts as is decided here.

use std::cmp::Ordering;

use tidemark_api::Fold;

use crate::{Entry, Measured, Results, results::group};

/// Makes one result of several. A metric that some of them lack is folded over those that have it.
pub fn fold(results: Vec<Results>, fold: Fold) -> Results {
    let entries: Vec<Entry> = results.into_iter().flat_map(|results| results.entries).collect();
    let (groups, count) = group(entries.iter().map(Entry::key));
    let mut folded: Vec<Entry> = Vec::with_capacity(count);
    for (entry, group) in entries.into_iter().zip(groups) {
        match folded.get_mut(group) {
            None => folded.push(entry),
            Some(first) => {
                first.ignored |= entry.ignored;
                first.metrics.extend(entry.metrics);
            }
        }
    }
    for entry in &mut folded {
        let (groups, count) = group(entry.metrics.iter().map(|metric| &metric.measure));
        let mut measures: Vec<Vec<Measured>> = vec![Vec::new(); count];
        for (metric, group) in entry.metrics.drain(..).zip(groups) {
            measures[group].push(metric);
        }
        entry.metrics = measures.into_iter().map(|metrics| one(metrics, fold)).collect();
    }
    Results { entries: folded }
}

/// Folds the metrics of one measure, of which there is at least one.
fn one(mut metrics: Vec<Measured>, fold: Fold) -> Measured {
    if fold == Fold::Mean {
        return mean(&metrics);
    }
    metrics.sort_by(compare);
    let middle = metrics.len() / 2;
    match fold {
        Fold::Median if metrics.len().is_multiple_of(2) => mean(&metrics[middle - 1..=middle]),
        Fold::Median => metrics.swap_remove(middle),
        Fold::Max => metrics.swap_remove(metrics.len() - 1),
        Fold::Min | Fold::Mean => metrics.swap_remove(0),
    }
}

/// Orders by value, then by upper and lower end, where none comes first.
fn compare(a: &Measured, b: &Measured) -> Ordering {
    let bound = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        (a, b) => a.is_some().cmp(&b.is_some()),
    };
    let values = a.value.total_cmp(&b.value);
    values.then(bound(a.upper_value, b.upper_value)).then(bound(a.lower_value, b.lower_value))
}

/// The mean of values and of ends. Where only some have an end, the value stands in for it.
fn mean(metrics: &[Measured]) -> Measured {
    let bounds = |bound: fn(&Measured) -> Option<f64>| {
        metrics
            .iter()
            .any(|metric| bound(metric).is_some())
            .then(|| mean_of(metrics.iter().map(|metric| bound(metric).unwrap_or(metric.value))))
    };
    Measured {
        value: mean_of(metrics.iter().map(|metric| metric.value)),
        lower_value: bounds(|metric| metric.lower_value),
        upper_value: bounds(|metric| metric.upper_value),
        ..metrics[0].clone()
    }
}

/// The mean of finite numbers, with Neumaier's compensation of what each addition loses.
pub(crate) fn mean_of(numbers: impl ExactSizeIterator<Item = f64> + Clone) -> f64 {
    let count = numbers.len() as f64;
    let (mut sum, mut lost) = (0.0_f64, 0.0_f64);
    for number in numbers.clone() {
        let next = sum + number;
        lost += if sum.abs() >= number.abs() { (sum - next) + number } else { (number - next) + sum };
        sum = next;
    }
    let mean = (sum + lost) / count;
    // Sums of the largest numbers overflow, their mean does not.
    if mean.is_finite() { mean } else { numbers.map(|number| number / count).sum() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Place;

    fn result(metrics: &[Measured]) -> Results {
        let entry = |metric: &Measured| Entry::new(|| Place::Line(1), "a", vec![metric.clone()]).unwrap();
        Results { entries: metrics.iter().map(entry).collect() }
    }

    fn folded(metrics: &[&[Measured]]) -> Vec<String> {
        let results: Vec<_> = metrics.iter().map(|metrics| result(metrics)).collect();
        Fold::ALL
            .iter()
            .map(|how| fold(results.clone(), *how).to_string().replace("a latency ", ""))
            .collect()
    }

    #[test]
    fn each_fold_of_values() {
        let value = |value| [Measured::latency(value)];
        assert_eq!(folded(&[&value(10.0), &value(14.0), &value(12.0)]), ["10\n", "14\n", "12\n", "12\n"]);
        assert_eq!(folded(&[&value(10.0), &value(14.0)]), ["10\n", "14\n", "12\n", "12\n"]);
        assert_eq!(folded(&[]), ["", "", "", ""]);
    }

    #[test]
    fn a_mean_counts_only_where_a_benchmark_occurs() {
        assert_eq!(
            folded(&[&[Measured::latency(10.0)], &[], &[Measured::latency(14.0)]]),
            ["10\n", "14\n", "12\n", "12\n"]
        );
    }

    #[test]
    fn a_missing_end_is_the_value_if_another_has_one() {
        let lower = Measured { lower_value: Some(8.0), ..Measured::latency(10.0) };
        assert_eq!(
            folded(&[&[lower], &[Measured::latency(20.0)]]),
            ["10 [8, -]\n", "20\n", "15 [14, -]\n", "15 [14, -]\n"]
        );
    }

    #[test]
    fn equal_values_are_ordered_by_their_ends() {
        let plain = Measured::latency(1.0);
        let upper = Measured { upper_value: Some(2.0), ..plain.clone() };
        let both = Measured { lower_value: Some(0.5), ..upper.clone() };
        assert_eq!(
            folded(&[&[both], &[plain], &[upper]]),
            ["1\n", "1 [0.5, 2]\n", "1 [0.8333333333333334, 1.6666666666666667]\n", "1 [-, 2]\n"]
        );
    }

    #[test]
    fn means_neither_overflow_nor_lose_digits() {
        let max = result(&[Measured::latency(f64::MAX)]);
        assert_eq!(fold(vec![max.clone(), max.clone()], Fold::Mean), max);
        assert_eq!(mean_of([1e100, 1.0, -1e100, 1.0].into_iter()), 0.5);
    }
}
