//! The values of series, read from the vectors of reports: one value per report, oldest first.

use std::collections::HashMap;

use tidemark_stats::Sampling;
use tidemark_store::{Result, TestbedId, Tx, vector, vector::MeasuredReport, version::VersionRange};

/// Values of series in a range of reports.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// The reports, oldest first.
    pub(crate) reports: Vec<MeasuredReport>,
    /// The values by series.
    pub(crate) series: HashMap<u32, Values>,
}

/// The values of a series, each with the index of its report.
#[derive(Debug, Default)]
pub(crate) struct Values {
    pub(crate) places: Vec<usize>,
    pub(crate) values: Vec<f64>,
    pub(crate) spread: Spread,
}

impl Values {
    /// Adds the iterations of a report as one value: they ran at the same time and do not confirm each other.
    fn add(&mut self, report: usize, iterations: &[[u8; size_of::<f64>()]]) {
        let median = match iterations {
            [] => return,
            [one] => {
                let value = f64::from_le_bytes(*one);
                self.spread.add(&[value], value);
                value
            }
            [..] => {
                let values: Vec<f64> = iterations.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
                let median = tidemark_stats::median(&values).unwrap_or_default();
                self.spread.add(&values, median);
                median
            }
        };
        self.places.push(report);
        self.values.push(median);
    }
}

/// Variation of the iterations within reports.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spread {
    /// Sum of the squared deviations from the median of the report, relative to that median.
    squares: f64,
    iterations: usize,
    reports: usize,
}

impl Spread {
    fn add(&mut self, iterations: &[f64], median: f64) {
        let share = |value: &f64| ((value - median) / median).powi(2);
        if iterations.len() > 1 {
            self.squares += iterations.iter().map(share).sum::<f64>();
        }
        self.iterations += iterations.len();
        self.reports += 1;
    }

    /// Returns the mean number of iterations per report.
    fn count(&self) -> f64 {
        self.iterations as f64 / self.reports as f64
    }

    /// Returns the variance of the iterations in a history and in new reports; `None` if no report has several iterations.
    pub(crate) fn sampling(history: &Self, new: &Self) -> Option<Sampling> {
        let freedom = history.iterations + new.iterations - history.reports - new.reports;
        let variance = (history.squares + new.squares) / freedom as f64;
        variance.is_finite().then(|| Sampling { variance, history: history.count(), new: new.count() })
    }
}

impl History {
    /// Reads the newest reports of version ranges, which are ordered from newest to oldest, at most `most` reports.
    pub(crate) fn read(
        tx: &mut Tx<'_>,
        ranges: &[VersionRange],
        testbed: TestbedId,
        most: usize,
    ) -> Result<Self> {
        let mut reader = HistoryReader::default();
        for range in ranges {
            let left = most - reader.reports.len().min(most);
            let left = i64::try_from(left).unwrap_or(i64::MAX);
            vector::newest(tx, range, testbed, left, |measured, series, values| {
                reader.add(measured, series, values);
            })?;
        }
        Ok(reader.finish())
    }

    /// Splits the history into the reports before `place` and the report at `place`.
    pub(crate) fn split_at(mut self, place: usize) -> (Self, Self) {
        let mut one = Self::default();
        one.reports.extend(self.reports.get(place).cloned());
        self.reports.truncate(place);
        self.series.retain(|series, own| {
            let before = own.places.partition_point(|other| *other < place);
            if own.places.get(before) == Some(&place) {
                // The spread of iterations is known only for all reports together.
                let value = Values { places: vec![0], values: vec![own.values[before]], spread: own.spread };
                one.series.insert(*series, value);
            }
            own.places.truncate(before);
            own.values.truncate(before);
            before > 0
        });
        (self, one)
    }

    /// Reverses the order, so that the oldest report is first.
    fn reverse(&mut self) {
        self.reports.reverse();
        let last = self.reports.len().wrapping_sub(1);
        for Values { places, values, .. } in self.series.values_mut() {
            places.reverse();
            places.iter_mut().for_each(|place| *place = last - *place);
            values.reverse();
        }
    }
}

/// Maximum number of reports whose values are added to the series together. The values of a report belong to all series, so that
/// adding single reports would load the end of every series into the processor cache once per report.
const BATCH: usize = 32;

/// A history while its reports are read, newest first.
#[derive(Default)]
struct HistoryReader {
    reports: Vec<MeasuredReport>,
    /// Values of the last reports of `reports`, which are not in `series` yet, and the series that all of them measured.
    pending: Vec<Vec<u8>>,
    pending_series: Vec<u8>,
    /// Series in ascending order. Vectors have the same order, so no search is needed.
    series: Vec<(u32, Values)>,
}

impl HistoryReader {
    /// Adds a report that is older than all others.
    fn add(&mut self, measured: MeasuredReport, series: &[u8], values: &[u8]) {
        if self.pending.len() == BATCH || self.pending_series != series {
            self.add_pending();
            series.clone_into(&mut self.pending_series);
        }
        self.reports.push(measured);
        self.pending.push(values.to_vec());
    }

    /// Adds the values of the pending reports to their series.
    fn add_pending(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        let vectors: Vec<_> = pending.iter().map(|values| vector::values(values)).collect();
        let first = self.reports.len() - pending.len();
        let ids: Vec<u32> = vector::series(&self.pending_series).collect();
        let (mut known, mut new_series) = (self.series.iter_mut().peekable(), Vec::<(u32, Values)>::new());
        let mut end = 0;
        for iterations in ids.chunk_by(|one, other| one == other) {
            let (id, place) = (iterations[0], end..end + iterations.len());
            end = place.end;
            while known.next_if(|(other, _)| *other < id).is_some() {}
            let own = match known.next_if(|(other, _)| *other == id) {
                Some((_, own)) => own,
                None => &mut new_series.push_mut((id, Values::default())).1,
            };
            for (report, values) in (first..).zip(&vectors) {
                own.add(report, values.get(place.clone()).unwrap_or_default());
            }
        }
        if !new_series.is_empty() {
            self.series.extend(new_series);
            self.series.sort_by_key(|(id, _)| *id);
        }
    }

    /// Returns the history, oldest report first.
    fn finish(mut self) -> History {
        self.add_pending();
        let mut history = History { reports: self.reports, series: self.series.into_iter().collect() };
        history.reverse();
        history
    }
}

/// Returns the number of the host of each report; `None` if the host is unknown.
pub(crate) fn hosts<'a>(reports: impl IntoIterator<Item = &'a MeasuredReport>) -> Vec<Option<u16>> {
    let mut numbers: HashMap<&str, Option<u16>> = HashMap::new();
    let mut number = |host: &'a str| {
        let next = u16::try_from(numbers.len()).ok().filter(|number| *number < u16::MAX);
        *numbers.entry(host).or_insert(next)
    };
    reports.into_iter().map(|report| number(report.host.as_deref()?)).collect()
}
