//! Backtests: the alarms that other detection settings would have raised over the whole history of a project.

use serde::{Deserialize, Deserializer, Serialize, de};
use utoipa::ToSchema;

use crate::{
    Benchmark, Branch, ChangeUuid, FalseAlarms, Invalid, Measure, NameId, NewModel, ReportUuid, Testbed,
    Timestamp, Variant, scalar::fixed_string,
};

/// Factor by which the number of false alarms may exceed the default, from 0.001 to 1000.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, ToSchema)]
#[schema(value_type = f64, minimum = 0.001, maximum = 1000.0)]
pub struct SensitivityFactor(f64);

impl SensitivityFactor {
    /// Returns the factor.
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

/// Settings to test, and the series to test them on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewBacktest)]
#[serde(deny_unknown_fields)]
pub struct NewBacktest {
    /// Sensitivity of change detection; 1 if neither `sensitivity`, `false_alarms_per_month` nor `model` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensitivity: Option<SensitivityFactor>,
    /// False-alarm budget per month, as in the detection settings: only changes within it raise alarms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub false_alarms_per_month: Option<FalseAlarms>,
    /// Model of a threshold to test instead of change detection.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::object::optional")]
    pub model: Option<NewModel>,
    /// Only this branch, given by UUID, slug or name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<NameId>,
    /// Only this testbed, given by UUID, slug or name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub testbed: Option<NameId>,
    /// Only this benchmark, given by UUID, slug or name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub benchmark: Option<NameId>,
    /// Only this measure, given by UUID, slug or name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<NameId>,
}

fixed_string! {
    /// Classification of an alarm by the status of the change that it corresponds to.
    BacktestVerdict {
        /// A user set the status of the change to `acknowledged`, `expected` or `fixed`.
        Real = "real",
        /// A user set the status of the change to `false_alarm`.
        FalseAlarm = "false_alarm",
        /// No user has set the status of a change at this position.
        Unknown = "unknown",
    }
}

/// Result of a backtest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonBacktest)]
pub struct Backtest {
    /// Number of analyzed series.
    pub series: u32,
    /// Number of analyzed values.
    pub values: u64,
    /// Start time of the first analyzed run; null if there are no runs.
    pub since: Option<Timestamp>,
    /// Number of alarms.
    pub raised: u32,
    /// Number of alarms per 30 days. A history of less than 30 days counts as 30 days.
    pub per_month: f64,
    /// Number of runs that raised at least one alarm.
    pub runs: u32,
    /// Number of changes with the status `acknowledged`, `expected` or `fixed` for which an alarm was raised.
    pub found: u32,
    /// Number of changes with the status `acknowledged`, `expected` or `fixed` for which no alarm was raised.
    pub missed: u32,
    /// Number of alarms for changes with the status `false_alarm`.
    pub false_alarms: u32,
    /// Number of alarms at positions where no user has set the status of a change.
    pub unknown: u32,
    /// Alarms, newest first, at most 256.
    pub alarms: Vec<BacktestAlarm>,
}

/// An alarm that the settings would have raised.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonBacktestAlarm)]
pub struct BacktestAlarm {
    /// Branch.
    pub branch: Branch,
    /// Testbed.
    pub testbed: Testbed,
    /// Benchmark.
    pub benchmark: Benchmark,
    /// Variant of the benchmark; null if the benchmark ran without parameters.
    pub variant: Option<Variant>,
    /// Measure.
    pub measure: Measure,
    /// UUID of the first report of the new level, or of the report outside the limits.
    pub at: ReportUuid,
    /// UUID of the report that would have raised the alarm.
    pub raised: ReportUuid,
    /// Start time of the run of the report `at`.
    pub start_time: Timestamp,
    /// Level before the change, or baseline of the threshold; null if there is none.
    pub before: Option<f64>,
    /// Level after the change, or value outside the limits.
    pub after: f64,
    /// Classification by the status of the corresponding change.
    pub verdict: BacktestVerdict,
    /// UUID of the corresponding change; null if `verdict` is `unknown`.
    pub change: Option<ChangeUuid>,
}
