//! Verdicts: what a run shows when it is held against the history of its branch, with no threshold.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    Benchmark, Branch, Change, ChangeCause, ChangeDirection, Measure, ReportUuid, Testbed, Variant,
    scalar::word,
};

word! {
    /// What a comparison comes to.
    VerdictAnswer {
        /// The run is another level than its base.
        Changed = "changed",
        /// It is the same, as far as the noise lets that be seen.
        Unchanged = "unchanged",
        /// There are too few runs, or they vary too much, to tell.
        Inconclusive = "inconclusive",
    }
}

/// What a report shows against the runs before it, or against those of the branch that its own starts from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonVerdict)]
pub struct Verdict {
    /// The report.
    pub report: ReportUuid,
    /// The branch, with the head and the version that were measured.
    pub branch: Branch,
    /// The testbed.
    pub testbed: Testbed,
    /// Changed if anything is, unchanged if nothing is and something can be told, inconclusive otherwise.
    pub answer: VerdictAnswer,
    /// How many comparisons come to what.
    pub counts: VerdictCounts,
    /// What seems to be behind the changes: the machine if most benchmarks moved together, noise if the same binary was
    /// measured before.
    pub cause: ChangeCause,
    /// What the benchmarks have in common, for each measure with enough of them.
    pub factors: Vec<VerdictFactor>,
    /// Each series of the report against its base: changed ones first, regressions before others, the largest first.
    pub comparisons: Vec<VerdictComparison>,
    /// Whether the series of this branch and testbed were looked at for changes since the last report; a moment later they
    /// are.
    pub settled: bool,
    /// The changes that were found with this report, as far as they are known.
    pub changes: Vec<Change>,
}

/// How many comparisons come to what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonVerdictCounts)]
pub struct VerdictCounts {
    /// Changes for the worse.
    pub regressions: u32,
    /// Changes for the better.
    pub improvements: u32,
    /// Changes of measures that do not say which way is worse.
    pub differences: u32,
    /// Those that are the same.
    pub unchanged: u32,
    /// Those that cannot be told.
    pub inconclusive: u32,
}

/// By how much all benchmarks of a run differ from their bases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonVerdictFactor)]
pub struct VerdictFactor {
    /// The measure.
    pub measure: Measure,
    /// The median of all: 0.02 is 2 % more than usual.
    pub change: f64,
    /// The lower end of its confidence interval of 95 %.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
    /// How many benchmarks it is of.
    pub benchmarks: u32,
    /// Which share of them moved that way, by more than they usually vary.
    pub together: f64,
    /// Whether that is most of them, so that the machine is to blame; comparisons are then made without the factor.
    pub is_host: bool,
}

/// A series of a report against its base.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonVerdictComparison)]
pub struct VerdictComparison {
    /// The benchmark.
    pub benchmark: Benchmark,
    /// The variant of the benchmark; null when it was run without parameters.
    pub variant: Option<Variant>,
    /// The measure.
    pub measure: Measure,
    /// What it comes to.
    pub answer: VerdictAnswer,
    /// Which way it goes; unknown if it goes nowhere.
    pub direction: ChangeDirection,
    /// The level of the base since it last changed; null if there is none.
    pub base: Option<f64>,
    /// How many runs of that level there are.
    pub base_runs: u32,
    /// What was measured: the median of the runs of this version.
    pub head: f64,
    /// How many such runs there are.
    pub head_runs: u32,
    /// By which share of the base it differs; without what all benchmarks have in common if the machine is to blame.
    pub change: Option<f64>,
    /// The lower end of its confidence interval of 95 %.
    pub lower: Option<f64>,
    /// The upper end.
    pub upper: Option<f64>,
    /// The smallest change that would have been seen.
    pub detectable: Option<f64>,
    /// How likely a difference like this is when nothing has changed, given how many comparisons were made.
    pub p: Option<f64>,
}
