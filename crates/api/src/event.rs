//! Events: changes and alerts of a branch with a common start and a common status.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    Actor, AlertStatus, AlertUuid, Benchmark, Bisection, BisectionSearch, BoundaryLimit, Branch, Change,
    ChangeCause, ChangeDirection, ChangePoint, Confirmation, ConfirmationState, EventUuid, Measure,
    MetricBoundary, Muted, NameId, NonEmpty, ProjChangesSort, ReportUuid, Testbed, ThresholdUuid, Timestamp,
    Variant, Version, patch::present, scalar::fixed_string,
};

fixed_string! {
    /// Status of an event and of its changes and alerts.
    EventStatus {
        /// The event needs review.
        Open = "open",
        /// The changes are intended.
        Expected = "expected",
        /// The cause of the changes was fixed.
        Fixed = "fixed",
        /// The changes are a false alarm.
        FalseAlarm = "false_alarm",
        /// A user dismissed all alerts of the event, which has no changes. Only the server sets this status.
        Dismissed = "dismissed",
        /// All regressions of the event returned to their earlier level, and the newest values of all other series with alerts
        /// are within their limits. Only the server sets this status.
        Recovered = "recovered",
    }
}

fixed_string! {
    /// Status that a user can set for an event.
    UpdateEventStatus {
        /// The event needs review.
        Open = "open",
        /// The changes are intended.
        Expected = "expected",
        /// The cause of the changes was fixed.
        Fixed = "fixed",
        /// The changes are a false alarm.
        FalseAlarm = "false_alarm",
    }
}

impl From<UpdateEventStatus> for EventStatus {
    fn from(status: UpdateEventStatus) -> Self {
        match status {
            UpdateEventStatus::Open => Self::Open,
            UpdateEventStatus::Expected => Self::Expected,
            UpdateEventStatus::Fixed => Self::Fixed,
            UpdateEventStatus::FalseAlarm => Self::FalseAlarm,
        }
    }
}

/// Changes of a branch that may have begun with the same version and have the same cause, and alerts of the branch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonEvent)]
pub struct Event {
    /// UUID of the event.
    pub uuid: EventUuid,
    /// Branch, with the head of the changes and alerts.
    pub branch: Branch,
    /// Status of the event and of all its changes and alerts.
    pub status: EventStatus,
    /// Note of a user on the status; null if there is none.
    pub note: Option<NonEmpty>,
    /// Probable cause of the changes.
    pub cause: ChangeCause,
    /// Earliest report where all changes of the event may begin; null if the event has no changes.
    pub earliest: Option<ChangePoint>,
    /// Latest report where all changes of the event may begin; null if the event has no changes.
    pub latest: Option<ChangePoint>,
    /// Versions where the event may begin, oldest first, at most 64.
    pub candidates: Vec<Version>,
    /// Number of regressions.
    pub regressions: u32,
    /// Number of improvements.
    pub improvements: u32,
    /// Number of changes.
    pub total: u32,
    /// Changes: regressions first, then by size, largest first; at most 64.
    pub changes: Vec<Change>,
    /// Number of alerts.
    pub total_alerts: u32,
    /// Alerts: values outside the limits of a threshold, newest first, at most 64.
    pub alerts: Vec<EventAlert>,
    /// Time when a change of the event was first selected for notification; null if none was.
    pub raised: Option<Timestamp>,
    /// Mute of the event; omitted unless all its series are muted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Muted, required = false)]
    pub muted: Option<Muted>,
    /// Second measurement of the suspected changes; omitted if the project does not confirm changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Confirmation, required = false)]
    pub confirmation: Option<Confirmation>,
    /// Result of the last search for the commit that caused the event; omitted if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Bisection, required = false)]
    pub bisection: Option<Bisection>,
    /// Last search for the commit that the server made with jobs; omitted if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = BisectionSearch, required = false)]
    pub search: Option<BisectionSearch>,
    /// Changes of the status, newest first, at most 64.
    pub actions: Vec<EventAction>,
    /// Start time of the first run of the event.
    pub start_time: Timestamp,
    /// Time when the server created the event.
    pub created: Timestamp,
    /// Time when a user or the server last modified the event.
    pub modified: Timestamp,
}

/// An alert of an event: a value of a series outside the limits of a threshold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonEventAlert)]
pub struct EventAlert {
    /// UUID of the alert.
    pub uuid: AlertUuid,
    /// UUID of the report that raised the alert.
    pub report: ReportUuid,
    /// Version of the report.
    pub version: Version,
    /// UUID of the threshold.
    pub threshold: ThresholdUuid,
    /// Testbed.
    pub testbed: Testbed,
    /// Benchmark.
    pub benchmark: Benchmark,
    /// Variant of the benchmark; null if the benchmark ran without parameters.
    pub variant: Option<Variant>,
    /// Measure.
    pub measure: Measure,
    /// Value outside the limits.
    pub value: f64,
    /// Baseline and limits that the value was compared with.
    pub boundary: MetricBoundary,
    /// Limit that the value crossed.
    pub limit: BoundaryLimit,
    /// Status of the alert.
    pub status: AlertStatus,
    /// Start time of the run.
    pub start_time: Timestamp,
}

/// A change of the status or the note of an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonEventAction)]
pub struct EventAction {
    /// New status.
    pub status: EventStatus,
    /// New note; null if there is none.
    pub note: Option<NonEmpty>,
    /// User or key that set the status; `system` if the server did.
    pub actor: Actor,
    /// Time of the action.
    pub created: Timestamp,
}

/// Changes to an event. They apply to all changes and alerts of the event: a status other than `open` dismisses its active alerts,
/// and `open` activates them again. `open` also activates the alerts of a dismissed event. Omitted fields stay unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateEvent)]
#[serde(deny_unknown_fields)]
pub struct EventPatch {
    /// New status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<UpdateEventStatus>,
    /// New note on the status; null removes the note.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<NonEmpty>)]
    pub note: Option<Option<NonEmpty>>,
}

/// Filter of a list of events.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct EventFilter {
    /// Only events with this status.
    #[param(inline)]
    pub status: Option<EventStatus>,
    /// Only events with a change or an alert in this direction.
    #[param(inline)]
    pub change_direction: Option<ChangeDirection>,
    /// Only events with this cause.
    #[param(inline)]
    pub cause: Option<ChangeCause>,
    /// Only events of this branch, given by UUID, slug or name.
    #[param(inline)]
    pub branch: Option<NameId>,
    /// Only events with a change or an alert of this testbed, given by UUID, slug or name.
    #[param(inline)]
    pub testbed: Option<NameId>,
    /// Only events with a change or an alert of this benchmark, given by UUID, slug or name.
    #[param(inline)]
    pub benchmark: Option<NameId>,
    /// Only events with a change or an alert of this measure, given by UUID, slug or name.
    #[param(inline)]
    pub measure: Option<NameId>,
    /// Only events whose series are all muted (true), or only other events (false).
    #[param(inline)]
    pub muted: Option<bool>,
    /// Only events with this state of the confirmation.
    #[param(inline)]
    pub confirmation: Option<ConfirmationState>,
    /// Sort key: the time when the event began, or the size of its largest change or alert; `time` by default.
    #[param(inline)]
    pub sort: Option<ProjChangesSort>,
}
