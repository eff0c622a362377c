//! The monitors of a lane, which take its reports one by one: a report costs what its values cost, however long the history
//! is. Each series is watched from a report on that depends on nothing but its key and the number of reports, so that
//! monitors that were kept know the same as those that begin anew.

use std::collections::{HashMap, VecDeque};

use tidemark_stats::{Change, Monitor, Scratch, Settings};
use tidemark_store::{
    ReportId,
    series::Subject,
    vector::{self, Mark, Measured},
};

use super::{hosts::Hosts, places::Places, seen::Noted};

/// People are notified of a change before there are so many values after it.
const NEW: usize = 64;

/// The monitors of a lane.
pub(super) struct Monitors {
    /// The newest reports, the oldest first.
    reports: VecDeque<Measured>,
    /// Their hosts.
    hosts: Hosts,
    /// The number of the first of them among all reports of the lane.
    first: usize,
    /// Before the number of this one there are no reports.
    origin: usize,
    /// How many reports of the lane were deleted when it began.
    deleted: i64,
    /// The series, by their keys.
    series: Vec<Series>,
    /// Whether the values of series are still there.
    can_go_on: bool,
}

/// A series, and what is known of it.
pub(super) struct Series {
    id: u32,
    /// What it is of; none until it is looked up.
    pub(super) subject: Option<Subject>,
    /// The number of the report that it is watched from.
    pub(super) start: usize,
    /// The numbers of the reports that its values are of.
    pub(super) places: Places,
    monitor: Monitor,
    /// Its changes.
    pub(super) changes: Vec<Change>,
    /// How likely noise alone is to make each of them.
    pub(super) p_values: Vec<f64>,
    /// Whether its values are counted rather than timed, so that no machine moves them.
    pub(super) is_exact: bool,
    /// What was last written of its changes; none before the first time.
    pub(super) written: Option<Vec<Noted>>,
}

/// A report, with its series and values.
pub(super) struct Vector {
    pub(super) measured: Measured,
    pub(super) series: Vec<u32>,
    pub(super) values: Vec<f64>,
}

impl Vector {
    /// Reads it.
    pub(super) fn new(measured: Measured, series: &[u8], values: &[u8]) -> Self {
        let values = vector::values(values).iter().map(|bytes| f64::from_le_bytes(*bytes));
        Self { measured, series: vector::series(series).collect(), values: values.collect() }
    }
}

impl Monitors {
    /// The most reports that are looked at.
    pub(super) const REPORTS: usize = Monitor::KEPT;

    /// No monitors yet, of a lane with so many reports. The newest will be given: `given` is how many, and `is_all` says
    /// whether there are no others on its head.
    pub(super) fn new(reports: usize, given: usize, is_all: bool, deleted: i64) -> Self {
        let first = reports.saturating_sub(given);
        let origin = if is_all { first } else { 0 };
        let (reports, hosts, series) = (VecDeque::new(), Hosts::default(), Vec::new());
        Self { reports, hosts, first, origin, deleted, series, can_go_on: true }
    }

    /// Whether they can take further reports.
    pub(super) fn can_go_on(&self) -> bool {
        self.can_go_on
    }

    /// How many reports the lane has had.
    pub(super) fn count(&self) -> usize {
        self.first + self.reports.len()
    }

    /// How many reports of the lane were deleted when the monitors began.
    pub(super) fn deleted(&self) -> i64 {
        self.deleted
    }

    /// The newest report.
    pub(super) fn newest(&self) -> Option<&Measured> {
        self.reports.back()
    }

    /// The place of the newest report.
    pub(super) fn mark(&self) -> Option<Mark> {
        self.newest().map(Measured::mark)
    }

    /// The report with a number.
    pub(super) fn report(&self, number: usize) -> &Measured {
        &self.reports[number - self.first]
    }

    /// The numbers of all reports.
    pub(super) fn numbers(&self) -> HashMap<ReportId, usize> {
        self.reports.iter().zip(self.first..).map(|(measured, number)| (measured.report, number)).collect()
    }

    /// All series.
    pub(super) fn series(&self) -> &[Series] {
        &self.series
    }

    /// All series, to be changed.
    pub(super) fn series_mut(&mut self) -> &mut [Series] {
        &mut self.series
    }

    /// Whether a series is watched from its beginning.
    pub(super) fn is_whole(&self, series: &Series) -> bool {
        series.start <= self.origin
    }

