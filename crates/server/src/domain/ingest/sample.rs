//! The samples of the metrics of a new report: values of their series in earlier reports, newest first.

use std::collections::HashMap;

use tidemark_api::Timestamp;
use tidemark_stats::{MAX_SAMPLE, Model, Test};
use tidemark_store::{ReportId, Tx, series::Series, vector, version};

use super::ReportContext;
use crate::domain::error::Result;

/// Maximum number of reports per read.
const MAX_REPORTS_PER_READ: usize = 128;
/// Maximum total size of the samples of a report. A long report uses smaller samples, so that it does not block other writes.
const MAX_TOTAL_SAMPLE_SIZE: usize = 1 << 24;
/// Minimum of the sample size limit, which also applies to the longest report.
const MIN_SAMPLE_LIMIT: usize = 64;

/// Returns the maximum sample size in a report with `metrics` metrics, for a model that requests `most` values.
pub(super) fn sample_limit(most: usize, metrics: usize) -> usize {
    most.min((MAX_TOTAL_SAMPLE_SIZE / metrics.max(1)).max(MIN_SAMPLE_LIMIT))
}

/// A series and the sample that its model requests.
pub(super) struct SampleRequest {
    series: u32,
    since: ReportId,
    most: usize,
    from: Timestamp,
}

impl SampleRequest {
    /// Returns the sample that a model requests of a series; `None` if the model uses no sample.
    pub(super) fn new(series: Series, model: &Model, most: usize, start_time: Timestamp) -> Option<Self> {
        if model.test == Test::Static {
            return None;
        }
        let from = model.window.map_or(Timestamp::MIN, |window| start_time.plus_seconds(-i64::from(window)));
        Some(Self { series: series.id, since: series.since, most, from })
    }
}

/// Values of the requested series in earlier reports, stored by report as they were read. `Samples` extracts one sample at a
/// time.
pub(super) struct EarlierValues {
    requests: Vec<SampleRequest>,
    /// Number of values found by requested series.
    found: Vec<usize>,
    layouts: Vec<Layout>,
    blocks: Vec<Block>,
}

/// Positions of the requested series in reports that have the same series.
struct Layout {
    /// Index of the requested series in ascending order, and the start and end of its values in a row.
    places: Vec<(usize, usize, usize)>,
    /// Positions of the values of a row in the vector of its report.
    kept: Vec<usize>,
}

/// Consecutive reports with the same series. Most reports of a project have the same series.
struct Block {
    layout: usize,
    /// Start times of the reports, newest first.
    times: Vec<Timestamp>,
    /// One row per report.
    values: Vec<f64>,
}

/// The layouts of the reports in the current batch, by series.
#[derive(Default)]
struct Recent {
    layouts: HashMap<Vec<u8>, usize>,
    series: Vec<u8>,
}

impl EarlierValues {
    /// Reads the values of series, in ascending order, from earlier reports: reports on the same history and testbed whose runs
    /// began no later, and at most `MAX_SAMPLE` reports.
    pub(super) fn read(
        tx: &mut Tx<'_>,
        context: &ReportContext,
        requests: Vec<SampleRequest>,
    ) -> Result<Self> {
        let most = requests.iter().map(|one| one.most).max().unwrap_or_default();
        let found = vec![0; requests.len()];
        let mut earlier_values = Self { requests, found, layouts: Vec::new(), blocks: Vec::new() };
        if earlier_values.open(context.before).is_none() {
            return Ok(earlier_values);
        }
        let mut left = MAX_SAMPLE;
        for range in version::history(tx, context.head)? {
            let mut after = None;
            let mut many = most.clamp(1, MAX_REPORTS_PER_READ);
            while let Some((since, from)) = earlier_values.open(context.before).filter(|_| left > 0) {
                let limit = many.min(left);
                let earlier = vector::VectorFilter {
                    testbed: context.testbed,
                    spec: context.spec,
                    from,
                    until: context.start_time,
                    since,
                    before: context.before,
                    after,
                    limit: i64::try_from(limit).unwrap_or(i64::MAX),
                };
                // Series with complete samples are not part of the layouts of the next batch.
                let mut recent = Recent::default();
                after = vector::earlier(tx, &range, &earlier, |start_time, series, values| {
                    left = left.saturating_sub(1);
                    earlier_values.add_report(&mut recent, start_time, series, values);
                })?;
                if after.is_none() {
                    break;
                }
                many = (many * 2).min(MAX_REPORTS_PER_READ);
            }
        }
        Ok(earlier_values)
    }

