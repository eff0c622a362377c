//! Perf: metrics over time, for every permutation of branches, testbeds, benchmarks and measures.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    Benchmark, Branch, Iteration, Measure, Metric, MetricAlert, MetricBoundary, Project, ReportUuid, Shared,
    Testbed, ThresholdModel, Timestamp, Variant, Version, time::Millis,
};

/// The most permutations that are answered.
pub const MAX_PERMUTATIONS: usize = 255;
/// The most series that are answered: a benchmark has one for each set of parameters it was run with, and this leaves
/// sixteen of them to each permutation.
pub const MAX_SERIES: usize = 4_096;

/// What to show. Each list is of UUIDs, separated by commas.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PerfQuery {
    /// The branches.
    pub branches: String,
    /// The heads of the branches, in the same order; the current head where there is none.
    pub heads: Option<String>,
    /// The testbeds.
    pub testbeds: String,
    /// The specs of the testbeds, in the same order; any spec where there is none.
    pub specs: Option<String>,
    /// The benchmarks.
    pub benchmarks: String,
    /// The measures.
    pub measures: String,
    /// Only runs that began at this time or later, in milliseconds since 1970.
    #[param(inline)]
    pub start_time: Option<Millis>,
    /// Only runs that ended at this time or earlier, in milliseconds since 1970.
    #[param(inline)]
    pub end_time: Option<Millis>,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonPerf)]
pub struct Perf {
    /// The project.
    pub project: Project,
    /// The time asked for.
    pub start_time: Option<Timestamp>,
    /// The time asked for.
    pub end_time: Option<Timestamp>,
    /// One entry for each permutation that has metrics, and for each variant of its benchmark.
    pub results: Vec<PerfMetrics>,
}

/// The metrics of one permutation, from the oldest version to the newest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonPerfMetrics)]
pub struct PerfMetrics {
    /// The branch, with the head that was asked for.
    #[schema(value_type = Branch)]
    pub branch: Arc<Branch>,
    /// The testbed, with the spec that was asked for.
    #[schema(value_type = Testbed)]
    pub testbed: Arc<Testbed>,
    /// The benchmark.
    #[schema(value_type = Benchmark)]
    pub benchmark: Arc<Benchmark>,
    /// The variant of the benchmark; null when it was run without parameters.
    #[schema(value_type = Option<Variant>)]
    pub variant: Option<Arc<Variant>>,
    /// The measure.
    #[schema(value_type = Measure)]
    pub measure: Arc<Measure>,
    /// The metrics.
    pub metrics: Vec<PerfMetric>,
}

/// A metric in its place in time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonPerfMetric)]
pub struct PerfMetric {
    /// The report that brought it.
    pub report: ReportUuid,
    /// The result of the report that it is from.
    pub iteration: Iteration,
    /// When the run began.
    pub start_time: Timestamp,
    /// When the run ended.
    pub end_time: Timestamp,
    /// The version that was measured.
    #[schema(value_type = Version)]
    pub version: Arc<Version>,
    /// The metric itself.
    pub metric: Metric,
    /// The threshold with the model that judged it, if there was one.
    #[schema(value_type = Option<ThresholdModel>)]
    pub threshold: Option<Shared<ThresholdModel>>,
    /// What it was held against, if there was a threshold.
    pub boundary: Option<MetricBoundary>,
    /// The alert it raised, if it did.
    pub alert: Option<MetricAlert>,
}
