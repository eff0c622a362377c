//! Events: changes of a branch with a common start and a common status.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    Actor, Branch, Change, ChangeCause, ChangeDirection, ChangePoint, EventUuid, NameId, NonEmpty,
    ProjChangesSort, Timestamp, Version, patch::present, scalar::fixed_string,
};

fixed_string! {
    /// Status of an event and of its changes.
    EventStatus {
        /// The event needs review.
        Open = "open",
        /// The changes are intended.
        Expected = "expected",
        /// The cause of the changes was fixed.
        Fixed = "fixed",
        /// The changes are a false alarm.
        FalseAlarm = "false_alarm",
        /// All regressions of the event returned to their earlier level. Only detection sets this status.
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

/// Changes of a branch that may have begun with the same version and have the same cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonEvent)]
pub struct Event {
    /// UUID of the event.
    pub uuid: EventUuid,
    /// Branch, with the head of the changes.
    pub branch: Branch,
    /// Status of the event and of all its changes.
    pub status: EventStatus,
    /// Note of a user on the status; null if there is none.
    pub note: Option<NonEmpty>,
    /// Probable cause of the changes.
    pub cause: ChangeCause,
    /// Earliest report where all changes of the event may begin; null if detection has withdrawn all changes.
    pub earliest: Option<ChangePoint>,
    /// Latest report where all changes of the event may begin; null if detection has withdrawn all changes.
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
    /// Number of active alerts of the changed series since the start of the event.
    pub alerts: u32,
    /// Time when a change of the event was first selected for notification; null if none was.
    pub raised: Option<Timestamp>,
    /// Changes of the status, newest first, at most 64.
    pub actions: Vec<EventAction>,
    /// Start time of the first run of the event.
    pub start_time: Timestamp,
    /// Time when detection found the event.
    pub created: Timestamp,
    /// Time when a user or detection last modified the event.
    pub modified: Timestamp,
}

/// A change of the status or the note of an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonEventAction)]
pub struct EventAction {
    /// New status.
    pub status: EventStatus,
    /// New note; null if there is none.
    pub note: Option<NonEmpty>,
    /// User or key that set the status; `system` if detection did.
    pub actor: Actor,
    /// Time of the action.
    pub created: Timestamp,
}

/// Changes to an event. They apply to all changes of the event: a status other than `open` also dismisses the active alerts of
/// the changed series, and `open` activates them again. Omitted fields stay unchanged.
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
    /// Only events with a change in this direction.
    #[param(inline)]
    pub change_direction: Option<ChangeDirection>,
    /// Only events with this cause.
    #[param(inline)]
    pub cause: Option<ChangeCause>,
    /// Only events of this branch, given by UUID, slug or name.
    #[param(inline)]
    pub branch: Option<NameId>,
    /// Only events with a change of this testbed, given by UUID, slug or name.
    #[param(inline)]
    pub testbed: Option<NameId>,
    /// Only events with a change of this benchmark, given by UUID, slug or name.
    #[param(inline)]
    pub benchmark: Option<NameId>,
    /// Only events with a change of this measure, given by UUID, slug or name.
    #[param(inline)]
    pub measure: Option<NameId>,
    /// Sort key: the time when the event began, or the size of its largest change; `time` by default.
    #[param(inline)]
    pub sort: Option<ProjChangesSort>,
}
