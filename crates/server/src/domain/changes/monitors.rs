//! The monitors of a lane. They process reports one by one, so the cost of a report depends on its number of values, not on the
//! length of the history. The first analyzed report of a series depends only on its key and the number of reports, so that cached
//! monitors and rebuilt monitors have the same state.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use tidemark_stats::{Change, DetectionSettings, Monitor, Scratch};
use tidemark_store::{
    MeasureId, ReportId, VersionId,
    series::SeriesKey,
    vector::{self, CommonFactors, MeasuredReport, ReportPosition},
};

use super::{
    factors::{FactorEstimator, WARM_UP},
    hosts::Hosts,
    series::Series,
};

/// Number of reports after a change whose median is the common factor of the change.
const REPORTS_AFTER_CHANGE: usize = 5;

/// The monitors of a lane.
pub(super) struct Monitors {
    /// The newest reports, oldest first.
    reports: VecDeque<MeasuredReport>,
    /// The hosts of `reports`.
    hosts: Hosts,
    /// The common factors of `reports`.
    factors: FactorEstimator,
    /// Common factors that are not stored yet.
    unstored: Vec<(ReportId, CommonFactors)>,
    /// Number of the first report in `reports` among all reports of the lane.
    first: usize,
    /// No existing report has a smaller number.
    origin: usize,
    /// Number of deleted reports of the lane at the time of creation.
    deleted: i64,
    /// The key of each series.
    series_keys: Arc<HashMap<u32, SeriesKey>>,
    /// The series, ordered by id.
    series: Vec<Series>,
    /// Whether the values of the series are kept, so that reports can be added.
    can_extend: bool,
}

/// A report, with its series and values.
pub(super) struct Vector {
    pub(super) measured: MeasuredReport,
    pub(super) series: Vec<u32>,
    pub(super) values: Vec<f64>,
}

impl Vector {
    /// Decodes the series and values of a report.
    pub(super) fn new(measured: MeasuredReport, series: &[u8], values: &[u8]) -> Self {
        let values = vector::values(values).iter().map(|bytes| f64::from_le_bytes(*bytes));
        Self { measured, series: vector::series(series).collect(), values: values.collect() }
    }

    /// Returns one value per series: the iterations of a report ran at the same time and do not confirm each other.
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
    /// Maximum number of kept reports. The oldest `WARM_UP` reports only determine which series are exact.
    pub(super) const MAX_REPORTS: usize = Monitor::MAX_VALUES + WARM_UP;

