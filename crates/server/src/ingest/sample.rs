//! The values that a new metric is held against: what earlier reports have of its series, the newest first.

use tidemark_api::Timestamp;
use tidemark_stats::{Model, Test};
use tidemark_store::{ReportId, Tx, series::Series, vector, version};

use super::Place;
use crate::http::error::Result;

/// The most reports that are read in one go.
const MANY: i64 = 1024;
/// A size that is enough for most samples.
const COMMON: usize = 64;

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
    pub(super) fn new(series: Series, model: &Model, most: usize, start_time: Timestamp) -> Option<Self> {
        if model.test == Test::Static {
            return None;
        }
        let from = model.window.map_or(Timestamp::MIN, |window| start_time.plus_seconds(-i64::from(window)));
        // One more than is looked at: later iterations of the report come in at the front.
        let values = Vec::with_capacity(most.min(COMMON) + 1);
        Some(Self { series: series.id, values, since: series.since, most, from })
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
    let most = wanted.iter().map(|one| one.most).max().unwrap_or_default();
    let mut walk = Walk::default();
    for stretch in version::history(tx, place.head)? {
        let Some((since, from)) = open(&wanted) else { break };
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
                walk.take(&mut wanted, start_time, series, values);
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

/// Which sample each value of a vector belongs to. Most reports of a project have the same series, so that one answer
/// does for many.
#[derive(Default)]
struct Walk {
    series: Vec<u8>,
    places: Vec<usize>,
}

impl Walk {
    /// Takes from one report what is wanted.
    fn take(&mut self, wanted: &mut [Wanted], start_time: Timestamp, series: &[u8], values: &[u8]) {
        if self.series != series {
            self.follow(wanted, series);
        }
        // Backward, since of a report's iterations the last is the newest.
        for (place, value) in self.places.iter().zip(vector::values(values)).rev() {
            if let Some(one) = wanted.get_mut(*place)
                && !one.is_full()
                && start_time >= one.from
            {
                one.values.push(value);
            }
        }
    }

    /// Finds the places; both are in the order of their series.
    fn follow(&mut self, wanted: &[Wanted], series: &[u8]) {
        self.series.clear();
        self.series.extend_from_slice(series);
        self.places.clear();
        let mut place = 0;
        for series in vector::series(series) {
            while wanted.get(place).is_some_and(|one| one.series < series) {
                place += 1;
            }
            let is_wanted = wanted.get(place).is_some_and(|one| one.series == series);
            self.places.push(if is_wanted { place } else { usize::MAX });
        }
    }
}
