//! Filter by branch, testbed, benchmark and measure.

use crate::{BenchmarkId, BranchId, MeasureId, TestbedId};

/// Filter by dimensions of a project. Fields that are `None` match everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct SeriesFilter {
    /// Branch.
    pub branch: Option<BranchId>,
    /// Testbed.
    pub testbed: Option<TestbedId>,
    /// Benchmark.
    pub benchmark: Option<BenchmarkId>,
    /// Measure.
    pub measure: Option<MeasureId>,
}
