//! Alerts: metrics that crossed a limit of their threshold.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    AlertUuid, Benchmark, BoundaryLimit, Iteration, Metric, MetricBoundary, NameId, ProjAlertsSort,
    ReportUuid, Threshold, Timestamp, Variant, scalar::word,
};

word! {
    /// What became of an alert.
    AlertStatus {
        /// Somebody should look at it.
        Active = "active",
        /// Somebody has looked at it.
        Dismissed = "dismissed",
        /// The history that it belongs to has been replaced.
        Silenced = "silenced",
    }
}

word! {
    /// What an alert can be changed to.
    UpdateAlertStatus {
        /// Somebody should look at it.
        Active = "active",
        /// Somebody has looked at it.
        Dismissed = "dismissed",
    }
}

impl From<UpdateAlertStatus> for AlertStatus {
    fn from(status: UpdateAlertStatus) -> Self {
        match status {
            UpdateAlertStatus::Active => Self::Active,
            UpdateAlertStatus::Dismissed => Self::Dismissed,
        }
    }
}

/// An alert.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonAlert)]
pub struct Alert {
    /// Its identifier.
    pub uuid: AlertUuid,
    /// The report that raised it.
    pub report: ReportUuid,
    /// The result of the report that it is about.
    pub iteration: Iteration,
    /// The benchmark.
    pub benchmark: Benchmark,
    /// The variant of the benchmark; null when it was run without parameters.
    pub variant: Option<Variant>,
    /// The metric that crossed the limit.
    pub metric: Metric,
    /// The threshold: its branch with the head and version that were measured, its testbed with the spec, and the model
    /// that were in force.
    pub threshold: Threshold,
    /// What the metric was held against.
    pub boundary: MetricBoundary,
    /// The limit that was crossed.
    pub limit: BoundaryLimit,
    /// What became of it.
    pub status: AlertStatus,
    /// When it was raised.
    pub created: Timestamp,
    /// When it was last changed.
    pub modified: Timestamp,
}

/// What to change of an alert.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateAlert)]
pub struct AlertPatch {
    /// What is to become of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<UpdateAlertStatus>,
}

/// Which alerts to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AlertFilter {
    /// Only those with this status.
    #[param(inline)]
    pub status: Option<AlertStatus>,
    /// Those whose branch, testbed or measure is archived, instead of the others.
    pub archived: Option<bool>,
    /// What to order by.
    #[param(inline)]
    pub sort: Option<ProjAlertsSort>,
}

/// Which alerts to change, and to what. Every condition that is given must hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateAlerts)]
#[serde(deny_unknown_fields)]
pub struct AlertsPatch {
    /// What is to become of them.
    pub status: UpdateAlertStatus,
    /// Only those that are this now; the active ones when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<AlertStatus>,
    /// Only those of this report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<ReportUuid>,
    /// Only those of this branch, by UUID, slug or name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<NameId>,
    /// Only those of this testbed, by UUID, slug or name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub testbed: Option<NameId>,
    /// Only those of this benchmark, by UUID, slug or name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub benchmark: Option<NameId>,
    /// Only those of this measure, by UUID, slug or name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<NameId>,
}

/// How many alerts were changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdatedAlerts)]
pub struct AlertsPatched {
    /// How many there were.
    #[schema(minimum = 0)]
    pub updated: u64,
}
