//! Detects a slight but lasting change in a series without other changes. The step is too small to be significant in a short
//! window; only all values before and after it together show it.
//!
//! A. N. Pettitt, "A Non-Parametric Approach to the Change-Point Problem" (1979): finds the index at which the ranks of all
//! values before and all values after differ most, here in standard deviations, so that all indexes are comparable. The test
//! assumes independent values. On autocorrelated series it produces false positives, so it is not applied to them.

use super::{sample::median, sort_order::SortOrder};

/// Minimum difference between both sides, in standard deviations; the maximum over all indexes is about three without a
/// change.
const THRESHOLD: f64 = 4.2;
/// Decrease of the threshold per factor of e in accepted false alarms.
pub(super) const TOLERANCE_WEIGHT: f64 = 0.25;
/// Minimum number of values on each side.
const MIN_SIDE: usize = 30;
/// Number of lags whose autocorrelations are summed.
const LAGS: usize = 20;
/// Maximum sum of the autocorrelations over these lags: for independent values it is about zero, with a standard deviation of
/// about a quarter.
const MAX_AUTOCORRELATION: f64 = 0.3;
/// Residuals are clamped to this many units of noise before the autocorrelations are computed.
const CLAMP: f64 = 3.0;

/// Maximum increase of the difference between both sides per further value, in standard deviations, at an index with enough
/// values on both sides: a value before or after all others in rank adds one for each value before the index.
const MAX_INCREASE_PER_VALUE: f64 = 0.316_228;

/// Maximum of the test statistic over all indexes.
struct MaxStatistic {
    /// Index of the maximum.
    at: usize,
    /// Difference between the ranks of both sides at that index, in standard deviations.
    statistic: f64,
    /// Upper bound of the statistic at any index, including indexes with too few values after them so far.
    bound: f64,
}

/// Buffers that are reused for the next series.
#[derive(Clone, Debug, Default)]
pub(super) struct PettittTest {
    ranks: Vec<i16>,
    residuals: Vec<f64>,
    buffer: Vec<f64>,
}

impl PettittTest {
    /// Returns the index with the greatest difference and its margin above the threshold, if the difference reaches the
    /// threshold. It does not check for autocorrelation. Otherwise returns the number of further values before which no index can
    /// reach the threshold. `tolerance` is the logarithm of the factor by which false alarms may exceed the default rate.
    pub(super) fn find(
        &mut self,
        values: &[f64],
        order: &SortOrder,
        tolerance: f64,
    ) -> Result<(usize, f64), usize> {
        if values.len() < 2 * MIN_SIDE {
            return Err(2 * MIN_SIDE - values.len());
        }
        let threshold = THRESHOLD - TOLERANCE_WEIGHT * tolerance;
        let MaxStatistic { at, statistic, bound } = self.max_statistic(values, order);
        if statistic >= threshold {
            return Ok((at, statistic - threshold));
        }
        let further = ((threshold - bound) / MAX_INCREASE_PER_VALUE).floor().max(1.0);
        Err((further as usize).min(MIN_SIDE - 1))
    }

    fn max_statistic(&mut self, values: &[f64], order: &SortOrder) -> MaxStatistic {
        order.rank(values, &mut self.ranks);
        let count = values.len() as f64;
        let deviations = |square: f64, variance: f64| (3.0 * square / (variance * (count + 1.0))).sqrt();
        // Compares squared sums divided by their variances, up to a constant factor, by cross-multiplication: this avoids a division
        // per index.
        let (mut sum, mut best, mut late) = (0.0, (0, 0.0, 1.0), (0.0_f64, 1.0));
        let end = values.len() - MIN_SIDE;
        for (index, rank) in self.ranks[..end].iter().enumerate() {
            sum += f64::from(*rank) - (count + 1.0);
            let (left, right) = (index as f64 + 1.0, count - index as f64 - 1.0);
            if index + 1 >= MIN_SIDE && sum * sum * best.2 > best.1 * left * right {
                best = (index + 1, sum * sum, left * right);
            }
        }
        for (index, rank) in self.ranks[..values.len() - 1].iter().enumerate().skip(end) {
            sum += f64::from(*rank) - (count + 1.0);
            let variance = (index as f64 + 1.0) * MIN_SIDE as f64;
            if sum * sum * late.1 > late.0 * variance {
                late = (sum * sum, variance);
            }
        }
        let (at, statistic) = (best.0, deviations(best.1, best.2));
        MaxStatistic { at, statistic, bound: statistic.max(deviations(late.0, late.1)) }
    }

