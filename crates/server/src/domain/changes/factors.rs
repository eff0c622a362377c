//! The common factor of a report: a shift of most of its benchmarks at once, for example because the machine was slow. It is
//! divided out of the values before detection and has its own monitor.

use std::collections::{BTreeMap, HashMap, VecDeque};

use tidemark_stats::{CommonFactor, MAD_TO_SIGMA, Scratch, median_in_place};
use tidemark_store::{BenchmarkId, MeasureId, series::SeriesKey, vector::CommonFactors};

use super::series::Series;

/// Minimum and maximum number of recent values from which the level of a series is estimated.
const MIN_VALUES: usize = 8;
const MAX_VALUES: usize = 16;
/// Maximum age of a recent value, in reports.
const MAX_REPORTS: usize = 64;
/// Number of reports after which it no longer depends on earlier reports whether a series is exact: recent values are at most
/// `MAX_REPORTS` old, and so is the value before each of them.
pub(super) const WARM_UP: usize = 2 * MAX_REPORTS;
/// Minimum number of benchmarks to estimate a common factor.
const MIN_BENCHMARKS: usize = 5;

/// Estimates the common factors of a lane's reports, by measure.
#[derive(Default)]
pub(super) struct FactorEstimator {
    /// Recent values by series.
    recent: HashMap<u32, Recent>,
    /// The common factors of each measure, as a series.
    measures: Vec<Series>,
}

/// Recent values of a series.
#[derive(Default)]
struct Recent {
    /// The last value as measured.
    last: f64,
    values: VecDeque<RecentValue>,
}

struct RecentValue {
    /// The number of the report.
    report: u32,
    /// The logarithm of the value, with the common factor removed.
    log: f32,
    /// Whether the measured value equals the previous one.
    is_equal: bool,
}

impl Recent {
    /// Whether the series is a count rather than a time, so that most values are equal. The machine does not affect counts.
    fn is_exact(&self) -> bool {
        let equal = self.values.iter().filter(|value| value.is_equal).count();
        self.values.len() > 1 && equal * 2 >= self.values.len()
    }

    /// Returns the distance of a value to the level, and the noise, both as logarithms; `None` with too few values.
    fn step(&self, value: f64) -> Option<(f64, f64)> {
        if self.values.len() < MIN_VALUES || value <= 0.0 || self.is_exact() {
            return None;
        }
        let mut logs = [0.0; MAX_VALUES];
        let logs = &mut logs[..self.values.len()];
        for (log, recent) in logs.iter_mut().zip(&self.values) {
            *log = f64::from(recent.log);
        }
        // The logarithm of a value that is not positive is not finite.
        if logs.iter().any(|log| !log.is_finite()) {
            return None;
        }
        let level = median_in_place(logs)?;
        logs.iter_mut().for_each(|log| *log = (*log - level).abs());
        Some((value.ln() - level, MAD_TO_SIGMA * median_in_place(logs)?))
    }

    /// Removes values that are too old for the report with this number.
    fn expire(&mut self, number: usize) {
        while self.values.front().is_some_and(|value| value.report as usize + MAX_REPORTS <= number) {
            self.values.pop_front();
        }
    }
}

impl FactorEstimator {
    /// Estimates the common factors of a report.
    pub(super) fn estimate(
        &mut self,
        number: usize,
        values: &[(u32, f64)],
        series_keys: &HashMap<u32, SeriesKey>,
    ) -> CommonFactors {
        let mut steps: BTreeMap<MeasureId, Vec<(f64, f64)>> = BTreeMap::new();
        for (id, value) in values {
            let step = self.recent.get_mut(id).and_then(|recent| {
                recent.expire(number);
                recent.step(*value)
            });
            if let Some((series_key, step)) = series_keys.get(id).zip(step) {
                steps.entry(series_key.measure).or_default().push(step);
            }
        }
        let common = |steps: &[(f64, f64)]| CommonFactor::of(steps).filter(CommonFactor::is_machine_effect);
        steps.iter().filter_map(|(measure, steps)| Some((*measure, common(steps)?.step))).collect()
    }

    /// Records the values of a report and divides them by the common factors.
    pub(super) fn add_report(
        &mut self,
        (number, reports): (usize, usize),
        host: Option<u16>,
        values: &mut [(u32, f64)],
        factors: &CommonFactors,
        series_keys: &HashMap<u32, SeriesKey>,
        scratch: &mut Scratch,
    ) {
        let mut timed: BTreeMap<MeasureId, usize> = BTreeMap::new();
        for (id, value) in values {
            let Some(series_key) = series_keys.get(id) else { continue };
            let recent = self.recent.entry(*id).or_default();
            recent.expire(number);
            let previous = std::mem::replace(&mut recent.last, *value);
            let is_equal = !recent.values.is_empty() && previous == *value;
            if !recent.is_exact() {
                *timed.entry(series_key.measure).or_default() += 1;
                let divided = *value / log_factor(factors, series_key.measure).exp();
                *value = if divided.is_finite() { divided } else { *value };
            }
            if recent.values.len() == MAX_VALUES {
                recent.values.pop_front();
            }
            recent.values.push_back(RecentValue { report: number as u32, log: value.ln() as f32, is_equal });
        }
        for (measure, _) in timed.into_iter().filter(|(_, count)| *count >= MIN_BENCHMARKS) {
            let factor = log_factor(factors, measure).exp();
            self.measure(measure).add_value(number, host, factor, reports, scratch);
        }
    }

    fn measure(&mut self, measure: MeasureId) -> &mut Series {
        let index = self.measures.iter().position(|series| series.series_key.measure == measure);
        let index = index.unwrap_or_else(|| {
            let series_key = SeriesKey { benchmark: BenchmarkId::from(0), variant: 0, measure };
            self.measures.push(Series::new(measure.get() as u32, series_key));
            self.measures.len() - 1
        });
        &mut self.measures[index]
    }