    /// Creates empty monitors for a lane with `reports` reports. The caller adds the newest `given` reports; `is_all` says
    /// whether the head has no others.
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
            series_keys: Arc::default(),
            series: Vec::new(),
            can_extend: true,
        }
    }

    /// Whether reports can be added.
    pub(super) fn can_extend(&self) -> bool {
        self.can_extend
    }

    /// Returns the number of reports that the lane has had.
    pub(super) fn count(&self) -> usize {
        self.first + self.reports.len()
    }

    /// Returns the number of deleted reports of the lane at the time of creation.
    pub(super) fn deleted(&self) -> i64 {
        self.deleted
    }

    /// Returns the newest report.
    pub(super) fn newest(&self) -> Option<&MeasuredReport> {
        self.reports.back()
    }

    /// Returns the position of the newest report.
    pub(super) fn mark(&self) -> Option<ReportPosition> {
        self.newest().map(MeasuredReport::position)
    }

    /// Returns the report with a number.
    pub(super) fn report(&self, number: usize) -> &MeasuredReport {
        &self.reports[number - self.first]
    }

    /// Returns the version after the last one that was measured before the version of a report, or the version of the report if
    /// none was measured before it. The version may not have been measured.
    pub(super) fn first_version_after_previous(&self, number: usize) -> VersionId {
        let version = self.report(number).version;
        let earlier = self.reports.iter().take(number - self.first).rev();
        let previous = earlier.map(|report| report.version).find(|earlier| *earlier < version);
        previous.map_or(version, |previous| VersionId::from(previous.get() + 1))
    }

    /// Returns the numbers of all reports.
    pub(super) fn numbers(&self) -> HashMap<ReportId, usize> {
        self.reports.iter().zip(self.first..).map(|(measured, number)| (measured.report, number)).collect()
    }

    /// Returns all series.
    pub(super) fn series(&self) -> &[Series] {
        &self.series
    }

    /// Returns all series as mutable.
    pub(super) fn series_mut(&mut self) -> &mut [Series] {
        &mut self.series
    }

    /// Whether a series is analyzed from its beginning.
    pub(super) fn is_whole(&self, series: &Series) -> bool {
        series.start <= self.origin
    }

    /// Adds reports, with only the series that are `wanted`. `reports` is the number of reports of the lane after the last batch.
    pub(super) fn add_reports(
        &mut self,
        vectors: Vec<Vector>,
        reports: usize,
        wanted: impl Fn(u32) -> bool,
        scratch: &mut Scratch,
    ) {
        let series_keys = Arc::clone(&self.series_keys);
        let mut new_series: HashMap<u32, Series> = HashMap::new();
        for vector in vectors {
            let (number, mut values) = (self.count(), vector.medians());
            let mut measured = vector.measured;
            let host = self.hosts.add_report(&measured);
            let factors = measured.factors.take().unwrap_or_else(|| {
                let factors = self.factors.estimate(number, &values, &series_keys);
                self.unstored.push((measured.report, factors.clone()));
                factors
            });
            self.factors.add_report((number, reports), host, &mut values, &factors, &series_keys, scratch);
            self.reports.push_back(MeasuredReport { factors: Some(factors), ..measured });
            let mut known = self.series.iter_mut().peekable();
            for (id, value) in values.into_iter().filter(|(id, _)| wanted(*id)) {
                while known.next_if(|one| one.id < id).is_some() {}
                match (known.next_if(|one| one.id == id), series_keys.get(&id)) {
                    (Some(one), _) => one.add_value(number, host, value, reports, scratch),
                    (None, Some(series_key)) => {
                        let one = new_series.entry(id).or_insert_with(|| Series::new(id, *series_key));
                        one.add_value(number, host, value, reports, scratch);
                    }
                    // The series was deleted.
                    (None, None) => {}
                }
            }
        }
        if !new_series.is_empty() {
            self.series.extend(new_series.into_values());
            self.series.sort_unstable_by_key(|series| series.id);
        }
        while self.reports.len() > Self::MAX_REPORTS {
            if let Some(oldest) = self.reports.pop_front() {
                self.hosts.remove_report(&oldest);
            }
            self.first += 1;
        }
    }

    /// Finds the changes of all series. Call this after all reports were added.
    pub(super) fn detect_changes(&mut self, scratch: &mut Scratch) {
        let reports = self.count();
        self.factors.detect_changes(reports, scratch);
        self.series.retain_mut(|series| {
            let is_kept = series.detect_changes(reports, scratch);
            if let Some(factors) = self.factors.series(series.series_key.measure) {
                series.add_common(factors);
            }
            is_kept
        });
    }

    /// Adds the keys of series that are not known yet.
    pub(super) fn add_series_keys(&mut self, series_keys: HashMap<u32, SeriesKey>) {
        if !series_keys.is_empty() {
            Arc::make_mut(&mut self.series_keys).extend(series_keys);
        }
    }

    /// Returns the key of each series.
    pub(super) fn series_keys(&self) -> Arc<HashMap<u32, SeriesKey>> {
        Arc::clone(&self.series_keys)
    }

    /// Takes the common factors that are not stored yet.
    pub(super) fn take_unstored_factors(&mut self) -> Vec<(ReportId, CommonFactors)> {
        std::mem::take(&mut self.unstored)
    }

    /// Returns the common factor of a measure from the report with this number on.
    pub(super) fn factor(&self, measure: MeasureId, number: usize) -> f64 {
        let from = number.saturating_sub(self.first);
        let reports = self.reports.iter().skip(from).take(REPORTS_AFTER_CHANGE);
        let factors: Vec<f64> = reports.map(|report| report.factor(measure)).collect();
        tidemark_stats::median(&factors).unwrap_or(1.0)
    }

    /// Computes the p-value of each change: the probability that noise alone produces it.
    pub(super) fn compute_p_values(
        &mut self,
        is_host: impl Fn(&Self, &Series, &Change) -> bool,
        scratch: &mut Scratch,
    ) {
        for place in 0..self.series.len() {
            let series = &self.series[place];
            let explained: Vec<usize> = series
                .changes
                .iter()
                .filter(|seen| is_host(self, series, &seen.change))
                .map(|seen| seen.change.at)
                .collect();
            self.series[place].compute_p_values(|known| explained.contains(&known.at), scratch);
        }
    }

    /// Returns the measures of all series that have or had changes.
    pub(super) fn measures(&self) -> Vec<i64> {
        let is_quiet = |series: &&Series| {
            series.changes.is_empty() && series.written.as_ref().is_some_and(Vec::is_empty)
        };
        let others = self.series.iter().filter(|series| !is_quiet(series));
        let mut measures: Vec<i64> = others.map(|series| series.series_key.measure.get()).collect();
        measures.sort_unstable();
        measures.dedup();
        measures
    }

    /// Whether the code is the same before and after a change.
    pub(super) fn is_noise(&self, series: &Series, change: &Change) -> bool {
        (change.earliest..=change.latest).all(|at| self.is_same_code(series, at))
    }

    /// Whether a value is of the same code as the previous value. `false` if a report between the two has no value of the series,
    /// because that is unknown.
    fn is_same_code(&self, series: &Series, at: usize) -> bool {
        let Some(before) = at.checked_sub(1) else { return false };
        let (before, number) = (series.places.number(before), series.places.number(at));
        number == before + 1 && self.report(number).is_same_code(self.report(before))
    }

    /// Adds the series of other monitors that processed the same reports.
    pub(super) fn merge(&mut self, others: Self) {
        self.series.extend(others.series);
        self.series.sort_unstable_by_key(|series| series.id);
    }

    /// Discards the values of all series and keeps their changes.
    pub(super) fn discard_values(&mut self) {
        self.can_extend = false;
        for series in &mut self.series {
            series.monitor = Monitor::new(DetectionSettings::default());
        }
    }

    /// Returns the memory use in bytes.
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

    use super::{super::series::CurrentChange, *};

    /// Returns the key of a series.
    pub(in crate::domain::changes) fn series_key(series: u32) -> SeriesKey {
        SeriesKey { benchmark: BenchmarkId::from(i64::from(series)), variant: 0, measure: MeasureId::from(1) }
    }

    /// Creates a report with the given values of series.
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

    /// Creates monitors from the newest of `reports` reports.
    pub(in crate::domain::changes) fn anew(reports: usize, vector: impl Fn(usize) -> Vector) -> Monitors {
        let given = reports.min(Monitors::MAX_REPORTS);
        let mut monitors = Monitors::new(reports, given, given == reports, 0);
        let vectors = (reports - given..reports).map(vector).collect();
        let mut scratch = Scratch::default();
        monitors.add_series_keys((0..500).map(|id| (id, series_key(id))).collect());
        monitors.add_reports(vectors, reports, |_| true, &mut scratch);
        monitors.detect_changes(&mut scratch);
        monitors
    }

    /// Creates monitors of `series` series with a value in each of `reports` reports, from three hosts.
    pub(in crate::domain::changes) fn filled(series: u32, reports: usize) -> Monitors {
        anew(reports, |number| {
            let value = |series: u32| 100.0 + noise(number, series);
            let values: Vec<_> = (0..series).map(|series| (series, value(series))).collect();
            let mut vector = vector(number, &values);
            vector.measured.host = Some(format!("host-{}", number / 10 % 3));
            vector
        })
    }

    /// Returns a pseudorandom number from 0 to 1.
    fn noise(number: usize, series: u32) -> f64 {
        let hash =
            (number as u64 * 7_919 + u64::from(series) * 104_729 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash >> 40) as f64 / (1_u64 << 24) as f64
    }

    type Course = (u32, usize, Vec<usize>, Vec<f64>, Vec<CurrentChange>, bool);

    fn courses(monitors: &Monitors) -> Vec<Course> {
        let course = |series: &Series| {
            let numbers = (0..series.places.len()).map(|place| series.places.number(place)).collect();
            let values = series.monitor.values().to_vec();
            (series.id, series.start, numbers, values, series.changes.clone(), monitors.is_whole(series))
        };
        monitors.series.iter().map(course).collect()
    }

    /// Returns the first difference of two monitors.
    fn difference(kept: &Monitors, new: &Monitors) -> Option<String> {
        let one = |monitors: &Monitors| (monitors.count(), monitors.mark(), monitors.unstored.clone());
        if one(kept) != one(new) {
            return Some(format!("reports or factors differ after {} reports", kept.count()));
        }
        let (kept, new) = (courses(kept), courses(new));
        if kept.len() != new.len() {
            return Some(format!("{} series, but {} in new monitors", kept.len(), new.len()));
        }
        let (kept, new) = kept.into_iter().zip(new).find(|(kept, new)| kept != new)?;
        let values = kept.3.iter().zip(&new.3).position(|(kept, new)| kept != new);
        let changes = kept.4.iter().zip(&new.4).find(|(kept, new)| kept != new);
        Some(format!("series {}: value {values:?} or change {changes:?} differs", kept.0))
    }

    /// A series: its id, the interval of its reports, its first report, and the report and the size of a step.
    type Shape = (u32, usize, usize, usize, f64);

    /// Adds reports in batches to monitors and stores their common factors. After each batch, compares the monitors with new
    /// ones, and returns the first difference.
    fn compare_with_new(
        series: &[Shape],
        batches: &[usize],
        (stay, fleet, speed): (usize, usize, f64),
    ) -> Option<String> {
        // No hosts, a few in rotation, or a new one each time.
        let host = |number: usize| number / stay % [1, 2, 3, 4, 5, 40, 700, usize::MAX][fleet.max(1) - 1];
        let vector = |number: usize, stored: &[CommonFactors]| {
            let mut values: Vec<(u32, f64)> = series
                .iter()
                .filter(|(_, every, begin, _, _)| number >= *begin && number.is_multiple_of(*every))
                .map(|(id, _, _, step, size)| {
                    let level = if number < *step { 100.0 } else { 100.0 + size };
                    let speed = if fleet == 0 { 0.0 } else { speed * (host(number) % 7) as f64 };
                    // Some series are exact, unless the host changes.
                    let noise = if id % 7 == 6 { 0.0 } else { noise(number, *id) };
                    (*id, level + speed + noise)
                })
                .collect();
            values.sort_by_key(|(id, _)| *id);
            let mut vector = vector(number, &values);
            vector.measured.host = (fleet > 0).then(|| format!("host-{}", host(number)));
            vector.measured.factors = stored.get(number).cloned();
            vector
        };
        let mut kept = anew(0, |number| vector(number, &[]));
        let (mut scratch, mut stored) = (Scratch::default(), Vec::new());
        for batch in batches {
            let reports = stored.len() + batch;
            let vectors = (stored.len()..reports).map(|number| vector(number, &stored)).collect();
            kept.add_reports(vectors, reports, |_| true, &mut scratch);
            kept.detect_changes(&mut scratch);
            let new = anew(reports, |number| vector(number, &stored));
            if let Some(difference) = difference(&kept, &new) {
                return Some(difference);
            }
            stored.extend(kept.take_unstored_factors().into_iter().map(|(_, factors)| factors));
        }
        None
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 16, max_shrink_iters: 32, ..ProptestConfig::default() })]

        /// Series with steps, with gaps, with a late start or an early end, in batches of any size.
        #[test]
        fn monitors_that_were_kept_know_what_new_ones_do(
            series in prop::collection::vec((0_u32..400, 1_usize..4, 0_usize..300, 0_usize..900, -9.0..9.0), 1..9),
            batches in prop::collection::vec(1_usize..160, 1..10),
            hosts in (1_usize..20, 0_usize..9, 0.0..9.0),
        ) {
            let difference = compare_with_new(&series, &batches, hosts);
            prop_assert!(difference.is_none(), "{}", difference.unwrap_or_default());
        }
    }

    #[test]
    fn new_monitors_use_stored_common_factors_and_know_exact_series() {
        let exact = (6, 1, 0, 0, 0.0);
        let series = [0, 1, 2, 3, 56].map(|id| (id, 1, 0, 691, -0.1));
        let series = [&series[..], &[exact]].concat();
        assert_eq!(compare_with_new(&series, &[560, 330], (10, 7, 4.5)), None);
    }

    #[test]
    fn a_part_of_the_series_is_the_same_as_in_the_whole() {
        let mut whole = filled(7, 300);
        whole.discard_values();
        let mut parts = Monitors::new(300, 300, true, 0);
        for part in 0..3 {
            let mut some = Monitors::new(300, 300, true, 0);
            let vectors = (0..300).map(|number| {
                let value = |series: u32| (series, 100.0 + noise(number, series));
                let mut vector = vector(number, &(0..7).map(value).collect::<Vec<_>>());
                vector.measured.host = Some(format!("host-{}", number / 10 % 3));
                vector
            });
            some.add_series_keys((0..7).map(|id| (id, series_key(id))).collect());
            some.add_reports(vectors.collect(), 300, |series| series % 3 == part, &mut Scratch::default());
            some.detect_changes(&mut Scratch::default());
            some.discard_values();
            assert!(!some.can_extend());
            if part == 0 { parts = some } else { parts.merge(some) }
        }
        assert_eq!(difference(&parts, &whole), None);
    }

    #[test]
    fn a_series_takes_less_memory_than_is_planned_for() {
        for reports in [100, 513, 640, 700] {
            let bytes = filled(50, reports).bytes() - filled(0, reports).bytes();
            assert!(bytes / 50 <= Series::BYTES, "{} of {reports} reports", bytes / 50);
        }
    }
}
