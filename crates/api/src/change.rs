//! Changes: where the level of a series became another one, and stayed.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    Benchmark, Branch, ChangeUuid, Measure, NameId, NonEmpty, ReportUuid, Testbed, Timestamp, Variant,
    Version, patch::present, scalar::word,
};

word! {
    /// What people say of a change.
    ChangeStatus {
        /// Nothing yet.
        Active = "active",
        /// Somebody has seen it.
        Acknowledged = "acknowledged",
        /// It was meant to be so.
        Expected = "expected",
        /// It was mended.
        Fixed = "fixed",
        /// It is none.
        FalseAlarm = "false_alarm",
    }
}

word! {
    /// Which way a change goes.
    ChangeDirection {
        /// The new level is worse.
        Regression = "regression",
        /// The new level is better.
        Improvement = "improvement",
        /// Its measure does not say which way is worse.
        Unknown = "unknown",
    }
}

word! {
    /// What seems to be behind a change.
    #[derive(Default)]
    ChangeCause {
        /// Nothing speaks against the code.
        #[default]
        Code = "code",
        /// Most benchmarks moved together: the machine, or something that all of them share.
        Host = "host",
        /// The same binary or version was measured before and after.
        Noise = "noise",
    }
}

word! {
    /// What changes can be ordered by.
    #[derive(Default)]
    ProjChangesSort {
        /// By when they began, the newest first.
        #[default]
        Time = "time",
        /// By how large they are, the largest first.
        Size = "size",
    }
}

/// A change of the level of a series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonChange)]
pub struct Change {
    /// Its identifier. It stays the same while detection learns more about the change.
    pub uuid: ChangeUuid,
    /// The branch, with the head that it happened on.
    pub branch: Branch,
    /// The testbed.
    pub testbed: Testbed,
    /// The benchmark.
    pub benchmark: Benchmark,
    /// The variant of the benchmark; null when it was run without parameters.
    pub variant: Option<Variant>,
    /// The measure.
    pub measure: Measure,
    /// Where the new level begins.
    pub at: ChangePoint,
    /// The first place where it may begin.
    pub earliest: ChangePoint,
    /// The last such place.
    pub latest: ChangePoint,
    /// The level before.
    pub before: f64,
    /// The level after.
    pub after: f64,
    /// By which share of the old level the new one differs; null if the old one is zero.
    pub effect: Option<f64>,
    /// How far the levels are apart, in standard deviations of the values around them.
    pub sigma: f64,
    /// How likely an engineer would call it a change, from 0 to 1.
    pub confidence: f64,
    /// Which way it goes.
    pub direction: ChangeDirection,
    /// What seems to be behind it.
    pub cause: ChangeCause,
    /// What people say of it.
    pub status: ChangeStatus,
    /// Why they say so.
    pub note: Option<NonEmpty>,
    /// When it was worth to be told, within the false alarms that the project takes; null if it was not yet.
    pub raised: Option<Timestamp>,
    /// When it was found.
    pub created: Timestamp,
    /// When people or detection last changed something about it.
    pub modified: Timestamp,
}

/// A report in the history of a series.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonChangePoint)]
pub struct ChangePoint {
    /// The report.
    pub report: ReportUuid,
    /// The version that it measured.
    pub version: Version,
    /// When its run began.
    pub start_time: Timestamp,
}

/// What to change of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateChange)]
#[serde(deny_unknown_fields)]
pub struct ChangePatch {
    /// What is said of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ChangeStatus>,
    /// Why; null takes the note away.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<NonEmpty>)]
    pub note: Option<Option<NonEmpty>>,
}

/// Which changes to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ChangeFilter {
    /// Only those of which this is said.
    #[param(inline)]
    pub status: Option<ChangeStatus>,
    /// Only those that go this way.
    #[param(inline)]
    pub change_direction: Option<ChangeDirection>,
    /// Only those of this branch, by UUID, slug or name.
    #[param(inline)]
    pub branch: Option<NameId>,
    /// Only those of this testbed, by UUID, slug or name.
    #[param(inline)]
    pub testbed: Option<NameId>,
    /// Only those of this benchmark, by UUID, slug or name.
    #[param(inline)]
    pub benchmark: Option<NameId>,
    /// Only those of this measure, by UUID, slug or name.
    #[param(inline)]
    pub measure: Option<NameId>,
    /// Only those that were found with this report.
    #[param(inline)]
    pub report: Option<ReportUuid>,
    /// What to order by.
    #[param(inline)]
    pub sort: Option<ProjChangesSort>,
}