    /// Takes new reports, of which `reports` are there in the end; only series that are `wanted`.
    pub(super) fn take(
        &mut self,
        vectors: Vec<Vector>,
        reports: usize,
        wanted: impl Fn(u32) -> bool,
        scratch: &mut Scratch,
    ) {
        let mut fresh: HashMap<u32, Vec<(usize, Option<u16>, f64)>> = HashMap::new();
        for Vector { measured, series, values } in vectors {
            let number = self.count();
            let host = self.hosts.enter(&measured);
            self.reports.push_back(measured);
            let (mut known, mut from) = (self.series.iter_mut().peekable(), 0);
            for ids in series.chunk_by(|one, two| one == two) {
                let iterations = &values[from..(from + ids.len()).min(values.len())];
                from += ids.len();
                // One value a report: its iterations were made at the same time, and do not confirm each other.
                let (id, Some(value)) = (ids[0], tidemark_stats::median(iterations)) else { continue };
                if !wanted(id) {
                    continue;
                }
                while known.next_if(|one| one.id < id).is_some() {}
                match known.next_if(|one| one.id == id) {
                    Some(one) => one.take(number, host, value, reports, scratch),
                    None => fresh.entry(id).or_default().push((number, host, value)),
                }
            }
        }
        if !fresh.is_empty() {
            let begin = |(id, values): (u32, Vec<(usize, Option<u16>, f64)>)| {
                let mut series = Series::new(id);
                for (number, host, value) in values {
                    series.take(number, host, value, reports, scratch);
                }
                series
            };
            self.series.extend(fresh.into_iter().map(begin));
            self.series.sort_unstable_by_key(|series| series.id);
        }
        while self.reports.len() > Self::REPORTS {
            if let Some(oldest) = self.reports.pop_front() {
                self.hosts.leave(&oldest);
            }
            self.first += 1;
        }
    }

    /// Looks for the changes of all series, now that all reports were taken.
    pub(super) fn look(&mut self, scratch: &mut Scratch) {
        let reports = self.count();
        self.series.retain_mut(|series| {
            series.renew(reports, scratch);
            // One that no report has had for so long is over.
            if series.places.is_empty() {
                return false;
            }
            series.changes = series.monitor.known(scratch);
            // Numbers at the end of their range leave nothing to say.
            series.changes.retain(|change| {
                let numbers = [change.before, change.after, change.sigma, change.confidence, change.margin];
                numbers.iter().all(|number| number.is_finite())
            });
            series.p_values = vec![1.0; series.changes.len()];
            series.is_exact = series.monitor.is_exact();
            true
        });
    }

    /// Computes the p-value of each change that is recent enough to be notified.
    pub(super) fn weigh(&mut self, is_host: impl Fn(&Self, &Series, &Change) -> bool, scratch: &mut Scratch) {
        for place in 0..self.series.len() {
            let series = &self.series[place];
            let is_explained = |known: &Change| is_host(self, series, known);
            let p_value = |change: &Change| match series.is_new(change) {
                true => series.monitor.p_value(change, &series.changes, is_explained, scratch),
                false => 1.0,
            };
            self.series[place].p_values = series.changes.iter().map(p_value).collect();
        }
    }

    /// The keys of series whose subjects have to be looked up.
    pub(super) fn unknown(&self) -> Vec<i64> {
        let unknown = self.series.iter().filter(|series| series.subject.is_none());
        unknown.map(|series| i64::from(series.id)).collect()
    }

    /// The measures of all series that have changes, or had some.
    pub(super) fn measures(&self) -> Vec<i64> {
        let is_quiet = |series: &&Series| {
            series.changes.is_empty() && series.written.as_ref().is_some_and(Vec::is_empty)
        };
        let others = self.series.iter().filter(|series| !is_quiet(series));
        let mut measures: Vec<i64> =
            others.filter_map(|series| Some(series.subject?.measure.get())).collect();
        measures.sort_unstable();
        measures.dedup();
        measures
    }

    /// Says what series are of; those that are of nothing any more are gone.
    pub(super) fn name(&mut self, subjects: &HashMap<u32, Subject>) {
        self.series.retain_mut(|series| {
            series.subject = series.subject.or_else(|| subjects.get(&series.id).copied());
            series.subject.is_some()
        });
    }

    /// Whether a change lies between runs of the same code.
    pub(super) fn is_noise(&self, series: &Series, change: &Change) -> bool {
        (change.earliest..=change.latest).all(|at| self.is_same_code(series, at))
    }

    /// Whether a value is of the same code as the one before it. A series that a report between the two does not have is not
    /// known to be.
    fn is_same_code(&self, series: &Series, at: usize) -> bool {
        let Some(before) = at.checked_sub(1) else { return false };
        let (before, number) = (series.places.number(before), series.places.number(at));
        number == before + 1 && self.report(number).is_same_code(self.report(before))
    }

    /// Adds the series of others, which have taken the same reports.
    pub(super) fn join(&mut self, others: Self) {
        self.series.extend(others.series);
        self.series.sort_unstable_by_key(|series| series.id);
    }

