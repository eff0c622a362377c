//! Selects the runs of a history that form the baseline. A persisting regression must not become its own baseline: neither
//! while the detector has too few runs to detect it, nor while it is recent and no user has accepted it.

use std::ops::Range;

use super::baseline::{Baseline, MIN_HISTORY};
use crate::level::median;

/// Number of runs from which on a worse level is established, accepted or not.
pub const MIN_ESTABLISHED_RUNS: usize = 32;
/// Maximum share of runs that may be as far from their level as outlying runs.
const MAX_OUTLIER_SHARE: f64 = 0.05;
/// In a short history, outlying runs are at least this many times as far from their level as all others.
const SHORT_HISTORY_FACTOR: f64 = 5.0;

/// A change of level in a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelChange {
    /// First run of the new level.
    pub at: usize,
    /// Status of the change.
    pub status: LevelChangeStatus,
}

/// Status of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelChangeStatus {
    /// The new level is worse, and no user has accepted it.
    Open,
    /// The new level is the baseline.
    Accepted,
    /// A user has marked the change as a false alarm.
    Dismissed,
}

/// The runs of a history that form the baseline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaselineRange {
    /// Number of runs; they are the oldest ones.
    pub count: usize,
    /// Indexes of the changes of level among these runs.
    pub changes: Vec<usize>,
}

/// Returns the baseline of new runs: the runs before an open change that was not reverted, without the newest runs that are
/// outlying together with the new ones.
pub fn select_baseline(history: &[f64], cuts: &[LevelChange], new: &[f64]) -> BaselineRange {
    // The runs since this change are outlying, but a user has marked the change as a false alarm.
    let is_recent = |cut: &LevelChange| history.len() - cut.at < 2 * MIN_ESTABLISHED_RUNS;
    let is_dismissed = cuts.iter().any(|cut| cut.status == LevelChangeStatus::Dismissed && is_recent(cut));
    let cuts: Vec<LevelChange> =
        cuts.iter().filter(|cut| cut.status != LevelChangeStatus::Dismissed).copied().collect();
    let mut count = oldest_open_change(history, &cuts).unwrap_or(history.len());
    let mut changes: Vec<usize> = cuts.iter().map(|cut| cut.at).filter(|at| *at < count).collect();
    if !is_dismissed {
        let start = changes.last().copied().unwrap_or(0);
        count = start + count_before_outliers(&history[start..count], new);
        changes.retain(|at| *at < count);
    }
    BaselineRange { count, changes }
}

/// Returns the index of the oldest open change that is neither established nor reverted.
fn oldest_open_change(history: &[f64], cuts: &[LevelChange]) -> Option<usize> {
    let level = |index: usize| {
        let end = cuts.get(index).map_or(history.len(), |cut| cut.at);
        median(&history[if index == 0 { 0 } else { cuts[index - 1].at }..end])
    };
    let now = level(cuts.len())?;
    let lasts = |index: usize| {
        let (before, after) = (level(index)?, level(index + 1)?);
        Some((now - after).abs() <= (now - before).abs())
    };
    let is_open = |cut: &LevelChange| {
        cut.status == LevelChangeStatus::Open && history.len() - cut.at < MIN_ESTABLISHED_RUNS
    };
    let mut indexes = cuts.iter().enumerate().filter(|(_, cut)| is_open(cut));
    indexes.find(|(index, _)| lasts(*index) == Some(true)).map(|(_, cut)| cut.at)
}

