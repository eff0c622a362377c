//! What the series that are compared together tell of each other: how far runs stray on this machine, and how alike runs in a
//! row are.

use super::{Baseline, CLOSEST};

/// How fast the tail of the noise falls beyond the greatest distance that was seen: the power that is assumed before there
/// are distances to estimate it from, that of Student's t with three degrees of freedom, and for how many of them it counts.
const TAIL_POWER: f64 = 3.0;
const TAIL_WEIGHT: f64 = 5.0;
/// The share of distances that the power is estimated from, the greatest ones.
const TAIL_SHARE: f64 = 0.05;
/// Where a distance is cut off for autocorrelations, in units of the noise.
const CUT_OFF: f64 = 4.0;

/// What the histories of all series tell of noise that are compared together: a series with few runs has not seen its first
/// outlier yet, and its peers on the same machine have.
#[derive(Clone, Debug)]
pub struct Peers {
    /// How far runs were from their levels, in units of the noise of their series, in ascending order.
    distances: Vec<f64>,
    /// How fast the share of runs falls with their distance, as a power.
    power: f64,
    /// How many runs in a row say as much as one alone, as those of a slow machine are alike.
    pub(super) inflation: f64,
    /// How many comparisons are made together.
    pub(super) among: usize,
}

impl Peers {
    /// What these histories tell, by the estimator of B. Hill (1975) for the tail; `among` is how many comparisons are made together.
    pub fn of<'a>(baselines: impl IntoIterator<Item = &'a Baseline>, among: usize) -> Self {
        let mut distances = Vec::new();
        let (mut series, mut products, mut squares) = (0.0, 0.0, 0.0);
        for baseline in baselines.into_iter().filter(|baseline| baseline.noise > 0.0) {
            let scaled = || baseline.residuals.iter().map(|value| value / baseline.noise);
            distances.extend(scaled().map(f64::abs));
            let cut_off = || scaled().map(|value| value.clamp(-CUT_OFF, CUT_OFF));
            series += 1.0;
            products += cut_off().zip(cut_off().skip(1)).map(|(one, next)| one * next).sum::<f64>();
            squares += cut_off().map(|value| value * value).sum::<f64>();
        }
        let inflation = inflation(products / squares, series, distances.len() as f64);
        distances.sort_by(f64::total_cmp);
        let count = (distances.len() as f64 * TAIL_SHARE) as usize;
        let (rest, greatest) = distances.split_at(distances.len() - count);
        let ratios: f64 = rest.last().map_or(0.0, |last| greatest.iter().map(|one| (one / last).ln()).sum());
        let power = (TAIL_WEIGHT + count as f64) / (TAIL_WEIGHT / TAIL_POWER + ratios);
        Self { distances, power, inflation, among }
    }

    /// Which share of runs is as far from its level.
    pub(super) fn share(&self, distance: f64) -> f64 {
        let beyond = self.distances.len() - self.distances.partition_point(|other| *other < distance);
        self.tail(beyond, self.distances.len(), self.distances.last().copied().unwrap_or(0.0), distance)
    }

    /// Which share of runs is as far from its level as this distance, given how many of all were, and the greatest
    /// distance that was seen. Ranks say the same of a value just beyond all others and of one far away from them; the
    /// tail falls in between.
    pub(super) fn tail(&self, beyond: usize, all: usize, greatest: f64, distance: f64) -> f64 {
        let share = (beyond as f64 + self.inflation) / (all as f64 + self.inflation);
        if beyond == 0 { share * (greatest / distance).powf(self.power) } else { share }
    }
}

/// By how much runs that follow each other increase the variance of their mean, given the autocorrelation of neighbors in some
/// series with so many runs in all. It is too small by (1 + 3r) / n in a series of n runs; one standard error counts as none.
fn inflation(neighbors: f64, series: f64, runs: f64) -> f64 {
    let length = runs / series;
    let corrected = (neighbors + 1.0 / length) / (1.0 - 3.0 / length).max(0.5) - 1.0 / runs.sqrt();
    let r = if corrected.is_finite() { corrected.clamp(0.0, CLOSEST) } else { 0.0 };
    (1.0 + r) / (1.0 - r)
}
