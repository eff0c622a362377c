//! Replays the notifications of a lane: the changes that the server would have notified about with a false-alarm budget.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tidemark_stats::{Change, DetectionSettings, FalseAlarmBudget, Monitor, Scratch};
use tidemark_store::vector::MeasuredReport;

use super::{Alarm, change_alarms};
use crate::domain::changes::{MAX_NOTIFICATION_AGE_SECONDS, MAX_RECENT_VALUES, Values};

/// Number of values of a new level up to which the replay computes the p-value of its change with each value, as the server does.
const FIRST_LENGTHS: usize = 24;
/// Longer levels for which the replay computes the p-value, which changes slowly from there on.
const LATER_LENGTHS: [usize; 3] = [32, 48, MAX_RECENT_VALUES];

/// The p-value of a change at a time.
#[derive(Clone, Copy)]
struct PendingChange {
    change: Change,
    p_value: f64,
}

/// The changes of a lane while its reports are replayed.
#[derive(Default)]
pub(super) struct Replay {
    /// The pending changes of each series by the index of the report after which the replay computed their p-values.
    computed: BTreeMap<usize, Vec<(u32, Vec<PendingChange>)>>,
}

impl Replay {
    /// Adds a series. `value` returns the host and the value at an index, without the common factor.
    pub(super) fn add(
        &mut self,
        id: u32,
        series: &Values,
        reports: &[MeasuredReport],
        value: impl Fn(usize) -> (Option<u16>, f64),
    ) {
        let candidates = change_alarms(series, &value, DetectionSettings::default());
        let lengths = (1..=FIRST_LENGTHS).chain(LATER_LENGTHS);
        let due: BTreeSet<usize> =
            candidates.iter().flat_map(|alarm| lengths.clone().map(|length| alarm.at + length - 1)).collect();
        let Some(last) = due.last().copied() else { return };
        let (mut monitor, mut scratch) = (Monitor::new(DetectionSettings::default()), Scratch::default());
        for (index, place) in series.places.iter().enumerate().take(last + 1) {
            let (host, value) = value(index);
            monitor.push_with_host(host, value, &mut scratch);
            if !due.contains(&index) {
                continue;
            }
            let known = monitor.changes_and_alarm(&mut scratch);
            let recent = known
                .iter()
                .filter(|change| index < change.at + MAX_RECENT_VALUES && !is_noise(series, reports, change));
            let pending = recent.map(|change| PendingChange {
                change: *change,
                p_value: monitor.p_value(change, &known, |_| false, &mut scratch),
            });
            self.computed.entry(*place).or_default().push((id, pending.collect()));
        }
    }

    /// Returns the alarms of each series. `series` has the number of series of the lane at each report.
    pub(super) fn finish(
        self,
        history: &HashMap<u32, Values>,
        reports: &[MeasuredReport],
        series: &[usize],
        budget: FalseAlarmBudget,
    ) -> HashMap<u32, Vec<Alarm>> {
        let mut alarms: HashMap<u32, Vec<Alarm>> = HashMap::new();
        let mut notified: HashMap<u32, Vec<Change>> = HashMap::new();
        let mut current: BTreeMap<u32, Vec<PendingChange>> = BTreeMap::new();
        for (report, computed) in self.computed {
            current.extend(computed);
            let oldest = reports[report].start_time.plus_seconds(-MAX_NOTIFICATION_AGE_SECONDS);
            let place = |id: u32, at: usize| history[&id].places[at];
            for (id, changes) in &mut current {
                changes.retain(|PendingChange { change, .. }| {
                    let is_notified =
                        notified.get(id).is_some_and(|all| all.iter().any(|one| one.is_same(change)));
                    !is_notified && reports[place(*id, change.at)].start_time >= oldest
                });
            }
            current.retain(|_, changes| !changes.is_empty());
            let open: Vec<(u32, PendingChange)> =
                current.iter().flat_map(|(id, changes)| changes.iter().map(|one| (*id, *one))).collect();
            let p_values: Vec<(usize, f64)> =
                open.iter().map(|(id, one)| (place(*id, one.change.at), one.p_value)).collect();
            let selected = budget.select(&p_values, series[report]);
            for ((id, PendingChange { change, .. }), _) in
                open.iter().zip(selected).filter(|(_, is_selected)| *is_selected)
            {
                notified.entry(*id).or_default().push(*change);
                let raised = history[id].places.partition_point(|place| *place <= report) - 1;
                let alarm = Alarm { at: change.at, raised, before: Some(change.before), after: change.after };
                alarms.entry(*id).or_default().push(alarm);
            }
        }
        alarms
    }
}

/// Whether the code is the same before and after a change.
fn is_noise(series: &Values, reports: &[MeasuredReport], change: &Change) -> bool {
    (change.earliest..=change.latest).all(|at| {
        let Some(before) = at.checked_sub(1).map(|before| series.places[before]) else { return false };
        let place = series.places[at];
        place == before + 1 && reports[place].is_same_code(&reports[before])
    })
}

/// Returns the number of series of a lane at each report: those with a value at or around the report.
pub(super) fn series_counts<'a>(reports: usize, series: impl IntoIterator<Item = &'a Values>) -> Vec<usize> {
    let mut counts = vec![0; reports];
    for values in series {
        let (Some(first), Some(last)) = (values.places.first(), values.places.last()) else { continue };
        counts[*first..=*last].iter_mut().for_each(|count| *count += 1);
    }
    counts
}
