//! Reports: the results of one run of benchmarks, and what became of them.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::{
    Adapter, Alert, Average, Benchmark, Branch, Fold, GitHash, Iteration, JobNoise, JobUuid, Measure, Metric,
    MetricBoundary, NameId, NewModel, ProjReportsSort, Project, PubUser, ReportUuid, Shared, StartPointPatch,
    Testbed, ThresholdModel, Timestamp, Variant, time::Millis,
};

/// A report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonReport)]
pub struct Report {
    /// Its identifier.
    pub uuid: ReportUuid,
    /// Who sent it; null when nobody was signed in, or a project's key was used.
    pub user: Option<PubUser>,
    /// The project it belongs to.
    pub project: Project,
    /// The branch, with the head and version that were measured.
    pub branch: Branch,
    /// The testbed, with the spec of the job that made the report.
    pub testbed: Testbed,
    /// When the run began.
    pub start_time: Timestamp,
    /// When the run ended.
    pub end_time: Timestamp,
    /// The tool whose output it holds.
    pub adapter: Adapter,
    /// The results, a list for each iteration; absent in lists unless asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub results: Option<Vec<Vec<ReportResult>>>,
    /// The alerts it raised; absent in lists unless asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub alerts: Option<Vec<Alert>>,
    /// How much is in it.
    pub counts: ReportCounts,
    /// The job that brings the results, if it was not the sender who ran the benchmarks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub job: Option<JobUuid>,
    /// How restless the machine was at its worst before and after the runs of the job, if the runner measured it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub noise: Option<JobNoise>,
    /// When it was received.
    pub created: Timestamp,
}

/// A benchmark of one iteration, with what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonReportResult)]
pub struct ReportResult {
    /// The result of the report that it is from.
    pub iteration: Iteration,
    /// The benchmark.
    #[schema(value_type = Benchmark)]
    pub benchmark: Arc<Benchmark>,
    /// The variant of the benchmark; null when it was run without parameters.
    #[schema(value_type = Option<Variant>)]
    pub variant: Option<Arc<Variant>>,
    /// What was measured, by the name of the measure.
    pub measures: Vec<ReportMeasure>,
}

/// A metric of a report, with what it was held against.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonReportMeasure)]
pub struct ReportMeasure {
    /// The measure.
    #[schema(value_type = Measure)]
    pub measure: Shared<Measure>,
    /// The metric.
    pub metric: Metric,
    /// The threshold with the model that judged it, if there was one.
    #[schema(value_type = Option<ThresholdModel>)]
    pub threshold: Option<Shared<ThresholdModel>>,
    /// What it was held against, if there was a threshold.
    pub boundary: Option<MetricBoundary>,
}

/// How much is in a report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonReportCounts)]
pub struct ReportCounts {
    /// One entry for each iteration that has metrics.
    pub results: Vec<IterationCounts>,
    /// The alerts.
    pub alerts: AlertCounts,
}

/// How much is in one iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonReportIterationCounts)]
pub struct IterationCounts {
    /// Its benchmarks; each variant of one counts.
    pub benchmarks: u32,
    /// Its different measures.
    pub measures: u32,
}

/// How many alerts a report has raised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonReportAlertsCounts)]
pub struct AlertCounts {
    /// All of them.
    pub total: u32,
    /// Those that are active.
    pub active: u32,
}

/// A report to record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewReport)]
pub struct NewReport {
    /// The UUID, slug or name of the branch; a name that is not known makes a new one.
    pub branch: NameId,
    /// The commit that was measured. Reports of the same commit share a version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<GitHash>,
    /// Where the branch starts from.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::object::optional")]
    pub start_point: Option<StartPointPatch>,
    /// The UUID, slug or name of the testbed; a name that is not known makes a new one.
    pub testbed: NameId,
    /// The thresholds of this branch and testbed.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::object::optional")]
    pub thresholds: Option<ReportThresholds>,
    /// When the run began.
    pub start_time: Timestamp,
    /// When the run ended.
    pub end_time: Timestamp,
    /// What the tool printed, a text for each iteration.
    pub results: Vec<String>,
    /// How the results are read.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::object::optional")]
    pub settings: Option<ReportSettings>,
    /// A UUID of the sender's choice: a report that is sent again with the same one is answered with the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ReportIdempotencyKey>)]
    pub idempotency_key: Option<ReportIdempotencyKey>,
}

/// A UUID of the sender's choice, by which a report that is sent again is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
pub struct ReportIdempotencyKey(pub Uuid);

/// The thresholds that a report wants for its branch and testbed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonReportThresholds)]
pub struct ReportThresholds {
    /// The model of each measure, by its UUID, slug or name; a name that is not known makes a new measure. At most 1,000
    /// models.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::object::map")]
    #[schema(value_type = Option<BTreeMap<String, NewModel>>)]
    pub models: Option<BTreeMap<NameId, NewModel>>,
    /// Whether all other thresholds of the branch and testbed lose their models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset: Option<bool>,
}

impl ReportThresholds {
    /// The number of models.
    pub fn count(&self) -> usize {
        self.models.as_ref().map_or(0, BTreeMap::len)
    }
}

/// How the results of a report are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonReportSettings)]
pub struct ReportSettings {
    /// The tool that made them; found out when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter: Option<Adapter>,
    /// Which of the tool's averages is taken; its usual one when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub average: Option<Average>,
    /// How the iterations become one; they stay apart when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fold: Option<Fold>,
}

/// Which reports to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ReportFilter {
    /// Only those of this branch, by UUID, slug or name.
    #[param(inline)]
    pub branch: Option<NameId>,
    /// Only those of this testbed, by UUID, slug or name.
    #[param(inline)]
    pub testbed: Option<NameId>,
    /// Only those whose run began at this time or later, in milliseconds since 1970.
    #[param(inline)]
    pub start_time: Option<Millis>,
    /// Only those whose run ended at this time or earlier, in milliseconds since 1970.
    #[param(inline)]
    pub end_time: Option<Millis>,
    /// Those whose branch or testbed is archived, instead of the others.
    pub archived: Option<bool>,
    /// Whether the results and alerts are shown, too.
    pub expand: Option<bool>,
    /// What to order by.
    #[param(inline)]
    pub sort: Option<ProjReportsSort>,
}
