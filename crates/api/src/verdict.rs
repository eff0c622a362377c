//! Verdicts: comparisons of a report with its baseline, without a threshold.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    Benchmark, Branch, Change, ChangeCause, ChangeDirection, Measure, Muted, NameId, ReportUuid, Testbed,
    Variant, Version, scalar::fixed_string,
};

fixed_string! {
    /// Result of a comparison.
    VerdictAnswer {
        /// The level differs from the baseline.
        Changed = "changed",
        /// The level is the same, within the limits of the noise.
        Unchanged = "unchanged",
        /// The baseline has too few runs, or the noise is too large.
        Inconclusive = "inconclusive",
    }
}

/// Baseline and comparisons of a requested verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct VerdictQuery {
    /// UUID of a report. The baseline is its branch and testbed up to its version, instead of the default baseline.
    #[param(inline)]
    pub base: Option<ReportUuid>,
    /// Return only the comparisons of this benchmark, given by UUID, slug or name. The counts include all benchmarks.
    #[param(inline)]
    pub benchmark: Option<NameId>,
    /// Maximum number of comparisons to return, in the order of the response. The counts include all comparisons.
    #[param(inline)]
    pub limit: Option<u32>,
}

/// Comparison of a report with its baseline: the earlier runs of its branch, or the runs of its start point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonVerdict)]
pub struct Verdict {
    /// UUID of the report.
    pub report: ReportUuid,
    /// Branch, with the head and version that were measured.
    pub branch: Branch,
    /// Testbed.
    pub testbed: Testbed,
    /// Baseline; null if there is no earlier run to compare with. If a job measured the report together with a base, the report
    /// itself.
    pub baseline: Option<VerdictBaseline>,
    /// Number of pairs, if a job measured the report together with a base. The comparisons are then between both sides of the
    /// pairs, with 99 % confidence intervals that are valid whenever the measurement stops; omitted otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub pairs: Option<u32>,
    /// `changed` if any comparison that is not muted is `changed`; `unchanged` if none is `changed` and at least one is
    /// `unchanged`; otherwise `inconclusive`.
    pub answer: VerdictAnswer,
    /// Number of comparisons by result.
    pub counts: VerdictCounts,
    /// Probable cause of the changes: `noise` if the baseline contains the same binary, `host` if most benchmarks moved together,
    /// otherwise `code`.
    pub cause: ChangeCause,
    /// Common factor of the benchmarks, for each measure with at least five benchmarks.
    pub factors: Vec<VerdictFactor>,
    /// Comparison of each series with its baseline: `changed` first, with regressions before improvements, and larger changes
    /// before smaller ones, and muted changes last.
    pub comparisons: Vec<VerdictComparison>,
    /// Whether detection has analyzed all reports of this branch and testbed. If false, request the verdict again after a few
    /// seconds.
    pub settled: bool,
    /// Changes that detection found with this report, largest first, at most 8. The list may be incomplete while `settled` is
    /// false.
    pub changes: Vec<Change>,
}

/// Runs that a report is compared with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonVerdictBaseline)]
pub struct VerdictBaseline {
    /// UUID of the newest report.
    pub report: ReportUuid,
    /// Branch, with the head and version of the newest report.
    pub branch: Branch,
    /// Testbed.
    pub testbed: Testbed,
    /// Number of reports.
    pub reports: u32,
}

/// Number of comparisons by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonVerdictCounts)]
pub struct VerdictCounts {
    /// Number of regressions.
    pub regressions: u32,
    /// Number of improvements.
    pub improvements: u32,
    /// Number of changes of measures that do not define which direction is worse.
    pub differences: u32,
    /// Number of unchanged series.
    pub unchanged: u32,
    /// Number of inconclusive comparisons.
    pub inconclusive: u32,
    /// Number of changed series that are muted. The other counts do not include them.
    #[serde(default)]
    pub muted: u32,
}

/// Common factor: the change that all benchmarks of a measure share in this run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonVerdictFactor)]
pub struct VerdictFactor {
    /// Measure.
    pub measure: Measure,
    /// Median of the relative changes: 0.02 is 2 % above the baseline.
    pub change: f64,
    /// Lower end of the 95 % confidence interval of `change`.
    pub lower: f64,
    /// Upper end of the 95 % confidence interval of `change`.
    pub upper: f64,
    /// Number of benchmarks.
    pub benchmarks: u32,
    /// Share of the benchmarks that moved in the direction of the median by more than their noise, from 0 to 1.
    pub together: f64,
    /// Whether most benchmarks moved together, so that the machine is the probable cause. The comparisons then exclude the
    /// factor.
    pub is_host: bool,
}

/// Comparison of one series of a report with its baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonVerdictComparison)]
pub struct VerdictComparison {
    /// Benchmark.
    pub benchmark: Benchmark,
    /// Variant of the benchmark; null if the benchmark ran without parameters.
    pub variant: Option<Variant>,
    /// Measure.
    pub measure: Measure,
    /// Result of the comparison.
    pub answer: VerdictAnswer,
    /// Direction of the change; `unknown` if the series did not change.
    pub direction: ChangeDirection,
    /// Mute of the series; omitted if it is not muted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Muted, required = false)]
    pub muted: Option<Muted>,
    /// Level of the baseline since its last change; null if there is no baseline.
    pub base: Option<f64>,
    /// Number of runs of the baseline level.
    pub base_runs: u32,
    /// Version of the newest run at the level of the baseline of this series: the last version before a suspected change; omitted
    /// if there is no baseline, or if a job measured the report together with a base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub base_version: Option<Version>,
    /// Median of the runs of the measured version.
    pub head: f64,
    /// Number of runs of the measured version.
    pub head_runs: u32,
    /// Relative difference from the baseline: 0.02 is 2 % above it. Excludes the common factor if the machine is the probable
    /// cause. Null if it cannot be computed.
    pub change: Option<f64>,
    /// Lower end of the 95 % confidence interval of `change`; null if there is none.
    pub lower: Option<f64>,
    /// Upper end of the 95 % confidence interval of `change`; null if there is none.
    pub upper: Option<f64>,
    /// Noise: standard deviation of a run around its level, robust to outliers, as a share of the level; null if it cannot be
    /// computed.
    pub noise: Option<f64>,
    /// Smallest detectable change; null if it cannot be computed.
    pub detectable: Option<f64>,
    /// Probability of a difference of this size if nothing has changed, corrected for the number of comparisons; null if it
    /// cannot be computed.
    pub p: Option<f64>,
}
