//! Alerts: metrics outside the limits of a threshold.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    AlertUuid, Benchmark, BoundaryLimit, EventUuid, Iteration, Metric, MetricBoundary, Muted, NameId,
    ProjAlertsSort, ReportUuid, Threshold, ThresholdUuid, Timestamp, Variant, scalar::fixed_string,
};

fixed_string! {
    /// Status of an alert.
    AlertStatus {
        /// No user has reviewed the alert.
        Active = "active",
        /// A user has reviewed the alert.
        Dismissed = "dismissed",
        /// The head of the alert's branch was replaced.
        Silenced = "silenced",
    }
}

fixed_string! {
    /// Status that a user can set for an alert.
    UpdateAlertStatus {
        /// The alert needs review.
        Active = "active",
        /// The alert was reviewed.
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

/// A metric outside the limits of a threshold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonAlert)]
pub struct Alert {
    /// UUID of the alert.
    pub uuid: AlertUuid,
    /// UUID of the report that raised the alert.
    pub report: ReportUuid,
    /// Iteration of the report that has the metric.
    pub iteration: Iteration,
    /// Benchmark.
    pub benchmark: Benchmark,
    /// Variant of the benchmark; null if the benchmark ran without parameters.
    pub variant: Option<Variant>,
    /// Metric outside the limits.
    pub metric: Metric,
    /// Threshold, with the head and version of the branch that were measured, the spec of the testbed, and the model that was in
    /// effect.
    pub threshold: Threshold,
    /// Baseline and limits that the metric was compared with.
    pub boundary: MetricBoundary,
    /// Limit that the metric crossed.
    pub limit: BoundaryLimit,
    /// Status of the alert.
    pub status: AlertStatus,
    /// Mute that was active when the alert was raised; omitted if there was none, or if it has expired or was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Muted, required = false)]
    pub muted: Option<Muted>,
    /// Time when the alert was raised.
    pub created: Timestamp,
    /// Time when the alert was last modified.
    pub modified: Timestamp,
}

impl Alert {
    /// Removes the mute if it has expired.
    pub fn clear_expired_mute(&mut self, now: Timestamp) {
        self.muted.take_if(|muted| muted.expires.is_some_and(|expires| expires <= now));
    }
}

/// Changes to an alert. Omitted fields stay unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateAlert)]
pub struct AlertPatch {
    /// New status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<UpdateAlertStatus>,
}

/// Filter of a list of alerts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AlertFilter {
    /// Only alerts with this status.
    #[param(inline)]
    pub status: Option<AlertStatus>,
    /// Only alerts of this threshold.
    #[param(inline)]
    pub threshold: Option<ThresholdUuid>,
    /// Only alerts of this event.
    #[param(inline)]
    pub event: Option<EventUuid>,
    /// Whether to list alerts with an archived branch, testbed or measure instead of all others; false by default.
    pub archived: Option<bool>,
    /// Sort key; `modified` by default.
    #[param(inline)]
    pub sort: Option<ProjAlertsSort>,
}

/// New status for all alerts that match every given condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateAlerts)]
#[serde(deny_unknown_fields)]
pub struct AlertsPatch {
    /// New status.
    pub status: UpdateAlertStatus,
    /// Only alerts with this current status; `active` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<AlertStatus>,
    /// Only alerts of this report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<ReportUuid>,
    /// Only alerts of this branch, given by UUID, slug or name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<NameId>,
    /// Only alerts of this testbed, given by UUID, slug or name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub testbed: Option<NameId>,
    /// Only alerts of this benchmark, given by UUID, slug or name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub benchmark: Option<NameId>,
    /// Only alerts of this measure, given by UUID, slug or name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<NameId>,
}

/// Number of updated alerts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdatedAlerts)]
pub struct AlertsPatched {
    /// Number of updated alerts.
    #[schema(minimum = 0)]
    pub updated: u64,
}
