//! How much values depend on those before them. A machine that is slow stays slow for a while, so that ten values in a
//! row say less than ten independent ones: by how much is the inflation of the variance of their mean.
//!
//! The model is an autoregressive process of the first order. Its coefficient comes from differences, which a step
//! spoils only next to it (C. Gallagher, R. Killick, R. Lund and X. Shi, "Autocovariance estimation in the presence of
//! changepoints", 2022).

use super::sample::median;

/// The lags whose differences are compared with those of neighbors.
const LAGS: [usize; 4] = [2, 3, 4, 5];
/// Where a difference is cut off, in standard deviations of differences of neighbors, so that a step counts little.
const CUT_OFF: f64 = 3.0;
/// A coefficient below so many standard errors of an autocorrelation is none: for changes, which have many values to
/// be judged by and few to lose, and for alarms.
const DEAD_ZONE: Inflation = Inflation { changes: 5.6, alarms: 3.0 };
/// The greatest coefficient: a series that never returns to its level has no noise around it to speak of.
const GREATEST: f64 = 0.97;
/// A series shorter than this may consist of one step, so that the proposed levels are taken out of it first.
const SHORT: usize = 64;
/// A series with a proposed change in so many values on average is restless, as one that runs on several hosts in turn.
/// Its short levels are noise.
const RESTLESS: usize = 28;
/// The shortest level that is none of its noise.
const LONG: usize = 48;
/// How many autocorrelations of a restless series count.
const FAR_LAGS: usize = 24;

/// How many times greater the variance of a mean is than with independent values; one at the least.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Inflation {
    /// For the judge of changes.
    pub(super) changes: f64,
    /// For alarms, which are raised with few values and take a smaller coefficient seriously.
    pub(super) alarms: f64,
}

impl Inflation {
    /// That of independent values.
    pub(super) const NONE: Self = Self { changes: 1.0, alarms: 1.0 };

    fn at_least(self, least: f64) -> Self {
        Self { changes: self.changes.max(least), alarms: self.alarms.max(least) }
    }
}

/// What is reused from one series to the next.
#[derive(Clone, Debug, Default)]
pub(super) struct Dependence {
    residuals: Vec<f64>,
    levels: Vec<usize>,
    buffer: Vec<f64>,
}

impl Dependence {
    /// Estimates the inflation. `cuts` are the proposed changes.
    pub(super) fn inflation(&mut self, values: &[f64], cuts: &[usize]) -> Inflation {
        if values.len() < SHORT {
            self.levels.clear();
            self.levels.extend_from_slice(cuts);
            self.subtract_levels(values);
            return from_differences(&self.residuals);
        }
        let inflation = from_differences(values);
        if cuts.len() * RESTLESS < values.len() {
            return inflation;
        }
        self.levels.clear();
        for (place, cut) in cuts.iter().enumerate() {
            let start = self.levels.last().copied().unwrap_or(0);
            let end = cuts.get(place + 1).copied().unwrap_or(values.len());
            if cut - start >= LONG && end - cut >= LONG {
                self.levels.push(*cut);
            }
        }
        self.subtract_levels(values);
        inflation.at_least(from_autocorrelations(&self.residuals))
    }

