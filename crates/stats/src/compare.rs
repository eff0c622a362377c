//! Compares two sides of one benchmark: effect size, confidence interval, p-value and verdict. Each value is one run of the
//! benchmark, because values within a run are not independent.

mod baseline;
mod baseline_selection;
mod peers;
mod simulation;

pub use baseline::{Baseline, Sampling};
pub use baseline_selection::{BaselineRange, ESTABLISHED, LevelChange, LevelChangeStatus, select_baseline};
pub use peers::PeerNoise;
pub use simulation::regressed_runs;

use crate::{
    holm,
    model::Worse,
    moments::{deviation, mean},
    student,
    wilcoxon::{rank_sum, signed_rank, smallest_rank_sum, smallest_signed_rank},
};

/// Maximum number of values of both sides for the rank test; with more values, means are close enough to normal.
const RANKED: usize = 40;
/// Maximum autocorrelation of successive runs.
const CLOSEST: f64 = 0.9;
/// Differences up to this size are rounding errors.
const ROUNDING: f64 = 1e-12;

/// Values of both sides, in the order of the runs.
#[derive(Clone, Copy, Debug)]
pub enum Samples<'a> {
    /// Interleaved runs of base and new side: the values of a pair share the state of the machine.
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

/// Comparison of two sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Center of the base: the geometric mean, or the arithmetic mean if any value is zero or negative.
    pub base: f64,
    /// Center of the new side.
    pub new: f64,
    /// Relative change from base to new side; `None` if the base is zero and the new side is not.
    pub change: Option<f64>,
    /// Confidence interval of the change, if there are enough values.
    pub interval: Option<(f64, f64)>,
    /// P-value of the difference, by Student's t distribution.
    pub p: Option<f64>,
    /// P-value of the difference, by a rank test.
    ranks: Option<f64>,
    /// Minimum p-value that the rank test can reach with this number of values.
    smallest: f64,
    /// Whether an extreme difference is judged although there are too few values for the rank test.
    has_tail: bool,
    /// Significance level of the rank test, and family-wise significance level of all comparisons that are made together.
    rank_chance: f64,
    chance: f64,
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
/// timings has less weight. The interval uses Student's t distribution. For sides that were measured separately it uses the
/// variances of both and the degrees of freedom of the smaller side, because Welch's degrees of freedom are too many when
/// that side is very small. The variance of the mean is multiplied by (1 + r) / (1 - r), where r is the autocorrelation of
/// successive runs on one machine; see `docs/statistics.md`.
pub fn compare(samples: Samples<'_>, confidence: f64) -> Comparison {
    let (base, new): (Vec<f64>, Vec<f64>) = match samples {
        Samples::Paired(pairs) => pairs.iter().copied().unzip(),
        Samples::Independent(base, new) => (base.to_vec(), new.to_vec()),
    };
    let is_positive = base.iter().chain(&new).all(|value| *value > 0.0);
    let (base_center, new_center) = (center(&base, is_positive), center(&new, is_positive));
    let scale = |values: &[f64]| -> Vec<f64> {
        values.iter().map(|value| if is_positive { value.ln() } else { *value }).collect()
    };
    let (base, new) = (scale(&base), scale(&new));
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
    let differences: Vec<f64> = base.iter().zip(&new).map(|(base, new)| new - base).collect();
    let spread = match samples {
        Samples::Paired(_) => of_pairs(&differences),
        Samples::Independent(..) => of_sides(&base, &new),
    };
    let step = Some(new_mean - base_mean).filter(|step| step.abs() > ROUNDING).unwrap_or(0.0);
    let (mut interval, mut p) = (None, None);
    if let Some(Spread { error, freedom }) = spread {
        let reach = student::quantile(0.5 + confidence / 2.0, freedom) * error;
        interval = share(step - reach).zip(share(step + reach));
        p = Some(if step == 0.0 { 1.0 } else { student::two_sided(step / error, freedom) });
    }
    // The rank test matters only if the t test is significant.
    let is_ranked = base.len() + new.len() <= RANKED && p.is_some_and(|p| p <= 1.0 - confidence);
    let (ranks, smallest) = match samples {
        Samples::Paired(_) => {
            (is_ranked.then(|| signed_rank(&differences)), smallest_signed_rank(differences.len()))
        }
        Samples::Independent(..) => {
            (is_ranked.then(|| rank_sum(&base, &new)), smallest_rank_sum(base.len(), new.len()))
        }
    };
    let change = if is_positive { Some(new_center / base_center - 1.0) } else { share(step) };
    let reach = |(change, (lower, upper)): (f64, (f64, f64))| (change - lower).max(upper - change);
    Comparison {
        base: base_center,
        new: new_center,
        change,
        interval,
        p,
        ranks,
        smallest,
        has_tail: false,
        rank_chance: 1.0 - confidence,
        chance: 1.0 - confidence,
        detectable: change.zip(interval).map(reach),
    }
}

