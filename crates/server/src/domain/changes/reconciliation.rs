//! Reconciles the changes that monitors found in a lane with the stored changes. A stored change keeps its identity while
//! detection refines it, and keeps the status that a user has set.

use std::collections::{HashMap, HashSet};

use tidemark_api::{ChangeCause, Timestamp};
use tidemark_stats::{Change, Monitor, Scratch, Worse};
use tidemark_store::{
    EventId, MeasureId, ReportId, VersionId,
    change::{ChangeWrite, DetectedChange, StoredChange},
    series::SeriesKey,
};

use super::{
    monitors::Monitors,
    series::{CurrentChange, Series},
};

/// Minimum number of benchmarks that can change together.
const MIN_BENCHMARKS: usize = 5;

/// A current change and the row to write for it.
pub(super) struct ReconciledChange {
    /// The row to write.
    pub(super) written: ChangeWrite,
    /// Event of the change; `None` if it has not been assigned.
    pub(super) event: Option<EventId>,
    /// Event of the alerts of a new change; `None` if there are none.
    pub(super) alert_event: Option<EventId>,
    /// Number of the report with which the change begins.
    pub(super) number: usize,
    /// Probability that noise alone produces the change.
    pub(super) p_value: f64,
    /// Whether the change can still be notified.
    pub(super) is_open: bool,
    /// Whether the same row is already stored.
    pub(super) is_stored: bool,
    /// The first and the last version with which the change may have begun. The testbed may not have measured the first one.
    pub(super) span: (VersionId, VersionId),
}

/// A change as last written.
#[derive(Clone, Copy, Debug)]
pub(super) struct WrittenChange {
    found: DetectedChange,
    is_open: bool,
}

/// The current changes of a series.
pub(super) struct SeriesChanges {
    /// Index of the series in its lane.
    place: usize,
    series_key: SeriesKey,
    found: Vec<DetectedChange>,
}

/// Returns the series to compare with the store: their changes differ from those last written, or can still be notified.
pub(super) fn changed_series(monitors: &Monitors, worse: impl Fn(MeasureId) -> Worse) -> Vec<SeriesChanges> {
    let causes = Causes::of(monitors);
    let mut changed_series = Vec::new();
    for (place, series) in monitors.series().iter().enumerate() {
        let series_key = series.series_key;
        let is_quiet = series.changes.is_empty() && series.written.as_ref().is_some_and(Vec::is_empty);
        if is_quiet {
            continue;
        }
        let worse = worse(series_key.measure);
        let found: Vec<DetectedChange> = series
            .changes
            .iter()
            .map(|seen| {
                let cause = match causes.of_change(monitors, series, &seen.change) {
                    ChangeCause::Code if seen.is_common => ChangeCause::Host,
                    cause => cause,
                };
                let found = found(monitors, series, seen, cause, worse);
                let is_recovered = match found.worse {
                    -1 => reverts_regression(&series.changes, seen),
                    _ => is_recovered(&series.changes, seen),
                };
                DetectedChange { is_recovered, ..found }
            })
            .collect();
        let is_as_written = series.written.as_ref().is_some_and(|written| {
            written.len() == found.len()
                && written.iter().zip(&found).all(|(noted, found)| !noted.is_open && noted.found == *found)
        });
        if !is_as_written {
            changed_series.push(SeriesChanges { place, series_key, found });
        }
    }
    changed_series.sort_by_key(|changes| changes.series_key);
    changed_series
}

/// Computes the p-values of the changes of all series. Earlier changes caused by the machine do not count as noise.
pub(super) fn compute_p_values(monitors: &mut Monitors, scratch: &mut Scratch) {
    let causes = Causes::of(monitors);
    let is_host = |monitors: &Monitors, series: &Series, change: &Change| {
        causes.of_change(monitors, series, change) == ChangeCause::Host
    };
    monitors.compute_p_values(is_host, scratch);
}

