//! Compares a few new runs with the history of their series. The level is estimated from the runs since the last change; the
//! noise is estimated from all levels, so that a new level has a noise estimate while it is short.

use std::{ops::Range, sync::LazyLock};

use super::{Comparison, MAX_RANKED, PeerNoise, ROUNDING_ERROR};
use crate::{
    level::{median, median_in_place},
    normal,
    random::Random,
    student,
    wilcoxon::{min_rank_sum_p, rank_sum},
};

/// Maximum number of values from which the level is estimated.
const LEVEL_WINDOW: usize = 48;
/// Number of bootstrap samples for an interval.
const BOOTSTRAP_SAMPLES: usize = 999;
/// Minimum number of values whose median is approximately normal.
const MIN_NORMAL_MEDIAN: usize = 8;
/// Minimum number of earlier runs to judge a run that is far outside all of them.
pub(super) const MIN_HISTORY: usize = 3;
/// Typical difference between runs on different hosts, as a standard deviation of logarithms.
const HOST_DEVIATION: f64 = 0.03;
/// Family-wise significance level of the comparisons of a run with its history, two-sided.
const SIGNIFICANCE: f64 = 0.007;
/// Maximum additional exponent for further runs of a persisting step; it is small, because the cause of one outlier may last
/// for several runs.
const MAX_PERSISTENCE_EXPONENT: f64 = 0.35;
/// Relative precision of the smallest detectable change.
const DETECTABLE_PRECISION: f64 = 0.005;
/// Weight of the peers' runs, as a number of runs of the series.
const PEER_WEIGHT: f64 = 10.0;
/// Minimum distance of an episode from the level, in units of noise, and the possible lengths of an episode: longer ones can be levels
/// that the change detection finds.
const EPISODE_DISTANCE: f64 = 4.5;
const EPISODE_LENGTHS: Range<usize> = 3..8;
/// Stratified sample of the standard normal distribution for the bootstrap, in random order.
static NORMAL_SAMPLE: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let part = |draw: usize| {
        let from_middle = (draw as f64 + 0.5) / BOOTSTRAP_SAMPLES as f64 - 0.5;
        normal::quantile(0.5 + from_middle.abs()).copysign(from_middle)
    };
    let mut parts: Vec<f64> = (0..BOOTSTRAP_SAMPLES).map(part).collect();
    Random(1).shuffle(&mut parts);
    parts
});
/// Variance of the median of normal values, relative to that of their mean.
const MEDIAN_VARIANCE: f64 = std::f64::consts::FRAC_PI_2;

/// A history and the new runs to compare with it.
#[derive(Clone, Debug)]
pub struct Baseline {
    /// Whether all values are positive, so that their logarithms are compared.
    is_positive: bool,
    /// Level since the last change, as measured, and on the scale of the comparison.
    base: f64,
    level: f64,
    /// Number of values from which the level was estimated.
    count: usize,
    /// Residuals of the history from its levels, newest last.
    pub(super) residuals: Vec<f64>,
    levels: usize,
    /// Standard deviation of a run around its level, robust to outliers.
    pub(super) noise: f64,
    /// Median of the new values, and the new values on the scale of the comparison.
    center: f64,
    new: Vec<f64>,
    /// Median of the new runs and of the outlying runs before them, on the scale of the comparison, and the number of these runs.
    persisting: Option<(f64, usize)>,
    /// Standard deviation of a new run relative to a run of the history; they differ if the runs are medians of different numbers
    /// of samples.
    spread: f64,
}

/// Sampling of the compared runs: each run is the median of its samples.
#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    /// Variance of the samples within one run, relative to the square of their median.
    pub variance: f64,
    /// Number of samples of a run of the history.
    pub history: f64,
    /// Number of samples of a new run.
    pub new: f64,
}

impl Sampling {
    /// Returns the variance of the median of `count` samples.
    fn variance_of_median(&self, count: f64) -> f64 {
        self.variance * relative_median_variance(count) / count
    }
}

impl Baseline {
    /// Number of earlier runs below which the spread that the tool reports and the typical difference between hosts also count as
    /// noise.
    pub const SHORT_HISTORY: usize = 10;

