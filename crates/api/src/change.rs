//! Changes: lasting shifts of the level of a series.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    Benchmark, Branch, ChangeUuid, ConfirmationState, EventStatus, EventUuid, Measure, Muted, NameId,
    ReportUuid, Testbed, Timestamp, Variant, Version, scalar::fixed_string,
};

fixed_string! {
    /// Direction of a change.
    ChangeDirection {
        /// The new level is worse.
        Regression = "regression",
        /// The new level is better.
        Improvement = "improvement",
        /// The measure does not define which direction is worse.
        Unknown = "unknown",
    }
}

impl ChangeDirection {
    /// Returns the number that the direction is stored as.
    pub const fn number(self) -> i64 {
        match self {
            Self::Regression => 1,
            Self::Unknown => 0,
            Self::Improvement => -1,
        }
    }
}

fixed_string! {
    /// Probable cause of a change.
    #[derive(Default)]
    ChangeCause {
        /// No evidence for another cause.
        #[default]
        Code = "code",
        /// Most benchmarks changed together: the machine, or a dependency that all benchmarks share.
        Host = "host",
        /// The same commit or binary was measured before and after the change.
        Noise = "noise",
    }
}

fixed_string! {
    /// Sort key of a list of changes or events.
    #[derive(Default)]
    ProjChangesSort {
        /// By the time when the change began, newest first by default.
        #[default]
        Time = "time",
        /// By size, largest first by default.
        Size = "size",
    }
}

/// A lasting shift of the level of a series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonChange)]
pub struct Change {
    /// UUID of the change. It stays the same when detection refines the change.
    pub uuid: ChangeUuid,
    /// Branch, with the head of the change.
    pub branch: Branch,
    /// Testbed.
    pub testbed: Testbed,
    /// Benchmark.
    pub benchmark: Benchmark,
    /// Variant of the benchmark; null if the benchmark ran without parameters.
    pub variant: Option<Variant>,
    /// Measure.
    pub measure: Measure,
    /// Report where the new level begins.
    pub at: ChangePoint,
    /// Earliest report where the new level may begin.
    pub earliest: ChangePoint,
    /// Latest report where the new level may begin.
    pub latest: ChangePoint,
    /// Level before the change.
    pub before: f64,
    /// Level after the change.
    pub after: f64,
    /// Relative difference between the levels: 0.1 is 10 % above the old level. Null if the old level is zero.
    pub effect: Option<f64>,
    /// Difference between the levels, in standard deviations of the surrounding values.
    pub sigma: f64,
    /// Share of shifts with the same score that engineers annotated as a change, from 0 to 1.
    pub confidence: f64,
    /// Direction of the change.
    pub direction: ChangeDirection,
    /// Probable cause of the change.
    pub cause: ChangeCause,
    /// UUID of the event that the change belongs to.
    pub event: EventUuid,
    /// Status of the event.
    pub status: EventStatus,
    /// Time when the change was selected for notification, within the false-alarm budget of the project; null if it was not.
    pub raised: Option<Timestamp>,
    /// Mute of the series; omitted if it is not muted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Muted, required = false)]
    pub muted: Option<Muted>,
    /// State of the confirmation of the event; omitted if the project does not confirm changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = ConfirmationState, required = false)]
    pub confirmation: Option<ConfirmationState>,
    /// Time when detection found the change.
    pub created: Timestamp,
    /// Time when a user or detection last modified the change.
    pub modified: Timestamp,
}

/// Position in the history of a series.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonChangePoint)]
pub struct ChangePoint {
    /// UUID of the report.
    pub report: ReportUuid,
    /// Version that the report measured.
    pub version: Version,
    /// Start time of the run of the report.
    pub start_time: Timestamp,
}

/// Filter of a list of changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ChangeFilter {
    /// Only changes of events with this status.
    #[param(inline)]
    pub status: Option<EventStatus>,
    /// Only changes with this direction.
    #[param(inline)]
    pub change_direction: Option<ChangeDirection>,
    /// Only changes of this branch, given by UUID, slug or name.
    #[param(inline)]
    pub branch: Option<NameId>,
    /// Only changes of this testbed, given by UUID, slug or name.
    #[param(inline)]
    pub testbed: Option<NameId>,
    /// Only changes of this benchmark, given by UUID, slug or name.
    #[param(inline)]
    pub benchmark: Option<NameId>,
    /// Only changes of this measure, given by UUID, slug or name.
    #[param(inline)]
    pub measure: Option<NameId>,
    /// Only changes that detection found with this report.
    #[param(inline)]
    pub report: Option<ReportUuid>,
    /// Sort key; `time` by default.
    #[param(inline)]
    pub sort: Option<ProjChangesSort>,
}
