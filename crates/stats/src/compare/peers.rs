//! Noise statistics of all series that are compared together: the tail of the distribution of residuals on this machine, and
//! the autocorrelation of successive runs.

use super::{Baseline, CLOSEST};

/// Tail index that is assumed before there are residuals to estimate it from, that of Student's t with three degrees of
/// freedom, and the weight of this prior as a number of residuals. The tail index applies beyond the greatest observed
/// residual.
const TAIL_POWER: f64 = 3.0;
const TAIL_WEIGHT: f64 = 5.0;
/// Minimum tail index: one series with many outliers must not hide all changes of others.
const LEAST_POWER: f64 = 2.0;
/// Share of the residuals, the greatest ones, from which the tail index is estimated.
const TAIL_SHARE: f64 = 0.05;
/// Maximum number of series to analyze; of more series, every n-th is analyzed.
const MOST_SERIES: usize = 64;
/// Residuals are clamped to this many units of noise before the autocorrelations are computed.
const CUT_OFF: f64 = 4.0;

/// Grid of distances with known tail probabilities: the smallest distance, the ratio of neighbors, and the number of
/// distances.
const FINEST: f64 = 0.25;
const RATIO: f64 = 1.02;
const DISTANCES: i32 = 600;

/// Noise statistics of all series that are compared together: a series with few runs has not had its first outlier yet, but
/// its peers on the same machine have.
#[derive(Clone, Debug)]
pub struct PeerNoise {
    /// Share of runs that are at least as far from their level, in units of noise, as each distance of the grid.
    shares: Vec<f64>,
    /// Tail index: the exponent with which the share of runs decreases with their distance.
    power: f64,
    /// Variance inflation by autocorrelation: the number of successive runs that carry as much information as one independent
    /// run.
    pub(super) inflation: f64,
    /// Number of comparisons that are made together.
    pub(super) among: usize,
}

impl PeerNoise {
    /// Estimates the statistics from the histories, with the estimator of B. Hill (1975) for the tail; `among` is the number
    /// of comparisons that are made together.
    pub fn of<'a>(baselines: impl IntoIterator<Item = &'a Baseline>, among: usize) -> Self {
        let baselines: Vec<&Baseline> =
            baselines.into_iter().filter(|baseline| baseline.noise > 0.0).collect();
        let step = baselines.len().div_ceil(MOST_SERIES).max(1);
        let mut series: Vec<Vec<f64>> = Vec::new();
        let (mut products, mut squares) = (0.0, 0.0);
        for baseline in baselines.into_iter().step_by(step) {
            let scaled = || baseline.residuals.iter().map(|value| value / baseline.noise);
            let mut distances: Vec<f64> = scaled().map(f64::abs).collect();
            distances.sort_by(f64::total_cmp);
            series.push(distances);
            let cut_off = || scaled().map(|value| value.clamp(-CUT_OFF, CUT_OFF));
            products += cut_off().zip(cut_off().skip(1)).map(|(one, next)| one * next).sum::<f64>();
            squares += cut_off().map(|value| value * value).sum::<f64>();
        }
        let mut all: Vec<f64> = series.iter().flatten().copied().collect();
        let inflation = inflation(products / squares, series.len() as f64, all.len() as f64);
        all.sort_by(f64::total_cmp);
        let count = (all.len() as f64 * TAIL_SHARE) as usize;
        let (rest, greatest) = all.split_at(all.len() - count);
        let ratios: f64 = rest.last().map_or(0.0, |last| greatest.iter().map(|one| (one / last).ln()).sum());
        let power = (TAIL_WEIGHT + count as f64) / (TAIL_WEIGHT / TAIL_POWER + ratios);
        let mut peers = Self { shares: Vec::new(), power: power.max(LEAST_POWER), inflation, among };
        let distances = (0..DISTANCES).map(|place| FINEST * RATIO.powi(place));
        peers.shares = distances.map(|distance| peers.share_in(&series, distance)).collect();
        peers
    }

    /// Returns the share of runs that are at least this far from their level: the third quartile over all series, so that a
    /// few series with many outliers do not affect the others.
    fn share_in(&self, series: &[Vec<f64>], distance: f64) -> f64 {
        let share = |one: &Vec<f64>| {
            let beyond = one.len() - one.partition_point(|other| *other < distance);
            self.tail(beyond, one.len(), one.last().copied().unwrap_or(0.0), distance)
        };
        let mut shares: Vec<f64> = series.iter().map(share).collect();
        if shares.is_empty() {
            return 0.0;
        }
        let place = (shares.len() - 1) * 3 / 4;
        *shares.select_nth_unstable_by(place, f64::total_cmp).1
    }

    /// Returns the share of runs that are at least this far from their level, in units of noise; the distance is rounded down
    /// by at most 2 %.
    pub(super) fn share(&self, distance: f64) -> f64 {
        let place = (distance / FINEST).ln() / RATIO.ln();
        let last = self.shares.len() - 1;
        match place {
            ..0.0 => 1.0,
            place if place < last as f64 => self.shares[place as usize],
            place => self.shares[last] * RATIO.powf(last as f64 - place).powf(self.power),
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
            return greatest * (nearest / share).powf(1.0 / self.power);
        }
        let place = (beyond as usize).min(distances.len() - 1);
        *distances.select_nth_unstable_by(place, |left, right| right.total_cmp(left)).1
    }

    /// Returns the share of runs that are at least this far from their level, given the number of runs beyond this distance,
    /// the number of all runs, and the greatest observed distance. Beyond the greatest distance, ranks are constant; the tail
    /// index extrapolates.
    pub(super) fn tail(&self, beyond: usize, all: usize, greatest: f64, distance: f64) -> f64 {
        let share = (beyond as f64 + self.inflation) / (all as f64 + self.inflation);
        if beyond == 0 { share * (greatest / distance).powf(self.power) } else { share }
    }
}

/// Returns the variance inflation of a mean from the lag-1 autocorrelation of `series` series with `runs` runs in total. In a
/// series of n runs, the estimate is biased downward by (1 + 3r) / n; the function subtracts one standard error and corrects
/// the bias.
fn inflation(neighbors: f64, series: f64, runs: f64) -> f64 {
    let length = runs / series;
    let corrected = (neighbors + 1.0 / length - 1.0 / runs.sqrt()) / (1.0 - 3.0 / length).max(0.5);
    let r = if corrected.is_finite() { corrected.clamp(0.0, CLOSEST) } else { 0.0 };
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
    fn the_autocorrelation_of_few_runs_is_below_its_standard_error() {
        let rising = Baseline::new(&[101.0, 102.0, 103.0, 104.0], &[], &[430.0]).unwrap();
        assert_eq!(PeerNoise::of([&rising], 1).inflation, 1.0);
        let autocorrelated = Noise::Autoregressive(0.7).series(1, 200);
        let autocorrelated = Baseline::new(&autocorrelated, &[], &[100.0]).unwrap();
        assert!(PeerNoise::of([&autocorrelated], 1).inflation > 2.0);
    }

    #[test]
    fn a_series_that_strays_does_not_hide_the_change_of_another() {
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
