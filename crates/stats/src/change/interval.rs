//! Interval in which a change began, given that it exists. This module neither accepts nor rejects changes.
//!
//! Given both levels, every index has a likelihood. The interval contains the indexes whose likelihood is close to the
//! maximum (D. V. Hinkley, "Inference about the change-point in a sequence of random variables", 1970).

use super::{
    partition::loss,
    sample::{first, last, median},
};

/// Maximum additional cost of an index in the interval, compared with the best index: twice the logarithm of twenty.
const MAX_EXTRA_COST: f64 = 6.0;
/// Number of values on each side from which the levels are estimated.
const LEVEL_WINDOW: usize = 48;

/// Returns the first and last index at which the level may have changed, for values in units of noise. The change is at the
/// end of `before`.
pub(super) fn likelihood_interval(before: &[f64], after: &[f64], buffer: &mut Vec<f64>) -> (usize, usize) {
    let (old, new) = (median(last(before, LEVEL_WINDOW), buffer), median(first(after, LEVEL_WINDOW), buffer));
    let excess = |value: &f64, there: f64, here: f64| loss(value - there) - loss(value - here);
    let earlier = farthest(before.iter().rev().take(LEVEL_WINDOW).map(|value| excess(value, new, old)));
    let later = farthest(after.iter().take(LEVEL_WINDOW).map(|value| excess(value, old, new)));
    // The new level has at least one value.
    (before.len() - earlier, before.len() + later.min(after.len().saturating_sub(1)))
}

/// Returns the distance to the farthest index whose additional cost is within the limit.
fn farthest(costs: impl Iterator<Item = f64>) -> usize {
    let (mut total, mut reached) = (0.0, 0);
    for (step, cost) in costs.enumerate() {
        total += cost;
        if total <= MAX_EXTRA_COST {
            reached = step + 1;
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::normal;

    #[test]
    fn the_interval_of_a_clear_step_is_one_index() {
        let mut values = normal(1, 60);
        values[30..].iter_mut().for_each(|value| *value += 12.0);
        assert_eq!(likelihood_interval(&values[..30], &values[30..], &mut Vec::new()), (30, 30));
    }

    #[test]
    fn the_interval_covers_the_true_index() {
        let covered = (0..200)
            .filter(|seed| {
                let mut values = normal(*seed, 120);
                values[60..].iter_mut().for_each(|value| *value += 1.5);
                // For any estimated index, the interval must contain the true index.
                let at = (50..70)
                    .min_by(|one, two| {
                        let cost = |at: usize| {
                            let left: f64 = values[..at].iter().map(|value| loss(*value)).sum();
                            left + values[at..].iter().map(|value| loss(value - 1.5)).sum::<f64>()
                        };
                        cost(*one).total_cmp(&cost(*two))
                    })
                    .unwrap();
                let (earliest, latest) = likelihood_interval(&values[..at], &values[at..], &mut Vec::new());
                (earliest..=latest).contains(&60)
            })
            .count();
        assert!(covered >= 185, "{covered} of 200");
    }
}
