//! Wilcoxon's rank-sum test, exact even with ties: the p-value under the hypothesis that both sides have the same distribution.
//! It does not assume normality.

/// Returns the two-sided p-value of the rank-sum test of two independent samples.
pub(crate) fn rank_sum(base: &[f64], new: &[f64]) -> f64 {
    let ranks = doubled_ranks(&[base, new].concat());
    let total: usize = ranks.iter().sum();
    // Number of subsets of each size for each sum of their ranks.
    let mut counts = vec![vec![0.0; total + 1]; new.len() + 1];
    counts[0][0] = 1.0;
    let mut reached = 0;
    for rank in &ranks {
        reached += rank;
        for chosen in (1..=new.len()).rev() {
            for sum in *rank..=reached {
                counts[chosen][sum] += counts[chosen - 1][sum - rank];
            }
        }
    }
    two_sided(&counts[new.len()], ranks[base.len()..].iter().sum())
}

/// Returns the minimum p-value of [`rank_sum`].
pub(crate) fn min_rank_sum_p(base: usize, new: usize) -> f64 {
    let choices = (1..=new).fold(1.0, |choices, k| choices * (base + k) as f64 / k as f64);
    (2.0 / choices).min(1.0)
}

/// Returns twice the smaller tail probability of a sum; both tails include the sum.
fn two_sided(counts: &[f64], at: usize) -> f64 {
    let all: f64 = counts.iter().sum();
    let below: f64 = counts[..=at].iter().sum();
    let above: f64 = counts[at..].iter().sum();
    (2.0 * below.min(above) / all).min(1.0)
}

/// Returns twice the rank of each value; doubling makes the mean rank of ties an integer.
fn doubled_ranks(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|left, right| values[*left].total_cmp(&values[*right]));
    let mut ranks = vec![0; values.len()];
    let mut first = 0;
    while first < order.len() {
        let ties = order[first..].iter().take_while(|index| values[**index] == values[order[first]]).count();
        for index in &order[first..first + ties] {
            ranks[*index] = 2 * first + ties + 1;
        }
        first += ties;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_close(actual: f64, expected: f64) {
        assert!((actual - expected).abs() <= 1e-14, "{actual} instead of {expected}");
    }

    #[test]
    fn ties_share_their_mean_rank() {
        assert_eq!(doubled_ranks(&[3.0, 1.0, 2.0, 1.0]), [8, 3, 6, 3]);
        assert_eq!(doubled_ranks(&[]), [0; 0]);
    }

    /// From SciPy 1.17: `mannwhitneyu(a, b, method="exact")`; with ties, by enumeration
    /// with `itertools` and `rankdata`.
    #[test]
    fn tests_agree_with_scipy() {
        let base = [10.2, 10.5, 9.9, 10.1, 10.4, 10.0];
        let new = [10.9, 11.2, 10.6, 11.5, 10.8, 10.3];
        assert_close(rank_sum(&base, &new), 0.008_658_008_658_008_658);
        assert_close(rank_sum(&new, &base), 0.008_658_008_658_008_658);
        assert_close(rank_sum(&[1.0, 1.0, 2.0, 2.0], &[2.0, 3.0, 3.0, 3.0, 1.0]), 0.238_095_238_095_238_08);
    }

    #[test]
    fn equal_values_have_a_p_value_of_one() {
        assert_close(rank_sum(&[5.0; 4], &[5.0; 6]), 1.0);
    }

    #[test]
    fn separated_sides_reach_the_minimum_p_value() {
        assert_close(rank_sum(&[1.0; 4], &[2.0; 5]), min_rank_sum_p(4, 5));
        assert_close(min_rank_sum_p(4, 4), 2.0 / 70.0);
    }
}
