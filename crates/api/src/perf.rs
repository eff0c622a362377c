//! Perf: metrics over time, for every combination of branches, testbeds, benchmarks and measures.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    Benchmark, Branch, Iteration, Measure, Metric, MetricAlert, MetricBoundary, Project, ReportUuid, Shared,
    Testbed, ThresholdModel, Timestamp, Variant, Version, time::Millis,
};

/// Maximum number of permutations of a perf query.
pub const MAX_PERMUTATIONS: usize = 255;
/// Maximum number of series of a perf query, 16 per permutation: a benchmark has one series per variant.
pub const MAX_SERIES: usize = 4_096;

/// Series to return. Each list consists of UUIDs, separated by commas.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PerfQuery {
    /// UUIDs of the branches.
    pub branches: String,
    /// UUIDs of the heads, in the order of the branches; an empty or missing entry is the current head.
    pub heads: Option<String>,
    /// UUIDs of the testbeds.
    pub testbeds: String,
    /// UUIDs of the specs, in the order of the testbeds; an empty or missing entry is any spec.
    pub specs: Option<String>,
    /// UUIDs of the benchmarks.
    pub benchmarks: String,
    /// UUIDs of the measures.
    pub measures: String,
    /// Only runs that started at this time or later, in milliseconds since 1970-01-01 UTC.
    #[param(inline)]
    pub start_time: Option<Millis>,
    /// Only runs that ended at this time or earlier, in milliseconds since 1970-01-01 UTC.
    #[param(inline)]
    pub end_time: Option<Millis>,
}

/// Result of a perf query.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonPerf)]
pub struct Perf {
    /// Project.
    pub project: Project,
    /// Requested start time; null if none was requested.
    pub start_time: Option<Timestamp>,
    /// Requested end time; null if none was requested.
    pub end_time: Option<Timestamp>,
    /// One entry per permutation and variant that has metrics.
    pub results: Vec<PerfMetrics>,
}

/// Metrics of one permutation and variant, from the oldest to the newest version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonPerfMetrics)]
pub struct PerfMetrics {
    /// Branch, with the requested head.
    #[schema(value_type = Branch)]
    pub branch: Arc<Branch>,
    /// Testbed, with the requested spec.
    #[schema(value_type = Testbed)]
    pub testbed: Arc<Testbed>,
    /// Benchmark.
    #[schema(value_type = Benchmark)]
    pub benchmark: Arc<Benchmark>,
    /// Variant of the benchmark; null if the benchmark ran without parameters.
    #[schema(value_type = Option<Variant>)]
    pub variant: Option<Arc<Variant>>,
    /// Measure.
    #[schema(value_type = Measure)]
    pub measure: Arc<Measure>,
    /// Metrics.
    pub metrics: Vec<PerfMetric>,
}

/// A metric with its report, version, threshold and alert.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonPerfMetric)]
pub struct PerfMetric {
    /// UUID of the report of the metric.
    pub report: ReportUuid,
    /// Iteration of the report.
    pub iteration: Iteration,
    /// Start time of the run.
    pub start_time: Timestamp,
    /// End time of the run.
    pub end_time: Timestamp,
    /// Version that was measured.
    #[schema(value_type = Version)]
    pub version: Arc<Version>,
    /// Metric.
    pub metric: Metric,
    /// Threshold, with the model that was in effect; null if there was none.
    #[schema(value_type = Option<ThresholdModel>)]
    pub threshold: Option<Shared<ThresholdModel>>,
    /// Baseline and limits; null if there was no threshold.
    pub boundary: Option<MetricBoundary>,
    /// Alert that the metric raised; null if it raised none.
    pub alert: Option<MetricAlert>,
}
