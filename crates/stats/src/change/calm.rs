//! A slight but lasting change in a stretch where nothing else happens. It is too small to be clear at any one place;
//! only all values before and after it together show it.
//!
//! A. N. Pettitt, "A Non-Parametric Approach to the Change-Point Problem" (1979): the place at which ranks differ most
//! between all values before and all after, here in standard deviations, so that every place counts alike. The test holds
//! for values that do not depend on each other. Where they do, because a series wanders, it would find changes at
//! will, so it is not asked there.

use super::sample::median;

/// How many standard deviations apart both sides must be; the most of so many places is about three where nothing
/// happens.
const THRESHOLD: f64 = 4.2;
/// By how much the threshold falls where e times as many false alarms are fine.
pub(super) const PER_ALARM: f64 = 0.25;
/// How many values there are on both sides at least.
const SHORTEST: usize = 30;
/// How far back a value may depend on earlier ones.
const LAGS: usize = 20;
/// The most that the autocorrelations of so many lags may add up to: with independent values it is about zero, give or
/// take a quarter.
const WANDERING: f64 = 0.3;
/// Where outliers are cut off before products are taken, in units of noise.
const OUTLIER: f64 = 3.0;

/// What is reused from one series to the next.
#[derive(Clone, Debug, Default)]
pub(super) struct Calm {
    order: Vec<(f64, usize)>,
    ranks: Vec<f64>,
    rests: Vec<f64>,
}

impl Calm {
    /// The place of the change, if there is one, and by how much it is clearer than it must be. `tolerance` is the
    /// logarithm of how many times more false alarms than usual are fine.
    pub(super) fn find(&mut self, values: &[f64], tolerance: f64) -> Option<(usize, f64)> {
        if values.len() < 2 * SHORTEST {
            return None;
        }
        let (at, apart) = self.most_apart(values);
        let margin = apart - (THRESHOLD - PER_ALARM * tolerance);
        (margin >= 0.0 && !self.wanders(&[&values[..at], &values[at..]])).then_some((at, margin))
    }

    fn most_apart(&mut self, values: &[f64]) -> (usize, f64) {
        self.rank(values);
        let count = values.len() as f64;
        let (mut sum, mut best) = (0.0, (0, 0.0));
        for (index, rank) in self.ranks.iter().enumerate() {
            sum += 2.0 * rank - (count + 1.0);
            let (at, left, right) = (index + 1, index as f64 + 1.0, count - index as f64 - 1.0);
            if at < SHORTEST || at + SHORTEST > values.len() {
                continue;
            }
            let apart = sum.abs() * (3.0 / (left * right * (count + 1.0))).sqrt();
            if apart > best.1 {
                best = (at, apart);
            }
        }
        best
    }

    /// Gives each value its rank, and values that are alike the mean of theirs.
    fn rank(&mut self, values: &[f64]) {
        self.order.clear();
        self.order.extend(values.iter().copied().zip(0..));
        self.order.sort_unstable_by(|one, two| one.0.total_cmp(&two.0));
        self.ranks.clear();
        self.ranks.resize(values.len(), 0.0);
        let mut below = 0.0;
        for alike in self.order.chunk_by(|one, two| one.0 == two.0) {
            let count = alike.len() as f64;
            for (_, index) in alike {
                self.ranks[*index] = below + f64::midpoint(count, 1.0);
            }
            below += count;
        }
    }

    /// Whether values follow those before them once the levels are taken out.
    fn wanders(&mut self, levels: &[&[f64]]) -> bool {
        let (mut squares, mut products) = (0.0, 0.0);
        for level in levels {
            let center = median(level, &mut self.ranks);
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

    /// From the definition: U is the sum of the signs of all differences between both sides.
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
        let (at, found) = Calm::default().most_apart(&values);
        assert!((found - apart(at)).abs() < 1e-9);
        assert!((SHORTEST..=80 - SHORTEST).all(|other| apart(other) <= found + 1e-9));
    }

    #[test]
    fn a_slight_step_is_found() {
        let found = (0..100)
            .filter(|seed| {
                let mut values = normal(*seed, 250);
                values[200..].iter_mut().for_each(|value| *value += 1.0);
                Calm::default().find(&values, 0.0).is_some_and(|(at, _)| at.abs_diff(200) <= 20)
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
                Calm::default().find(&values, 0.0).is_some()
            })
            .count();
        assert!(found <= 2, "{found} of 50");
    }
}
