//! How many false alarms there may be, and which alarms are worth one. What an alarm is told of, and to whom, is decided
//! elsewhere.
//!
//! Values whose levels were taken out and that were shuffled have no changes, so every alarm in them is false: that tells
//! how often a machine raises one (a permutation test; R. A. Fisher, "The Design of Experiments", 1935). They are shuffled
//! in blocks, so that those that depend on each other still do (H. R. Künsch, "The jackknife and the bootstrap for general
//! stationary observations", 1989). An alarm for which more speaks than must is
//! rarer, by as much as it says itself. Of the series of a run so many are told of that false ones are the agreed share
//! at the most (Y. Benjamini and Y. Hochberg, "Controlling the False Discovery Rate", 1995); while nothing has changed
//! at all, that share is how often a run raises any alarm.

use super::{Change, Monitor, Scratch, Settings};
use crate::random::Random;

/// How often noise raises an alarm where nothing is known of it, and how many values that is worth as evidence.
const USUAL: f64 = 2e-4;
const USUAL_VALUES: f64 = 5_000.0;
/// How many alarms it is worth that one with a margin of one is e times rarer.
const USUAL_ALARMS: f64 = 4.0;

/// How many values in a row are kept together.
const BLOCK: usize = 48;

/// What is known of how often noise raises an alarm.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Evidence {
    /// How many values without a change were looked at.
    pub values: u64,
    /// How many alarms they raised.
    pub alarms: u64,
    /// The margins of these alarms, all together.
    pub margins: f64,
}

impl Evidence {
    /// What a series tells whose level changes at these places: its levels are taken out, and what is left, the noise
    /// around one level, is shuffled in blocks.
    pub fn of(values: &[f64], changes: &[usize], settings: Settings, scratch: &mut Scratch) -> Self {
        let mut noise = values.to_vec();
        let mut random = Random(0x5eed ^ values.len() as u64);
        let ends = changes.iter().copied().chain([values.len()]);
        let mut start = 0;
        let level = crate::median(values).unwrap_or_default();
        for end in ends.filter(|end| *end <= values.len()) {
            let Some(part) = noise.get_mut(start..end).filter(|part| !part.is_empty()) else { continue };
            let own = crate::median(part).unwrap_or_default();
            // A level that is a factor higher has noise that is, too.
            let factor = if own > 0.0 && level > 0.0 { level / own } else { 1.0 };
            let shift = if factor == 1.0 { level - own } else { 0.0 };
            part.iter_mut().for_each(|value| *value = *value * factor + shift);
            start = end;
        }
        shuffle_blocks(&mut noise, &mut random);
        // What is told is decided with each value anew, so that a change counts with the most that ever speaks for it.
        let mut monitor = Monitor::new(settings);
        let mut alarms: Vec<Change> = Vec::new();
        for value in &noise {
            monitor.push(*value, scratch);
            for change in monitor.known(scratch) {
                match alarms.iter_mut().find(|alarm| alarm.is_same(&change)) {
                    Some(alarm) => alarm.margin = alarm.margin.max(change.margin),
                    None => alarms.push(change),
                }
            }
        }
        let margins = alarms.iter().map(|alarm| alarm.margin).sum();
        Self { values: noise.len() as u64, alarms: alarms.len() as u64, margins }
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            values: self.values + other.values,
            alarms: self.alarms + other.alarms,
            margins: self.margins + other.margins,
        }
    }

    /// How often a value raises a false alarm: what was seen, and what is usual as far as little was seen.
    pub fn rate(self) -> f64 {
        (USUAL * USUAL_VALUES + self.alarms as f64) / (USUAL_VALUES + self.values as f64)
    }

    /// How likely noise is to raise an alarm with this margin or more, at any value. Margins of false alarms are taken to be
    /// exponential: with the mean that was seen, and of one as far as little was seen.
    pub fn chance(self, margin: f64) -> f64 {
        let steepness = (USUAL_ALARMS + self.alarms as f64) / (USUAL_ALARMS + self.margins);
        (self.rate() * (-margin * steepness).exp()).min(1.0)
    }
}

/// Brings blocks of values into any order.
fn shuffle_blocks(values: &mut Vec<f64>, random: &mut Random) {
    if values.is_empty() {
        return;
    }
    // Where blocks begin must not depend on where the series does.
    let start = random.place(values.len());
    values.rotate_left(start);
    let mut blocks: Vec<&[f64]> = values.chunks(BLOCK).collect();
    random.shuffle(&mut blocks);
    *values = blocks.concat();
}

/// How many false alarms there may be in a month, shared out among the runs of a month.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    per_run: f64,
}

impl Budget {
    /// So many false alarms a month, where there are so many runs in it.
    pub fn new(per_month: f64, runs: f64) -> Self {
        Self { per_run: (per_month / runs.max(1.0)).clamp(0.0, 1.0) }
    }

