//! Mean and standard deviation with compensated summation.

/// Returns the arithmetic mean; it is not finite if the sum is not.
///
/// The rounded mean is corrected by the remainder of the exact sum. The mean of equal values is therefore exactly that value,
/// so that a constant history has a standard deviation of zero.
pub(crate) fn mean(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let (total, error) = sum(values, |value| value);
    let rounded = (total + error) / count;
    let product = rounded * count;
    let product_error = rounded.mul_add(count, -product);
    rounded + ((total - product) + (error - product_error)) / count
}

/// Returns the sample standard deviation around the mean, with n − 1 in the denominator, in two passes: it sums squared
/// differences and never subtracts squares from each other.
pub(crate) fn deviation(values: &[f64], mean: f64) -> f64 {
    let (total, error) = sum(values, |value| (value - mean) * (value - mean));
    ((total + error) / (values.len() as f64 - 1.0)).sqrt()
}

/// Number of parallel sums: an addition depends on the previous one of the same sum, but not on the other sums.
const LANES: usize = 4;

/// Sums `each` over the values, and returns the sum and the accumulated rounding error.
///
/// D. E. Knuth's TwoSum for each addition; T. Ogita, S. M. Rump and S. Oishi, "Accurate Sum and Dot Product" (2005),
/// algorithm Sum2. The total of both parts is as accurate as a sum in twice the working precision, in any order.
fn sum(values: &[f64], each: impl Fn(f64) -> f64) -> (f64, f64) {
    let (mut totals, mut errors) = ([0.0; LANES], [0.0; LANES]);
    let (rows, rest) = values.as_chunks::<LANES>();
    for row in rows {
        for lane in 0..LANES {
            add(&mut totals[lane], &mut errors[lane], each(row[lane]));
        }
    }
    let (mut total, mut error) = (0.0, errors.into_iter().sum());
    for value in totals.into_iter().chain(rest.iter().map(|value| each(*value))) {
        add(&mut total, &mut error, value);
    }
    (total, error)
}

#[inline]
fn add(total: &mut f64, error: &mut f64, value: f64) {
    let next = *total + value;
    let taken = next - *total;
    *error += (*total - (next - taken)) + (value - taken);
    *total = next;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_values_are_not_lost_in_large_sums() {
        assert_eq!(mean(&[1e16, 1.0, -1e16, 1.0]), 0.5);
        assert_eq!(mean(&[1.0, 1e100, 1.0, -1e100]), 0.5);
    }

    #[test]
    fn equal_values_have_an_exact_mean_and_no_deviation() {
        for value in [0.1, 1.0 / 3.0, 1e-300, 12_345.678_9, 2.2e300, -0.7] {
            for count in 1..200 {
                let values = vec![value; count];
                assert_eq!(mean(&values), value, "{count} times {value}");
                assert!(count < 2 || deviation(&values, value) == 0.0);
            }
        }
    }

    #[test]
    fn a_large_offset_loses_no_digits() {
        let offset = [1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0];
        assert_eq!(mean(&offset), 1e9 + 10.0);
        assert_eq!(deviation(&offset, 1e9 + 10.0), 30.0_f64.sqrt());
    }
}