    /// Leaves what the values are away from the median of their level.
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

/// The inflation of an autoregressive process with such differences.
fn from_differences(values: &[f64]) -> Inflation {
    let coefficient = coefficient(values);
    let errors = coefficient * (values.len() as f64).sqrt();
    let beyond =
        |dead_zone: f64| if errors < dead_zone { 1.0 } else { (1.0 + coefficient) / (1.0 - coefficient) };
    Inflation { changes: beyond(DEAD_ZONE.changes), alarms: beyond(DEAD_ZONE.alarms) }
}

/// The coefficient φ: the squares of differences at a lag of k are (1 − φᵏ) / (1 − φ) = 1 + φ + … + φᵏ⁻¹ times those of
/// neighbors.
fn coefficient(values: &[f64]) -> f64 {
    let neighbors = difference(values, 1);
    if neighbors == 0.0 {
        return 0.0;
    }
    let seen: f64 = LAGS.iter().map(|lag| difference(values, *lag) / neighbors).sum();
    let expected = |coefficient: f64| {
        let powers =
            |lag: usize| std::iter::successors(Some(1.0), move |power| Some(power * coefficient)).take(lag);
        LAGS.iter().map(|lag| powers(*lag).sum::<f64>()).sum::<f64>()
    };
    let (mut low, mut high) = (0.0, GREATEST);
    for _ in 0..20 {
        let middle = f64::midpoint(low, high);
        if expected(middle) < seen { low = middle } else { high = middle }
    }
    low
}

/// The mean of the squares of differences at a lag, each cut off.
fn difference(values: &[f64], lag: usize) -> f64 {
    let most = CUT_OFF * std::f64::consts::SQRT_2;
    let pairs = values.iter().zip(values.iter().skip(lag));
    let squares = pairs.map(|(earlier, later)| (later - earlier).clamp(-most, most).powi(2));
    squares.sum::<f64>() / values.len().saturating_sub(lag).max(1) as f64
}

/// The inflation by autocorrelations, with the weights of M. S. Bartlett, "Periodogram analysis and continuous spectra"
/// (1950).
fn from_autocorrelations(residuals: &[f64]) -> f64 {
    let squares: f64 = residuals.iter().map(|value| value * value).sum();
    if squares == 0.0 {
        return 1.0;
    }
    let weighted = (1..=FAR_LAGS).map(|lag| {
        let pairs = residuals.iter().zip(residuals.iter().skip(lag));
        let weight = 1.0 - lag as f64 / (FAR_LAGS + 1) as f64;
        weight * pairs.map(|(earlier, later)| earlier * later).sum::<f64>()
    });
    (1.0 + 2.0 * weighted.sum::<f64>() / squares).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{Noise, normal};

    fn inflation(values: &[f64], cuts: &[usize]) -> Inflation {
        Dependence::default().inflation(values, cuts)
    }

    /// In units of the noise from one value to the next, as the monitor has them.
    fn autoregressive(coefficient: f64, seed: u64) -> Vec<f64> {
        let values = Noise::Autoregressive(coefficient).series(seed, 512);
        values.iter().map(|value| (value - 100.0) / (1.0 - coefficient).sqrt()).collect()
    }

    #[test]
    fn the_coefficient_is_found_with_and_without_a_step() {
        for expected in [0.3, 0.5, 0.7] {
            for step in [0.0, 10.0] {
                let found = (0..20).map(|seed| {
                    let mut values = autoregressive(expected, seed);
                    values[300..].iter_mut().for_each(|value| *value += step);
                    coefficient(&values)
                });
                let mean = found.sum::<f64>() / 20.0;
                // Long runs away from the level are cut off, so that a great coefficient is estimated a little too low.
                assert!((mean - expected).abs() < 0.1, "{mean} instead of {expected}, step {step}");
            }
        }
    }

    #[test]
    fn independent_values_inflate_nothing() {
        let inflated = (0..200).filter(|seed| inflation(&normal(*seed, 512), &[]) != Inflation::NONE).count();
        assert!(inflated <= 4, "{inflated} of 200");
    }

    #[test]
    fn a_step_in_a_short_series_is_no_dependence() {
        let mut values = normal(3, 20);
        values[12..].iter_mut().for_each(|value| *value += 8.0);
        assert_eq!(inflation(&values, &[12]), Inflation::NONE);
    }

    #[test]
    fn hosts_in_turn_are_noise() {
        let values = Noise::StickyHosts.series(1, 512);
        let cuts: Vec<usize> = (1..25).map(|cut| cut * 20).collect();
        assert!(inflation(&values, &cuts).changes > 5.0, "{:?}", inflation(&values, &cuts));
    }

    #[test]
    fn values_that_never_vary_depend_on_nothing() {
        assert_eq!(inflation(&[1.0; 100], &[]), Inflation::NONE);
        assert_eq!(inflation(&[1.0; 100], &[10, 20, 30, 40]), Inflation::NONE);
        assert_eq!(inflation(&[], &[]), Inflation::NONE);
    }
}
