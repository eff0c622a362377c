//! Compares two sides of one benchmark: effect size, confidence interval, p-value and verdict. Each value is one run of the
//! benchmark, because values within a run are not independent.

mod baseline;
mod baseline_selection;
mod pairs;
mod peer_noise;
mod sequential;
mod simulation;

pub use baseline::{Baseline, Sampling};
pub use baseline_selection::{
    BaselineRange, LevelChange, LevelChangeStatus, MIN_ESTABLISHED_RUNS, select_baseline,
};
pub use pairs::Pairs;
pub use peer_noise::PeerNoise;
pub use simulation::regressed_runs;

use crate::{
    holm,
    model::Worse,
    moments::{deviation, mean},
    student,
    wilcoxon::{min_rank_sum_p, rank_sum},
};

/// Maximum number of values of both sides for the rank test; with more values, means are close enough to normal.
const MAX_RANKED: usize = 40;
/// Maximum autocorrelation of successive runs.
const MAX_AUTOCORRELATION: f64 = 0.9;
/// Number of pairs after which sides are the same if no run differs from another, for example in its number of instructions.
const EQUAL_PAIRS: usize = 5;
/// Differences up to this size are rounding errors.
const ROUNDING_ERROR: f64 = 1e-12;

/// Values of both sides, in the order of the runs.
#[derive(Clone, Copy, Debug)]
pub enum Samples<'a> {
    /// Runs of base and new side in pairs, in random order within a pair: the values of a pair share the state of the machine.
    /// The p-value and the interval are valid whenever the measurement stops, even if they decide when; see [`Pairs`].
    Paired(&'a [(f64, f64)]),
    /// Independent runs of base and new side.
    Independent(&'a [f64], &'a [f64]),
}

/// Criteria for a verdict.
#[derive(Clone, Copy, Debug)]
pub struct Criteria {
    /// Minimum relative change that counts.
    pub smallest_change: f64,
    /// Maximum relative difference, at either end of the confidence interval, of two sides that count as the same.
    pub same_within: f64,
}

impl Criteria {
    /// Criteria unless a user sets others: a change counts from 1 %, and sides that differ by at most 5 % are the same.
    pub const DEFAULT: Self = Self { smallest_change: 0.01, same_within: 0.05 };
}

/// Confidence level for pairs: their verdicts are monitored while they are measured, and decide without further runs.
pub const PAIRED_CONFIDENCE: f64 = 0.99;

/// Comparison of two sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Center of the base: the geometric mean, or the arithmetic mean if any value is zero or negative.
    pub base: f64,
    /// Center of the new side. For pairs, it is the base plus the center of the differences.
    pub new: f64,
    /// Relative change from base to new side; `None` if the base is zero and the new side is not.
    pub change: Option<f64>,
    /// Confidence interval of the change, if there are enough values.
    pub interval: Option<(f64, f64)>,
    /// P-value of the difference, by Student's t distribution.
    pub p: Option<f64>,
    /// P-value of the difference, by a rank test.
    rank_p: Option<f64>,
    /// Minimum p-value that the rank test can reach with this number of values.
    min_rank_p: f64,
    /// Whether an extreme difference is judged although there are too few values for the rank test.
    has_tail_test: bool,
    /// Whether the sides count as the same, if it is known without the interval.
    is_same: Option<bool>,
    /// Whether the pairs so far favor a difference, even if it is not significant.
    favors_difference: bool,
    /// Significance level of the rank test, and family-wise significance level of all comparisons that are made together.
    rank_significance: f64,
    significance: f64,
    /// Smallest detectable change, as a share; `None` if no change is detectable.
    pub detectable: Option<f64>,
}

/// Verdict of a comparison, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The new side is worse.
    Regression,
    /// The sides differ, and the worse direction is unknown.
    Difference,
    /// The new side is better.
    Improvement,
    /// There are too few values, or they vary too much.
    Inconclusive,
    /// The sides are equal within [`Criteria::same_within`].
    Unchanged,
}

/// Compares two sides. `confidence` is 1 minus the accepted share of false positives.
///
/// If all values are positive, the function compares their logarithms, so that a change is a factor and the long tail of
/// timings has less weight. For pairs, see `sequential`. For sides that were measured separately, the interval uses Student's
/// t distribution with the variances of both and the degrees of freedom of the smaller side, because Welch's degrees of
/// freedom are too many when that side is very small. The variance of the mean is multiplied by (1 + r) / (1 - r), where r is the autocorrelation of
/// successive runs on one machine; see `docs/statistics.md`.
pub fn compare(samples: Samples<'_>, confidence: f64) -> Comparison {
    let (base, new) = match samples {
        Samples::Paired(pairs) => {
            return Comparison { is_same: None, ..Pairs::of(pairs, confidence, 0.0).comparison() };
        }
        Samples::Independent(base, new) => (base, new),
    };
    let is_positive = base.iter().chain(new).all(|value| *value > 0.0);
    let (base_center, new_center) = (center(base, is_positive), center(new, is_positive));
    let scale = |values: &[f64]| -> Vec<f64> {
        values.iter().map(|value| if is_positive { value.ln() } else { *value }).collect()
    };
    let (base, new) = (scale(base), scale(new));
    let (base_mean, new_mean) = (mean(&base), mean(&new));
    // Converts a difference on the scale to a share of the base.
    let share = |step: f64| {
        if is_positive {
            Some(step.exp_m1())
        } else if base_mean != 0.0 {
            Some(step / base_mean.abs())
        } else {
            (step == 0.0).then_some(0.0)
        }
    };
    let step = Some(new_mean - base_mean).filter(|step| step.abs() > ROUNDING_ERROR).unwrap_or(0.0);
    let (mut interval, mut p) = (None, None);
    if let Some(Precision { error, freedom }) = precision(&base, &new) {
        let half_width = student::quantile(0.5 + confidence / 2.0, freedom) * error;
        interval = Some((step - half_width, step + half_width));
        p = Some(if step == 0.0 { 1.0 } else { student::two_sided(step / error, freedom) });
    }
    // The rank test matters only if the t test is significant.
    let is_ranked = base.len() + new.len() <= MAX_RANKED && p.is_some_and(|p| p <= 1.0 - confidence);
    let rank_p = is_ranked.then(|| rank_sum(&base, &new));
    let min_rank_p = min_rank_sum_p(base.len(), new.len());
    let interval = interval.and_then(|(lower, upper)| share(lower).zip(share(upper)));
    let change = if is_positive { Some(new_center / base_center - 1.0) } else { share(step) };
    let half_width = |(change, (lower, upper)): (f64, (f64, f64))| (change - lower).max(upper - change);
    Comparison {
        base: base_center,
        new: new_center,
        change,
        interval,
        p,
        rank_p,
        min_rank_p,
        has_tail_test: false,
        is_same: None,
        favors_difference: false,
        rank_significance: 1.0 - confidence,
        significance: 1.0 - confidence,
        detectable: change.zip(interval).map(half_width),
    }
}

