//! What was seen of a lane, held against what is stored of it: what is known keeps its identity while detection learns more
//! about it, and what people have said stays.

use std::collections::{BTreeMap, HashMap};

use tidemark_api::{ChangeCause, Timestamp};
use tidemark_stats::{Change, Evidence, Monitor, Settings, Worse};
use tidemark_store::{
    MeasureId, ReportId,
    change::{Found, Stored, Written},
    series::Subject,
    vector::Measured,
};

use super::history::{History, Values};

/// The fewest benchmarks that can have something in common.
const TOGETHER: usize = 5;
/// How many series are shuffled at the most.
const SHUFFLED: usize = 128;

/// What was seen of a lane.
pub(super) struct Seen {
    reports: Vec<Measured>,
    courses: BTreeMap<Subject, Course>,
}

/// What was seen of a series: the places of the reports that it has values in, the oldest first, and its changes, with what
/// is behind each.
struct Course {
    places: Vec<usize>,
    /// Whether its values are counted rather than timed, so that no machine moves them: most equal the one before.
    is_exact: bool,
    changes: Vec<(Change, ChangeCause)>,
}

/// A change that is there, and what is to be written of it.
pub(super) struct Known {
    /// What is to be written.
    pub(super) written: Written,
    /// How much speaks for it.
    pub(super) margin: f64,
    /// Whether it may still become worth to be told.
    pub(super) is_open: bool,
    /// Whether it is stored like this already.
    pub(super) is_stored: bool,
    /// The first and the last report that it may have begun with.
    pub(super) span: (Measured, Measured),
}

impl Seen {
    /// Looks at all series; some of them are shuffled if that is wanted, to learn what noise there is.
    pub(super) fn of(
        history: History,
        subjects: &HashMap<u32, Subject>,
        shuffle: bool,
    ) -> (Self, Option<Evidence>) {
        let settings = Settings::default();
        let (mut courses, mut evidence) = (BTreeMap::new(), Evidence::default());
        let stride = history.series.len().div_ceil(SHUFFLED).max(1);
        for (series, Values { places, values, .. }) in history.series {
            let Some(subject) = subjects.get(&series) else { continue };
            let changes = known_by_now(&values, settings);
            if shuffle && (series as usize).is_multiple_of(stride) {
                let cuts: Vec<usize> = changes.iter().map(|change| change.at).collect();
                evidence = evidence.and(Evidence::of(&values, &cuts, settings));
            }
            let changes = changes.into_iter().map(|change| (change, ChangeCause::Code)).collect();
            courses.insert(*subject, Course { places, is_exact: tidemark_stats::is_exact(&values), changes });
        }
        let mut seen = Self { reports: history.reports, courses };
        let alike = seen.find_causes();
        (seen, shuffle.then(|| evidence.and(alike)))
    }

    /// How many series there are.
    pub(super) fn series(&self) -> usize {
        self.courses.len()
    }

    /// The newest report.
    pub(super) fn newest(&self) -> Option<ReportId> {
        self.reports.last().map(|newest| newest.report)
    }

    /// The measures of all series.
    pub(super) fn measures(&self) -> Vec<i64> {
        let mut measures: Vec<i64> = self.courses.keys().map(|subject| subject.measure.get()).collect();
        measures.sort_unstable();
        measures.dedup();
        measures
    }

