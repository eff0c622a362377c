//! Alarms: detects that a level has just changed from the few values since. It is faster than the judge and less certain: it
//! cannot know yet whether the change lasts.
//!
//! A run rule, as on control charts (Western Electric, "Statistical Quality Control Handbook", 1956): all of the newest
//! values are on one side of almost all earlier values. Ranks alone give the probability of this, for any distribution. The
//! distance is added to the score, because two or three values give a rank test little power.
//!
//! Two rules must agree. One has a low threshold and assumes nearly independent values. The other has a higher threshold and
//! discounts dependent values more.

use super::sample::{last, median};
use crate::level::MEAN_DEVIATION_TO_SIGMA;

/// A rule for the newest values.
struct Rule {
    /// Number of earlier values that the newest ones are compared with.
    reach: usize,
    /// Minimum step, in units of the residual scatter of the earlier values.
    smallest: f64,
    /// Minimum score from ranks and distance together.
    threshold: f64,
    /// Exponent of the inflation by which each value after the first is divided.
    discount: f64,
}

const RULES: [Rule; 2] = [
    Rule { reach: 39, smallest: 2.25, threshold: 8.5, discount: 0.32 },
    Rule { reach: REACH, smallest: 1.7, threshold: 11.42, discount: 1.1 },
];
/// Maximum number of earlier values that the newest ones are compared with.
pub(super) const REACH: usize = 60;
/// Minimum number of earlier values.
const LEAST: usize = 6;
/// Decrease of the threshold per factor of e in accepted false alarms.
const PER_ALARM: f64 = 2.0;
/// Weight of the logarithm of the distance, and the maximum distance that counts. With fewer earlier values than a rule uses,
/// a greater distance counts in proportion to the missing share.
const DISTANCE: f64 = 1.2;
const GREATEST_DISTANCE: f64 = 5.3;
/// Minimum number of new values for a meaningful rank test. For each missing value, the logarithm of the distance gets
/// additional weight.
const ENOUGH: usize = 4;
const DISTANCE_PER_MISSING: f64 = 0.5;
/// One in this many of the newest values may be an outlier.
const STRAY: usize = 5;
/// Weight of the mean rank of all newest values, relative to the rank of the weakest.
const ALL: f64 = 0.17;
/// Minimum share of the step that the first value of the new level has reached.
const FIRST: f64 = 0.52;

/// A level that has just changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fresh {
    /// Score above the threshold, as the logarithm of the rarity of false alarms.
    pub(super) margin: f64,
    /// Step, in units of the residual scatter before it.
    pub(super) sigma: f64,
}

/// Whether no rule can be satisfied for any noise, because too many earlier values are as far away as the newest ones. This
/// is a fast check that excludes most values. Both slices can be in any unit.
pub(super) fn is_hopeless(before: &[f64], newest: &[f64], tolerance: f64) -> bool {
    let rule = &RULES[0];
    // With few new values, the distance alone may outweigh any number of earlier values; with many, one of the newest may be
    // an outlier.
    if before.len() < REACH || !(ENOUGH..=STRAY).contains(&newest.len()) {
        return false;
    }
    let before = last(before, rule.reach);
    let most = (before.len() as f64 + 1.0).ln();
    let needed = rule.threshold - PER_ALARM * tolerance - DISTANCE * GREATEST_DISTANCE.ln();
    let rarity = (needed / newest.len() as f64 - ALL * most) / (1.0 - ALL);
    let fewest = ((most - rarity).exp() - 1.0).ceil().max(0.0) as usize;
    let lowest = newest.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = newest.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let above = before.iter().filter(|value| **value >= lowest).count();
    let below = before.iter().filter(|value| **value <= highest).count();
    above > fewest && below > fewest
}

/// Compares the newest values with the values since the last change of level; both are in units of noise. `inflation` is the
/// variance of a mean relative to that of independent values, and `tolerance` the logarithm of the factor by which false
/// alarms may exceed the default rate.
pub(super) fn look(
    before: &[f64],
    newest: &[f64],
    inflation: f64,
    tolerance: f64,
    buffer: &mut Vec<f64>,
) -> Option<Fresh> {
    let [near, far] = RULES.each_ref().map(|rule| rule.compare(before, newest, inflation, buffer));
    let (near, far) = (near?, far?);
    let margin = near.margin.min(far.margin) + tolerance;
    (margin >= 0.0).then_some(Fresh { margin, ..near })
}

