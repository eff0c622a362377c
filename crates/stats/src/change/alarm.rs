//! Alarms: detects that a level has just changed from the few values since. It needs fewer values than
//! [`elimination`](super::elimination) and is less certain: it cannot know yet whether the change lasts.
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
struct RunRule {
    /// Number of earlier values that the newest ones are compared with.
    history: usize,
    /// Minimum step, in units of the residual scatter of the earlier values.
    min_sigma: f64,
    /// Minimum score from ranks and distance together.
    threshold: f64,
    /// Exponent of the inflation by which each value after the first is divided.
    discount: f64,
}

const RUN_RULES: [RunRule; 2] = [
    RunRule { history: 39, min_sigma: 2.25, threshold: 8.5, discount: 0.32 },
    RunRule { history: MAX_HISTORY, min_sigma: 1.7, threshold: 11.42, discount: 1.1 },
];
/// Maximum number of earlier values that the newest ones are compared with.
pub(super) const MAX_HISTORY: usize = 60;
/// Minimum number of earlier values.
const MIN_HISTORY: usize = 6;
/// Decrease of the threshold per factor of e in accepted false alarms.
const TOLERANCE_WEIGHT: f64 = 2.0;
/// Weight of the logarithm of the distance, and the maximum distance that counts. With fewer earlier values than a rule uses,
/// a greater distance counts in proportion to the missing share.
const DISTANCE_WEIGHT: f64 = 1.2;
const MAX_DISTANCE: f64 = 5.3;
/// Minimum number of new values for a meaningful rank test. For each missing value, the logarithm of the distance gets
/// additional weight.
const MIN_RANKED: usize = 4;
const MISSING_VALUE_WEIGHT: f64 = 0.5;
/// One in this many of the newest values may be an outlier.
const VALUES_PER_OUTLIER: usize = 5;
/// Weight of the mean rank of all newest values, relative to the rank of the weakest.
const MEAN_RANK_WEIGHT: f64 = 0.17;
/// Minimum share of the step that the first value of the new level has reached.
const MIN_FIRST_SHARE: f64 = 0.52;

/// A level that has just changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Alarm {
    /// Score above the threshold, as the logarithm of the rarity of false alarms.
    pub(super) margin: f64,
    /// Step, in units of the residual scatter before it.
    pub(super) sigma: f64,
}

/// Whether no rule can be satisfied for any noise, because too many earlier values are as far away as the newest ones. This
/// is a fast check that excludes most values. Both slices can be in any unit.
pub(super) fn is_impossible(before: &[f64], newest: &[f64], tolerance: f64) -> bool {
    let rule = &RUN_RULES[0];
    // With few new values, the distance alone may outweigh any number of earlier values; with many, one of the newest may be an
    // outlier.
    if before.len() < MAX_HISTORY || !(MIN_RANKED..=VALUES_PER_OUTLIER).contains(&newest.len()) {
        return false;
    }
    let before = last(before, rule.history);
    let max_rarity = (before.len() as f64 + 1.0).ln();
    let needed = rule.threshold - TOLERANCE_WEIGHT * tolerance - DISTANCE_WEIGHT * MAX_DISTANCE.ln();
    let rarity = (needed / newest.len() as f64 - MEAN_RANK_WEIGHT * max_rarity) / (1.0 - MEAN_RANK_WEIGHT);
    let max_beyond = ((max_rarity - rarity).exp() - 1.0).ceil().max(0.0) as usize;
    let lowest = newest.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = newest.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let above = before.iter().filter(|value| **value >= lowest).count();
    let below = before.iter().filter(|value| **value <= highest).count();
    above > max_beyond && below > max_beyond
}

/// Compares the newest values with the values since the last change of level; both are in units of noise. `inflation` is the
/// variance of a mean relative to that of independent values, and `tolerance` the logarithm of the factor by which false
/// alarms may exceed the default rate.
pub(super) fn detect(
    before: &[f64],
    newest: &[f64],
    inflation: f64,
    tolerance: f64,
    buffer: &mut Vec<f64>,
) -> Option<Alarm> {
    let [near, far] = RUN_RULES.each_ref().map(|rule| rule.compare(before, newest, inflation, buffer));
    let (near, far) = (near?, far?);
    let margin = near.margin.min(far.margin) + tolerance;
    (margin >= 0.0).then_some(Alarm { margin, ..near })
}