    /// Creates the baseline from a history whose level changes at the indexes `changes`, and new runs; `None` if either is empty.
    pub fn new(history: &[f64], changes: &[usize], new: &[f64]) -> Option<Self> {
        let is_positive = history.iter().chain(new).all(|value| *value > 0.0);
        let scale = |value: &f64| if is_positive { value.ln() } else { *value };
        let center = median(new)?;
        let starts = [0].into_iter().chain(changes.iter().copied());
        let ends = changes.iter().copied().chain([history.len()]);
        let (mut residuals, mut levels, mut base, mut count) = (Vec::new(), 0, None, 0);
        for (start, end) in starts.zip(ends) {
            let part = history.get(start..end).unwrap_or_default();
            let newest = &part[part.len().saturating_sub(LEVEL_WINDOW)..];
            base = median(newest).or(base);
            count = if newest.is_empty() { count } else { newest.len() };
            let part: Vec<f64> = part.iter().map(scale).collect();
            let (Some(center), true) = (median(&part), part.len() > 1) else { continue };
            levels += 1;
            // The residuals from a sample median are smaller than those from the true level.
            let widening = (part.len() as f64 / (part.len() - 1) as f64).sqrt();
            residuals.extend(part.iter().map(|value| (value - center) * widening));
        }
        let (base, new) = (base?, new.iter().map(scale).collect());
        let level = scale(&base);
        merge_episodes(&mut residuals);
        let distances: Vec<f64> = residuals.iter().map(|value| value.abs()).collect();
        let noise = median(&distances).unwrap_or_default() * crate::level::MAD_TO_SIGMA;
        Some(Self {
            is_positive,
            base,
            level,
            count,
            residuals,
            levels,
            noise,
            center,
            new,
            persisting: None,
            spread: 1.0,
        })
    }

    /// Includes the runs between the history and the new runs. They are excluded from the history, because they deviate from it
    /// like the new runs. The change of level must be significant only once; a single run of the new level may then be closer to
    /// the old one.
    #[must_use]
    pub fn with_persisting_runs(mut self, between: &[f64]) -> Self {
        let is_positive = self.is_positive && between.iter().all(|value| *value > 0.0);
        if is_positive == self.is_positive && !between.is_empty() {
            let scale = |value: &f64| if is_positive { value.ln() } else { *value };
            let runs: Vec<f64> = between.iter().map(scale).chain(self.new.iter().copied()).collect();
            self.persisting = median(&runs).map(|median| (median, runs.len()));
        }
        self
    }

    /// Includes the number of samples per run. A median of few samples varies more than one of many: the variance within runs
    /// adds to the variance between runs. More samples than in the history do not narrow the interval, because a few dozen runs
    /// estimate the variance between runs too poorly.
    #[must_use]
    pub fn with_sampling(mut self, samples: &Sampling) -> Self {
        let runs = self.variance();
        let between = (runs - samples.variance_of_median(samples.history)).max(0.0);
        let spread = ((between + samples.variance_of_median(samples.new)) / runs).sqrt();
        if self.is_positive && spread.is_finite() {
            self.spread = spread.max(1.0);
        }
        self
    }

    /// Sets a minimum noise for a short history, which underestimates it. `own` is the spread of one run that the tool reports, a
    /// standard deviation as a share of the value; 0 if the tool reports none.
    #[must_use]
    pub fn with_reported_spread(mut self, own: f64) -> Self {
        let deviation = self.variance().sqrt();
        // Values that never vary are counts rather than timings.
        let is_exact = own <= 0.0 && deviation <= ROUNDING_ERROR;
        if self.residuals.len() < Self::SHORT_HISTORY && self.is_positive && !is_exact {
            let least = own.max(HOST_DEVIATION);
            if deviation <= ROUNDING_ERROR {
                let alternating =
                    |(index, residual): (usize, &mut f64)| *residual = least * [1.0, -1.0][index % 2];
                self.residuals.iter_mut().enumerate().for_each(alternating);
                self.noise = least;
            } else if deviation < least {
                self.residuals.iter_mut().for_each(|residual| *residual *= least / deviation);
                self.noise *= least / deviation;
            }
        }
        self
    }

    /// Returns the variance of the history around its levels.
    fn variance(&self) -> f64 {
        self.residuals.iter().map(|value| value * value).sum::<f64>() / self.residuals.len() as f64
    }

    /// Returns the difference between the new runs and the level, as the logarithm of a factor; `None` if any value is zero or
    /// negative.
    pub fn step(&self) -> Option<f64> {
        self.is_positive.then(|| self.center.ln() - self.level)
    }

    /// Returns the standard deviation of a run around its level, robust to outliers, on the scale of [`step`](Self::step).
    pub fn noise(&self) -> f64 {
        self.noise
    }

