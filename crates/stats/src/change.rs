//! Where the level of a series changed: by how much, between which places it began, and how sure that is. What a change
//! means, and whom to tell, is decided elsewhere.
//!
//! A change is a step from one level to another that lasts. Spikes, drifts and values that jump between two places are
//! none. Several detectors work together, each in its file: [`partition`] proposes changes, [`judge`] believes or drops
//! them, [`calm`] adds slight ones where nothing else happens, [`extent`] says between which places a change began, and
//! [`watch`] raises the alarm while there are only a few values to go by. [`dependence`] estimates how much values depend
//! on those before them, so that autocorrelated noise is not taken for a change, and [`hosts`] how much faster or slower
//! each host is. [`batches`] says how likely noise alone is to move a level as far, and [`budget`] which changes are worth
//! a false alarm. `docs/statistics.md` explains them in prose, and says how well they do.

mod batches;
mod budget;
mod calm;
mod dependence;
mod extent;
mod host_speeds;
mod hosts;
mod judge;
mod monitor;
mod order;
mod partition;
mod rank;
mod sample;
mod scale;
pub(crate) mod simulation;
mod watch;

pub use budget::Budget;
pub use host_speeds::HostSpeeds;
pub use monitor::{Monitor, Scratch};

/// The logarithm of the odds that a change is one that is just believed.
const ODDS: f64 = 0.75;
/// By how much it grows with what speaks for the change.
const PER_MARGIN: f64 = 1.2;

/// A step of a series from one level to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The place of the first value of the new level.
    pub at: usize,
    /// The first place at which the new level may have begun.
    pub earliest: usize,
    /// The last such place.
    pub latest: usize,
    /// The level before: the median of the values next to the change.
    pub before: f64,
    /// The level after.
    pub after: f64,
    /// By which share of the old level the new one differs; none if the old one is zero.
    pub effect: Option<f64>,
    /// How far apart the levels are, in standard deviations of the values around them.
    pub sigma: f64,
    /// How likely it is that an engineer would call it a change, from 0 to 1.
    pub confidence: f64,
    /// How much more speaks for it than must: the logarithm of how many times rarer than usual a false alarm is for which as
    /// much does.
    pub margin: f64,
}

impl Change {
    /// How many values a change may move without becoming another one.
    pub const TOLERANCE: usize = 5;

    /// Whether it is as close to a place as if it were there.
    pub fn is_close(&self, place: usize) -> bool {
        self.at.abs_diff(place) <= Self::TOLERANCE
    }

    /// Whether another one, found with fewer or more values, is the same: it goes the same way, and begins where this one may.
    pub fn is_same(&self, other: &Self) -> bool {
        (self.after > self.before) == (other.after > other.before)
            && (self.is_close(other.at)
                || (self.earliest..=self.latest).contains(&other.at)
                || (other.earliest..=other.latest).contains(&self.at))
    }
}

/// How changes are looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// How readily.
    pub sensitivity: Sensitivity,
    /// How many further values an alarm waits for after the first one of a new level.
    pub later: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { sensitivity: Sensitivity::default(), later: 3 }
    }
}

/// How readily changes are found: roughly, how many times more false alarms than usual are fine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sensitivity(f64);

impl Sensitivity {
    /// The factor as a sensitivity, if it is from a thousandth to a thousand.
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

/// Where the level of a whole series changed, in ascending order.
///
/// It is what a [`Monitor`] says that was given the values one by one.
pub fn changes(values: &[f64], settings: &Settings) -> Vec<Change> {
    let (mut monitor, mut scratch) = (Monitor::new(*settings), Scratch::default());
    for value in values {
        monitor.push(*value, &mut scratch);
    }
    monitor.changes(&mut scratch)
}

/// How likely a change is one for an engineer, by how much more speaks for it than must: a logistic curve through the
/// shares that were annotated.
fn confidence(margin: f64) -> f64 {
    1.0 / (1.0 + (-(ODDS + PER_MARGIN * margin)).exp())
}

#[cfg(test)]
mod tests;