    /// Says what seems to be behind each change; answers what runs of the same code tell of noise.
    fn find_causes(&mut self) -> Evidence {
        let mut moved: HashMap<(MeasureId, bool, usize), usize> = HashMap::new();
        let mut benchmarks: HashMap<MeasureId, usize> = HashMap::new();
        for (subject, course) in self.courses.iter().filter(|(_, course)| !course.is_exact) {
            *benchmarks.entry(subject.measure).or_default() += 1;
            for (change, _) in &course.changes {
                let key = (subject.measure, change.after > change.before, course.places[change.at]);
                *moved.entry(key).or_default() += 1;
            }
        }
        let is_same: Vec<bool> = std::iter::once(false)
            .chain(self.reports.windows(2).map(|pair| pair[1].is_same_code(&pair[0])))
            .collect();
        let mut alike = Evidence::default();
        for (subject, course) in &mut self.courses {
            let places = &course.places;
            // A series that a report between the two does not have is not known to be of the same code.
            let is_alike = |at: usize| at > 0 && places[at] == places[at - 1] + 1 && is_same[places[at]];
            alike.values += (0..places.len()).filter(|at| is_alike(*at)).count() as u64;
            for (change, cause) in &mut course.changes {
                let up = change.after > change.before;
                // How many changed at one place, or right beside it, as a benchmark changes there only once.
                let at = |place: usize| moved.get(&(subject.measure, up, place)).copied().unwrap_or_default();
                let together = (places[change.earliest]..=places[change.latest])
                    .map(|place| at(place.wrapping_sub(1)) + at(place) + at(place + 1))
                    .max()
                    .unwrap_or_default();
                let all = benchmarks.get(&subject.measure).copied().unwrap_or_default();
                if (change.earliest..=change.latest).all(is_alike) {
                    *cause = ChangeCause::Noise;
                    alike.alarms += 1;
                    alike.margins += change.margin;
                } else if !course.is_exact && all >= TOGETHER && together * 2 > all {
                    *cause = ChangeCause::Host;
                }
            }
        }
        alike
    }

    /// What is to be written, so that what is stored is what was seen: changes that are known keep their identity, and what
    /// is not seen any more is withdrawn, unless people have said something of it.
    pub(super) fn reconcile(
        &self,
        stored: &[Stored],
        is_whole: bool,
        worse: impl Fn(&Subject) -> Worse,
        now: Timestamp,
    ) -> (Vec<Known>, Vec<Written>) {
        let mut by_subject: HashMap<Subject, Vec<&Stored>> = HashMap::new();
        for one in stored {
            by_subject.entry(one.subject).or_default().push(one);
        }
        let (mut known, mut withdrawn) = (Vec::new(), Vec::new());
        // What lies at the beginning of a part of the history was settled when there was more of it to see: nothing new is
        // found there, and nothing is withdrawn.
        let settled = if is_whole { 0 } else { Monitor::GUARD };
        let positions: HashMap<ReportId, usize> =
            self.reports.iter().enumerate().map(|(place, report)| (report.report, place)).collect();
        for (subject, course) in &self.courses {
            // The value of the series with a report, or the one after it if that has none, as when its report was deleted.
            let nearest = |report: &ReportId| {
                let place = *positions.get(report)?;
                let index = course.places.partition_point(|own| *own < place);
                Some(index.min(course.places.len().checked_sub(1)?))
            };
            let worse = worse(subject);
            let mut left: Vec<(usize, &Stored)> = by_subject
                .get(subject)
                .into_iter()
                .flatten()
                .filter_map(|one| Some((nearest(&one.found.at)?, *one)))
                .collect();
            for (change, cause) in &course.changes {
                let same = left
                    .iter()
                    .enumerate()
                    .filter(|(_, (place, one))| is_same(change, *place, one, nearest))
                    .min_by_key(|(_, (place, one))| (place.abs_diff(change.at), one.is_withdrawn))
                    .map(|(index, _)| index);
                let same = same.map(|index| left.remove(index).1);
                if course.places[change.at] < settled {
                    continue;
                }
                let found = self.found(course, change, *cause, worse);
                let report = |place: usize| self.reports[course.places[place]].clone();
                known.push(Known {
                    written: Written {
                        uuid: same.map(|one| one.uuid),
                        subject: *subject,
                        found,
                        withdrawn: None,
                        is_raised: false,
                        is_told: false,
                    },
                    margin: change.margin,
                    is_open: same.is_none_or(|one| !one.is_touched && !one.is_raised),
                    is_stored: same.is_some_and(|one| one.found == found && !one.is_withdrawn),
                    span: (report(change.earliest), report(change.latest)),
                });
            }
            let gone = left
                .into_iter()
                .filter(|(index, _)| course.places[*index] >= settled + Change::TOLERANCE || is_whole)
                .filter(|(_, one)| !one.is_withdrawn && !one.is_touched);
            withdrawn.extend(gone.map(|(_, one)| Written {
                uuid: Some(one.uuid),
                subject: *subject,
                found: one.found,
                withdrawn: Some(now),
                is_raised: false,
                is_told: false,
            }));
        }
        (known, withdrawn)
    }

