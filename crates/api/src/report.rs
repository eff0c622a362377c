//! Reports: the recorded results of one run.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::{
    Adapter, Alert, AlertStatus, Average, Benchmark, Branch, Fold, GitHash, GitHashPrefix, Iteration,
    JobNoise, JobUuid, Measure, Metric, MetricBoundary, NameId, NewModel, ProjReportsSort, Project, PubUser,
    ReportUuid, Shared, StartPointPatch, Testbed, ThresholdModel, Timestamp, Variant, time::Millis,
};

/// The recorded results of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonReport)]
pub struct Report {
    /// UUID of the report.
    pub uuid: ReportUuid,
    /// User who sent the report; null if the request was anonymous or used a project key.
    pub user: Option<PubUser>,
    /// Project of the report.
    pub project: Project,
    /// Branch, with the head and version that were measured.
    pub branch: Branch,
    /// Testbed, with the spec of the job of the report.
    pub testbed: Testbed,
    /// Start time of the run.
    pub start_time: Timestamp,
    /// End time of the run.
    pub end_time: Timestamp,
    /// Adapter that parsed the results.
    pub adapter: Adapter,
    /// Average of the tool that the values are; omitted if the tool provides at most one average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub average: Option<Average>,
    /// Results, one list per iteration; omitted in lists unless `expand` is true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub results: Option<Vec<Vec<ReportResult>>>,
    /// Alerts that the report raised; omitted in lists unless `expand` is true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub alerts: Option<Vec<Alert>>,
    /// Number of benchmarks, measures and alerts.
    pub counts: ReportCounts,
    /// UUID of the job that produces the results; omitted if the client ran the benchmarks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub job: Option<JobUuid>,
    /// Highest noise of the machine before and after the iterations of the job; omitted if the runner did not measure it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub noise: Option<JobNoise>,
    /// Values of both sides, if the job of the report has a base; omitted in lists, and if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub pairs: Vec<ReportPairs>,
    /// Warnings about the results, in the response that creates the report, and in the report of a job; omitted if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub warnings: Vec<String>,
    /// Time when the server received the report.
    pub created: Timestamp,
}

impl Report {
    /// Removes the expired mutes of its alerts, and does not count them.
    pub fn clear_expired_mutes(&mut self, now: Timestamp) {
        let Some(alerts) = &mut self.alerts else { return };
        alerts.iter_mut().for_each(|alert| alert.clear_expired_mute(now));
        let muted =
            alerts.iter().filter(|alert| alert.status == AlertStatus::Active && alert.muted.is_some());
        self.counts.alerts.muted = u32::try_from(muted.count()).unwrap_or(u32::MAX);
    }
}

/// Values of a series in a job that compares an image with a base. Values at the same index form a pair: they were measured in the
/// same round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonReportPairs)]
pub struct ReportPairs {
    /// Benchmark.
    #[schema(value_type = Benchmark)]
    pub benchmark: Arc<Benchmark>,
    /// Variant of the benchmark; null if the benchmark ran without parameters.
    #[schema(value_type = Option<Variant>)]
    pub variant: Option<Arc<Variant>>,
    /// Measure.
    #[schema(value_type = Measure)]
    pub measure: Shared<Measure>,
    /// Values of the base, in the order of the rounds.
    pub base: Vec<f64>,
    /// Values of the image of the job, in the order of the rounds.
    pub head: Vec<f64>,
}

/// Metrics of a benchmark in one iteration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonReportResult)]
pub struct ReportResult {
    /// Iteration of the report.
    pub iteration: Iteration,
    /// Benchmark.
    #[schema(value_type = Benchmark)]
    pub benchmark: Arc<Benchmark>,
    /// Variant of the benchmark; null if the benchmark ran without parameters.
    #[schema(value_type = Option<Variant>)]
    pub variant: Option<Arc<Variant>>,
    /// Metrics, sorted by name of the measure.
    pub measures: Vec<ReportMeasure>,
}

/// A metric of a report, with its threshold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonReportMeasure)]
pub struct ReportMeasure {
    /// Measure.
    #[schema(value_type = Measure)]
    pub measure: Shared<Measure>,
    /// Metric.
    pub metric: Metric,
    /// Threshold, with the model that was in effect; null if there was none.
    #[schema(value_type = Option<ThresholdModel>)]
    pub threshold: Option<Shared<ThresholdModel>>,
    /// Baseline and limits; null if there was no threshold.
    pub boundary: Option<MetricBoundary>,
}