/// Returns the number of runs of a level without the newest runs that are as far from it as the new ones, on the same side,
/// and further than nearly all others.
fn count_before_outliers(level: &[f64], new: &[f64]) -> usize {
    let (Some(new), Some(last)) = (median(new), level.last()) else { return level.len() };
    let first = (level.len() + 1).saturating_sub(MIN_ESTABLISHED_RUNS);
    let are_outliers = |rest: &[f64], newest: &[f64]| {
        let Some(center) = median(rest) else { return false };
        let side = (new - center).signum();
        let distances = newest.iter().map(|value| (value - center) * side);
        let weakest = distances.fold((new - center) * side, f64::min);
        let far = if rest.len() < Baseline::SHORT_HISTORY { SHORT_HISTORY_FACTOR } else { 1.0 };
        let as_far = rest.iter().filter(|value| far * (*value - center).abs() >= weakest).count();
        weakest > 0.0 && as_far as f64 <= MAX_OUTLIER_SHARE * rest.len() as f64
    };
    let find = |mut indexes: Range<usize>| {
        // Returns early for nearly all series, after computing a single median.
        if indexes.is_empty() || !are_outliers(&level[..indexes.start], &[*last]) {
            return None;
        }
        indexes.find(|index| are_outliers(&level[..*index], &level[*index..]))
    };
    let many = find(first.max(Baseline::SHORT_HISTORY)..level.len());
    many.or_else(|| find(first.max(MIN_HISTORY)..level.len().min(Baseline::SHORT_HISTORY)))
        .unwrap_or(level.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DetectionSettings, changes, synthetic::normal};

    fn values(levels: &[(usize, f64)]) -> Vec<f64> {
        let levels = levels.iter().flat_map(|(count, level)| vec![*level; *count]);
        levels.zip(normal(9, 400)).map(|(level, noise)| level * (1.0 + 0.02 * noise)).collect()
    }

    fn count(history: &[f64], cuts: &[(usize, LevelChangeStatus)], new: f64) -> usize {
        let cuts: Vec<LevelChange> =
            cuts.iter().map(|(at, status)| LevelChange { at: *at, status: *status }).collect();
        select_baseline(history, &cuts, &[new]).count
    }

    #[test]
    fn an_open_regression_is_not_the_baseline_until_it_is_established() {
        for (runs, expected) in [(1, 40), (12, 40), (31, 40), (32, 72), (60, 100)] {
            let values = values(&[(40, 100.0), (runs, 120.0)]);
            assert_eq!(count(&values, &[(40, LevelChangeStatus::Open)], 120.0), expected, "{runs} runs");
            assert_eq!(
                count(&values, &[(40, LevelChangeStatus::Accepted)], 120.0),
                40 + runs,
                "{runs} accepted runs"
            );
            assert_eq!(
                count(&values, &[(40, LevelChangeStatus::Dismissed)], 120.0),
                40 + runs,
                "{runs} dismissed runs"
            );
        }
    }

    #[test]
    fn a_reverted_change_is_not_open() {
        let back = values(&[(40, 100.0), (8, 120.0), (8, 100.0)]);
        assert_eq!(
            count(&back, &[(40, LevelChangeStatus::Open), (48, LevelChangeStatus::Accepted)], 100.0),
            56
        );
        let partly = values(&[(40, 100.0), (8, 120.0), (8, 115.0)]);
        assert_eq!(
            count(&partly, &[(40, LevelChangeStatus::Open), (48, LevelChangeStatus::Accepted)], 115.0),
            40
        );
    }

    /// With the changes detected so far, all runs are compared with the level before the regression.
    #[test]
    fn every_run_of_a_regression_is_compared_with_the_level_before_it() {
        for seed in 0..20 {
            let noise = normal(seed, 90);
            let value = |run: usize| (if run < 50 { 100.0 } else { 120.0 }) * (1.0 + 0.02 * noise[run]);
            let values: Vec<f64> = (0..90).map(value).collect();
            for run in 50..82 {
                let found = changes(&values[..run], &DetectionSettings::default());
                let cuts: Vec<_> = found.iter().map(|change| (change.at, LevelChangeStatus::Open)).collect();
                let left = count(&values[..run], &cuts, values[run]);
                // An outlier on the same side just before the regression may be excluded too.
                assert!((47..=50).contains(&left), "seed {seed}, run {run}: {left}, {cuts:?}");
            }
        }
    }

    #[test]
    fn a_single_outlier_stays_in_the_baseline() {
        let values = values(&[(40, 100.0), (1, 150.0)]);
        assert_eq!(count(&values, &[], 100.0), 41);
        assert_eq!(count(&values, &[], 148.0), 40);
        assert_eq!(count(&values, &[], 60.0), 41);
        assert_eq!(count(&[], &[], 60.0), 0);
        assert_eq!(count(&[1.0; 30], &[], 1.0), 30);
    }
}