/// Returns the verdicts on comparisons that are made together, each with its p-value corrected for their number.
///
/// A change must pass two tests: Student's, corrected by Holm's method to control the family-wise error rate; and,
/// separately, a rank test that is valid for any distribution.
pub fn verdicts(comparisons: &[(Comparison, Worse)], criteria: &Criteria) -> Vec<(Verdict, Option<f64>)> {
    // Whether a comparison is judged depends only on the number of values, so that the selection does not bias the tests.
    let enough =
        |comparison: &Comparison| comparison.p.filter(|_| comparison.is_ranked() || comparison.has_tail);
    let judged: Vec<f64> = comparisons.iter().filter_map(|(comparison, _)| enough(comparison)).collect();
    let mut adjusted = holm::adjusted(&judged).into_iter();
    comparisons
        .iter()
        .map(|(comparison, worse)| {
            let adjusted = enough(comparison).and_then(|_| adjusted.next());
            let Some(p) = adjusted else { return (Verdict::Inconclusive, None) };
            let is_real = p <= comparison.chance
                && comparison.ranks.is_none_or(|ranks| ranks <= comparison.rank_chance);
            let counts = comparison.change.is_none_or(|change| change.abs() >= criteria.smallest_change);
            let verdict = match worse {
                _ if !is_real || !counts => comparison.unless_it_changed(criteria.same_within),
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
        self.smallest <= self.rank_chance
    }

    /// Returns the verdict if the test is not significant: the sides are the same if the confidence interval is narrow
    /// enough.
    fn unless_it_changed(&self, same_within: f64) -> Verdict {
        match self.interval {
            Some((lower, upper)) if self.is_ranked() && lower >= -same_within && upper <= same_within => {
                Verdict::Unchanged
            }
            _ => Verdict::Inconclusive,
        }
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
struct Spread {
    /// Standard error.
    error: f64,
    /// Degrees of freedom.
    freedom: f64,
}

fn of_pairs(differences: &[f64]) -> Option<Spread> {
    let count = differences.len() as f64;
    if count < 2.0 {
        return None;
    }
    let (center, deviation) = (mean(differences), deviation(differences, mean(differences)));
    let following = following(differences, center, deviation) / (count - 1.0) + 1.0 / count;
    let error = deviation / count.sqrt() * widening(following);
    Some(Spread { error, freedom: count - 1.0 })
}

fn of_sides(base: &[f64], new: &[f64]) -> Option<Spread> {
    let (mut variance, mut followed) = (0.0, 0.0);
    for side in [base, new] {
        if side.len() < 2 {
            return None;
        }
        let center = mean(side);
        let deviation = deviation(side, center);
        variance += deviation * deviation / side.len() as f64;
        followed += following(side, center, deviation);
    }
    let (count, fewest) = ((base.len() + new.len()) as f64, base.len().min(new.len()) as f64);
    let error = variance.sqrt() * widening(followed / (count - 2.0) + 2.0 / count);
    Some(Spread { error, freedom: fewest - 1.0 })
}

/// Returns the sum of the products of successive values, in standard deviations from their center.
fn following(values: &[f64], center: f64, deviation: f64) -> f64 {
    if deviation == 0.0 {
        return 0.0;
    }
    let products = values.windows(2).map(|pair| (pair[0] - center) * (pair[1] - center));
    products.sum::<f64>() / (deviation * deviation)
}

/// Returns the factor by which autocorrelation increases a standard error. Negative autocorrelation is ignored.
fn widening(following: f64) -> f64 {
    let r = following.clamp(0.0, CLOSEST);
    ((1.0 + r) / (1.0 - r)).sqrt()
}

#[cfg(test)]
mod tests;