impl RunRule {
    fn compare(
        &self,
        before: &[f64],
        newest: &[f64],
        inflation: f64,
        buffer: &mut Vec<f64>,
    ) -> Option<Alarm> {
        let before = last(before, self.history);
        if before.len() < MIN_HISTORY {
            return None;
        }
        let level = median(before, buffer);
        let step = median(newest, buffer) - level;
        let beyond = |value: &f64| (value - level) * step.signum();
        // The first value of a new level is already beyond the old one.
        if beyond(newest.first()?) <= MIN_FIRST_SHARE * step.abs() {
            return None;
        }
        let scatter = before.iter().map(|value| (value - level).abs()).sum::<f64>() / before.len() as f64;
        // A few values may have little scatter by chance, but not less than the noise of the series.
        let sigma = step.abs() / (MEAN_DEVIATION_TO_SIGMA * scatter).max(1.0);
        if sigma < self.min_sigma {
            return None;
        }
        buffer.clear();
        buffer.extend(newest.iter().map(beyond));
        let outliers = (newest.len() - 1) / VALUES_PER_OUTLIER;
        let weakest = *buffer.select_nth_unstable_by(outliers, f64::total_cmp).1;
        // Negative logarithm of the share of earlier values that are as far away.
        let rarity = |limit: f64| {
            let as_far = before.iter().filter(|value| beyond(value) >= limit).count();
            ((before.len() as f64 + 1.0) / (as_far as f64 + 1.0)).ln()
        };
        let mean_rarity = buffer.iter().map(|value| rarity(*value)).sum::<f64>() / buffer.len() as f64;
        let ranks = (1.0 - MEAN_RANK_WEIGHT) * rarity(weakest) + MEAN_RANK_WEIGHT * mean_rarity;
        let counted = 1.0 + (newest.len() - outliers - 1) as f64 / inflation.powf(self.discount);
        let missing = MIN_RANKED.saturating_sub(newest.len()) as f64;
        let distance =
            DISTANCE_WEIGHT * sigma.min(MAX_DISTANCE).ln() + MISSING_VALUE_WEIGHT * missing * sigma.ln();
        let missing_share = 1.0 - before.len() as f64 / self.history as f64;
        let far = missing_share * (sigma / MAX_DISTANCE).max(1.0).ln();
        let evidence = ranks * counted + distance + far;
        Some(Alarm { margin: (evidence - self.threshold) / TOLERANCE_WEIGHT, sigma })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::normal;

    #[test]
    fn a_run_beyond_the_noise_raises_an_alarm() {
        let (before, mut buffer) = (normal(2, 40), Vec::new());
        let detects = |newest: &[f64]| detect(&before, newest, 1.0, 0.0, &mut Vec::new()).is_some();
        assert!(detects(&[4.0, 5.0, 4.5, 3.9]));
        assert!(detects(&[-4.0, -5.0, -4.5, -3.9]));
        assert!(!detects(&[4.0, 5.0, 4.5, 0.1]), "one of four values is at the old level");
        assert!(!detects(&[0.1, 5.0, 4.5, 4.0]), "the first value is at the old level");
        assert!(!detects(&[1.0, 1.5, 0.8, 1.2]), "the step is within the noise");
        assert!(!detects(&[9.0]), "one value is a spike");
        assert_eq!(super::detect(&before[..5], &[9.0; 4], 1.0, 0.0, &mut buffer), None);
    }

    #[test]
    fn an_impossible_alarm_is_never_raised() {
        let mut impossible = 0;
        for seed in 0..4_000 {
            let mut values = normal(seed, 64);
            values[60..].iter_mut().for_each(|value| *value += (seed % 8) as f64 * 0.6 - 1.0);
            let (before, newest) = values.split_at(60);
            for tolerance in [-3.0, 0.0, 2.0] {
                if is_impossible(before, newest, tolerance) {
                    impossible += 1;
                    assert_eq!(
                        super::detect(before, newest, 1.0, tolerance, &mut Vec::new()),
                        None,
                        "{seed}"
                    );
                }
            }
        }
        assert!(impossible > 4_000, "{impossible} of 12,000");
    }

    #[test]
    fn a_step_far_beyond_the_noise_needs_a_short_history() {
        let detects = |newest: f64| detect(&normal(2, 9), &[newest; 4], 1.0, 0.0, &mut Vec::new()).is_some();
        assert!(detects(40.0) && !detects(4.0));
    }

    #[test]
    fn a_return_to_an_earlier_level_raises_no_alarm() {
        let mut before = normal(2, 40);
        before.iter_mut().step_by(5).for_each(|value| *value += 8.0);
        assert_eq!(detect(&before, &[8.0, 8.5, 7.9, 8.1], 1.0, 0.0, &mut Vec::new()), None);
    }

    #[test]
    fn autocorrelated_values_count_less() {
        let before = normal(2, 60);
        let margin = |inflation: f64| {
            detect(&before, &[6.0, 6.5, 5.9, 6.1], inflation, 0.0, &mut Vec::new()).map(|alarm| alarm.margin)
        };
        assert!(margin(1.0) > margin(1.5), "{:?} {:?}", margin(1.0), margin(1.5));
        assert_eq!(margin(100.0), None);
    }
}
