//! Averages of samples, for tools whose output contains the samples instead of averages.

use crate::fold::mean_of;

/// Returns the mean and the sample standard deviation, which is zero for a single value.
pub(crate) fn mean(values: &[f64]) -> (f64, f64) {
    let mean = mean_of(values.iter().copied());
    let variance = mean_of(values.iter().map(|value| (value - mean).powi(2)));
    let count = values.len() as f64;
    (mean, (variance * count / (count - 1.0).max(1.0)).sqrt())
}

/// Returns the median and the median absolute deviation.
pub(crate) fn median(mut values: Vec<f64>) -> (f64, f64) {
    let median = middle(&mut values);
    for value in &mut values {
        *value = (*value - median).abs();
    }
    (median, middle(&mut values))
}

/// Sorts the values, at least one, and returns the median.
fn middle(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let upper = values.len() / 2;
    if values.len().is_multiple_of(2) {
        mean_of(values[upper - 1..=upper].iter().copied())
    } else {
        values[upper]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages_have_their_spread() {
        assert_eq!(mean(&[1.0, 3.0]), (2.0, 2.0_f64.sqrt()));
        assert_eq!(mean(&[5.0]), (5.0, 0.0));
        assert_eq!(median(vec![10.0, 1.0, 3.0, 2.0]), (2.5, 1.0));
    }
}
