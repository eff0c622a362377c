//! Noise statistics of all series that are compared together: the tail of the distribution of residuals on this machine, and
//! the autocorrelation of successive runs.

use super::{Baseline, MAX_AUTOCORRELATION};
use crate::quartile::Quartiles;

/// Tail index that is assumed before there are residuals to estimate it from, that of Student's t with three degrees of
/// freedom, and the weight of this prior as a number of residuals. The tail index applies beyond the greatest observed
/// residual.
const PRIOR_TAIL_INDEX: f64 = 3.0;
const PRIOR_WEIGHT: f64 = 5.0;
/// Minimum tail index: many outliers must not hide all changes.
const MIN_TAIL_INDEX: f64 = 2.0;
/// Share of the residuals, the greatest ones, from which the tail index is estimated.
const TAIL_SHARE: f64 = 0.05;
/// Minimum number of residuals of a group of series. Longer series have their own groups, so that the outliers of one series are
/// the greatest residuals of only one group.
const GROUP_SIZE: usize = 100;
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
    /// Estimates the statistics from the histories; `comparisons` is the number of comparisons that are made together.
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
        let count: usize = series.iter().map(Vec::len).sum();
        let inflation = inflation(products / squares, series.len() as f64, count as f64);
        let mut peers = Self { shares: Vec::new(), tail_index: tail_index(&series), inflation, comparisons };
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

/// Returns the tail index of the distances of all series. If the tail is a power, the normalized spacings of the greatest distances
/// are independent and exponential (A. Rényi, 1953), and B. Hill's estimator (1975) is the reciprocal of their mean. The third
/// quartile estimates the same mean, and does not depend on the greatest quarter of the spacings: a series has a single great spacing
/// between its noise and its outliers, however many and however far they are.
fn tail_index(series: &[Vec<f64>]) -> f64 {
    let mut groups: Vec<Vec<f64>> = vec![Vec::new()];
    for distances in series {
        match groups.last_mut() {
            Some(group) if group.len() < GROUP_SIZE => group.extend(distances),
            _ => groups.push(distances.clone()),
        }
    }
    let mut spacings: Vec<f64> = groups.into_iter().flat_map(spacings).collect();
    if spacings.is_empty() {
        return PRIOR_TAIL_INDEX;
    }
    let count = spacings.len() as f64;
    // The third quartile of an exponential distribution is ln 4 times its mean. One standard error is added, because a tail that is
    // too short causes false alarms.
    let mean =
        Quartiles::of(&mut spacings).third / 4_f64.ln() * (1.0 + 3_f64.sqrt() / 4_f64.ln() / count.sqrt());
    let tail_index = (PRIOR_WEIGHT + count) / (PRIOR_WEIGHT / PRIOR_TAIL_INDEX + count * mean);
    tail_index.max(MIN_TAIL_INDEX)
}

/// Returns the normalized spacings between the logarithms of the greatest distances: the spacing after the n-th greatest times n.
fn spacings(mut distances: Vec<f64>) -> impl Iterator<Item = f64> {
    distances.sort_by(|left, right| right.total_cmp(left));
    let count = (distances.len() as f64 * TAIL_SHARE) as usize;
    (1..=count).map(move |rank| rank as f64 * (distances[rank - 1] / distances[rank]).ln())
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
        random::Random,
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

    /// The distances of one in four series include outliers: one run in twenty.
    #[test]
    fn the_tail_index_is_that_of_most_series() {
        for exponent in [2.5, 4.0] {
            let mut random = Random::seeded(1);
            let mut series: Vec<Vec<f64>> =
                (0..60).map(|_| (0..200).map(|_| random.uniform().powf(-1.0 / exponent)).collect()).collect();
            let found = tail_index(&series);
            assert!((0.85..1.05).contains(&(found / exponent)), "{found} instead of {exponent}");
            for one in series.iter_mut().step_by(4) {
                one.iter_mut().step_by(20).for_each(|distance| *distance *= 1e6);
            }
            let found = tail_index(&series);
            assert!(
                (0.75..1.0).contains(&(found / exponent)),
                "{found} instead of {exponent}, with outliers"
            );
        }
        assert_eq!(tail_index(&[]), PRIOR_TAIL_INDEX);
        assert_eq!(tail_index(&[vec![1.0; 19]]), PRIOR_TAIL_INDEX);
    }

    /// Returns the smallest detectable changes of 56 series of 104 runs, two per week, with noise of 2 %. The level of the first
    /// `steps` series was 34 % higher for five runs.
    fn detectable(steps: usize) -> Vec<f64> {
        let baselines: Vec<Baseline> = (0..56)
            .map(|series| {
                let mut values: Vec<f64> =
                    normal(series as u64, 104).iter().map(|noise| 100.0 * (0.02 * noise).exp()).collect();
                if series < steps {
                    values[40..45].iter_mut().for_each(|value| *value *= 1.34);
                }
                Baseline::new(&values, &[], &[100.0]).unwrap()
            })
            .collect();
        let peers = PeerNoise::of(&baselines, 56);
        baselines.iter().map(|one| one.compare(0.95, 0.0, &peers).detectable.unwrap()).collect()
    }

    #[test]
    fn a_short_step_of_a_few_series_does_not_hide_the_changes_of_the_others() {
        let without = detectable(0);
        assert!(without.iter().all(|one| *one < 0.25), "{without:?}");
        for steps in [1, 8, 12] {
            let found = detectable(steps);
            let (stepped, others) = found.split_at(steps);
            assert!(stepped.iter().all(|one| *one < 1.5), "{steps}: {stepped:?}");
            let ratios = others.iter().zip(&without[steps..]).map(|(one, without)| one / without);
            let greatest = ratios.fold(0.0, f64::max);
            assert!(greatest < 1.4, "{steps}: {greatest}");
        }
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
