//! Two sides of one benchmark: how far apart they are, how sure that is, and what it amounts to. Each value is one run
//! of the benchmark, as values from within a run say nothing about the next one.

mod baseline;
mod peers;
mod persisting;
mod simulation;

pub use baseline::{Baseline, Sampling};
pub use peers::Peers;
pub use persisting::{Cut, CutKind, ESTABLISHED, Settled, settled};
pub use simulation::regressed_runs;

use crate::{
    holm,
    model::Worse,
    moments::{deviation, mean},
    student,
    wilcoxon::{rank_sum, signed_rank, smallest_rank_sum, smallest_signed_rank},
};

/// The most values of both sides for which ranks are looked at; with more, means are close enough to normal.
const RANKED: usize = 40;
/// The closest that runs are taken to follow each other.
const CLOSEST: f64 = 0.9;
/// A change that is only rounding.
const ROUNDING: f64 = 1e-12;

/// What was measured on both sides, in the order of the runs.
#[derive(Clone, Copy, Debug)]
pub enum Samples<'a> {
    /// Base and new side measured in turn: the values of a pair share what the machine did at the time.
    Pairs(&'a [(f64, f64)]),
    /// Base and new side measured each for itself.
    Apart(&'a [f64], &'a [f64]),
}

/// What it takes to call something a change.
#[derive(Clone, Copy, Debug)]
pub struct Criteria {
    /// The smallest share that counts as a change.
    pub smallest_change: f64,
    /// How close to each other two sides must be known to be to call them the same, as a share.
    pub same_within: f64,
}

/// How two sides compare.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// The center of the base: the geometric mean, or the mean if a value is not above zero.
    pub base: f64,
    /// The center of the new side.
    pub new: f64,
    /// By which share of the base the new side differs; none if the base is zero and the new side is not.
    pub change: Option<f64>,
    /// The ends of the confidence interval of the change, where there are values enough for one.
    pub interval: Option<(f64, f64)>,
    /// How likely a difference like this is when nothing has changed, by Student's t distribution.
    pub p: Option<f64>,
    /// The same by ranks.
    ranks: Option<f64>,
    /// The least that ranks can come to with so many values.
    smallest: f64,
    /// Whether a difference far beyond all values is judged, though there are too few of them for ranks.
    has_tail: bool,
    /// How often ranks may be wrong, and how often all comparisons that are made together may raise any false alarm.
    rank_chance: f64,
    chance: f64,
    /// The smallest change that would have been seen, as a share; none where no change can be.
    pub detectable: Option<f64>,
}

/// What a comparison amounts to, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The new side is worse.
    Regression,
    /// The sides differ, and nobody has said which direction is worse.
    Difference,
    /// The new side is better.
    Improvement,
    /// There are too few values, or they vary too much, to tell.
    Unclear,
    /// The sides are the same, as far as it matters.
    Same,
}