    /// Finds the changes of the common factors.
    pub(super) fn detect_changes(&mut self, reports: usize, scratch: &mut Scratch) {
        self.measures.retain_mut(|series| series.detect_changes(reports, scratch));
        for series in &mut self.measures {
            series.compute_p_values(|_| false, scratch);
        }
        self.recent.retain(|_, recent| {
            recent.expire(reports);
            !recent.values.is_empty()
        });
    }

    /// Returns the common factors of a measure, as a series.
    pub(super) fn series(&self, measure: MeasureId) -> Option<&Series> {
        self.measures.iter().find(|series| series.series_key.measure == measure)
    }

    /// Returns the memory use in bytes.
    pub(super) fn bytes(&self) -> usize {
        let values: usize = self.recent.values().map(|recent| recent.values.capacity()).sum();
        self.recent.capacity() * size_of::<(u32, Recent)>()
            + values * size_of::<RecentValue>()
            + self.measures.iter().map(Series::bytes).sum::<usize>()
    }
}

/// Returns the logarithm of the common factor of a measure.
fn log_factor(factors: &CommonFactors, measure: MeasureId) -> f64 {
    factors.iter().find(|(moved, _)| *moved == measure).map_or(0.0, |(_, log)| *log)
}

#[cfg(test)]
mod tests {
    use super::{super::monitors::tests::series_key, *};

    /// Values of 12 series near 100, each with noise of 1 %.
    fn values(number: usize) -> Vec<(u32, f64)> {
        let noise = |id: u32| ((number * 7 + id as usize * 13) % 11) as f64 / 500.0 - 0.01;
        (0..12).map(|id| (id, 100.0 * (1.0 + noise(id)))).collect()
    }

    /// Records reports `0..count` and returns the values after division and the factor of each.
    fn record(count: usize, values: impl Fn(usize) -> Vec<(u32, f64)>) -> Vec<(Vec<(u32, f64)>, f64)> {
        let series_keys = (0..12).map(|id| (id, series_key(id))).collect();
        let (mut estimator, mut scratch) = (FactorEstimator::default(), Scratch::default());
        let record = |number: usize| {
            let mut values = values(number);
            let factors = estimator.estimate(number, &values, &series_keys);
            estimator.add_report((number, count), None, &mut values, &factors, &series_keys, &mut scratch);
            (values, log_factor(&factors, MeasureId::from(1)).exp())
        };
        (0..count).map(record).collect()
    }

    fn times(factor: f64, values: Vec<(u32, f64)>) -> Vec<(u32, f64)> {
        values.into_iter().map(|(id, value)| (id, value * factor)).collect()
    }

    #[test]
    fn a_slow_machine_is_divided_out() {
        let recorded = record(60, |number| times(if number < 30 { 1.0 } else { 1.4 }, values(number)));
        for (number, (divided, factor)) in recorded.iter().enumerate() {
            let expected = if number < 30 { 1.0 } else { 1.4 };
            assert!((factor / expected - 1.0).abs() < 0.02, "report {number}: {factor}");
            assert!(
                divided.iter().all(|(_, value)| (value - 100.0).abs() < 3.0),
                "report {number}: {divided:?}"
            );
        }
    }

    #[test]
    fn a_change_of_few_benchmarks_is_no_common_factor() {
        let recorded = record(60, |number| {
            let mut values = values(number);
            values[..5].iter_mut().for_each(|(_, value)| *value *= if number < 30 { 1.0 } else { 1.4 });
            values
        });
        assert!(recorded.iter().all(|(_, factor)| *factor == 1.0));
    }

    #[test]
    fn counted_values_keep_their_value() {
        let recorded = record(60, |number| {
            let mut values = times(if number < 30 { 1.0 } else { 1.4 }, values(number));
            values[3].1 = 5_000.0;
            values
        });
        // The first two values cannot yet show that the series is exact. The machine was not slow at that point.
        assert!(recorded.iter().all(|(values, _)| values[3].1 == 5_000.0));
        assert!(recorded[40].1 > 1.38);
    }

    #[test]
    fn values_at_the_ends_of_their_range_yield_finite_factors() {
        let recorded = record(60, |number| {
            let mut values = times(if number < 30 { 1.0 } else { 1e-300 }, values(number));
            values[0].1 = 0.0;
            values[1].1 = -1.0 - number as f64;
            values[2].1 = f64::MAX / (1.0 + number as f64);
            values
        });
        for (values, factor) in recorded {
            assert!(
                factor.is_finite() && values.iter().all(|(_, value)| value.is_finite()),
                "{factor}: {values:?}"
            );
        }
    }

    #[test]
    fn memory_is_bounded_per_series() {
        let series_keys = (0..1_000).map(|id| (id, series_key(id))).collect();
        let (mut estimator, mut scratch) = (FactorEstimator::default(), Scratch::default());
        for number in 0..2_000 {
            let mut values: Vec<(u32, f64)> =
                (0..1_000).map(|id| (id, 1.0 + f64::from(id) + number as f64)).collect();
            estimator.add_report((number, 2_000), None, &mut values, &Vec::new(), &series_keys, &mut scratch);
        }
        estimator.detect_changes(2_000, &mut scratch);
        let factors = estimator.series(MeasureId::from(1)).map_or(0, Series::bytes);
        assert!(estimator.bytes() - factors < 512 * 1_000, "{} bytes", estimator.bytes());
        // Series that ended are removed.
        estimator.detect_changes(3_000, &mut scratch);
        assert!(estimator.recent.is_empty() && estimator.series(MeasureId::from(1)).is_none());
    }
}