/// Number of benchmarks that changed together.
struct Causes {
    /// Number of changed series by measure, direction and report number.
    moved: HashMap<(MeasureId, bool, usize), usize>,
    /// Number of series by measure, without exact series, which the machine does not affect.
    benchmarks: HashMap<MeasureId, usize>,
}

impl Causes {
    fn of(monitors: &Monitors) -> Self {
        let (mut moved, mut benchmarks) = (HashMap::new(), HashMap::new());
        for series in monitors.series().iter().filter(|series| !series.is_exact) {
            let series_key = series.series_key;
            *benchmarks.entry(series_key.measure).or_default() += 1;
            for change in series.changes.iter().map(|seen| &seen.change) {
                let key = (series_key.measure, change.after > change.before, series.places.number(change.at));
                *moved.entry(key).or_default() += 1;
            }
        }
        Self { moved, benchmarks }
    }

    /// Returns the probable cause of a change.
    fn of_change(&self, monitors: &Monitors, series: &Series, change: &Change) -> ChangeCause {
        if monitors.is_noise(series, change) {
            return ChangeCause::Noise;
        }
        if series.is_exact {
            return ChangeCause::Code;
        }
        let series_key = series.series_key;
        let up = change.after > change.before;
        // Counts the changes at a report and at its neighbors, because a series changes only once there.
        let at =
            |number: usize| self.moved.get(&(series_key.measure, up, number)).copied().unwrap_or_default();
        let numbers = series.places.number(change.earliest)..=series.places.number(change.latest);
        let beside = |number: usize| at(number.wrapping_sub(1)) + at(number) + at(number + 1);
        let together = numbers.map(beside).max().unwrap_or_default();
        let all = self.benchmarks.get(&series_key.measure).copied().unwrap_or_default();
        if all >= MIN_BENCHMARKS && together * 2 > all { ChangeCause::Host } else { ChangeCause::Code }
    }
}

/// Returns the rows to write so that the store matches the changed_series. A stored change keeps its identity. A stored change that
/// was not found again is withdrawn, unless a user has set its status.
pub(super) fn reconcile(
    monitors: &Monitors,
    changed_series: &[SeriesChanges],
    stored: &[StoredChange],
    now: Timestamp,
) -> (Vec<ReconciledChange>, Vec<ChangeWrite>) {
    let mut by_series_key: HashMap<SeriesKey, Vec<&StoredChange>> = HashMap::new();
    for one in stored {
        by_series_key.entry(one.series_key).or_default().push(one);
    }
    let (mut known, mut withdrawn) = (Vec::new(), Vec::new());
    let numbers = monitors.numbers();
    for SeriesChanges { place, series_key, found } in changed_series {
        let series = &monitors.series()[*place];
        let is_whole = monitors.is_whole(series);
        // Changes near the start of an incomplete history are final, because earlier detection had more values: none are added
        // there and none are withdrawn.
        let settled = if is_whole { 0 } else { series.start + Monitor::GUARD };
        // The value of the series in a report, or the next value if the report has none or was deleted.
        let nearest = |report: &ReportId| {
            let place = series.places.place(*numbers.get(report)?);
            Some(place.min(series.places.len().checked_sub(1)?))
        };
        let mut left: Vec<(usize, &StoredChange)> = by_series_key
            .get(series_key)
            .into_iter()
            .flatten()
            .filter_map(|one| Some((nearest(&one.found.at)?, *one)))
            .collect();
        for (CurrentChange { change, p_value, .. }, found) in series.changes.iter().zip(found) {
            let same = left
                .iter()
                .enumerate()
                .filter(|(_, (place, one))| is_same(change, *place, one, nearest))
                .min_by_key(|(_, (place, one))| (place.abs_diff(change.at), one.is_withdrawn))
                .map(|(index, _)| index);
            let same = same.map(|index| left.remove(index).1);
            if series.places.number(change.at) < settled {
                continue;
            }
            let version = |at: usize| monitors.report(series.places.number(at)).version;
            known.push(ReconciledChange {
                event: same.map(|one| one.event),
                alert_event: None,
                written: ChangeWrite {
                    uuid: same.map(|one| one.uuid),
                    series_key: *series_key,
                    found: *found,
                    event: same.map_or(EventId::from(0), |one| one.event),
                    withdrawn: None,
                    is_raised: false,
                    starts_event: false,
                },
                number: series.places.number(change.at),
                p_value: *p_value,
                is_open: series.is_recent(change) && same.is_none_or(|one| !one.is_touched && !one.is_raised),
                is_stored: same.is_some_and(|one| one.found == *found && !one.is_withdrawn),
                span: (
                    monitors.first_version_after_previous(series.places.number(change.earliest)),
                    version(change.latest),
                ),
            });
        }
        let gone = left
            .into_iter()
            .filter(|(at, _)| series.places.number(*at) >= settled + Change::TOLERANCE || is_whole)
            .filter(|(_, one)| !one.is_withdrawn && !one.is_touched);
        withdrawn.extend(gone.map(|(_, one)| ChangeWrite {
            uuid: Some(one.uuid),
            series_key: *series_key,
            found: one.found,
            event: one.event,
            withdrawn: Some(now),
            is_raised: false,
            starts_event: false,
        }));
    }
    (known, withdrawn)
}

