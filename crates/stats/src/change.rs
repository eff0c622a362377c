//! Change point detection: where the level of a series changed, by how much, the interval of its start, and the confidence.
//! The caller decides what a change means and whom to notify.
//!
//! A change is a lasting step from one level to another. Spikes, drifts and values that alternate between two levels are not
//! changes. Several methods work together, each in its own file: [`partition`] proposes changes, [`elimination`] rejects the
//! insignificant ones, [`pettitt`] adds slight changes in series without other changes, [`interval`] computes the interval in
//! which a change began, and [`alarm`] raises an alarm while only a few values of the new level exist. [`autocorrelation`]
//! estimates the variance inflation, so that autocorrelated noise does not look like a change, and [`hosts`] estimates the
//! speed of each host. [`batch_means`] computes the p-value of a change, and [`budget`] selects the changes to notify about
//! within the false-alarm budget. `docs/statistics.md` describes the methods and their accuracy.

mod alarm;
mod autocorrelation;
mod batch_means;
mod budget;
mod elimination;
mod host_speeds;
mod hosts;
mod interval;
mod mann_whitney;
mod monitor;
mod partition;
mod pettitt;
mod sample;
mod scale;
pub(crate) mod simulation;
mod sort_order;

pub use budget::FalseAlarmBudget;
pub use host_speeds::HostSpeeds;
pub use monitor::{Monitor, Scratch};

/// Log-odds that a change with a margin of zero is one that engineers annotate.
const BASE_LOG_ODDS: f64 = 0.75;
/// Increase of the log-odds per unit of margin.
const LOG_ODDS_PER_MARGIN: f64 = 1.2;

/// A lasting step of a series from one level to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Index of the first value of the new level.
    pub at: usize,
    /// First index at which the new level may have begun.
    pub earliest: usize,
    /// Last index at which the new level may have begun.
    pub latest: usize,
    /// Old level: the median of the values next to the change.
    pub before: f64,
    /// New level.
    pub after: f64,
    /// Relative difference between the new and the old level; `None` if the old level is zero.
    pub effect: Option<f64>,
    /// Difference between the levels, in standard deviations of the values around them.
    pub sigma: f64,
    /// Probability that an engineer would annotate it as a change, from 0 to 1.
    pub confidence: f64,
    /// Score above the threshold, as the logarithm of how many times rarer than usual false alarms with this score are.
    pub margin: f64,
}

impl Change {
    /// Maximum number of values by which a change may move and remain the same change.
    pub const TOLERANCE: usize = 5;

    /// Whether an index is within the tolerance of this change.
    pub fn is_close(&self, index: usize) -> bool {
        self.at.abs_diff(index) <= Self::TOLERANCE
    }

    /// Whether a change that was detected with fewer or more values is the same: it has the same direction, and either change
    /// begins within the tolerance or the interval of the other.
    pub fn is_same(&self, other: &Self) -> bool {
        (self.after > self.before) == (other.after > other.before)
            && (self.is_close(other.at)
                || (self.earliest..=self.latest).contains(&other.at)
                || (other.earliest..=other.latest).contains(&self.at))
    }
}

/// Settings of change detection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DetectionSettings {
    /// Sensitivity of the detectors.
    pub sensitivity: Sensitivity,
    /// Number of values that an alarm waits for after the first value of a new level.
    pub later: usize,
}

impl Default for DetectionSettings {
    fn default() -> Self {
        Self { sensitivity: Sensitivity::default(), later: 3 }
    }
}

/// Sensitivity of detection: roughly, the factor by which false alarms may exceed the default rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sensitivity(f64);

impl Sensitivity {
    /// Creates a sensitivity from a factor; `None` if the factor is outside 0.001 to 1,000.
    pub fn new(factor: f64) -> Option<Self> {
        (1e-3..=1e3).contains(&factor).then_some(Self(factor))
    }

    fn tolerance(self) -> f64 {
        self.0.ln()
    }
}

impl Default for Sensitivity {
    fn default() -> Self {
        Self(1.0)
    }
}

/// Returns the changes of a whole series, in ascending order.
///
/// The result equals that of a [`Monitor`] that received the values one by one.
pub fn changes(values: &[f64], settings: &DetectionSettings) -> Vec<Change> {
    let (mut monitor, mut scratch) = (Monitor::new(*settings), Scratch::default());
    for value in values {
        monitor.push(*value, &mut scratch);
    }
    monitor.changes(&mut scratch)
}

/// Computes the probability that an engineer would annotate a change with this margin: a logistic curve fitted to the shares
/// of annotated changes.
fn confidence(margin: f64) -> f64 {
    1.0 / (1.0 + (-(BASE_LOG_ODDS + LOG_ODDS_PER_MARGIN * margin)).exp())
}

#[cfg(test)]
mod tests;