    /// Compares the new runs with the level. `shift` is the part of the difference with a known cause, for example a slow
    /// machine.
    ///
    /// The difference is tested by Student's t distribution with the noise of the history, and by ranks: a single new run must be
    /// further from the level than almost all earlier runs. The interval is a bootstrap of new runs and levels from the history
    /// (B. Efron, 1979).
    pub fn compare(&self, confidence: f64, shift: f64, peers: &PeerNoise) -> Comparison {
        let new = if self.is_positive { self.center / shift.exp() } else { self.center - shift };
        let step = if self.is_positive { new.ln() } else { new } - self.level;
        let step = Some(step).filter(|step| step.abs() > ROUNDING_ERROR).unwrap_or(0.0);
        // A benchmark that moved less than the machine, or not at all, is not a change for that reason.
        let raw = self.step().filter(|raw| raw * step > 0.0).unwrap_or(if shift == 0.0 { step } else { 0.0 });
        let share = |step: f64| {
            if self.is_positive {
                Some(step.exp_m1())
            } else if self.level != 0.0 {
                Some(step / self.level.abs())
            } else {
                (step == 0.0).then_some(0.0)
            }
        };
        let (mut rank_p, min_rank_p) = self.rank_p_value(step, shift, peers);
        let own = self.p_value(step, peers);
        let own = if raw == step { own } else { own.max(self.p_value(raw, peers)) };
        let p = match self.persisting.map(|(persisting, runs)| (persisting - self.level, runs)) {
            Some((persisting, runs)) if persisting * step > 0.0 => {
                rank_p = rank_p.max(own);
                // Half of the runs are at least as far away as their median, which is less likely the more runs there are.
                let exponent = ((runs / 2) as f64).min(MAX_PERSISTENCE_EXPONENT) / peers.inflation;
                self.p_value(persisting, peers).powf(1.0 + exponent)
            }
            _ => own,
        };
        let has_tail_test = self.new.len() == 1 && self.residuals.len() >= MIN_HISTORY;
        let rank_significance = 1.0 - confidence;
        let is_detectable = has_tail_test || min_rank_p <= rank_significance;
        Comparison {
            base: self.base,
            new,
            change: share(step),
            interval: self.interval(step, confidence).and_then(|(low, high)| share(low).zip(share(high))),
            p: (self.residuals.len() > self.levels).then_some(p),
            rank_p: Some(rank_p),
            min_rank_p,
            has_tail_test,
            is_same: None,
            favors_difference: false,
            rank_significance,
            significance: SIGNIFICANCE,
            detectable: is_detectable.then(|| share(self.detectable(peers))).flatten(),
        }
    }

    /// Returns the degrees of freedom of the noise.
    fn freedom(&self, peers: &PeerNoise) -> f64 {
        (self.residuals.len().saturating_sub(self.levels) as f64 / peers.inflation).max(1.0)
    }

    /// Returns the p-value of a step: the greatest of Student's t and, for a single run, the shares of the runs of the history
    /// and of its peers that were as far from their level.
    fn p_value(&self, step: f64, peers: &PeerNoise) -> f64 {
        let student = match self.error(peers) {
            _ if step == 0.0 => 1.0,
            error if error > 0.0 => student::two_sided(step / error, self.freedom(peers)),
            // If the values have never varied, any difference is a change.
            _ => 0.0,
        };
        if self.new.len() == 1 {
            student.max(self.own_tail(step, peers)).max(self.pooled_tail(step, peers))
        } else {
            student
        }
    }

    /// Returns the standard error of the difference between the new runs and the level.
    fn error(&self, peers: &PeerNoise) -> f64 {
        let count = self.new.len() as f64;
        let new = self.spread.powi(2) * relative_median_variance(count) / count;
        (self.variance() * (new + peers.inflation * MEDIAN_VARIANCE / self.count as f64)).sqrt()
    }

    /// Returns the probability that a single run is this far from its level, from its own history.
    fn own_tail(&self, step: f64, peers: &PeerNoise) -> f64 {
        let distances = || self.residuals.iter().map(|value| value.abs() * self.spread);
        let beyond = distances().filter(|distance| *distance >= step.abs()).count();
        peers.tail(beyond, self.residuals.len(), distances().fold(0.0, f64::max), step.abs())
    }

    /// Returns the probability that a single run is this far from its level, from its own history and the runs of its peers.
    fn pooled_tail(&self, step: f64, peers: &PeerNoise) -> f64 {
        let (noise, count) = (self.noise * self.spread, self.residuals.len() as f64);
        if noise == 0.0 {
            return 0.0;
        }
        let beyond = self.residuals.iter().filter(|value| value.abs() * self.spread >= step.abs()).count();
        (beyond as f64 / peers.inflation + PEER_WEIGHT * peers.share(step.abs() / noise))
            / (count / peers.inflation + PEER_WEIGHT)
    }

