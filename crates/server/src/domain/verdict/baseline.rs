//! The reports that a report is compared with.

use tidemark_stats::Monitor;
use tidemark_store::{
    HeadId, ReportId, TestbedId, Tx, VersionId,
    report::{self, ReportDimensions},
    version::{self, VersionRange},
};

use crate::domain::{changes::History, error::Result};

/// The reports of a baseline.
pub(super) struct BaselineReports {
    pub(super) history: History,
    /// Heads of the reports, newest first.
    pub(super) heads: Vec<HeadId>,
    pub(super) testbed: TestbedId,
    /// Whether the baseline excludes the runs after an open regression: a later run of the same branch is responsible for it.
    pub(super) excludes_regressions: bool,
}

impl BaselineReports {
    /// Reads the default baseline of a report: the runs of the start point of its branch, or the earlier runs of its branch.
    pub(super) fn before(tx: &mut Tx<'_>, place: &ReportDimensions) -> Result<Self> {
        let mut ranges = version::history(tx, place.head)?;
        let inherited = ranges.split_off(ranges.len().min(1));
        let found = Self::read(tx, &inherited, place.testbed, false)?;
        if !found.history.reports.is_empty() {
            return Ok(found);
        }
        Self::read(tx, &[versions_before(place)], place.testbed, true)
    }

    /// Reads the runs up to the version of the report `base`, on its branch and testbed, without the runs of the version that
    /// is compared with them.
    pub(super) fn until(tx: &mut Tx<'_>, place: &ReportDimensions, base: ReportId) -> Result<Self> {
        let base = report::dimensions(tx, base)?;
        let mut ranges = vec![VersionRange { last: base.version, ..VersionRange::of_head(base.head) }];
        if (place.head, place.testbed) == (base.head, base.testbed) {
            let after = VersionId::from(place.version.get() + 1);
            ranges = vec![VersionRange { first: after, ..ranges[0] }, versions_before(place)];
            ranges[1].last = ranges[1].last.min(base.version);
        }
        // Runs before the start point of the branch, if the branch has no report before `base`.
        ranges.extend(version::history(tx, base.head)?.into_iter().skip(1));
        Self::read(tx, &ranges, base.testbed, false)
    }

    fn read(
        tx: &mut Tx<'_>,
        ranges: &[VersionRange],
        testbed: TestbedId,
        excludes_regressions: bool,
    ) -> Result<Self> {
        let history = History::read(tx, ranges, testbed, Monitor::MAX_VALUES)?;
        let heads = ranges.iter().map(|range| range.head).collect();
        Ok(Self { history, heads, testbed, excludes_regressions })
    }
}

/// Returns the versions before a report on its own head.
fn versions_before(place: &ReportDimensions) -> VersionRange {
    VersionRange { last: VersionId::from(place.version.get() - 1), ..VersionRange::of_head(place.head) }
}