/// Compares two sides. `confidence` is how sure to be: 1 minus the share of comparisons that may raise an alarm though
/// nothing has changed.
///
/// Where all values are above zero it is their logarithms that are compared, so that a change is a factor and the long
/// tail of timings loses its weight. The interval is that of Student's t distribution. For sides that were measured
/// apart it has the variances of both and the degrees of freedom of the smaller one, because Welch's own number is too
/// great when that is very small. The variance of the mean is widened by (1 + r) / (1 - r), where r is how closely a run
/// follows the one before it, as runs on one machine do; see `docs/statistics.md`.
pub fn compare(samples: Samples<'_>, confidence: f64) -> Comparison {
    let (base, new): (Vec<f64>, Vec<f64>) = match samples {
        Samples::Pairs(pairs) => pairs.iter().copied().unzip(),
        Samples::Apart(base, new) => (base.to_vec(), new.to_vec()),
    };
    let is_positive = base.iter().chain(&new).all(|value| *value > 0.0);
    let (base_center, new_center) = (center(&base, is_positive), center(&new, is_positive));
    let scale = |values: &[f64]| -> Vec<f64> {
        values.iter().map(|value| if is_positive { value.ln() } else { *value }).collect()
    };
    let (base, new) = (scale(&base), scale(&new));
    let (base_mean, new_mean) = (mean(&base), mean(&new));
    // From a distance on the scale to a share of the base.
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
        Samples::Pairs(_) => of_pairs(&differences),
        Samples::Apart(..) => of_sides(&base, &new),
    };
    let step = Some(new_mean - base_mean).filter(|step| step.abs() > ROUNDING).unwrap_or(0.0);
    let (mut interval, mut p) = (None, None);
    if let Some(Spread { error, freedom }) = spread {
        let reach = student::quantile(0.5 + confidence / 2.0, freedom) * error;
        interval = share(step - reach).zip(share(step + reach));
        p = Some(if step == 0.0 { 1.0 } else { student::two_sided(step / error, freedom) });
    }
    // Ranks matter only where the other test has found something.
    let is_ranked = base.len() + new.len() <= RANKED && p.is_some_and(|p| p <= 1.0 - confidence);
    let (ranks, smallest) = match samples {
        Samples::Pairs(_) => {
            (is_ranked.then(|| signed_rank(&differences)), smallest_signed_rank(differences.len()))
        }
        Samples::Apart(..) => {
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

/// Judges comparisons that are made together, and gives each its probability corrected for their number.
///
/// A change must pass two tests: Student's, corrected by Holm's method so that the whole lot raises a false alarm at
/// most as often as was agreed; and, for itself, a rank test that holds for any distribution.
pub fn verdicts(comparisons: &[(Comparison, Worse)], criteria: &Criteria) -> Vec<(Verdict, Option<f64>)> {
    // Whether there is enough to judge by depends on the number of values only, so that the choice is blind.
    let enough =
        |comparison: &Comparison| comparison.p.filter(|_| comparison.is_ranked() || comparison.has_tail);
    let judged: Vec<f64> = comparisons.iter().filter_map(|(comparison, _)| enough(comparison)).collect();
    let mut adjusted = holm::adjusted(&judged).into_iter();
    comparisons
        .iter()
        .map(|(comparison, worse)| {
            let adjusted = enough(comparison).and_then(|_| adjusted.next());
            let Some(p) = adjusted else { return (Verdict::Unclear, None) };
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
    /// Whether there are values enough for ranks to show a change.
    fn is_ranked(&self) -> bool {
        self.smallest <= self.rank_chance
    }

    /// The verdict if no change was found: the interval says whether one would have been.
    fn unless_it_changed(&self, same_within: f64) -> Verdict {
        match self.interval {
            Some((lower, upper)) if self.is_ranked() && lower >= -same_within && upper <= same_within => {
                Verdict::Same
            }
            _ => Verdict::Unclear,
        }
    }
}

/// The mean, or the geometric one. Values that are all alike are their own center, without rounding.
fn center(values: &[f64], is_positive: bool) -> f64 {
    match values {
        [first, rest @ ..] if rest.iter().all(|value| value == first) => *first,
        _ if is_positive => mean(&values.iter().map(|value| value.ln()).collect::<Vec<_>>()).exp(),
        _ => mean(values),
    }
}

/// How much an estimate varies.
struct Spread {
    /// Its standard error.
    error: f64,
    /// The degrees of freedom that it is known with.
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

/// The sum of the products of neighbors, in standard deviations from their center.
fn following(values: &[f64], center: f64, deviation: f64) -> f64 {
    if deviation == 0.0 {
        return 0.0;
    }
    let products = values.windows(2).map(|pair| (pair[0] - center) * (pair[1] - center));
    products.sum::<f64>() / (deviation * deviation)
}

/// By how much runs that follow each other widen a standard error. Runs that avoid each other are left alone.
fn widening(following: f64) -> f64 {
    let r = following.clamp(0.0, CLOSEST);
    ((1.0 + r) / (1.0 - r)).sqrt()
}

#[cfg(test)]
mod tests;
