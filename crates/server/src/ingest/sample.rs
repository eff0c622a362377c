//! The values that a new metric is held against: what earlier reports have of its series, the newest first.

use tidemark_api::Timestamp;
use tidemark_stats::{Model, Test};
use tidemark_store::{ReportId, Tx, metric, series::Series, version};

use super::Place;
use crate::http::error::Result;

/// How many reports are read at first when a sample has no greatest size, and at the most in one go.
const FEW: i64 = 64;
const MANY: i64 = 1024;

/// A series and the sample that its model asks for.
pub(super) struct Wanted {
    pub(super) series: u32,
    /// The values found so far, the newest first.
    pub(super) values: Vec<f64>,
    since: ReportId,
    most: usize,
    from: Timestamp,
}

impl Wanted {
    /// What a model needs to know of a series; nothing if it looks at no sample.
    pub(super) fn new(series: Series, model: &Model, start_time: Timestamp) -> Option<Self> {
        if model.test == Test::Static {
            return None;
        }
        let most =
            model.max_sample_size.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
        let from = model.window.map_or(Timestamp::MIN, |window| start_time.plus_seconds(-i64::from(window)));
        Some(Self { series: series.id, values: Vec::new(), since: series.since, most, from })
    }

    fn is_full(&self) -> bool {
        self.values.len() >= self.most
    }
}

/// Fills the samples, which are in the order of their series, from the reports before this one: those on the same
/// history and testbed whose runs began no later.
pub(super) fn fill(tx: &mut Tx<'_>, place: &Place, mut wanted: Vec<Wanted>) -> Result<Vec<Wanted>> {
    // Nothing can be known of a series that begins with this report.
    let open = |wanted: &[Wanted]| {
        let open = wanted.iter().filter(|one| one.since < place.report && !one.is_full());
        open.map(|one| (one.since, one.from)).reduce(|left, right| (left.0.min(right.0), left.1.min(right.1)))
    };
    if open(&wanted).is_none() {
        return Ok(wanted);
    }
    let most = wanted.iter().map(|one| i64::try_from(one.most).unwrap_or(FEW)).max().unwrap_or(FEW);
    for stretch in version::history(tx, place.head)? {
        let Some((since, from)) = open(&wanted) else { break };
        let mut earlier = metric::Earlier {
            testbed: place.testbed,
            spec: None,
            from,
            until: place.start_time,
            since,
            before: place.report,
            offset: 0,
            limit: most.clamp(1, MANY),
        };
        loop {
            let found = metric::vectors(tx, &stretch, &earlier, |start_time, series, values| {
                take(&mut wanted, start_time, metric::vector(series, values));
            })?;
            if found < earlier.limit || open(&wanted).is_none() {
                break;
            }
            earlier.offset += found;
            earlier.limit = (earlier.limit * 2).min(MANY);
        }
    }
    Ok(wanted)
}

/// Takes from one report what is wanted. Both are in the order of their series, so that one walk will do; it goes
/// backward, since of a report's iterations the last is the newest.
fn take(wanted: &mut [Wanted], start_time: Timestamp, vector: impl DoubleEndedIterator<Item = (u32, f64)>) {
    let mut wanted = wanted.iter_mut().rev().peekable();
    for (series, value) in vector.rev() {
        while wanted.next_if(|one| one.series > series).is_some() {}
        match wanted.peek_mut() {
            Some(one) if one.series == series => {
                if !one.is_full() && start_time >= one.from {
                    one.values.push(value);
                }
            }
            Some(_) => {}
            None => break,
        }
    }
}
