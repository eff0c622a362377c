//! Rank test between two groups of values, independent of their distribution.
//!
//! H. B. Mann and D. R. Whitney, "On a Test of Whether one of Two Random Variables is Stochastically Larger than the Other"
//! (1947).

/// Returns the absolute Mann-Whitney statistic in standard deviations from its mean under the null hypothesis.
///
/// The groups contain ranks in a longer series. Both are short, so comparing all pairs is faster than sorting, and ranks are
/// small integers, of which a processor compares several at once.
pub(super) fn statistic(before: &[i16], after: &[i16]) -> f64 {
    let wins: i32 = after
        .iter()
        .map(|new| {
            let wins: i16 = before.iter().map(|old| i16::from(new > old) - i16::from(new < old)).sum();
            i32::from(wins)
        })
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

    /// From SciPy 1.17: `mannwhitneyu(a, b, method="asymptotic", use_continuity=False)`; `norm.isf(p / 2)` converts the
    /// p-value to standard deviations.
    #[test]
    fn the_statistic_agrees_with_scipy() {
        let (before, after) = ([102, 105, 99, 101, 104, 100], [109, 112, 106, 115, 108, 103]);
        assert!((statistic(&before, &after) - 2.562_050_460_881_394).abs() < 1e-12);
        assert_eq!(statistic(&before, &after), statistic(&after, &before));
        assert_eq!(statistic(&before, &before), 0.0);
        assert_eq!(statistic(&before, &[]), 0.0);
    }
}
