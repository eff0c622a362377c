//! Detection: what a project is told of, how many false alarms it takes, and how many there are.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    Timestamp,
    scalar::{integer, word},
};

word! {
    /// What a project is told of.
    #[derive(Default)]
    Notifies {
        /// Alerts: values beyond the limits of thresholds.
        Alerts = "alerts",
        /// Changes: levels that became others, and stayed.
        #[default]
        Changes = "changes",
    }
}

integer! {
    /// How many false alarms a month are fine.
    FalseAlarms(u32, "uint32"), 1, 1000
}

/// How a project is watched, and how often that was wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonDetection)]
pub struct Detection {
    /// What it is told of.
    pub notifies: Notifies,
    /// How many false alarms a month are fine: what is told is chosen by it, what is found is not.
    pub false_alarms_per_month: FalseAlarms,
    /// Whether people are notified when most benchmarks move together, which is the machine rather than the code.
    pub notifies_host: bool,
    /// How many runs there were in the last 30 days, which share these false alarms.
    pub runs_per_month: u32,
    /// What was told, and how much of it was wrong.
    pub observed: ObservedAlarms,
}

/// What a project was told of changes in the last 90 days.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonObservedAlarms)]
pub struct ObservedAlarms {
    /// Since when it was counted: 90 days ago, or when the project was made.
    pub since: Timestamp,
    /// How many alarms there were: all changes that were told at once are one.
    pub raised: u32,
    /// How many of them were false: called so by people, withdrawn by later values, or between runs of the same binary.
    pub false_alarms: u32,
    /// How many false alarms that is in 30 days.
    pub false_alarms_per_month: f64,
}

/// What to change of how a project is watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateDetection)]
#[serde(deny_unknown_fields)]
pub struct DetectionPatch {
    /// What it is told of from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notifies: Option<Notifies>,
    /// How many false alarms a month are fine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub false_alarms_per_month: Option<FalseAlarms>,
    /// Whether people are notified when most benchmarks move together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notifies_host: Option<bool>,
}
