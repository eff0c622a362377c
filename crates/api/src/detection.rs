//! Detection settings of a project: kind of notifications, false-alarm budget, and observed false alarms.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    Timestamp,
    scalar::{fixed_string, integer},
};

fixed_string! {
    /// What a project sends notifications about.
    #[derive(Default)]
    Notifies {
        /// Alerts: metrics outside the limits of a threshold.
        Alerts = "alerts",
        /// Changes: lasting shifts of the level of a series.
        #[default]
        Changes = "changes",
    }
}

fixed_string! {
    /// Whether the server measures suspected changes again before it sends a notification.
    #[derive(Default)]
    ConfirmMode {
        /// Notify at once.
        #[default]
        Off = "off",
        /// Compare the commits before and after the change on a runner, and notify unless the comparison refutes the change.
        Confirm = "confirm",
        /// Also search for the commit that caused a confirmed change.
        Bisect = "confirm_and_bisect",
    }
}

integer! {
    /// False-alarm budget: number of false alarms per month that a project accepts.
    FalseAlarms(u32, "uint32"), 1, 1000
}

/// Detection settings of a project, and its observed false alarms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonDetection)]
pub struct Detection {
    /// What the project sends notifications about.
    pub notifies: Notifies,
    /// False-alarm budget per month. It decides which changes the server sends notifications for, not which changes it lists.
    pub false_alarms_per_month: FalseAlarms,
    /// Whether to notify about changes with the cause `host`.
    pub notifies_host: bool,
    /// Whether the server measures suspected changes again before it sends a notification.
    pub confirm: ConfirmMode,
    /// Number of reports in the last 30 days. The server divides the budget by this number, at least 300.
    pub runs_per_month: u32,
    /// Observed alarms and false alarms.
    pub observed: ObservedAlarms,
}

/// Notified events of changes in the last 90 days.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonObservedAlarms)]
pub struct ObservedAlarms {
    /// Start of the period: 90 days ago, or the creation time of the project if that is later.
    pub since: Timestamp,
    /// Number of notified events. All changes of one notification are one event.
    pub raised: u32,
    /// Number of false alarms: events whose changes were all marked as `false_alarm`, withdrawn by later values, or caused by
    /// noise.
    pub false_alarms: u32,
    /// Number of false alarms that the server refuted by measuring again, and therefore sent no notification about.
    pub refuted: u32,
    /// Number of false alarms per 30 days. A period of less than 30 days counts as 30 days.
    pub false_alarms_per_month: f64,
}

/// Changes to the detection settings of a project. Omitted fields stay unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateDetection)]
#[serde(deny_unknown_fields)]
pub struct DetectionPatch {
    /// What the project sends notifications about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notifies: Option<Notifies>,
    /// False-alarm budget per month.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub false_alarms_per_month: Option<FalseAlarms>,
    /// Whether to notify about changes with the cause `host`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notifies_host: Option<bool>,
    /// Whether the server measures suspected changes again before it sends a notification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm: Option<ConfirmMode>,
}
