//! A part of a project.

use crate::{BenchmarkId, BranchId, MeasureId, TestbedId};

/// All of a project, or what every part that is given has to do with.
#[derive(Clone, Copy, Debug, Default)]
pub struct Part {
    /// This branch.
    pub branch: Option<BranchId>,
    /// This testbed.
    pub testbed: Option<TestbedId>,
    /// This benchmark.
    pub benchmark: Option<BenchmarkId>,
    /// This measure.
    pub measure: Option<MeasureId>,
}
