//! Metrics: what was measured, and what it was held against.

use serde::{Deserialize, Serialize};
use tidemark_stats::{Limits, Side};
use utoipa::ToSchema;

use crate::{
    AlertStatus, AlertUuid, Benchmark, Branch, Measure, MetricUuid, ReportUuid, Shared, Testbed,
    ThresholdModel, Timestamp, Variant,
    scalar::{integer, word},
};

integer! {
    /// The number of a result among those of its report, counted from 0.
    Iteration(u32, "uint32"), 0, 4_294_967_295
}

impl Iteration {
    /// The iteration with this number; every number will do.
    pub const fn new(number: u32) -> Self {
        Self(number)
    }
}

/// A metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonMetric)]
pub struct Metric {
    /// Its identifier.
    pub uuid: MetricUuid,
    /// The value.
    pub value: f64,
    /// The lower end of its range, if there is one.
    pub lower_value: Option<f64>,
    /// The upper end of its range, if there is one.
    pub upper_value: Option<f64>,
}

/// What a metric was held against. All is null when there was too little to tell by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonBoundary)]
pub struct MetricBoundary {
    /// The value to be expected.
    pub baseline: Option<f64>,
    /// The smallest value that is fine.
    pub lower_limit: Option<f64>,
    /// The greatest value that is fine.
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

word! {
    /// The limit that a metric has crossed.
    BoundaryLimit {
        /// It is too small.
        Lower = "lower",
        /// It is too great.
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

/// An alert as metrics show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonPerfAlert)]
pub struct MetricAlert {
    /// Its identifier.
    pub uuid: AlertUuid,
    /// The limit that was crossed.
    pub limit: BoundaryLimit,
    /// What became of it.
    pub status: AlertStatus,
    /// When it was last changed.
    pub modified: Timestamp,
}

/// A metric with all that it belongs to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonOneMetric)]
pub struct OneMetric {
    /// Its identifier.
    pub uuid: MetricUuid,
    /// The report that brought it.
    pub report: ReportUuid,
    /// The result of the report that it is from.
    pub iteration: Iteration,
    /// When the run began.
    pub start_time: Timestamp,
    /// When the run ended.
    pub end_time: Timestamp,
    /// The branch, with the head and version that were measured.
    pub branch: Branch,
    /// The testbed, with the spec that was in force.
    pub testbed: Testbed,
    /// The benchmark.
    pub benchmark: Benchmark,
    /// The variant of the benchmark; null when it was run without parameters.
    pub variant: Option<Variant>,
    /// The measure.
    pub measure: Measure,
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
