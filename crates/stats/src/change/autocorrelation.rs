//! Estimates the autocorrelation of successive values. A slow machine stays slow for a while, so ten successive values carry
//! less information than ten independent ones. The measure is the variance inflation of their mean.
//!
//! The model is a first-order autoregressive process. Its coefficient is estimated from differences, of which a step affects
//! only the few that span it (C. Gallagher, R. Killick, R. Lund and X. Shi, "Autocovariance estimation in the presence of
//! changepoints", 2022).

use super::sample::median;

/// Lags whose differences are compared with the differences of successive values.
const LAGS: [usize; 4] = [2, 3, 4, 5];
/// Differences are clamped to this many standard deviations of successive differences, to limit the influence of a step.
const CLAMP: f64 = 3.0;
/// Minimum coefficient, in standard errors of an autocorrelation; a smaller coefficient counts as zero. The limit for changes
/// is higher, because they are judged on many values; alarms have few.
const DEAD_ZONE: VarianceInflation = VarianceInflation { changes: 5.6, alarms: 3.0 };
/// Maximum coefficient: a series that never returns to its level has no noise around a level.
const MAX_COEFFICIENT: f64 = 0.97;
/// Minimum length of a series to estimate the coefficient from the raw values. A shorter series may consist of one step, so
/// the proposed levels are subtracted first.
const MIN_RAW_LENGTH: usize = 64;
/// A series with at least one proposed change per this many values is restless, for example because it alternates between
/// hosts. Its short levels count as noise.
const VALUES_PER_CUT: usize = 28;
/// Minimum length of a level in a restless series that does not count as noise.
const MIN_LEVEL_LENGTH: usize = 48;
/// Number of autocorrelations that are summed for a restless series.
const BARTLETT_LAGS: usize = 24;

/// Variance inflation: the variance of a mean relative to that of independent values, at least one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct VarianceInflation {
    /// Inflation for the elimination of proposed changes.
    pub(super) changes: f64,
    /// Inflation for alarms, which have few values and therefore respect smaller coefficients.
    pub(super) alarms: f64,
}

impl VarianceInflation {
    /// Inflation of independent values.
    pub(super) const NONE: Self = Self { changes: 1.0, alarms: 1.0 };

    fn at_least(self, least: f64) -> Self {
        Self { changes: self.changes.max(least), alarms: self.alarms.max(least) }
    }
}

/// Buffers that are reused for the next series.
#[derive(Clone, Debug, Default)]
pub(super) struct Autocorrelation {
    residuals: Vec<f64>,
    levels: Vec<usize>,
    buffer: Vec<f64>,
}

impl Autocorrelation {
    /// Estimates the variance inflation. `cuts` are the proposed changes.
    pub(super) fn inflation(&mut self, values: &[f64], cuts: &[usize]) -> VarianceInflation {
        if values.len() < MIN_RAW_LENGTH {
            self.levels.clear();
            self.levels.extend_from_slice(cuts);
            self.subtract_levels(values);
            return from_differences(&self.residuals);
        }
        let inflation = from_differences(values);
        if cuts.len() * VALUES_PER_CUT < values.len() {
            return inflation;
        }
        self.levels.clear();
        for (index, cut) in cuts.iter().enumerate() {
            let start = self.levels.last().copied().unwrap_or(0);
            let end = cuts.get(index + 1).copied().unwrap_or(values.len());
            if cut - start >= MIN_LEVEL_LENGTH && end - cut >= MIN_LEVEL_LENGTH {
                self.levels.push(*cut);
            }
        }
        self.subtract_levels(values);
        inflation.at_least(from_autocorrelations(&self.residuals))
    }

    /// Computes the residuals from the median of each level.
    fn subtract_levels(&mut self, values: &[f64]) {
        self.residuals.clear();
        let mut start = 0;
        for end in self.levels.iter().copied().chain([values.len()]) {
            let level = median(&values[start..end], &mut self.buffer);
            self.residuals.extend(values[start..end].iter().map(|value| value - level));
            start = end;
        }
    }
}

/// Computes the variance inflation of an autoregressive process from its differences.
fn from_differences(values: &[f64]) -> VarianceInflation {
    let coefficient = coefficient(values);
    let errors = coefficient * (values.len() as f64).sqrt();
    let beyond =
        |dead_zone: f64| if errors < dead_zone { 1.0 } else { (1.0 + coefficient) / (1.0 - coefficient) };
    VarianceInflation { changes: beyond(DEAD_ZONE.changes), alarms: beyond(DEAD_ZONE.alarms) }
}

