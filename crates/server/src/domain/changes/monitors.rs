//! The monitors of a lane, which take its reports one by one: a report costs what its values cost, however long the history
//! is. Each series is watched from a report on that depends on nothing but its key and the number of reports, so that
//! monitors that were kept know the same as those that begin anew.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use tidemark_stats::{Change, Monitor, Scratch, Settings};
use tidemark_store::{
    MeasureId, ReportId,
    series::SeriesKey,
    vector::{self, Factors, MeasuredReport, ReportPosition},
};

use super::{factors::FactorEstimator, hosts::Hosts, series::Series};

/// Number of reports after a change that its common factor is the median of.
const AFTER: usize = 5;

/// The monitors of a lane.
pub(super) struct Monitors {
    /// The newest reports, the oldest first.
    reports: VecDeque<MeasuredReport>,
    /// Their hosts.
    hosts: Hosts,
    /// Their common factors.
    factors: FactorEstimator,
    /// Common factors that are not stored yet.
    unstored: Vec<(ReportId, Factors)>,
    /// The number of the first of them among all reports of the lane.
    first: usize,
    /// Before the number of this one there are no reports.
    origin: usize,
    /// How many reports of the lane were deleted when it began.
    deleted: i64,
    /// What all series are of.
    subjects: Arc<HashMap<u32, SeriesKey>>,
    /// The series, by their keys.
    series: Vec<Series>,
    /// Whether the values of series are still there.
    can_go_on: bool,
}

/// A report, with its series and values.
pub(super) struct Vector {
    pub(super) measured: MeasuredReport,
    pub(super) series: Vec<u32>,
    pub(super) values: Vec<f64>,
}

impl Vector {
    /// Reads it.
    pub(super) fn new(measured: MeasuredReport, series: &[u8], values: &[u8]) -> Self {
        let values = vector::values(values).iter().map(|bytes| f64::from_le_bytes(*bytes));
        Self { measured, series: vector::series(series).collect(), values: values.collect() }
    }