    /// Returns how far back to read for the series with incomplete samples; `None` if there are none. A series that begins with
    /// this report has no earlier values.
    fn open(&self, before: ReportId) -> Option<(ReportId, Timestamp)> {
        let open = self.requests.iter().zip(&self.found);
        open.filter(|(one, found)| one.since < before && **found < one.most)
            .map(|(one, _)| (one.since, one.from))
            .reduce(|left, right| (left.0.min(right.0), left.1.min(right.1)))
    }

    /// Adds the requested values of a report.
    fn add_report(&mut self, recent: &mut Recent, start_time: Timestamp, series: &[u8], values: &[u8]) {
        let known = if recent.series == series { self.blocks.last().map(|block| block.layout) } else { None };
        let layout = known.or_else(|| recent.layouts.get(series).copied()).unwrap_or_else(|| {
            self.layouts.push(Layout::new(&self.requests, &self.found, series));
            recent.layouts.insert(series.to_vec(), self.layouts.len() - 1);
            self.layouts.len() - 1
        });
        if known.is_none() {
            recent.series.clear();
            recent.series.extend_from_slice(series);
            self.blocks.push(Block { layout, times: Vec::new(), values: Vec::new() });
        }
        let (layout, Some(block)) = (&self.layouts[layout], self.blocks.last_mut()) else { return };
        block.times.push(start_time);
        let values = vector::values(values);
        // A vector that is shorter than its series is damaged. Missing values are NaN.
        let value = |place: &usize| values.get(*place).map_or(f64::NAN, |bytes| f64::from_le_bytes(*bytes));
        block.values.extend(layout.kept.iter().map(value));
        for (at, first, end) in &layout.places {
            if start_time >= self.requests[*at].from {
                self.found[*at] += end - first;
            }
        }
    }

    /// Starts the extraction of samples, in the order of the series.
    pub(super) fn samples(&self) -> Samples<'_> {
        Samples { earlier_values: self, next: 0, cursors: vec![0; self.layouts.len()] }
    }
}

/// Extracts the samples, one series after another.
pub(super) struct Samples<'a> {
    earlier_values: &'a EarlierValues,
    /// Index of the next requested series.
    next: usize,
    /// Position in each layout.
    cursors: Vec<usize>,
}

impl Samples<'_> {
    /// Writes the sample of a series into `sample`, newest value first. It is empty for a series that was not requested.
    pub(super) fn extract(&mut self, series: u32, sample: &mut Vec<f64>) {
        sample.clear();
        let Some(request) =
            self.earlier_values.requests.get(self.next).filter(|request| request.series == series)
        else {
            return;
        };
        for (layout, cursor) in self.earlier_values.layouts.iter().zip(&mut self.cursors) {
            while layout.places.get(*cursor).is_some_and(|(at, ..)| *at < self.next) {
                *cursor += 1;
            }
        }
        for block in &self.earlier_values.blocks {
            let layout = &self.earlier_values.layouts[block.layout];
            let place = layout.places.get(self.cursors[block.layout]);
            let Some((_, first, end)) = place.filter(|(at, ..)| *at == self.next) else { continue };
            for (time, row) in block.times.iter().zip(block.values.chunks_exact(layout.kept.len())) {
                if *time >= request.from {
                    // In reverse, because the last iteration of a report is the newest.
                    sample.extend(row[*first..*end].iter().rev());
                }
            }
        }
        sample.truncate(request.most);
        self.next += 1;
    }
}

impl Layout {
    /// Finds the requested series with incomplete samples in the series of a report. Both are in ascending order.
    fn new(requests: &[SampleRequest], found: &[usize], series: &[u8]) -> Self {
        let (mut places, mut kept) = (Vec::new(), Vec::new());
        let mut requests = requests
            .iter()
            .zip(found)
            .enumerate()
            .filter(|(_, (one, found))| **found < one.most)
            .map(|(at, (one, _))| (at, one.series))
            .peekable();
        for (place, series) in vector::series(series).enumerate() {
            while requests.next_if(|(_, requested)| *requested < series).is_some() {}
            let Some((at, _)) = requests.peek().filter(|(_, requested)| *requested == series) else {
                continue;
            };
            match places.last_mut() {
                Some((last, _, end)) if last == at => *end += 1,
                _ => places.push((*at, kept.len(), kept.len() + 1)),
            }
            kept.push(place);
        }
        Self { places, kept }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_report_looks_less_far_back() {
        assert_eq!(sample_limit(MAX_SAMPLE, 2_000), MAX_SAMPLE);
        assert_eq!(sample_limit(MAX_SAMPLE, 120_000), 139);
        assert_eq!(sample_limit(MAX_SAMPLE, 10_000_000), MIN_SAMPLE_LIMIT);
        assert_eq!(sample_limit(30, 10_000_000), 30, "as the model says");
    }
}
