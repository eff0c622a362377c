//! The values that a new metric is held against: what earlier reports have of its series, the newest first.

use tidemark_api::Timestamp;
use tidemark_stats::{Model, Test};
use tidemark_store::{ReportId, Tx, series::Series, vector, version};

use super::Place;
use crate::http::error::Result;

/// The most reports that are read in one go.
const MANY: i64 = 1024;

/// A series and how much of its past its model asks for.
pub(super) struct Wanted {
    series: u32,
    since: ReportId,
    most: usize,
    from: Timestamp,
}

impl Wanted {
    /// What a model needs to know of a series; nothing if it looks at no sample.
    pub(super) fn new(series: Series, model: &Model, most: usize, start_time: Timestamp) -> Option<Self> {
        if model.test == Test::Static {
            return None;
        }
        let from = model.window.map_or(Timestamp::MIN, |window| start_time.plus_seconds(-i64::from(window)));
        Some(Self { series: series.id, since: series.since, most, from })
    }
}

/// What earlier reports have of the series that are wanted. It stays as it was read, report by report: a sample is
/// picked from it when its turn comes.
pub(super) struct Past {
    wanted: Vec<Wanted>,
    blocks: Vec<Block>,
    /// The series of the last report that was read.
    series: Vec<u8>,
}

/// Neighboring reports with the same series, as most of a project have.
struct Block {
    /// Where the values of each wanted series begin in a row, and how many there are.
    places: Vec<(usize, usize)>,
    /// Where the values of a row are in the vector of its report.
    kept: Vec<usize>,
    /// When the run of each report began, the newest first.
    times: Vec<Timestamp>,
    /// A row for each report.
    values: Vec<f64>,
}

impl Past {
    /// Reads the past of series, which are in order, from the reports before this one: those on the same history and
    /// testbed whose runs began no later.
    pub(super) fn read(tx: &mut Tx<'_>, place: &Place, wanted: Vec<Wanted>) -> Result<Self> {
        let most = wanted.iter().map(|one| one.most).max().unwrap_or_default();
        let mut past = Self { wanted, blocks: Vec::new(), series: Vec::new() };
        if past.open(place.report).is_none() {
            return Ok(past);
        }
        for stretch in version::history(tx, place.head)? {
            let Some((since, from)) = past.open(place.report) else { break };
            let mut earlier = vector::Earlier {
                testbed: place.testbed,
                spec: None,
                from,
                until: place.start_time,
                since,
                before: place.report,
                offset: 0,
                limit: i64::try_from(most).unwrap_or(MANY).clamp(1, MANY),
            };
            loop {
                let found = vector::earlier(tx, &stretch, &earlier, |start_time, series, values| {
                    past.take(start_time, series, values);
                })?;
                if found < earlier.limit || past.open(place.report).is_none() {
                    break;
                }
                earlier.offset += found;
                earlier.limit = (earlier.limit * 2).min(MANY);
            }
        }
        Ok(past)
    }

    /// How far back to look for the series that have less than they need, if there are any. Nothing can be known of a
    /// series that begins with this report.
    fn open(&self, report: ReportId) -> Option<(ReportId, Timestamp)> {
        let open = self.wanted.iter().enumerate().filter(|(at, one)| {
            let found = |block: &Block| {
                block.places[*at].1 * block.times.iter().filter(|time| **time >= one.from).count()
            };
            one.since < report && self.blocks.iter().map(found).sum::<usize>() < one.most
        });
        open.map(|(_, one)| (one.since, one.from))
            .reduce(|left, right| (left.0.min(right.0), left.1.min(right.1)))
    }

    /// Takes from one report what is wanted.
    fn take(&mut self, start_time: Timestamp, series: &[u8], values: &[u8]) {
        if self.blocks.is_empty() || self.series != series {
            self.series.clear();
            self.series.extend_from_slice(series);
            self.blocks.push(Block::new(&self.wanted, series));
        }
        let Some(block) = self.blocks.last_mut() else { return };
        block.times.push(start_time);
        let values = vector::values(values);
        // A vector that is shorter than its series would be damaged; what it lacks is no number.
        let value = |place: &usize| values.get(*place).map_or(f64::NAN, |bytes| f64::from_le_bytes(*bytes));
        block.values.extend(block.kept.iter().map(value));
    }

    /// The sample of a series, the newest value first. The series are asked for in order; it is empty for one that is
    /// not wanted.
    pub(super) fn sample(&self, next: &mut usize, series: u32, sample: &mut Vec<f64>) {
        sample.clear();
        let Some(wanted) = self.wanted.get(*next).filter(|wanted| wanted.series == series) else { return };
        for block in &self.blocks {
            let (first, count) = block.places[*next];
            if count == 0 {
                continue;
            }
            for (time, row) in block.times.iter().zip(block.values.chunks_exact(block.kept.len())) {
                if *time >= wanted.from {
                    // Backward, since of a report's iterations the last is the newest.
                    sample.extend(row[first..first + count].iter().rev());
                }
            }
        }
        sample.truncate(wanted.most);
        *next += 1;
    }
}

impl Block {
    /// Finds the wanted series among those of a report; both are in order.
    fn new(wanted: &[Wanted], series: &[u8]) -> Self {
        let (mut places, mut kept) = (Vec::with_capacity(wanted.len()), Vec::with_capacity(wanted.len()));
        let mut series = vector::series(series).enumerate().peekable();
        for one in wanted {
            while series.next_if(|(_, series)| *series < one.series).is_some() {}
            let first = kept.len();
            while let Some((place, _)) = series.next_if(|(_, series)| *series == one.series) {
                kept.push(place);
            }
            places.push((first, kept.len() - first));
        }
        Self { places, kept, times: Vec::new(), values: Vec::new() }
    }
}