    /// One value of each series: the iterations of a report were made at the same time, and do not confirm each other.
    fn medians(&self) -> Vec<(u32, f64)> {
        let mut from = 0;
        let median = |ids: &[u32]| {
            let iterations = &self.values[from..(from + ids.len()).min(self.values.len())];
            from += ids.len();
            Some((ids[0], tidemark_stats::median(iterations)?))
        };
        self.series.chunk_by(|one, two| one == two).filter_map(median).collect()
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
        Self {
            reports: VecDeque::new(),
            hosts: Hosts::default(),
            factors: FactorEstimator::default(),
            unstored: Vec::new(),
            first,
            origin,
            deleted,
            subjects: Arc::default(),
            series: Vec::new(),
            can_go_on: true,
        }
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
    pub(super) fn newest(&self) -> Option<&MeasuredReport> {
        self.reports.back()
    }

    /// The place of the newest report.
    pub(super) fn mark(&self) -> Option<ReportPosition> {
        self.newest().map(MeasuredReport::mark)
    }

    /// The report with a number.
    pub(super) fn report(&self, number: usize) -> &MeasuredReport {
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
        let subjects = Arc::clone(&self.subjects);
        let mut begun: HashMap<u32, Series> = HashMap::new();
        for vector in vectors {
            let (number, mut values) = (self.count(), vector.medians());
            let mut measured = vector.measured;
            let host = self.hosts.enter(&measured);
            let factors = measured.factors.take().unwrap_or_else(|| {
                let factors = self.factors.estimate(number, &values, &subjects);
                self.unstored.push((measured.report, factors.clone()));
                factors
            });
            self.factors.take((number, reports), host, &mut values, &factors, &subjects, scratch);
            self.reports.push_back(MeasuredReport { factors: Some(factors), ..measured });
            let mut known = self.series.iter_mut().peekable();
            for (id, value) in values.into_iter().filter(|(id, _)| wanted(*id)) {
                while known.next_if(|one| one.id < id).is_some() {}
                match (known.next_if(|one| one.id == id), subjects.get(&id)) {
                    (Some(one), _) => one.take(number, host, value, reports, scratch),
                    (None, Some(subject)) => {
                        let one = begun.entry(id).or_insert_with(|| Series::new(id, *subject));
                        one.take(number, host, value, reports, scratch);
                    }
                    // It is of nothing any more.
                    (None, None) => {}
                }
            }
        }
        if !begun.is_empty() {
            self.series.extend(begun.into_values());
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
        self.factors.look(reports, scratch);
        self.series.retain_mut(|series| {
            let is_there = series.look(reports, scratch);
            if let Some(factors) = self.factors.series(series.subject.measure) {
                series.add_common(factors);
            }
            is_there
        });
    }

    /// Says what series are of, as far as that was not known.
    pub(super) fn name(&mut self, subjects: HashMap<u32, SeriesKey>) {
        if !subjects.is_empty() {
            Arc::make_mut(&mut self.subjects).extend(subjects);
        }
    }

    /// What all series are of.
    pub(super) fn subjects(&self) -> Arc<HashMap<u32, SeriesKey>> {
        Arc::clone(&self.subjects)
    }

    /// Takes the common factors that are not stored yet.
    pub(super) fn take_unstored_factors(&mut self) -> Vec<(ReportId, Factors)> {
        std::mem::take(&mut self.unstored)
    }

    /// Returns the common factor of a measure from the report with this number on.
    pub(super) fn factor(&self, measure: MeasureId, number: usize) -> f64 {
        let from = number.saturating_sub(self.first);
        let reports = self.reports.iter().skip(from).take(AFTER);
        let factors: Vec<f64> = reports.map(|report| report.factor(measure)).collect();
        tidemark_stats::median(&factors).unwrap_or(1.0)
    }

    /// Says how likely noise alone is to make each of the changes.
    pub(super) fn weigh(&mut self, is_host: impl Fn(&Self, &Series, &Change) -> bool, scratch: &mut Scratch) {
        for place in 0..self.series.len() {
            let series = &self.series[place];
            let explained: Vec<usize> = series
                .changes
                .iter()
                .filter(|seen| is_host(self, series, &seen.change))
                .map(|seen| seen.change.at)
                .collect();
            self.series[place].weigh(|known| explained.contains(&known.at), scratch);
        }
    }

    /// The measures of all series that have changes, or had some.
    pub(super) fn measures(&self) -> Vec<i64> {
        let is_quiet = |series: &&Series| {
            series.changes.is_empty() && series.written.as_ref().is_some_and(Vec::is_empty)
        };
        let others = self.series.iter().filter(|series| !is_quiet(series));
        let mut measures: Vec<i64> = others.map(|series| series.subject.measure.get()).collect();
        measures.sort_unstable();
        measures.dedup();
        measures
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
        self.reports.capacity() * size_of::<MeasuredReport>()
            + texts.sum::<usize>()
            + self.hosts.bytes()
            + self.factors.bytes()
            + self.series.iter().map(Series::bytes).sum::<usize>()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;
    use tidemark_api::{ReportUuid, Timestamp};
    use tidemark_store::{BenchmarkId, MeasureId, VersionId};
    use uuid::Uuid;

    use super::{super::series::Seen, *};

    /// The subject of a series.
    pub(in crate::domain::changes) fn subject(series: u32) -> SeriesKey {
        SeriesKey { benchmark: BenchmarkId::from(i64::from(series)), variant: 0, measure: MeasureId::from(1) }
    }

    /// A report with these values of series.
    pub(in crate::domain::changes) fn vector(number: usize, values: &[(u32, f64)]) -> Vector {
        let key = number as i64 + 1;
        Vector {
            measured: MeasuredReport {
                report: ReportId::from(key),
                uuid: ReportUuid::from(Uuid::from_u128(key as u128)),
                version: VersionId::from(key),
                start_time: Timestamp::from_micros(0),
                binary_hash: None,
                host: None,
                factors: None,
            },
            series: values.iter().map(|(series, _)| *series).collect(),
            values: values.iter().map(|(_, value)| *value).collect(),
        }
    }

    /// What new monitors know of a lane with these reports.
    pub(in crate::domain::changes) fn anew(reports: usize, vector: impl Fn(usize) -> Vector) -> Monitors {
        let given = reports.min(Monitors::REPORTS);
        let mut monitors = Monitors::new(reports, given, given == reports, 0);
        let vectors = (reports - given..reports).map(vector).collect();
        let mut scratch = Scratch::default();
        monitors.name((0..500).map(|id| (id, subject(id))).collect());
        monitors.take(vectors, reports, |_| true, &mut scratch);
        monitors.look(&mut scratch);
        monitors
    }

    /// Monitors of so many series that have a value in each of so many reports, from three hosts.
    pub(in crate::domain::changes) fn filled(series: u32, reports: usize) -> Monitors {
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

    type Course = (u32, usize, Vec<usize>, Vec<Seen>, bool);

    fn courses(monitors: &Monitors) -> (usize, Option<ReportPosition>, Vec<Course>) {
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
            some.name((0..7).map(|id| (id, subject(id))).collect());
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
}