/// Number of benchmarks, measures and alerts of a report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonReportCounts)]
pub struct ReportCounts {
    /// Counts of each iteration that has metrics.
    pub results: Vec<IterationCounts>,
    /// Counts of the alerts.
    pub alerts: AlertCounts,
}

/// Number of benchmarks and measures of an iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonReportIterationCounts)]
pub struct IterationCounts {
    /// Number of benchmarks. Each variant counts.
    pub benchmarks: u32,
    /// Number of distinct measures.
    pub measures: u32,
}

/// Number of alerts of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonReportAlertsCounts)]
pub struct AlertCounts {
    /// Number of alerts.
    pub total: u32,
    /// Number of active alerts.
    pub active: u32,
    /// Number of active alerts that were raised while their series was muted; omitted if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schema(required = false)]
    pub muted: u32,
}

impl AlertCounts {
    /// Returns the number of alerts that fail a gate.
    pub const fn unmuted(&self) -> u32 {
        self.active.saturating_sub(self.muted)
    }
}

const fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// A report to record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewReport)]
pub struct NewReport {
    /// UUID, slug or name of the branch. An unknown name creates a branch.
    pub branch: NameId,
    /// Hash of the measured commit. Reports of the same commit share a version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<GitHash>,
    /// Start point of the branch.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::object::optional")]
    pub start_point: Option<StartPointPatch>,
    /// UUID, slug or name of the testbed. An unknown name creates a testbed.
    pub testbed: NameId,
    /// Thresholds of the branch and testbed.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::object::optional")]
    pub thresholds: Option<ReportThresholds>,
    /// Start time of the run.
    pub start_time: Timestamp,
    /// End time of the run.
    pub end_time: Timestamp,
    /// Output of the benchmark tool, one text per iteration.
    pub results: Vec<String>,
    /// Settings for parsing the results.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::object::optional")]
    pub settings: Option<ReportSettings>,
    /// Idempotency key. If a report with the same key exists, the server returns that report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ReportIdempotencyKey>)]
    pub idempotency_key: Option<ReportIdempotencyKey>,
}

/// Idempotency key: a UUID that the client chooses, so that the server records a report once if the client sends it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
pub struct ReportIdempotencyKey(pub Uuid);

/// Thresholds that a report sets for its branch and testbed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonReportThresholds)]
pub struct ReportThresholds {
    /// Models by UUID, slug or name of the measure; at most 1,000. An unknown name creates a measure.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::object::map")]
    #[schema(value_type = Option<BTreeMap<String, NewModel>>)]
    pub models: Option<BTreeMap<NameId, NewModel>>,
    /// Whether to remove the models of all other thresholds of the branch and testbed; false by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset: Option<bool>,
}

impl ReportThresholds {
    /// Returns the number of models.
    pub fn count(&self) -> usize {
        self.models.as_ref().map_or(0, BTreeMap::len)
    }
}

/// Settings for parsing the results of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonReportSettings)]
pub struct ReportSettings {
    /// Adapter that parses the results; `magic` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter: Option<Adapter>,
    /// Average to use if the tool prints several; the default of the adapter if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub average: Option<Average>,
    /// How the iterations are combined into one. By default they are not combined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fold: Option<Fold>,
}

/// Filter of a list of reports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ReportFilter {
    /// Only reports of this branch, given by UUID, slug or name.
    #[param(inline)]
    pub branch: Option<NameId>,
    /// Only reports of this testbed, given by UUID, slug or name.
    #[param(inline)]
    pub testbed: Option<NameId>,
    /// Only reports of runs that started at this time or later, in milliseconds since 1970-01-01 UTC.
    #[param(inline)]
    pub start_time: Option<Millis>,
    /// Only reports of runs that ended at this time or earlier, in milliseconds since 1970-01-01 UTC.
    #[param(inline)]
    pub end_time: Option<Millis>,
    /// Only reports of commits whose hash starts with these hexadecimal digits.
    #[param(inline)]
    pub hash: Option<GitHashPrefix>,
    /// Whether to list reports with an archived branch or testbed instead of all others; false by default.
    pub archived: Option<bool>,
    /// Whether to include the results and alerts; false by default.
    pub expand: Option<bool>,
    /// Sort key; `date_time` by default.
    #[param(inline)]
    pub sort: Option<ProjReportsSort>,
}
