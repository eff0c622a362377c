//! Backtests: which alarms there would have been, had a project been watched in another way all along.

use serde::{Deserialize, Deserializer, Serialize, de};
use utoipa::ToSchema;

use crate::{
    Benchmark, Branch, ChangeUuid, Invalid, Measure, NameId, NewModel, ReportUuid, Testbed, Timestamp,
    Variant, scalar::word,
};

/// How readily changes are found, from a thousandth of the usual false alarms to a thousand times as many.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, ToSchema)]
#[schema(value_type = f64, minimum = 0.001, maximum = 1000.0)]
pub struct SensitivityFactor(f64);

impl SensitivityFactor {
    /// The factor itself.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl Default for SensitivityFactor {
    fn default() -> Self {
        Self(1.0)
    }
}

impl TryFrom<f64> for SensitivityFactor {
    type Error = Invalid;

    fn try_from(factor: f64) -> Result<Self, Invalid> {
        match tidemark_stats::Sensitivity::new(factor) {
            Some(_) => Ok(Self(factor)),
            None => Err(Invalid::new("a sensitivity is a number from 0.001 to 1000")),
        }
    }
}

impl<'de> Deserialize<'de> for SensitivityFactor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f64::deserialize(deserializer)?.try_into().map_err(de::Error::custom)
    }
}

/// How to watch, and what.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewBacktest)]
#[serde(deny_unknown_fields)]
pub struct NewBacktest {
    /// Look for changes this readily; 1 when neither this nor a model is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensitivity: Option<SensitivityFactor>,
    /// Judge each value by a threshold with this model instead.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::object::optional")]
    pub model: Option<NewModel>,
    /// Only this branch, by UUID, slug or name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<NameId>,
    /// Only this testbed, by UUID, slug or name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub testbed: Option<NameId>,
    /// Only this benchmark, by UUID, slug or name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub benchmark: Option<NameId>,
    /// Only this measure, by UUID, slug or name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<NameId>,
}

word! {
    /// What people have said of an alarm.
    BacktestVerdict {
        /// There is a change, which they acknowledged, expected or fixed.
        Real = "real",
        /// They called it a false alarm.
        FalseAlarm = "false_alarm",
        /// Nothing.
        Unknown = "unknown",
    }
}

/// Which alarms there would have been.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonBacktest)]
pub struct Backtest {
    /// How many series were looked at.
    pub series: u32,
    /// How many values they have.
    pub values: u64,
    /// When the first of them was measured; null if there are none.
    pub since: Option<Timestamp>,
    /// How many alarms there would have been.
    pub raised: u32,
    /// How many that is in 30 days.
    pub per_month: f64,
    /// How many runs would have raised any.
    pub runs: u32,
    /// How many of the changes that people call real would have been told.
    pub found: u32,
    /// How many would not.
    pub missed: u32,
    /// How many alarms are changes that people call false alarms.
    pub false_alarms: u32,
    /// How many alarms nobody has said anything of.
    pub unknown: u32,
    /// The alarms, the newest first, 256 at the most.
    pub alarms: Vec<BacktestAlarm>,
}

/// An alarm that there would have been.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonBacktestAlarm)]
pub struct BacktestAlarm {
    /// The branch.
    pub branch: Branch,
    /// The testbed.
    pub testbed: Testbed,
    /// The benchmark.
    pub benchmark: Benchmark,
    /// The variant of the benchmark; null when it was run without parameters.
    pub variant: Option<Variant>,
    /// The measure.
    pub measure: Measure,
    /// The first report of the new level, or the one beyond a limit.
    pub at: ReportUuid,
    /// The report that would have raised it.
    pub raised: ReportUuid,
    /// When the run of the first one began.
    pub start_time: Timestamp,
    /// What was measured before, or the baseline of the threshold.
    pub before: Option<f64>,
    /// What was measured then.
    pub after: f64,
    /// What people have said of it.
    pub verdict: BacktestVerdict,
    /// The change that they said it of.
    pub change: Option<ChangeUuid>,
}
