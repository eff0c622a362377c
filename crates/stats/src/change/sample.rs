//! Slices and medians of a few values, without allocation.

/// Returns the last `count` values, or all if there are fewer.
pub(super) fn last<T>(values: &[T], count: usize) -> &[T] {
    &values[values.len().saturating_sub(count)..]
}

/// Returns the first `count` values, or all if there are fewer.
pub(super) fn first<T>(values: &[T], count: usize) -> &[T] {
    &values[..values.len().min(count)]
}

/// Returns the median; zero if there are no values.
pub(super) fn median(values: &[f64], buffer: &mut Vec<f64>) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    buffer.clear();
    buffer.extend_from_slice(values);
    let (below, upper, _) = buffer.select_nth_unstable_by(values.len() / 2, f64::total_cmp);
    let upper = *upper;
    match values.len() % 2 {
        1 => upper,
        _ => f64::midpoint(below.iter().copied().fold(f64::NEG_INFINITY, f64::max), upper),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_have_at_most_the_given_length() {
        let values = [1.0, 2.0, 3.0];
        assert_eq!((first(&values, 2), last(&values, 2)), (&values[..2], &values[1..]));
        assert_eq!((first(&values, 9), last(&values, 9)), (&values[..], &values[..]));
    }

    #[test]
    fn the_median_is_the_middle_value() {
        let mut buffer = Vec::new();
        assert_eq!(median(&[5.0, 1.0, 3.0], &mut buffer), 3.0);
        assert_eq!(median(&[5.0, 1.0, 3.0, 4.0], &mut buffer), 3.5);
        assert_eq!(median(&[], &mut buffer), 0.0);
    }
}
