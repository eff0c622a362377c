//! Lanes: the reports of a head on a testbed, including inherited ones, from the oldest version to the newest.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use tidemark_api::Timestamp;
use tidemark_store::{
    HeadId, SpecId, TestbedId, Tx, VersionId,
    perf::{self, PerfReport},
    version::{self, VersionRange},
};

use crate::domain::error::Result;

/// The reports of a lane.
pub(super) type Lane = Arc<[Arc<PerfReport>]>;

/// Identifies a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LaneKey {
    pub(super) head: HeadId,
    pub(super) testbed: TestbedId,
    /// Only the reports of jobs on this spec.
    pub(super) spec: Option<SpecId>,
}

/// The reports of all lanes. A lane is built on request, because many branches that share a long history would need much memory
/// together.
pub(super) struct Lanes {
    histories: HashMap<HeadId, Vec<VersionRange>>,
    reports: HashMap<(HeadId, TestbedId), Vec<Arc<PerfReport>>>,
    last: Option<(LaneKey, Lane)>,
}

impl Lanes {
    /// Reads the reports of the lanes of these heads and testbeds.
    pub(super) fn read(
        tx: &mut Tx<'_>,
        heads: &[i64],
        testbeds: &[i64],
        start_time: Option<Timestamp>,
        end_time: Option<Timestamp>,
    ) -> Result<Self> {
        let histories = version::histories(tx, heads)?;
        let inherited = || histories.values().flatten().filter(|range| !heads.contains(&range.head.get()));
        let sources: HashSet<i64> = inherited().map(|range| range.head.get()).collect();
        let sources: Vec<i64> = sources.into_iter().collect();
        let last = inherited().map(|range| range.last).max().unwrap_or(VersionId::from(0));
        let mut reports: HashMap<_, Vec<Arc<PerfReport>>> = HashMap::new();
        for report in perf::reports(tx, heads, (&sources, last), testbeds, start_time, end_time)? {
            reports.entry((report.head, report.testbed)).or_default().push(Arc::new(report));
        }
        Ok(Self { histories, reports, last: None })
    }

    /// Returns a lane. The last one is cached, because series of the same lane follow each other.
    pub(super) fn get(&mut self, key: LaneKey) -> Lane {
        if let Some((last, lane)) = &self.last
            && *last == key
        {
            return Arc::clone(lane);
        }
        let mut lane: Vec<Arc<PerfReport>> = Vec::new();
        // The oldest version range first, so that the list is almost sorted.
        for range in self.histories.get(&key.head).into_iter().flatten().rev() {
            let reports = self.reports.get(&(range.head, key.testbed)).into_iter().flatten();
            let matching = reports.filter(|report| {
                (range.first..=range.last).contains(&report.version_id)
                    && (key.spec.is_none() || report.spec == key.spec)
            });
            lane.extend(matching.map(Arc::clone));
        }
        lane.sort_by_key(|report| (report.version.number, report.start_time, report.id));
        let lane = Lane::from(lane);
        self.last = Some((key, Arc::clone(&lane)));
        lane
    }
}