    /// Forgets the values of all series, and keeps what is known of them.
    pub(super) fn forget(&mut self) {
        self.can_go_on = false;
        for series in &mut self.series {
            series.monitor = Monitor::new(Settings::default());
        }
    }

    /// How many bytes of memory they take.
    pub(super) fn bytes(&self) -> usize {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::capacity);
        let texts = self.reports.iter().map(|report| text(&report.binary_hash) + text(&report.host));
        self.reports.capacity() * size_of::<Measured>()
            + texts.sum::<usize>()
            + self.hosts.bytes()
            + self.series.iter().map(Series::bytes).sum::<usize>()
    }
}

impl Series {
    /// About how many bytes of memory one with as many values as are looked at takes.
    pub(super) const BYTES: usize = 12 << 10;

    fn new(id: u32) -> Self {
        Self {
            id,
            subject: None,
            start: 0,
            places: Places::default(),
            monitor: Monitor::new(Settings::default()),
            changes: Vec::new(),
            p_values: Vec::new(),
            is_exact: false,
            written: None,
        }
    }

    /// Takes the value of a report, if it is watched that far back.
    fn take(&mut self, number: usize, host: Option<u16>, value: f64, reports: usize, scratch: &mut Scratch) {
        self.renew(reports.max(number + 1), scratch);
        if number >= self.start {
            self.places.push(number);
            self.monitor.push_on(host, value, scratch);
        }
    }

    /// Begins later, if there are so many reports that it should.
    fn renew(&mut self, reports: usize, scratch: &mut Scratch) {
        let start = start(self.id, reports);
        if start <= self.start {
            return;
        }
        self.start = start;
        let old = self.places.split_off(start);
        if old > 0 {
            let mut monitor = Monitor::new(Settings::default());
            for (host, value) in self.monitor.values_with_hosts().skip(old) {
                monitor.push_on(host, value, scratch);
            }
            self.monitor = monitor;
        }
    }

    /// Whether people may be notified of a change.
    fn is_new(&self, change: &Change) -> bool {
        self.places.len() < change.at + NEW
    }

    fn bytes(&self) -> usize {
        let written = self.written.as_ref().map_or(0, Vec::capacity);
        size_of::<Self>() - size_of::<Monitor>()
            + self.monitor.bytes()
            + self.places.bytes()
            + self.changes.capacity() * size_of::<Change>()
            + self.p_values.capacity() * size_of::<f64>()
            + written * size_of::<Noted>()
    }
}