    /// Returns the smallest detectable step: the maximum of the smallest steps that pass each of the tests.
    fn detectable(&self, peers: &PeerNoise) -> f64 {
        let significance = SIGNIFICANCE / peers.comparisons.max(1) as f64;
        let error = self.error(peers);
        if error == 0.0 {
            return 0.0;
        }
        let mut low = error * student::quantile(1.0 - significance / 2.0, self.freedom(peers));
        if self.new.len() > 1 {
            return low;
        }
        low = low
            .max(peers.distance(significance, self.residuals.iter().map(|value| value.abs() * self.spread)));
        if self.pooled_tail(low, peers) <= significance {
            return low;
        }
        let mut high = 2.0 * low;
        while high.is_finite() && self.pooled_tail(high, peers) > significance {
            (low, high) = (high, 2.0 * high);
        }
        while high.is_finite() && high - low > DETECTABLE_PRECISION * low {
            let middle = f64::midpoint(low, high);
            if self.pooled_tail(middle, peers) > significance { low = middle } else { high = middle }
        }
        high
    }

    /// Returns the p-value by ranks alone, and the minimum that this number of values can reach.
    fn rank_p_value(&self, step: f64, shift: f64, peers: &PeerNoise) -> (f64, f64) {
        if let [_] = self.new[..] {
            return (self.own_tail(step, peers), 1.0 / (self.residuals.len() as f64 + 1.0));
        }
        let room = MAX_RANKED.saturating_sub(self.new.len());
        let newest = self.residuals[self.residuals.len().saturating_sub(room)..].iter();
        let newest: Vec<f64> = newest.map(|value| value * self.spread).collect();
        let new: Vec<f64> = self.new.iter().map(|value| value - shift - self.level).collect();
        (rank_sum(&newest, &new), min_rank_sum_p(newest.len(), new.len()))
    }

    /// Returns the bootstrap interval of the step, from the differences between resampled levels and new runs.
    fn interval(&self, step: f64, confidence: f64) -> Option<(f64, f64)> {
        if self.residuals.len() < 2 {
            return None;
        }
        let mut random = Random(self.residuals.len() as u64);
        let mut drawn = Vec::new();
        let mut draw = |count: usize| {
            drawn.clear();
            drawn.extend((0..count).map(|_| self.residuals[random.index(self.residuals.len())]));
            // A single value is its own median.
            if let [one] = drawn[..] { one } else { median_in_place(&mut drawn).unwrap_or_default() }
        };
        let deviation = (self.variance() * MEDIAN_VARIANCE / self.count as f64).sqrt();
        let mut differences: Vec<f64> = NORMAL_SAMPLE
            .iter()
            .map(|normal| {
                let level = match self.count {
                    ..MIN_NORMAL_MEDIAN => draw(self.count),
                    MIN_NORMAL_MEDIAN.. => normal * deviation,
                };
                draw(self.new.len()) * self.spread - level
            })
            .collect();
        let mut end = |share: f64| {
            let index = ((BOOTSTRAP_SAMPLES + 1) as f64 * share) as usize - 1;
            *differences.select_nth_unstable_by(index, f64::total_cmp).1
        };
        let tail = ((1.0 - confidence) / 2.0).max(1.0 / (BOOTSTRAP_SAMPLES + 1) as f64);
        Some((step - end(1.0 - tail), step - end(tail)))
    }
}

/// Counts each short episode far from the level as one outlier: of three to seven successive residuals on the same side, only the
/// greatest remains (a cluster maximum; M. R. Leadbetter and others, 1983), and the others become residuals from the median of the
/// episode. A change that is reverted after a few runs is one event, and not a property of all runs.
fn merge_episodes(residuals: &mut [f64]) {
    let distances: Vec<f64> = residuals.iter().map(|value| value.abs()).collect();
    let far = EPISODE_DISTANCE * median(&distances).unwrap_or_default() * crate::level::MAD_TO_SIGMA;
    // Counts have no noise. A count that sometimes differs is not an episode.
    let is_same = |one: &f64, next: &f64| far > 0.0 && one.abs().min(next.abs()) > far && one * next > 0.0;
    for episode in residuals.chunk_by_mut(is_same).filter(|one| EPISODE_LENGTHS.contains(&one.len())) {
        episode.sort_by(|one, other| other.abs().total_cmp(&one.abs()));
        let center = median(episode).unwrap_or_default();
        episode[1..].iter_mut().for_each(|residual| *residual -= center);
    }
}

/// Returns the variance of the median of `count` values relative to that of their mean. The median of one or two values is
/// their mean.
fn relative_median_variance(count: f64) -> f64 {
    if count > 2.0 { MEDIAN_VARIANCE } else { 1.0 }
}

#[cfg(test)]
mod tests;