impl Rule {
    fn compare(
        &self,
        before: &[f64],
        newest: &[f64],
        inflation: f64,
        buffer: &mut Vec<f64>,
    ) -> Option<Fresh> {
        let before = last(before, self.reach);
        if before.len() < LEAST {
            return None;
        }
        let level = median(before, buffer);
        let step = median(newest, buffer) - level;
        let beyond = |value: &f64| (value - level) * step.signum();
        // The first value of a new level is already beyond the old one.
        if beyond(newest.first()?) <= FIRST * step.abs() {
            return None;
        }
        let scatter = before.iter().map(|value| (value - level).abs()).sum::<f64>() / before.len() as f64;
        // A few values may have little scatter by chance, but not less than the noise of the series.
        let sigma = step.abs() / (MEAN_DEVIATION_TO_SIGMA * scatter).max(1.0);
        if sigma < self.smallest {
            return None;
        }
        buffer.clear();
        buffer.extend(newest.iter().map(beyond));
        let strays = (newest.len() - 1) / STRAY;
        let weakest = *buffer.select_nth_unstable_by(strays, f64::total_cmp).1;
        // Negative logarithm of the share of earlier values that are as far away.
        let rarity = |limit: f64| {
            let as_far = before.iter().filter(|value| beyond(value) >= limit).count();
            ((before.len() as f64 + 1.0) / (as_far as f64 + 1.0)).ln()
        };
        let all = buffer.iter().map(|value| rarity(*value)).sum::<f64>() / buffer.len() as f64;
        let ranks = (1.0 - ALL) * rarity(weakest) + ALL * all;
        let counted = 1.0 + (newest.len() - strays - 1) as f64 / inflation.powf(self.discount);
        let missing = ENOUGH.saturating_sub(newest.len()) as f64;
        let distance =
            DISTANCE * sigma.min(GREATEST_DISTANCE).ln() + DISTANCE_PER_MISSING * missing * sigma.ln();
        let young = 1.0 - before.len() as f64 / self.reach as f64;
        let far = young * (sigma / GREATEST_DISTANCE).max(1.0).ln();
        let evidence = ranks * counted + distance + far;
        Some(Fresh { margin: (evidence - self.threshold) / PER_ALARM, sigma })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::normal;

    #[test]
    fn a_run_far_away_is_seen() {
        let (before, mut buffer) = (normal(2, 40), Vec::new());
        let look = |newest: &[f64]| look(&before, newest, 1.0, 0.0, &mut Vec::new()).is_some();
        assert!(look(&[4.0, 5.0, 4.5, 3.9]));
        assert!(look(&[-4.0, -5.0, -4.5, -3.9]));
        assert!(!look(&[4.0, 5.0, 4.5, 0.1]), "one of four is back where it was");
        assert!(!look(&[0.1, 5.0, 4.5, 4.0]), "the first is still where it was");
        assert!(!look(&[1.0, 1.5, 0.8, 1.2]), "that is within the noise");
        assert!(!look(&[9.0]), "one value is a spike as well");
        assert_eq!(super::look(&before[..5], &[9.0; 4], 1.0, 0.0, &mut buffer), None);
    }

    #[test]
    fn what_is_hopeless_is_no_alarm() {
        let mut hopeless = 0;
        for seed in 0..4_000 {
            let mut values = normal(seed, 64);
            values[60..].iter_mut().for_each(|value| *value += (seed % 8) as f64 * 0.6 - 1.0);
            let (before, newest) = values.split_at(60);
            for tolerance in [-3.0, 0.0, 2.0] {
                if is_hopeless(before, newest, tolerance) {
                    hopeless += 1;
                    assert_eq!(super::look(before, newest, 1.0, tolerance, &mut Vec::new()), None, "{seed}");
                }
            }
        }
        assert!(hopeless > 4_000, "{hopeless} of 12,000");
    }

    #[test]
    fn a_step_far_beyond_all_noise_needs_few_values_before_it() {
        let look = |newest: f64| look(&normal(2, 9), &[newest; 4], 1.0, 0.0, &mut Vec::new()).is_some();
        assert!(look(40.0) && !look(4.0));
    }

    #[test]
    fn a_place_where_values_have_been_before_is_none() {
        let mut before = normal(2, 40);
        before.iter_mut().step_by(5).for_each(|value| *value += 8.0);
        assert_eq!(look(&before, &[8.0, 8.5, 7.9, 8.1], 1.0, 0.0, &mut Vec::new()), None);
    }

    #[test]
    fn values_that_depend_on_each_other_count_less() {
        let before = normal(2, 60);
        let margin = |inflation: f64| {
            look(&before, &[6.0, 6.5, 5.9, 6.1], inflation, 0.0, &mut Vec::new()).map(|fresh| fresh.margin)
        };
        assert!(margin(1.0) > margin(1.5), "{:?} {:?}", margin(1.0), margin(1.5));
        assert_eq!(margin(100.0), None);
    }
}
