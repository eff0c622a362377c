//! How well ranks tell two groups of values apart, whatever their distribution. Nothing here knows about levels.
//!
//! H. B. Mann and D. R. Whitney, "On a Test of Whether one of Two Random Variables is Stochastically Larger than the
//! Other" (1947).

/// Their statistic in standard deviations from what it is when both groups are alike, without its sign.
///
/// Both groups are short, so that going through all pairs is faster than sorting.
pub(super) fn separation(before: &[f64], after: &[f64]) -> f64 {
    let wins: i32 = after
        .iter()
        .map(|new| before.iter().map(|old| i32::from(new > old) - i32::from(new < old)).sum::<i32>())
        .sum();
    let (left, right) = (before.len() as f64, after.len() as f64);
    let pairs = left * right;
    if pairs == 0.0 {
        return 0.0;
    }
    f64::from(wins.abs()) * (3.0 / (pairs * (left + right + 1.0))).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From SciPy 1.17: `mannwhitneyu(a, b, method="asymptotic", use_continuity=False)`, its probability turned back
    /// into a distance by `norm.isf(p / 2)`.
    #[test]
    fn separation_agrees_with_scipy() {
        let before = [10.2, 10.5, 9.9, 10.1, 10.4, 10.0];
        let after = [10.9, 11.2, 10.6, 11.5, 10.8, 10.3];
        assert!((separation(&before, &after) - 2.562_050_460_881_394).abs() < 1e-12);
        assert_eq!(separation(&before, &after), separation(&after, &before));
        assert_eq!(separation(&before, &before), 0.0);
        assert_eq!(separation(&before, &[]), 0.0);
    }
}
