//! Noise statistics of all series that are compared together: the tail of the distribution of residuals on this machine, and
//! the autocorrelation of successive runs.

use super::{Baseline, MAX_AUTOCORRELATION};

/// Tail index that is assumed before there are residuals to estimate it from, that of Student's t with three degrees of
/// freedom, and the weight of this prior as a number of residuals. The tail index applies beyond the greatest observed
/// residual.
const PRIOR_TAIL_INDEX: f64 = 3.0;
const PRIOR_WEIGHT: f64 = 5.0;
/// Minimum tail index: one series with many outliers must not hide all changes of others.
const MIN_TAIL_INDEX: f64 = 2.0;
/// Share of the residuals, the greatest ones, from which the tail index is estimated.
const TAIL_SHARE: f64 = 0.05;
/// Maximum number of series to analyze; of more series, every n-th is analyzed.
const MAX_SERIES: usize = 64;
/// Residuals are clamped to this many units of noise before the autocorrelations are computed.
const CLAMP: f64 = 4.0;

/// Grid of distances with known tail probabilities: the smallest distance, the ratio of neighbors, and the number of
/// distances.
const MIN_DISTANCE: f64 = 0.25;
const DISTANCE_RATIO: f64 = 1.02;
const DISTANCE_COUNT: i32 = 600;

/// Noise statistics of all series that are compared together: a series with few runs has not had its first outlier yet, but
/// its peers on the same machine have.
#[derive(Clone, Debug)]
pub struct PeerNoise {
    /// Share of runs that are at least as far from their level, in units of noise, as each distance of the grid.
    shares: Vec<f64>,
    /// Tail index: the exponent with which the share of runs decreases with their distance.
    tail_index: f64,
    /// Variance inflation by autocorrelation: the number of successive runs that carry as much information as one independent
    /// run.
    pub(super) inflation: f64,
    /// Number of comparisons that are made together.
    pub(super) comparisons: usize,
}

impl PeerNoise {
    /// Estimates the statistics from the histories, with the estimator of B. Hill (1975) for the tail; `comparisons` is the
    /// number of comparisons that are made together.
    pub fn of<'a>(baselines: impl IntoIterator<Item = &'a Baseline>, comparisons: usize) -> Self {
        let baselines: Vec<&Baseline> =
            baselines.into_iter().filter(|baseline| baseline.noise > 0.0).collect();
        let step = baselines.len().div_ceil(MAX_SERIES).max(1);
        let mut series: Vec<Vec<f64>> = Vec::new();
        let (mut products, mut squares) = (0.0, 0.0);
        for baseline in baselines.into_iter().step_by(step) {
            let scaled = || baseline.residuals.iter().map(|value| value / baseline.noise);
            let mut distances: Vec<f64> = scaled().map(f64::abs).collect();
            distances.sort_by(f64::total_cmp);
            series.push(distances);
            let clamped = || scaled().map(|value| value.clamp(-CLAMP, CLAMP));
            products += clamped().zip(clamped().skip(1)).map(|(one, next)| one * next).sum::<f64>();
            squares += clamped().map(|value| value * value).sum::<f64>();
        }
        let mut all: Vec<f64> = series.iter().flatten().copied().collect();
        let inflation = inflation(products / squares, series.len() as f64, all.len() as f64);
        all.sort_by(f64::total_cmp);
        let count = (all.len() as f64 * TAIL_SHARE) as usize;
        let (rest, greatest) = all.split_at(all.len() - count);
        let ratios: f64 = rest.last().map_or(0.0, |last| greatest.iter().map(|one| (one / last).ln()).sum());
        let tail_index = (PRIOR_WEIGHT + count as f64) / (PRIOR_WEIGHT / PRIOR_TAIL_INDEX + ratios);
        let mut peers =
            Self { shares: Vec::new(), tail_index: tail_index.max(MIN_TAIL_INDEX), inflation, comparisons };
        let distances = (0..DISTANCE_COUNT).map(|index| MIN_DISTANCE * DISTANCE_RATIO.powi(index));
        peers.shares = distances.map(|distance| peers.pooled_share(&series, distance)).collect();
        peers
    }

    /// Returns the share of runs that are at least this far from their level: the third quartile over all series, so that a few
    /// series with many outliers do not affect the others.
    fn pooled_share(&self, series: &[Vec<f64>], distance: f64) -> f64 {
        let share = |one: &Vec<f64>| {
            let beyond = one.len() - one.partition_point(|other| *other < distance);
            self.tail(beyond, one.len(), one.last().copied().unwrap_or(0.0), distance)
        };
        let mut shares: Vec<f64> = series.iter().map(share).collect();
        if shares.is_empty() {
            return 0.0;
        }
        let index = (shares.len() - 1) * 3 / 4;
        *shares.select_nth_unstable_by(index, f64::total_cmp).1
    }

    /// Returns the share of runs that are at least this far from their level, in units of noise; the distance is rounded down by
    /// at most 2 %.
    pub(super) fn share(&self, distance: f64) -> f64 {
        let index = (distance / MIN_DISTANCE).ln() / DISTANCE_RATIO.ln();
        let last = self.shares.len() - 1;
        match index {
            ..0.0 => 1.0,
            index if index < last as f64 => self.shares[index as usize],
            index => self.shares[last] * DISTANCE_RATIO.powf(last as f64 - index).powf(self.tail_index),
        }
    }

    /// Returns the distance that this share of runs reaches: the inverse of [`tail`](Self::tail).
    pub(super) fn distance(&self, share: f64, distances: impl Iterator<Item = f64>) -> f64 {
        let mut distances: Vec<f64> = distances.collect();
        let all = distances.len() as f64;
        let beyond = share * (all + self.inflation) - self.inflation;
        let greatest = distances.iter().copied().fold(0.0, f64::max);
        if beyond < 0.0 {
            let nearest = self.inflation / (all + self.inflation);
            return greatest * (nearest / share).powf(1.0 / self.tail_index);
        }
        let index = (beyond as usize).min(distances.len() - 1);
        *distances.select_nth_unstable_by(index, |left, right| right.total_cmp(left)).1
    }

    /// Returns the share of runs that are at least this far from their level, given the number of runs beyond this distance, the
    /// number of all runs, and the greatest observed distance. Beyond the greatest distance, ranks are constant; the tail index
    /// extrapolates.
    pub(super) fn tail(&self, beyond: usize, all: usize, greatest: f64, distance: f64) -> f64 {
        let share = (beyond as f64 + self.inflation) / (all as f64 + self.inflation);
        if beyond == 0 { share * (greatest / distance).powf(self.tail_index) } else { share }
    }
}