/// Returns the verdicts on comparisons that are made together, each with its p-value corrected for their number.
///
/// The p-values are corrected by Holm's method to control the family-wise error rate. Between sides that were measured
/// separately, a change must also pass a rank test that is valid for any distribution.
pub fn verdicts(comparisons: &[(Comparison, Worse)], criteria: &Criteria) -> Vec<(Verdict, Option<f64>)> {
    // Whether a comparison is judged depends only on the number of values, so that the selection does not bias the tests.
    let p_value =
        |comparison: &Comparison| comparison.p.filter(|_| comparison.is_ranked() || comparison.has_tail_test);
    let p_values: Vec<f64> = comparisons.iter().filter_map(|(comparison, _)| p_value(comparison)).collect();
    let mut adjusted = holm::adjusted(&p_values).into_iter();
    comparisons
        .iter()
        .map(|(comparison, worse)| {
            let adjusted = p_value(comparison).and_then(|_| adjusted.next());
            let Some(p) = adjusted else { return (Verdict::Inconclusive, None) };
            let is_real = p <= comparison.significance
                && comparison.rank_p.is_none_or(|rank_p| rank_p <= comparison.rank_significance);
            let counts = comparison.change.is_none_or(|change| change.abs() >= criteria.smallest_change);
            let verdict = match worse {
                _ if !is_real || !counts => comparison.verdict_if_insignificant(criteria.same_within, counts),
                Worse::Up if comparison.new > comparison.base => Verdict::Regression,
                Worse::Down if comparison.new < comparison.base => Verdict::Regression,
                Worse::Unknown => Verdict::Difference,
                Worse::Up | Worse::Down => Verdict::Improvement,
            };
            (verdict, adjusted)
        })
        .collect()
}

impl Comparison {
    /// Whether there are enough values for the rank test to be significant.
    fn is_ranked(&self) -> bool {
        self.min_rank_p <= self.rank_significance
    }

    /// Returns the verdict if the test is not significant: the sides are the same if the confidence interval is narrow enough.
    /// While pairs favor a change that counts, further pairs decide.
    fn verdict_if_insignificant(&self, same_within: f64, counts: bool) -> Verdict {
        if self.favors_difference && counts {
            return Verdict::Inconclusive;
        }
        let is_within = |(lower, upper): (f64, f64)| lower >= -same_within && upper <= same_within;
        let is_same = self.is_same.unwrap_or_else(|| self.interval.is_some_and(is_within));
        if self.is_ranked() && is_same { Verdict::Unchanged } else { Verdict::Inconclusive }
    }
}

/// Returns the geometric or arithmetic mean. The center of equal values is exactly that value, without rounding.
fn center(values: &[f64], is_positive: bool) -> f64 {
    match values {
        [first, rest @ ..] if rest.iter().all(|value| value == first) => *first,
        _ if is_positive => mean(&values.iter().map(|value| value.ln()).collect::<Vec<_>>()).exp(),
        _ => mean(values),
    }
}

/// Precision of an estimate.
struct Precision {
    /// Standard error.
    error: f64,
    /// Degrees of freedom.
    freedom: f64,
}

fn precision(base: &[f64], new: &[f64]) -> Option<Precision> {
    let (mut variance, mut products) = (0.0, 0.0);
    for side in [base, new] {
        if side.len() < 2 {
            return None;
        }
        let center = mean(side);
        let deviation = deviation(side, center);
        variance += deviation * deviation / side.len() as f64;
        products += lag1_products(side, center, deviation);
    }
    let (count, fewest) = ((base.len() + new.len()) as f64, base.len().min(new.len()) as f64);
    let error = variance.sqrt() * error_inflation(products / (count - 2.0) + 2.0 / count);
    Some(Precision { error, freedom: fewest - 1.0 })
}

/// Returns the sum of the products of successive values, in standard deviations from their center.
fn lag1_products(values: &[f64], center: f64, deviation: f64) -> f64 {
    if deviation == 0.0 {
        return 0.0;
    }
    let products = values.windows(2).map(|pair| (pair[0] - center) * (pair[1] - center));
    products.sum::<f64>() / (deviation * deviation)
}

/// Returns the factor by which autocorrelation increases a standard error. Negative autocorrelation is ignored.
fn error_inflation(autocorrelation: f64) -> f64 {
    let r = autocorrelation.clamp(0.0, MAX_AUTOCORRELATION);
    ((1.0 + r) / (1.0 - r)).sqrt()
}

#[cfg(test)]
mod tests;