    fn found(&self, course: &Course, change: &Change, cause: ChangeCause, worse: Worse) -> Found {
        let goes_up = change.after > change.before;
        let report = |place: usize| &self.reports[course.places[place]];
        Found {
            at: report(change.at).report,
            earliest: report(change.earliest).report,
            latest: report(change.latest).report,
            start_time: report(change.at).start_time,
            before: change.before,
            after: change.after,
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
        }
    }
}

/// The changes of a series: an alarm comes with the fourth value of a new level, and is withdrawn if the others do not bear it
/// out.
fn known_by_now(values: &[f64], settings: Settings) -> Vec<Change> {
    let mut monitor = Monitor::new(settings);
    for value in values {
        monitor.push(*value);
    }
    let mut changes = monitor.known();
    // Values at the end of what a number can be leave nothing to tell.
    changes.retain(|change| {
        let numbers = [change.before, change.after, change.sigma, change.confidence, change.margin];
        numbers.iter().all(|number| number.is_finite())
    });
    changes
}

/// Whether a change is the one that is stored: it goes the same way, and begins where that one may.
fn is_same(
    change: &Change,
    place: usize,
    stored: &Stored,
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
    use tidemark_api::{ChangeStatus, ChangeUuid, ReportUuid};
    use tidemark_store::{BenchmarkId, VersionId};
    use uuid::Uuid;

    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(0);

    fn subject(benchmark: i64) -> Subject {
        Subject { benchmark: BenchmarkId::from(benchmark), variant: 0, measure: MeasureId::from(1) }
    }

    /// A lane of 600 reports: one series has a value of each, the other of every second one of the newest 120, with a step
    /// at its 30th.
    fn seen() -> Seen {
        let report = |key: i64| Measured {
            report: ReportId::from(key),
            uuid: ReportUuid::from(Uuid::from_u128(key as u128)),
            version: VersionId::from(key),
            start_time: NOW,
            binary_hash: None,
        };
        let noise = |place: usize| ((place * 7_919) % 100) as f64 / 100.0;
        let old = Values {
            places: (0..600).collect(),
            values: (0..600).map(|place| 100.0 + noise(place)).collect(),
            ..Values::default()
        };
        let places: Vec<usize> = (480..600).step_by(2).collect();
        let step = |place: &usize| noise(*place) + if *place < 540 { 100.0 } else { 150.0 };
        let new = Values { values: places.iter().map(step).collect(), places, ..Values::default() };
        let history =
            History { reports: (1..=600).map(report).collect(), series: HashMap::from([(1, old), (2, new)]) };
        let subjects = HashMap::from([(1, subject(1)), (2, subject(2))]);
        Seen::of(history, &subjects, false).0
    }

    fn reconciled(stored: &[Stored]) -> (Vec<Known>, Vec<Written>) {
        seen().reconcile(stored, false, |_| Worse::Up, NOW)
    }

    #[test]
    fn a_young_series_of_an_old_lane_is_looked_at() {
        let (known, withdrawn) = reconciled(&[]);
        let [one] = &known[..] else { panic!("{} changes", known.len()) };
        assert_eq!((one.written.subject, one.written.found.at), (subject(2), ReportId::from(541)));
        assert_eq!((one.written.uuid, one.is_open, one.is_stored, withdrawn.len()), (None, true, false, 0));
    }

    #[test]
    fn a_change_whose_report_was_deleted_keeps_its_identity() {
        let found = reconciled(&[]).0[0].written.found;
        let uuid = ChangeUuid::from(Uuid::from_u128(7));
        // The report beside the one that was deleted has no value of the series.
        let beside = Found { at: ReportId::from(542), ..found };
        let stored = Stored {
            uuid,
            subject: subject(2),
            found: beside,
            status: ChangeStatus::FalseAlarm,
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
        let settled = Stored {
            uuid: ChangeUuid::from(Uuid::from_u128(8)),
            subject: subject(1),
            found: Found {
                at: ReportId::from(60),
                earliest: ReportId::from(60),
                latest: ReportId::from(60),
                ..found
            },
            status: ChangeStatus::Active,
            is_touched: false,
            is_withdrawn: false,
            is_raised: false,
        };
        assert!(reconciled(&[settled]).1.is_empty());
        let late = Stored { found: Found { at: ReportId::from(300), ..settled.found }, ..settled };
        assert_eq!(reconciled(&[late]).1.len(), 1);
    }
}
