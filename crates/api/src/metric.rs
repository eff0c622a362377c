//! Metrics, and the limits that they are compared with.

use serde::{Deserialize, Serialize};
use tidemark_stats::{Limits, Side};
use utoipa::ToSchema;

use crate::{
    AlertStatus, AlertUuid, Benchmark, Branch, Measure, MetricUuid, ReportUuid, Shared, Testbed,
    ThresholdModel, Timestamp, Variant,
    scalar::{fixed_string, integer},
};

integer! {
    /// Number of an iteration of a report, counted from 0.
    Iteration(u32, "uint32"), 0, 4_294_967_295
}

impl Iteration {
    /// Creates an iteration. Every number is valid.
    pub const fn new(number: u32) -> Self {
        Self(number)
    }
}

/// One value of a benchmark, variant and measure in one iteration of a report.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonMetric)]
pub struct Metric {
    /// UUID of the metric.
    pub uuid: MetricUuid,
    /// Value.
    pub value: f64,
    /// Lower end of the range of the value; null if there is none.
    pub lower_value: Option<f64>,
    /// Upper end of the range of the value; null if there is none.
    pub upper_value: Option<f64>,
}

/// Baseline and limits that a metric is compared with. All fields are null if the sample is too small.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonBoundary)]
pub struct MetricBoundary {
    /// Expected value; null if the model has no baseline.
    pub baseline: Option<f64>,
    /// Smallest value within the limits; null if there is no lower limit.
    pub lower_limit: Option<f64>,
    /// Greatest value within the limits; null if there is no upper limit.
    pub upper_limit: Option<f64>,
}

impl From<Option<Limits>> for MetricBoundary {
    fn from(limits: Option<Limits>) -> Self {
        limits.map_or_else(Self::default, |Limits { baseline, lower, upper }| Self {
            baseline,
            lower_limit: lower,
            upper_limit: upper,
        })
    }
}

fixed_string! {
    /// Limit that a metric crossed.
    BoundaryLimit {
        /// The metric is below the lower limit.
        Lower = "lower",
        /// The metric is above the upper limit.
        Upper = "upper",
    }
}

impl From<Side> for BoundaryLimit {
    fn from(side: Side) -> Self {
        match side {
            Side::Lower => Self::Lower,
            Side::Upper => Self::Upper,
        }
    }
}

/// Alert of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonPerfAlert)]
pub struct MetricAlert {
    /// UUID of the alert.
    pub uuid: AlertUuid,
    /// Limit that the metric crossed.
    pub limit: BoundaryLimit,
    /// Status of the alert.
    pub status: AlertStatus,
    /// Time when the alert was last modified.
    pub modified: Timestamp,
}

/// A metric with its report, series, threshold and alert.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonOneMetric)]
pub struct MetricDetail {
    /// UUID of the metric.
    pub uuid: MetricUuid,
    /// UUID of the report of the metric.
    pub report: ReportUuid,
    /// Iteration of the report.
    pub iteration: Iteration,
    /// Start time of the run.
    pub start_time: Timestamp,
    /// End time of the run.
    pub end_time: Timestamp,
    /// Branch, with the head and version that were measured.
    pub branch: Branch,
    /// Testbed, with the spec that was in effect.
    pub testbed: Testbed,
    /// Benchmark.
    pub benchmark: Benchmark,
    /// Variant of the benchmark; null if the benchmark ran without parameters.
    pub variant: Option<Variant>,
    /// Measure.
    pub measure: Measure,
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