/// Records the changes as last written, and which of them can still be notified.
pub(super) fn record_written(
    monitors: &mut Monitors,
    changed_series: &[SeriesChanges],
    open: &HashSet<(SeriesKey, ReportId)>,
) {
    for SeriesChanges { place, series_key, found } in changed_series {
        let noted = |found: &DetectedChange| WrittenChange {
            found: *found,
            is_open: open.contains(&(*series_key, found.at)),
        };
        monitors.series_mut()[*place].written = Some(found.iter().map(noted).collect());
    }
    for series in monitors.series_mut().iter_mut().filter(|series| series.written.is_none()) {
        series.written = Some(Vec::new());
    }
}

fn found(
    monitors: &Monitors,
    series: &Series,
    seen: &CurrentChange,
    cause: ChangeCause,
    worse: Worse,
) -> DetectedChange {
    let change = &seen.change;
    let goes_up = change.after > change.before;
    let report = |place: usize| monitors.report(series.places.number(place));
    // Levels are shown as measured on the machine since the change, so the common factor is restored.
    let is_raw = seen.is_common || series.is_exact;
    let number = series.places.number(change.at);
    let factor = if is_raw { 1.0 } else { monitors.factor(series.series_key.measure, number) };
    DetectedChange {
        at: report(change.at).report,
        earliest: report(change.earliest).report,
        latest: report(change.latest).report,
        start_time: report(change.at).start_time,
        before: change.before * factor,
        after: change.after * factor,
        effect: change.effect.filter(|effect| effect.is_finite()),
        sigma: change.sigma,
        confidence: change.confidence,
        worse: match worse {
            Worse::Unknown => 0,
            Worse::Up if goes_up => 1,
            Worse::Down if !goes_up => 1,
            Worse::Up | Worse::Down => -1,
        },
        cause,
        is_recovered: false,
    }
}

/// Whether the level since the last change is closer to the level before a change than to the level after it.
fn is_recovered(changes: &[CurrentChange], seen: &CurrentChange) -> bool {
    let change = &seen.change;
    let last = changes.iter().rfind(|other| other.is_common == seen.is_common);
    last.filter(|last| last.change.at > change.at).is_some_and(|last| {
        let now = last.change.after;
        (now - change.before).abs() < (now - change.after).abs()
    })
}

/// Whether an improvement reverts the regression before it: the new level is that before the regression, not a better one.
fn reverts_regression(changes: &[CurrentChange], seen: &CurrentChange) -> bool {
    let earlier =
        |other: &&CurrentChange| other.is_common == seen.is_common && other.change.at < seen.change.at;
    changes.iter().rfind(earlier).is_some_and(|regression| {
        let (before, after) = (regression.change.before, regression.change.after);
        let is_opposite = (after > before) != (seen.change.after > seen.change.before);
        is_opposite && (seen.change.after - before).abs() < (after - before).abs() / 2.0
    })
}