    /// How unlikely an alarm of a run must be to be told of: that of the last of its alarms that still is worth it, by
    /// how likely each is in noise. `series` is how many series the run has.
    pub fn limit(self, chances: &[f64], series: usize) -> f64 {
        let mut sorted = chances.to_vec();
        sorted.sort_by(f64::total_cmp);
        let allowed = |place: usize| self.per_run * (place + 1) as f64 / series.max(sorted.len()) as f64;
        let last = sorted.iter().enumerate().rev().find(|(place, chance)| **chance <= allowed(*place));
        last.map_or(f64::NEG_INFINITY, |(_, chance)| *chance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{Noise, normal};

    fn evidence(values: &[f64], changes: &[usize]) -> Evidence {
        Evidence::of(values, changes, Settings::default(), &mut Scratch::default())
    }

    /// In how many of the last runs of a project without any change something would be told: 40 series of 1,500 values, the
    /// first 640 of which are the evidence, two false alarms in 300 runs. All that was not told yet is looked at with each run.
    fn notified(noise: Noise, seed: u64) -> usize {
        let series: Vec<Vec<f64>> = (0..40).map(|place| noise.series(seed * 40 + place, 1_500)).collect();
        let (settings, mut scratch) = (Settings::default(), Scratch::default());
        let evidence = series
            .iter()
            .map(|values| Evidence::of(&values[..640], &[], settings, &mut scratch))
            .fold(Evidence::default(), Evidence::and);
        let mut watched = vec![(Monitor::new(settings), Vec::<Change>::new()); series.len()];
        let budget = Budget::new(2.0, 300.0);
        (0..1_500)
            .filter(|run| {
                let mut open: Vec<(f64, usize, Change)> = Vec::new();
                for (place, (monitor, seen)) in watched.iter_mut().enumerate() {
                    monitor.push(series[place][*run], &mut scratch);
                    let known = if *run < 640 { Vec::new() } else { monitor.known(&mut scratch) };
                    let known =
                        known.into_iter().filter(|change| !seen.iter().any(|one| one.is_same(change)));
                    open.extend(known.map(|change| (evidence.chance(change.margin), place, change)));
                }
                let chances: Vec<f64> = open.iter().map(|one| one.0).collect();
                let limit = budget.limit(&chances, series.len());
                open.retain(|(chance, ..)| *chance <= limit);
                open.iter().for_each(|(_, place, change)| watched[*place].1.push(*change));
                !open.is_empty()
            })
            .count()
    }

    /// 860 runs may be wrong 5.7 times on the average.
    #[test]
    fn a_budget_is_kept() {
        let kinds = [
            Noise::Normal,
            Noise::HeavyTails,
            Noise::UnevenModes,
            Noise::LogNormal,
            Noise::Autoregressive(0.3),
            Noise::Autoregressive(0.7),
            Noise::StickyHosts,
            Noise::DailyCycle,
        ];
        let notified = kinds.map(|noise| notified(noise, 1));
        // A Poisson number with that mean is at most 12 in 99 of 100 cases.
        assert!(notified.iter().all(|count| *count <= 12), "{notified:?} of 5.7 on the average");
    }

    #[test]
    fn blocks_are_kept_together() {
        let mut values: Vec<f64> = (0..640).map(f64::from).collect();
        shuffle_blocks(&mut values, &mut Random(1));
        let seams = values.windows(2).filter(|pair| pair[1] != pair[0] + 1.0).count();
        assert!((10..=14).contains(&seams), "{seams}");
        values.sort_by(f64::total_cmp);
        assert!(values.iter().enumerate().all(|(place, value)| *value == place as f64));
    }

    #[test]
    fn what_was_seen_counts_as_far_as_there_is_enough_of_it() {
        let none = Evidence::default();
        assert_eq!(none.rate(), USUAL);
        let noisy = Evidence { values: 95_000, alarms: 99, margins: 99.0 };
        assert_eq!(noisy.rate(), 1e-3);
        assert!(Evidence { values: 90_000, ..none }.rate() < USUAL);
        assert_eq!(noisy.chance(0.0), noisy.rate());
        assert!((noisy.chance(2.0) - 1e-3 * (-2.0_f64).exp()).abs() < 1e-12);
        let far = Evidence { margins: 300.0, ..noisy };
        assert!(far.chance(2.0) > noisy.chance(2.0));
        assert_eq!(none.and(noisy), noisy);
    }

    #[test]
    fn changes_are_no_noise() {
        let mut values: Vec<f64> = normal(5, 600).iter().map(|value| 100.0 + value).collect();
        values[300..].iter_mut().for_each(|value| *value *= 2.0);
        let known = evidence(&values, &[300]);
        assert_eq!(known, Evidence { values: 600, alarms: 0, margins: 0.0 });
        let mut jumpy = values;
        jumpy.chunks_mut(40).step_by(2).for_each(|part| part.iter_mut().for_each(|value| *value += 30.0));
        // One that moves by itself says that alarms are worth little.
        assert!(evidence(&jumpy, &[300]).alarms > 3);
        assert_eq!(evidence(&[], &[]), Evidence::default());
    }

    /// As `p.adjust(p, "BH")` of R has it: 0.008 of five tests is worth 0.02, 0.03 is worth 0.05.
    #[test]
    fn false_ones_are_the_agreed_share_at_the_most() {
        let chances = [0.03, 0.004, 0.9, 0.008, 0.4];
        let limit = |share: f64| Budget { per_run: share }.limit(&chances, 5);
        assert_eq!(limit(0.05), 0.03);
        assert_eq!(limit(0.03), 0.008);
        assert_eq!(limit(0.019), f64::NEG_INFINITY);
        assert_eq!(Budget { per_run: 0.05 }.limit(&[0.004], 100), f64::NEG_INFINITY);
        assert_eq!(Budget { per_run: 0.5 }.limit(&[0.004], 100), 0.004);
        assert_eq!(Budget::new(2.0, 400.0), Budget { per_run: 0.005 });
        assert_eq!(Budget::new(2.0, 0.0), Budget { per_run: 1.0 });
    }
}