/// Estimates the coefficient φ: the mean squared difference at lag k is (1 − φᵏ) / (1 − φ) = 1 + φ + … + φᵏ⁻¹ times that at
/// lag 1.
fn coefficient(values: &[f64]) -> f64 {
    let successive = difference(values, 1);
    if successive == 0.0 {
        return 0.0;
    }
    let observed: f64 = LAGS.iter().map(|lag| difference(values, *lag) / successive).sum();
    let expected = |coefficient: f64| {
        let powers =
            |lag: usize| std::iter::successors(Some(1.0), move |power| Some(power * coefficient)).take(lag);
        LAGS.iter().map(|lag| powers(*lag).sum::<f64>()).sum::<f64>()
    };
    let (mut low, mut high) = (0.0, MAX_COEFFICIENT);
    for _ in 0..20 {
        let middle = f64::midpoint(low, high);
        if expected(middle) < observed { low = middle } else { high = middle }
    }
    low
}

/// Computes the mean squared difference at a lag, with clamped differences.
fn difference(values: &[f64], lag: usize) -> f64 {
    let limit = CLAMP * std::f64::consts::SQRT_2;
    let pairs = values.iter().zip(values.iter().skip(lag));
    let squares = pairs.map(|(earlier, later)| (later - earlier).clamp(-limit, limit).powi(2));
    squares.sum::<f64>() / values.len().saturating_sub(lag).max(1) as f64
}

/// Computes the variance inflation from autocorrelations, with the weights of M. S. Bartlett, "Periodogram analysis and
/// continuous spectra" (1950).
fn from_autocorrelations(residuals: &[f64]) -> f64 {
    let squares: f64 = residuals.iter().map(|value| value * value).sum();
    if squares == 0.0 {
        return 1.0;
    }
    let weighted = (1..=BARTLETT_LAGS).map(|lag| {
        let pairs = residuals.iter().zip(residuals.iter().skip(lag));
        let weight = 1.0 - lag as f64 / (BARTLETT_LAGS + 1) as f64;
        weight * pairs.map(|(earlier, later)| earlier * later).sum::<f64>()
    });
    (1.0 + 2.0 * weighted.sum::<f64>() / squares).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{Noise, normal};

    fn inflation(values: &[f64], cuts: &[usize]) -> VarianceInflation {
        Autocorrelation::default().inflation(values, cuts)
    }

    /// Returns values in units of the noise between successive values, as the monitor passes them.
    fn autoregressive(coefficient: f64, seed: u64) -> Vec<f64> {
        let values = Noise::Autoregressive(coefficient).series(seed, 512);
        values.iter().map(|value| (value - 100.0) / (1.0 - coefficient).sqrt()).collect()
    }

    #[test]
    fn the_coefficient_is_estimated_with_and_without_a_step() {
        for expected in [0.3, 0.5, 0.7] {
            for step in [0.0, 10.0] {
                let found = (0..20).map(|seed| {
                    let mut values = autoregressive(expected, seed);
                    values[300..].iter_mut().for_each(|value| *value += step);
                    coefficient(&values)
                });
                let mean = found.sum::<f64>() / 20.0;
                // Long excursions from the level are clamped, so a large coefficient is slightly underestimated.
                assert!((mean - expected).abs() < 0.1, "{mean} instead of {expected}, step {step}");
            }
        }
    }

    #[test]
    fn independent_values_have_no_inflation() {
        let inflated =
            (0..200).filter(|seed| inflation(&normal(*seed, 512), &[]) != VarianceInflation::NONE).count();
        assert!(inflated <= 4, "{inflated} of 200");
    }

    #[test]
    fn a_step_in_a_short_series_is_not_autocorrelation() {
        let mut values = normal(3, 20);
        values[12..].iter_mut().for_each(|value| *value += 8.0);
        assert_eq!(inflation(&values, &[12]), VarianceInflation::NONE);
    }

    #[test]
    fn alternating_hosts_inflate_the_variance() {
        let values = Noise::StickyHosts.series(1, 512);
        let cuts: Vec<usize> = (1..25).map(|cut| cut * 20).collect();
        assert!(inflation(&values, &cuts).changes > 5.0, "{:?}", inflation(&values, &cuts));
    }

    #[test]
    fn constant_values_have_no_inflation() {
        assert_eq!(inflation(&[1.0; 100], &[]), VarianceInflation::NONE);
        assert_eq!(inflation(&[1.0; 100], &[10, 20, 30, 40]), VarianceInflation::NONE);
        assert_eq!(inflation(&[], &[]), VarianceInflation::NONE);
    }
}