/// The number of the report from which on a series is watched in a lane with so many reports. It moves on by a block at a
/// time, and with each report for other series, so that no report has all of them begin anew.
fn start(series: u32, reports: usize) -> usize {
    let shift = series as usize % Monitor::BLOCK;
    let ended = (reports + shift).saturating_sub(1) / Monitor::BLOCK * Monitor::BLOCK;
    ended.saturating_sub(Monitor::KEPT - Monitor::BLOCK + shift)
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;
    use tidemark_api::{ReportUuid, Timestamp};
    use tidemark_store::{BenchmarkId, MeasureId, VersionId};
    use uuid::Uuid;

    use super::*;

    /// The subject of a series.
    pub(in crate::changes) fn subject(series: u32) -> Subject {
        Subject { benchmark: BenchmarkId::from(i64::from(series)), variant: 0, measure: MeasureId::from(1) }
    }

    /// A report with these values of series.
    pub(in crate::changes) fn vector(number: usize, values: &[(u32, f64)]) -> Vector {
        let key = number as i64 + 1;
        Vector {
            measured: Measured {
                report: ReportId::from(key),
                uuid: ReportUuid::from(Uuid::from_u128(key as u128)),
                version: VersionId::from(key),
                start_time: Timestamp::from_micros(0),
                binary_hash: None,
                host: None,
            },
            series: values.iter().map(|(series, _)| *series).collect(),
            values: values.iter().map(|(_, value)| *value).collect(),
        }
    }

    /// What new monitors know of a lane with these reports.
    pub(in crate::changes) fn anew(reports: usize, vector: impl Fn(usize) -> Vector) -> Monitors {
        let given = reports.min(Monitors::REPORTS);
        let mut monitors = Monitors::new(reports, given, given == reports, 0);
        let vectors = (reports - given..reports).map(vector).collect();
        let mut scratch = Scratch::default();
        monitors.take(vectors, reports, |_| true, &mut scratch);
        monitors.look(&mut scratch);
        let subjects = monitors.unknown().iter().map(|id| (*id as u32, subject(*id as u32))).collect();
        monitors.name(&subjects);
        monitors
    }

    /// Monitors of so many series that have a value in each of so many reports, from three hosts.
    pub(in crate::changes) fn filled(series: u32, reports: usize) -> Monitors {
        anew(reports, |number| {
            let value = |series: u32| 100.0 + noise(number, series);
            let values: Vec<_> = (0..series).map(|series| (series, value(series))).collect();
            let mut vector = vector(number, &values);
            vector.measured.host = Some(format!("host-{}", number / 10 % 3));
            vector
        })
    }

    /// Something from 0 to 1.
    fn noise(number: usize, series: u32) -> f64 {
        let hash =
            (number as u64 * 7_919 + u64::from(series) * 104_729 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash >> 40) as f64 / (1_u64 << 24) as f64
    }

    type Course = (u32, usize, Vec<usize>, Vec<Change>, bool);

    fn courses(monitors: &Monitors) -> (usize, Option<Mark>, Vec<Course>) {
        let course = |series: &Series| {
            let numbers = (0..series.places.len()).map(|place| series.places.number(place)).collect();
            (series.id, series.start, numbers, series.changes.clone(), monitors.is_whole(series))
        };
        (monitors.count(), monitors.mark(), monitors.series.iter().map(course).collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Series with steps, some of which are not in every report, begin late or end, in portions of any size.
        #[test]
        fn monitors_that_were_kept_know_what_new_ones_do(
            series in prop::collection::vec((0_u32..400, 1_usize..4, 0_usize..300, 0_usize..900, -9.0..9.0), 1..6),
            portions in prop::collection::vec(1_usize..120, 1..14),
            (stay, fleet, speed) in (1_usize..20, 0_usize..9, 0.0..9.0),
        ) {
            // No hosts, a few in turn, or another one each time.
            let host = |number: usize| number / stay % [1, 2, 3, 4, 5, 40, 700, usize::MAX][fleet.max(1) - 1];
            let vector = |number: usize| {
                let mut values: Vec<(u32, f64)> = series
                    .iter()
                    .filter(|(_, every, begin, _, _)| number >= *begin && number.is_multiple_of(*every))
                    .map(|(id, _, _, step, size)| {
                        let level = if number < *step { 100.0 } else { 100.0 + size };
                        let speed = if fleet == 0 { 0.0 } else { speed * (host(number) % 7) as f64 };
                        (*id, level + speed + noise(number, *id))
                    })
                    .collect();
                values.sort_by_key(|(id, _)| *id);
                let mut vector = super::tests::vector(number, &values);
                vector.measured.host = (fleet > 0).then(|| format!("host-{}", host(number)));
                vector
            };
            let mut kept = anew(0, vector);
            let mut scratch = Scratch::default();
            let mut reports = 0;
            for portion in portions {
                let vectors = (reports..reports + portion).map(vector).collect();
                reports += portion;
                kept.take(vectors, reports, |_| true, &mut scratch);
                kept.look(&mut scratch);
                prop_assert_eq!(courses(&kept), courses(&anew(reports, vector)));
            }
        }
    }

    #[test]
    fn a_part_of_the_series_is_the_same_as_in_the_whole() {
        let whole = filled(7, 300);
        let mut parts = Monitors::new(300, 300, true, 0);
        for part in 0..3 {
            let mut some = Monitors::new(300, 300, true, 0);
            let vectors = (0..300).map(|number| {
                let value = |series: u32| (series, 100.0 + noise(number, series));
                let mut vector = vector(number, &(0..7).map(value).collect::<Vec<_>>());
                vector.measured.host = Some(format!("host-{}", number / 10 % 3));
                vector
            });
            some.take(vectors.collect(), 300, |series| series % 3 == part, &mut Scratch::default());
            some.look(&mut Scratch::default());
            some.forget();
            assert!(!some.can_go_on());
            if part == 0 { parts = some } else { parts.join(some) }
        }
        assert_eq!(courses(&parts), courses(&whole));
    }

    #[test]
    fn a_series_takes_less_memory_than_is_planned_for() {
        for reports in [100, 513, 640, 700] {
            let bytes = filled(50, reports).bytes() - filled(0, reports).bytes();
            assert!(bytes / 50 <= Series::BYTES, "{} of {reports} reports", bytes / 50);
        }
    }

    #[test]
    fn no_report_has_many_series_begin_anew() {
        for reports in [1, 128, 640, 641, 700, 5_000] {
            let begun = (0..1_280).filter(|id| start(*id, reports) != start(*id, reports + 1)).count();
            assert!(begun <= 10, "{begun} with report {reports}");
            let kept = |id: u32| reports - start(id, reports);
            assert!((0..1_280).all(|id| kept(id) <= Monitors::REPORTS && kept(id) >= reports.min(513)));
        }
    }
}
