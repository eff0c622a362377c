//! P-value of a change: the probability that noise alone moves the level this far, from the variance between earlier batches
//! of the same series.
//!
//! Uses the method of batch means (G. S. Fishman, "Grouping observations in digital simulation", 1978), here with medians.
//! Dependence between values acts mostly within a batch, so the variance between batches includes the effect of any kind of
//! dependence. Student's t compares the step with the standard deviation between batches. The degrees of freedom are far
//! fewer than the batches, because the machine may behave differently in the future: a short history is weak evidence.

use super::{
    monitor::LEVEL_WINDOW,
    sample::{first, last, median},
};
use crate::student;

/// Batch lengths, and the minimum number of batches. A batch is as long as the new level, rounded down to one of these
/// lengths, if the history has enough batches of that length.
const BATCH_LENGTHS: [usize; 5] = [4, 8, 12, 16, 24];
const MIN_BATCHES: usize = 6;
/// Number of values before the change per degree of freedom.
const VALUES_PER_FREEDOM: f64 = 13.0;
/// Minimum length of an earlier level that does not count as noise.
const MIN_LEVEL_LENGTH: usize = 64;
/// Minimum number of values before the change.
const MIN_HISTORY: usize = 8;
/// Typical change of a benchmark that machines alone cause, as a difference of logarithms and in standard deviations between
/// batches. A step of many times this size has another cause, even after a short history. Machine effects are assumed to be
/// exponentially distributed.
const MACHINE_EFFECT: f64 = 0.03;
const MACHINE_EFFECT_DEVIATIONS: f64 = 3.0;

/// Buffers that are reused for the next series.
#[derive(Clone, Debug, Default)]
pub(super) struct BatchMeans {
    residuals: Vec<f64>,
}

impl BatchMeans {
    /// Returns the probability that noise alone moves the level as far as it moved at index `at`. `cuts` are the indexes of all
    /// changes, each with whether its cause is known. `log_unit` is the unit of the values as a difference of logarithms, if the
    /// scale is logarithmic.
    pub(super) fn p_value(
        &mut self,
        values: &[f64],
        at: usize,
        cuts: &[(usize, bool)],
        log_unit: Option<f64>,
        buffer: &mut Vec<f64>,
    ) -> f64 {
        let Some((before, after)) = values.split_at_checked(at).filter(|_| at >= MIN_HISTORY) else {
            return 1.0;
        };
        let longest = after.len().min((at / MIN_BATCHES).max(BATCH_LENGTHS[0]));
        let Some(length) = BATCH_LENGTHS.into_iter().rfind(|length| *length <= longest) else { return 1.0 };
        let level = self.subtract_levels(before, cuts, buffer);
        let near = last(&before[level..], LEVEL_WINDOW);
        let step = (median(first(after, LEVEL_WINDOW), buffer) - median(near, buffer)).abs();
        let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
        for batch in self.residuals.rchunks_exact(length) {
            let center = median(batch, buffer);
            count += 1.0;
            sum += center;
            squares += center * center;
        }
        if count < 2.0 {
            return 1.0;
        }
        let variance = ((squares - sum * sum / count) / (count - 1.0)).max(f64::MIN_POSITIVE);
        let error = (variance * (1.0 + (length as f64 / near.len() as f64).min(1.0))).sqrt();
        let freedom = (before.len() as f64 / VALUES_PER_FREEDOM).min(count - 1.0).max(1.0);
        let p_value = student::two_sided(step / error, freedom);
        let beyond = log_unit.map_or(1.0, |unit| {
            (-step * unit / (MACHINE_EFFECT + MACHINE_EFFECT_DEVIATIONS * error * unit)).exp()
        });
        p_value.min(beyond)
    }

