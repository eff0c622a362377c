//! Simulates the notifications of the server for synthetic projects: the number of false ones from the first run on, and the
//! delay of the true ones.

use super::{Change, DetectionSettings, FalseAlarmBudget, Monitor, Scratch};
use crate::synthetic::Noise;

/// Kinds of noise of a mixed project; each applies to one fifth of the series.
pub const MIXED_NOISE: [Noise; 5] = [
    Noise::Normal,
    Noise::Autoregressive(0.5),
    Noise::Autoregressive(0.7),
    Noise::StickyHosts,
    Noise::DailyCycle,
];
/// Number of series per project, and of runs in its first month.
const SERIES_COUNT: u64 = 200;
const RUN_COUNT: usize = 300;
/// False-alarm budget per month.
const FALSE_ALARMS: f64 = 2.0;

/// A change with a notification.
#[derive(Clone, Copy, Debug)]
pub struct NotifiedChange {
    /// Run that causes the notification.
    pub run: usize,
    /// Index of the series.
    pub series: usize,
    change: Change,
}

/// Generates the first month of a project of 200 series with noise of 1 %, with equal numbers of each kind.
pub fn project(kinds: &[Noise], seed: u64) -> Vec<Vec<f64>> {
    let each = SERIES_COUNT / kinds.len() as u64;
    let kind = |number: u64| kinds[(number / each) as usize % kinds.len()];
    (0..SERIES_COUNT).map(|number| kind(number).series(seed * 1_000 + number, RUN_COUNT)).collect()
}

/// Returns the changes with a notification.
pub fn notified_changes(project: &[Vec<f64>]) -> Vec<NotifiedChange> {
    let mut monitors = vec![Monitor::new(DetectionSettings::default()); project.len()];
    let (mut notified, mut scratch) = (Vec::<NotifiedChange>::new(), Scratch::default());
    let budget = FalseAlarmBudget::new(FALSE_ALARMS, RUN_COUNT as f64);
    for run in 0..project.first().map_or(0, Vec::len) {
        let mut pending = Vec::new();
        for (series, monitor) in monitors.iter_mut().enumerate() {
            monitor.push(project[series][run], &mut scratch);
            let changes = monitor.changes_and_alarm(&mut scratch);
            let is_pending = |change: &&Change| {
                !notified.iter().any(|one| one.series == series && one.change.is_same(change))
            };
            pending.extend(changes.iter().filter(is_pending).map(|change| {
                let p_value = monitor.p_value(change, &changes, |_| false, &mut scratch);
                (NotifiedChange { run, series, change: *change }, p_value)
            }));
        }
        let p_values: Vec<_> = pending.iter().map(|(one, p_value)| (one.change.at, *p_value)).collect();
        let selected = budget.select(&p_values, project.len());
        notified.extend(
            pending.iter().zip(selected).filter(|(_, is_selected)| *is_selected).map(|((one, _), _)| one),
        );
    }
    notified
}

/// Returns the number of events: all changes of a run are one event.
pub fn count_events(notified: &[NotifiedChange]) -> usize {
    notified.chunk_by(|one, two| one.run == two.run).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn autocorrelated_noise_is_within_the_budget() {
        let events = [1, 2, 3, 4, 5, 6, 7, 8]
            .map(|seed| count_events(&notified_changes(&project(&MIXED_NOISE, seed))));
        assert!(events.iter().sum::<usize>() <= 2 * events.len(), "{events:?}");
    }

    #[test]
    fn every_noise_is_within_the_budget() {
        // Excludes unknown hosts that change at a different time for each series.
        for kind in Noise::ALL.into_iter().filter(|kind| *kind != Noise::StickyHosts) {
            let notified = notified_changes(&project(&[kind], 1));
            assert!(count_events(&notified) <= 2, "{kind}: {notified:?}");
        }
    }

    #[test]
    fn steps_of_one_commit_are_notified_within_four_runs() {
        for (seed, commit) in [(1, 120), (2, 200), (3, 120), (4, 200)] {
            let mut project = project(&MIXED_NOISE, seed);
            let steps = [(3, 1.05), (7, 1.06), (11, 1.08), (15, 1.12), (19, 1.25), (23, 1.5)];
            for (series, factor) in steps {
                project[series][commit..].iter_mut().for_each(|value| *value *= factor);
            }
            let notified = notified_changes(&project);
            for (series, factor) in steps {
                let runs: Vec<usize> =
                    notified.iter().filter(|one| one.series == series).map(|one| one.run).collect();
                assert_eq!(runs, [commit + 3], "{factor} with seed {seed}");
            }
        }
    }
}
