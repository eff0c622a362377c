//! Detects a slight but lasting change in a series without other changes. The step is too small to be significant in a short
//! window; only all values before and after it together show it.
//!
//! A. N. Pettitt, "A Non-Parametric Approach to the Change-Point Problem" (1979): finds the index at which the ranks of all
//! values before and all values after differ most, here in standard deviations, so that all indexes are comparable. The test
//! assumes independent values. On autocorrelated series it produces false positives, so it is not applied to them.

use super::{order::Order, sample::median};

/// Minimum difference between both sides, in standard deviations; the maximum over all indexes is about three without a
/// change.
const THRESHOLD: f64 = 4.2;
/// Decrease of the threshold per factor of e in accepted false alarms.
pub(super) const PER_ALARM: f64 = 0.25;
/// Minimum number of values on each side.
const SHORTEST: usize = 30;
/// Number of lags whose autocorrelations are summed.
const LAGS: usize = 20;
/// Maximum sum of the autocorrelations over these lags: for independent values it is about zero, with a standard deviation of
/// about a quarter.
const WANDERING: f64 = 0.3;
/// Residuals are clamped to this many units of noise before the autocorrelations are computed.
const OUTLIER: f64 = 3.0;

/// Maximum increase of the difference between both sides per further value, in standard deviations, at an index with enough
/// values on both sides: a value before or after all others in rank adds one for each value before the index.
const PER_VALUE: f64 = 0.316_228;

/// Difference between both sides of a series.
struct Apart {
    /// Index with the greatest difference.
    at: usize,
    /// Difference at that index, in standard deviations.
    most: f64,
    /// Greatest difference at any index, including indexes with too few values after them so far.
    ever: f64,
}

/// Buffers that are reused for the next series.
#[derive(Clone, Debug, Default)]
pub(super) struct Calm {
    ranks: Vec<i16>,
    rests: Vec<f64>,
    buffer: Vec<f64>,
}

impl Calm {
    /// Returns the index with the greatest difference and its margin above the threshold, if the difference reaches the
    /// threshold. It does not check for autocorrelation. Otherwise returns the number of further values before which no index
    /// can reach the threshold. `tolerance` is the logarithm of the factor by which false alarms may exceed the default rate.
    pub(super) fn find(
        &mut self,
        values: &[f64],
        order: &Order,
        tolerance: f64,
    ) -> Result<(usize, f64), usize> {
        if values.len() < 2 * SHORTEST {
            return Err(2 * SHORTEST - values.len());
        }
        let threshold = THRESHOLD - PER_ALARM * tolerance;
        let Apart { at, most, ever } = self.most_apart(values, order);
        if most >= threshold {
            return Ok((at, most - threshold));
        }
        let further = ((threshold - ever) / PER_VALUE).floor().max(1.0);
        Err((further as usize).min(SHORTEST - 1))
    }

    fn most_apart(&mut self, values: &[f64], order: &Order) -> Apart {
        order.rank(values, &mut self.ranks);
        let count = values.len() as f64;
        let deviations = |square: f64, variance: f64| (3.0 * square / (variance * (count + 1.0))).sqrt();
        // Compares squared sums divided by their variances, up to a constant factor, by cross-multiplication: this avoids a
        // division per index.
        let (mut sum, mut best, mut late) = (0.0, (0, 0.0, 1.0), (0.0_f64, 1.0));
        let end = values.len() - SHORTEST;
        for (index, rank) in self.ranks[..end].iter().enumerate() {
            sum += f64::from(*rank) - (count + 1.0);
            let (left, right) = (index as f64 + 1.0, count - index as f64 - 1.0);
            if index + 1 >= SHORTEST && sum * sum * best.2 > best.1 * left * right {
                best = (index + 1, sum * sum, left * right);
            }
        }
        for (index, rank) in self.ranks[..values.len() - 1].iter().enumerate().skip(end) {
            sum += f64::from(*rank) - (count + 1.0);
            let variance = (index as f64 + 1.0) * SHORTEST as f64;
            if sum * sum * late.1 > late.0 * variance {
                late = (sum * sum, variance);
            }
        }
        let (at, most) = (best.0, deviations(best.1, best.2));
        Apart { at, most, ever: most.max(deviations(late.0, late.1)) }
    }

    /// Whether the residuals from the levels are autocorrelated.
    pub(super) fn wanders(&mut self, levels: &[&[f64]]) -> bool {
        let (mut squares, mut products) = (0.0, 0.0);
        for level in levels {
            let center = median(level, &mut self.buffer);
            self.rests.clear();
            self.rests.extend(level.iter().map(|value| (value - center).clamp(-OUTLIER, OUTLIER)));
            squares += self.rests.iter().map(|rest| rest * rest).sum::<f64>();
            for lag in 1..=LAGS {
                let pairs = self.rests.iter().zip(&self.rests[lag..]);
                products += pairs.map(|(earlier, later)| earlier * later).sum::<f64>();
            }
        }
        products > WANDERING * squares
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
        let apart = |at: usize| {
            let signs: f64 = values[..at]
                .iter()
                .flat_map(|old| {
                    values[at..].iter().map(move |new| f64::from(i8::from(new > old) - i8::from(new < old)))
                })
                .sum();
            signs.abs() * (3.0 / (at as f64 * (80 - at) as f64 * 81.0)).sqrt()
        };
        let Apart { at, most: found, .. } = Calm::default().most_apart(&values, &Order::of(&values));
        assert!((found - apart(at)).abs() < 1e-9);
        assert!((SHORTEST..=80 - SHORTEST).all(|other| apart(other) <= found + 1e-9));
    }

    fn find(values: &[f64]) -> Option<usize> {
        let mut calm = Calm::default();
        let (at, _) = calm.find(values, &Order::of(values), 0.0).ok()?;
        (!calm.wanders(&[&values[..at], &values[at..]])).then_some(at)
    }

    #[test]
    fn nothing_is_found_before_it_can_be() {
        for seed in 0..20 {
            let mut values = normal(seed, 400);
            values[200..].iter_mut().for_each(|value| *value += 0.4 * (seed % 4) as f64);
            let (mut calm, mut nothing) = (Calm::default(), 0);
            for end in 1..=values.len() {
                let found = calm.find(&values[..end], &Order::of(&values[..end]), 0.0);
                assert!(found.is_err() || end >= nothing, "{found:?} with {end} values, seed {seed}");
                nothing = nothing.max(end + found.err().unwrap_or_default());
            }
        }
    }

    #[test]
    fn a_slight_step_is_found() {
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
    fn what_wanders_is_left_alone() {
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