/// Returns the variance inflation of a mean from the lag-1 autocorrelation of `series` series with `runs` runs in total. In a
/// series of n runs, the estimate is biased downward by (1 + 3r) / n; the function subtracts one standard error and corrects
/// the bias.
fn inflation(autocorrelation: f64, series: f64, runs: f64) -> f64 {
    let length = runs / series;
    let corrected = (autocorrelation + 1.0 / length - 1.0 / runs.sqrt()) / (1.0 - 3.0 / length).max(0.5);
    let r = if corrected.is_finite() { corrected.clamp(0.0, MAX_AUTOCORRELATION) } else { 0.0 };
    (1.0 + r) / (1.0 - r)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Criteria, Verdict, Worse,
        synthetic::{Noise, normal},
        verdicts,
    };

    #[test]
    fn the_autocorrelation_of_few_runs_is_ignored() {
        let rising = Baseline::new(&[101.0, 102.0, 103.0, 104.0], &[], &[430.0]).unwrap();
        assert_eq!(PeerNoise::of([&rising], 1).inflation, 1.0);
        let autocorrelated = Noise::Autoregressive(0.7).series(1, 200);
        let autocorrelated = Baseline::new(&autocorrelated, &[], &[100.0]).unwrap();
        assert!(PeerNoise::of([&autocorrelated], 1).inflation > 2.0);
    }

    #[test]
    fn a_series_with_outliers_does_not_hide_the_change_of_another() {
        let quiet: Vec<f64> = normal(1, 14).iter().map(|noise| 100.0 + noise).collect();
        let wild: Vec<f64> =
            (0..14).map(|run| if run % 3 == 0 { 3.0 } else { 20.0 + f64::from(run) / 10.0 }).collect();
        let baselines =
            [Baseline::new(&quiet, &[], &[400.0]).unwrap(), Baseline::new(&wild, &[], &[24.0]).unwrap()];
        let peers = PeerNoise::of(&baselines, 2);
        let compared = baselines.each_ref().map(|one| (one.compare(0.95, 0.0, &peers), Worse::Up));
        let criteria = Criteria { smallest_change: 0.01, same_within: 0.05 };
        let found = verdicts(&compared, &criteria);
        assert_eq!((found[0].0, found[1].0), (Verdict::Regression, Verdict::Inconclusive));
        assert!(compared[0].0.detectable.unwrap() < 0.5, "{:?}", compared[0].0);
    }
}