/// Whether a change is the same as a stored one: the same direction, and overlapping positions.
fn is_same(
    change: &Change,
    place: usize,
    stored: &StoredChange,
    nearest: impl Fn(&ReportId) -> Option<usize>,
) -> bool {
    let one = &stored.found;
    if (change.after > change.before) != (one.after > one.before) {
        return false;
    }
    let earliest = nearest(&one.earliest).unwrap_or(place);
    let latest = nearest(&one.latest).unwrap_or(place);
    change.is_close(place)
        || (earliest..=latest).contains(&change.at)
        || (change.earliest..=change.latest).contains(&place)
}

#[cfg(test)]
mod tests {
    use tidemark_api::{ChangeUuid, EventStatus};
    use uuid::Uuid;

    use super::*;
    use crate::domain::changes::monitors::tests::{anew, series_key, vector};

    const NOW: Timestamp = Timestamp::from_micros(0);

    /// A lane of 900 reports: one series has a value in each report, the other in every second report of the newest 120, with a
    /// step at its 30th value.
    fn seen() -> Monitors {
        anew(900, |number| {
            let noise = ((number * 7_919) % 100) as f64 / 100.0;
            let level = if number < 840 { 100.0 } else { 150.0 };
            let mut values = vec![(128, 100.0 + noise)];
            values.extend((number >= 780 && number % 2 == 0).then_some((256, level + noise)));
            vector(number, &values)
        })
    }

    fn reconciled(stored: &[StoredChange]) -> (Vec<ReconciledChange>, Vec<ChangeWrite>) {
        let monitors = seen();
        reconcile(&monitors, &changed_series(&monitors, |_| Worse::Up), stored, NOW)
    }

    #[test]
    fn a_young_series_of_an_old_lane_is_looked_at() {
        let (known, withdrawn) = reconciled(&[]);
        let [one] = &known[..] else { panic!("{} changes", known.len()) };
        assert_eq!((one.written.series_key, one.written.found.at), (series_key(256), ReportId::from(841)));
        assert_eq!((one.written.uuid, one.is_open, one.is_stored, withdrawn.len()), (None, true, false, 0));
    }

    #[test]
    fn a_change_whose_report_was_deleted_keeps_its_identity() {
        let found = reconciled(&[]).0[0].written.found;
        let uuid = ChangeUuid::from(Uuid::from_u128(7));
        // The report next to the deleted one has no value of the series.
        let beside = DetectedChange { at: ReportId::from(842), ..found };
        let stored = StoredChange {
            uuid,
            series_key: series_key(256),
            found: beside,
            event: EventId::from(1),
            status: EventStatus::FalseAlarm,
            is_touched: true,
            is_withdrawn: false,
            is_raised: false,
        };
        let (known, withdrawn) = reconciled(&[stored]);
        assert_eq!((known.len(), known[0].written.uuid, known[0].is_open), (1, Some(uuid), false));
        assert!(withdrawn.is_empty());
    }

    #[test]
    fn what_is_settled_is_neither_found_anew_nor_withdrawn() {
        let found = reconciled(&[]).0[0].written.found;
        let settled = StoredChange {
            uuid: ChangeUuid::from(Uuid::from_u128(8)),
            series_key: series_key(128),
            found: DetectedChange {
                at: ReportId::from(390),
                earliest: ReportId::from(390),
                latest: ReportId::from(390),
                ..found
            },
            event: EventId::from(1),
            status: EventStatus::Open,
            is_touched: false,
            is_withdrawn: false,
            is_raised: false,
        };
        assert!(reconciled(&[settled]).1.is_empty());
        let late =
            StoredChange { found: DetectedChange { at: ReportId::from(600), ..settled.found }, ..settled };
        assert_eq!(reconciled(&[late]).1.len(), 1);
    }
}
