//! Whether a level has just changed, told by the few values there are since. It is quicker than the judge, and knows less:
//! that a change lasts cannot be seen yet.
//!
//! A run rule, as control charts have them (Western Electric, "Statistical Quality Control Handbook", 1956): all of the
//! newest values are on one side and beyond almost all that came before. How unlikely that is follows from ranks alone,
//! whatever the distribution; how far they are away is added to it, as with two or three values ranks cannot say much.

use super::sample::{last, median};
use crate::level::NORMAL_MEAN;

/// How many earlier values are looked at.
const REACH: usize = 40;
/// How many there must be.
const LEAST: usize = 6;
/// The smallest step that is seen, in units of how much the earlier values scatter.
const SMALLEST: f64 = 2.2;
/// What ranks and distance must come to together.
const THRESHOLD: f64 = 10.75;
/// By how much the threshold falls where e times as many false alarms are fine.
const PER_ALARM: f64 = 2.0;
/// How much the logarithm of the distance counts.
const DISTANCE: f64 = 2.0;
/// One in so many of the newest values may be off.
const STRAY: usize = 5;

/// A level that has just changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fresh {
    /// How much more speaks for it than must, as the logarithm of the false alarms that it would be worth.
    pub(super) margin: f64,
    /// How far the level moved, in units of the scatter before.
    pub(super) sigma: f64,
}

/// Compares the newest values with those since the level last changed; both are in units of noise. `tolerance` is the
/// logarithm of how many times more false alarms than usual are fine.
pub(super) fn look(before: &[f64], newest: &[f64], tolerance: f64, buffer: &mut Vec<f64>) -> Option<Fresh> {
    let before = last(before, REACH);
    if before.len() < LEAST {
        return None;
    }
    let level = median(before, buffer);
    let step = median(newest, buffer) - level;
    // A level that begins here has its first value there too.
    if (newest.first()? - level) * step.signum() <= 0.5 * step.abs() {
        return None;
    }
    let scatter = before.iter().map(|value| (value - level).abs()).sum::<f64>() / before.len() as f64;
    // Few values may scatter little by chance, but not less than the series does at all.
    let sigma = step.abs() / (NORMAL_MEAN * scatter).max(1.0);
    if sigma < SMALLEST {
        return None;
    }
    buffer.clear();
    buffer.extend(newest.iter().map(|value| (value - level) * step.signum()));
    let strays = (newest.len() - 1) / STRAY;
    let weakest = *buffer.select_nth_unstable_by(strays, f64::total_cmp).1;
    let beyond = before.iter().filter(|value| (*value - level).abs() >= weakest).count();
    let share = (beyond as f64 + 1.0) / (before.len() as f64 + 1.0);
    let evidence = -share.ln() * (newest.len() - strays) as f64 + DISTANCE * sigma.ln();
    let margin = (evidence - THRESHOLD) / PER_ALARM + tolerance;
    (margin >= 0.0).then_some(Fresh { margin, sigma })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::noise::normal;

    #[test]
    fn a_run_far_away_is_seen() {
        let (before, mut buffer) = (normal(2, 40), Vec::new());
        let look = |newest: &[f64]| look(&before, newest, 0.0, &mut Vec::new()).is_some();
        assert!(look(&[4.0, 5.0, 4.5, 3.9]));
        assert!(look(&[-4.0, -5.0, -4.5, -3.9]));
        assert!(!look(&[4.0, 5.0, 4.5, 0.1]), "one of four is back where it was");
        assert!(!look(&[0.1, 5.0, 4.5, 4.0]), "the first is still where it was");
        assert!(!look(&[1.0, 1.5, 0.8, 1.2]), "that is within the noise");
        assert!(!look(&[9.0]), "one value is a spike as well");
        assert_eq!(super::look(&before[..5], &[9.0; 4], 0.0, &mut buffer), None);
    }

    #[test]
    fn a_place_where_values_have_been_before_is_none() {
        let mut before = normal(2, 40);
        before.iter_mut().step_by(5).for_each(|value| *value += 8.0);
        assert_eq!(look(&before, &[8.0, 8.5, 7.9, 8.1], 0.0, &mut Vec::new()), None);
    }
}
