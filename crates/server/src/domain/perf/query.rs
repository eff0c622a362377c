//! The parsed query for metrics over time: its lists, and the permutations that are answered.

use tidemark_api::{MAX_PERMUTATIONS, PerfQuery, Timestamp};
use uuid::Uuid;

use crate::domain::error::{Error, Result};

/// A parsed query.
///
/// The lists are truncated to the permutations that are answered, regardless of the length of the requested lists.
#[derive(Clone, Debug)]
pub struct Query {
    pub(super) branches: Vec<(Uuid, Option<Uuid>)>,
    pub(super) testbeds: Vec<(Uuid, Option<Uuid>)>,
    pub(super) benchmarks: Vec<Uuid>,
    pub(super) measures: Vec<Uuid>,
    /// Number of requested permutations.
    pub(super) requested_count: usize,
    /// Only runs that began at this time or later.
    pub start_time: Option<Timestamp>,
    /// Only runs that ended at this time or earlier.
    pub end_time: Option<Timestamp>,
}

impl Query {
    /// Parses the lists of a query.
    pub fn read(query: &PerfQuery) -> Result<Self> {
        Ok(Self {
            branches: paired(list("branches", &query.branches)?, "heads", query.heads.as_deref())?,
            testbeds: paired(list("testbeds", &query.testbeds)?, "specs", query.specs.as_deref())?,
            benchmarks: list("benchmarks", &query.benchmarks)?,
            measures: list("measures", &query.measures)?,
            requested_count: 0,
            start_time: query.start_time.map(Into::into),
            end_time: query.end_time.map(Into::into),
        }
        .cut())
    }

    /// Creates a query for the current heads and any specs of these dimensions, as for a pinned plot.
    pub fn of(
        branches: Vec<Uuid>,
        testbeds: Vec<Uuid>,
        benchmarks: Vec<Uuid>,
        measures: Vec<Uuid>,
        start_time: Timestamp,
    ) -> Self {
        let alone = |uuids: Vec<Uuid>| uuids.into_iter().map(|uuid| (uuid, None)).collect();
        Self {
            branches: alone(branches),
            testbeds: alone(testbeds),
            benchmarks,
            measures,
            requested_count: 0,
            start_time: Some(start_time),
            end_time: None,
        }
        .cut()
    }

    /// Counts the requested permutations and truncates the lists to the answered ones.
    fn cut(mut self) -> Self {
        let mut requested_count = 1_usize;
        let mut keep = |length: usize| {
            let kept = length.min(MAX_PERMUTATIONS.div_ceil(requested_count.max(1)));
            requested_count = requested_count.saturating_mul(length);
            kept
        };
        // From the innermost list, which varies fastest, to the outermost.
        self.measures.truncate(keep(self.measures.len()));
        self.benchmarks.truncate(keep(self.benchmarks.len()));
        self.testbeds.truncate(keep(self.testbeds.len()));
        self.branches.truncate(keep(self.branches.len()));
        self.requested_count = requested_count;
        self
    }

    /// Returns the permutations that are answered, as indexes into the lists.
    pub(super) fn permutations(&self) -> impl Iterator<Item = [usize; 4]> {
        let (branches, testbeds) = (self.branches.len(), self.testbeds.len());
        let (benchmarks, measures) = (self.benchmarks.len(), self.measures.len());
        let all = (0..branches).flat_map(move |branch| {
            (0..testbeds).flat_map(move |testbed| {
                (0..benchmarks).flat_map(move |benchmark| {
                    (0..measures).map(move |measure| [branch, testbed, benchmark, measure])
                })
            })
        });
        all.take(MAX_PERMUTATIONS)
    }
}

/// Parses the list of UUIDs in the query parameter `name`.
pub(crate) fn list(name: &str, text: &str) -> Result<Vec<Uuid>> {
    text.split(',').map(|item| uuid(name, item)).collect()
}

fn uuid(name: &str, text: &str) -> Result<Uuid> {
    Uuid::parse_str(text.trim()).map_err(|_| {
        Error::Invalid(format!("`{name}` in the query must be a list of UUIDs, separated by commas."))
    })
}

/// Pairs each UUID with the item at the same index of another list, if it exists.
fn paired(uuids: Vec<Uuid>, name: &str, others: Option<&str>) -> Result<Vec<(Uuid, Option<Uuid>)>> {
    let mut others = others.filter(|text| !text.is_empty()).into_iter().flat_map(|text| text.split(','));
    uuids
        .into_iter()
        .map(|first| match others.next().map(str::trim) {
            None | Some("") => Ok((first, None)),
            Some(second) => Ok((first, Some(uuid(name, second)?))),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(sizes: [u128; 4]) -> Query {
        let [branches, testbeds, benchmarks, measures] =
            sizes.map(|size| (0..size).map(Uuid::from_u128).collect::<Vec<_>>());
        Query::of(branches, testbeds, benchmarks, measures, Timestamp::from_micros(0))
    }

    #[test]
    fn lists_are_cut_behind_the_last_permutation() {
        for (sizes, kept) in [
            ([1, 1, 1, 1], [1, 1, 1, 1]),
            ([400, 400, 1, 1], [1, 255, 1, 1]),
            ([400, 4, 1, 1], [64, 4, 1, 1]),
            ([9, 9, 9, 9], [1, 4, 9, 9]),
            ([1, 1, 255, 1], [1, 1, 255, 1]),
            ([2, 2, 2, 256], [1, 1, 1, 255]),
            ([3, 0, 5, 5], [3, 0, 5, 5]),
        ] {
            let query = query(sizes);
            let lengths =
                [query.branches.len(), query.testbeds.len(), query.benchmarks.len(), query.measures.len()];
            assert_eq!(lengths, kept, "{sizes:?}");
            assert_eq!(query.requested_count, sizes.iter().product::<u128>() as usize, "{sizes:?}");
            assert_eq!(
                query.permutations().count(),
                query.requested_count.min(MAX_PERMUTATIONS),
                "{sizes:?}"
            );
        }
    }

    #[test]
    fn what_is_asked_for_has_no_bound() {
        let requested_count = query([70_000, 70_000, 70_000, 70_000]).requested_count;
        assert_eq!(requested_count, usize::MAX);
    }
}