    /// Whether the residuals from the levels are autocorrelated.
    pub(super) fn is_autocorrelated(&mut self, levels: &[&[f64]]) -> bool {
        let (mut squares, mut products) = (0.0, 0.0);
        for level in levels {
            let center = median(level, &mut self.buffer);
            self.residuals.clear();
            self.residuals.extend(level.iter().map(|value| (value - center).clamp(-CLAMP, CLAMP)));
            squares += self.residuals.iter().map(|residual| residual * residual).sum::<f64>();
            for lag in 1..=LAGS {
                let pairs = self.residuals.iter().zip(&self.residuals[lag..]);
                products += pairs.map(|(earlier, later)| earlier * later).sum::<f64>();
            }
        }
        products > MAX_AUTOCORRELATION * squares
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::normal;

    /// By definition, U is the sum of the signs of all differences between both sides.
    #[test]
    fn ranks_give_the_statistic_of_pettitt() {
        let mut values: Vec<f64> = normal(1, 80).iter().map(|value| (value * 2.0).round()).collect();
        values[45..].iter_mut().for_each(|value| *value += 3.0);
        let statistic = |at: usize| {
            let signs: f64 = values[..at]
                .iter()
                .flat_map(|old| {
                    values[at..].iter().map(move |new| f64::from(i8::from(new > old) - i8::from(new < old)))
                })
                .sum();
            signs.abs() * (3.0 / (at as f64 * (80 - at) as f64 * 81.0)).sqrt()
        };
        let MaxStatistic { at, statistic: found, .. } =
            PettittTest::default().max_statistic(&values, &SortOrder::of(&values));
        assert!((found - statistic(at)).abs() < 1e-9);
        assert!((MIN_SIDE..=80 - MIN_SIDE).all(|other| statistic(other) <= found + 1e-9));
    }

    fn find(values: &[f64]) -> Option<usize> {
        let mut test = PettittTest::default();
        let (at, _) = test.find(values, &SortOrder::of(values), 0.0).ok()?;
        (!test.is_autocorrelated(&[&values[..at], &values[at..]])).then_some(at)
    }

    #[test]
    fn the_next_possible_detection_is_a_lower_bound() {
        for seed in 0..20 {
            let mut values = normal(seed, 400);
            values[200..].iter_mut().for_each(|value| *value += 0.4 * (seed % 4) as f64);
            let (mut test, mut earliest) = (PettittTest::default(), 0);
            for end in 1..=values.len() {
                let found = test.find(&values[..end], &SortOrder::of(&values[..end]), 0.0);
                assert!(found.is_err() || end >= earliest, "{found:?} with {end} values, seed {seed}");
                earliest = earliest.max(end + found.err().unwrap_or_default());
            }
        }
    }

    #[test]
    fn a_slight_step_is_detected() {
        let found = (0..100)
            .filter(|seed| {
                let mut values = normal(*seed, 250);
                values[200..].iter_mut().for_each(|value| *value += 1.0);
                find(&values).is_some_and(|at| at.abs_diff(200) <= 20)
            })
            .count();
        assert!(found >= 85, "{found} of 100");
    }

    #[test]
    fn autocorrelated_series_have_no_slight_changes() {
        let found = (0..50)
            .filter(|seed| {
                let mut level = 0.0;
                let values: Vec<f64> = normal(*seed, 400)
                    .iter()
                    .map(|value| {
                        level = 0.95 * level + 0.3 * value;
                        level
                    })
                    .collect();
                find(&values).is_some()
            })
            .count();
        assert!(found <= 2, "{found} of 50");
    }
}