    /// Computes the residuals from the median of each level. Short levels count as noise, unless the cause of their change is
    /// known. Returns the start of the last level.
    fn subtract_levels(&mut self, values: &[f64], cuts: &[(usize, bool)], buffer: &mut Vec<f64>) -> usize {
        self.residuals.clear();
        let earlier = cuts.iter().filter(|(cut, _)| *cut < values.len());
        let ends = earlier.clone().skip(1).map(|(cut, _)| *cut).chain([values.len()]);
        let mut start = 0;
        for ((cut, is_explained), end) in earlier.zip(ends) {
            let cut = *cut;
            if *is_explained || (cut - start >= MIN_LEVEL_LENGTH && end - cut >= MIN_LEVEL_LENGTH) {
                self.subtract_median(&values[start..cut], buffer);
                start = cut;
            }
        }
        self.subtract_median(&values[start..], buffer);
        start
    }

    fn subtract_median(&mut self, level: &[f64], buffer: &mut Vec<f64>) {
        let center = median(level, buffer);
        self.residuals.extend(level.iter().map(|value| value - center));
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{DetectionSettings, Monitor, Scratch},
        *,
    };
    use crate::synthetic::{Noise, normal};

    /// Returns the p-value of a step of this many standard deviations, with four values after it.
    fn p_value(mut values: Vec<f64>, step: f64, cuts: &[(usize, bool)]) -> f64 {
        let at = values.len() - 4;
        values[at..].iter_mut().for_each(|value| *value += step);
        BatchMeans::default().p_value(&values, at, cuts, None, &mut Vec::new())
    }

    #[test]
    fn a_step_beyond_the_variation_between_batches_is_significant() {
        assert!(p_value(normal(1, 200), 5.0, &[]) < 1e-5);
        assert!(p_value(normal(1, 200), 1.0, &[]) > 0.01);
        let autocorrelated = |seed: u64| Noise::Autoregressive(0.9).series(seed, 200);
        let rare = (0..100).filter(|seed| p_value(autocorrelated(*seed), 0.0, &[]) < 1e-3).count();
        assert!(rare <= 2, "{rare} of 100");
    }

    #[test]
    fn a_short_history_is_weak_evidence() {
        let p_values = [9, 24, 44, 104, 204].map(|count| p_value(normal(3, count), 8.0, &[]));
        assert!(p_values.is_sorted_by(|one, two| one > two), "{p_values:?}");
        assert_eq!(p_value(normal(3, 11), 8.0, &[]), 1.0);
    }

    #[test]
    fn a_step_far_above_machine_effects_needs_a_short_history() {
        let mut values = normal(3, 14);
        values[10..].iter_mut().for_each(|value| *value += 140.0);
        let p_value =
            |unit: Option<f64>| BatchMeans::default().p_value(&values, 10, &[], unit, &mut Vec::new());
        // A factor of four, with noise of 1 %.
        assert!(
            p_value(Some(0.01)) < 1e-6 && p_value(None) > 1e-3,
            "{} {}",
            p_value(Some(0.01)),
            p_value(None)
        );
    }

    #[test]
    fn a_long_level_is_not_noise() {
        let mut values = normal(5, 304);
        values[200..].iter_mut().for_each(|value| *value += 20.0);
        assert!(p_value(values.clone(), 5.0, &[(200, false)]) < 1e-5);
        assert!(p_value(values.clone(), 5.0, &[]) > 0.01, "an undetected level is noise");
        values[260..].iter_mut().for_each(|value| *value -= 20.0);
        let cuts = |is_explained: bool| [(200, is_explained), (260, is_explained)];
        assert!(p_value(values.clone(), 5.0, &cuts(false)) > 1e-3, "a short level is noise");
        assert!(p_value(values, 5.0, &cuts(true)) < 1e-5, "a level with a known cause is not noise");
    }

    #[test]
    fn constant_values_have_no_noise() {
        let mut values = vec![1_000.0; 60];
        values.extend([1_010.0; 4]);
        let (mut monitor, mut scratch) = (Monitor::new(DetectionSettings::default()), Scratch::default());
        for value in &values {
            monitor.push(*value, &mut scratch);
        }
        let changes = monitor.changes_and_alarm(&mut scratch);
        let p_values: Vec<f64> =
            changes.iter().map(|change| monitor.p_value(change, &changes, |_| false, &mut scratch)).collect();
        assert!(matches!(p_values[..], [p_value] if p_value < 1e-5), "{p_values:?}");
    }
}
