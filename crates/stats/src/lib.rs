//! The statistics of thresholds, comparisons and changes: limits for the next value from the earlier values, verdicts on the
//! difference between two sides, and change points of a whole series.
//!
//! The caller selects the values of a sample and acts on a value outside the limits. The crate has no I/O, no clock, no wire
//! format and no dependencies, so that every number can be checked by hand. `docs/statistics.md` describes the models.

mod bisect;
mod change;
mod common_factor;
mod compare;
mod delta_iqr;
mod holm;
mod iqr;
mod level;
mod limits;
mod log_normal;
mod model;
mod moments;
mod normal;
mod percentage;
mod quartile;
mod random;
#[cfg(test)]
mod reference;
mod r#static;
mod student;
pub mod synthetic;
mod t_test;
mod wilcoxon;
mod z_score;

use std::fmt;
use std::str::FromStr;

pub use bisect::{Assessment, Bisection, Culprit, Difference, MIN_END_MEASUREMENTS};
pub use change::{
    Change, DetectionSettings, FalseAlarmBudget, HostSpeeds, Monitor, Scratch, Sensitivity, changes,
};
pub use common_factor::CommonFactor;
pub use compare::{
    Baseline, BaselineRange, Comparison, Criteria, LevelChange, LevelChangeStatus, MIN_ESTABLISHED_RUNS,
    PAIRED_CONFIDENCE, Pairs, PeerNoise, Samples, Sampling, Verdict, compare, select_baseline, verdicts,
};
pub use level::{
    Level, MAD_TO_SIGMA, is_exact, levels, median, median_absolute_deviation, median_in_place, noise,
};
pub use limits::{Limits, MAX_SAMPLE, PreparedModel, Side, crossed_limit};
pub use model::{Invalid, Model, Worse};

/// Default boundary of a statistical model.
pub const DEFAULT_BOUNDARY: f64 = 0.95;

/// Statistical method that computes the limits for a new value from the earlier values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Test {
    /// Fixed limits, independent of earlier values.
    Static,
    /// A share of the mean.
    Percentage,
    /// A quantile of the normal distribution with the sample's mean and standard deviation.
    ZScore,
    /// A prediction limit for one further normal value, by Student's t distribution.
    TTest,
    /// A quantile of the log-normal distribution fitted to the sample.
    LogNormal,
    /// A multiple of the interquartile range around the median.
    Iqr,
    /// A multiple of the interquartile range of relative changes around the median.
    DeltaIqr,
}

/// Fixed properties of a test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TestProperties {
    /// Name of the test in requests, responses and storage.
    pub name: &'static str,
    /// Second name that is accepted, but never written.
    pub alias: Option<&'static str>,
    /// Minimum of the sample sizes; `None` if the test uses no sample, so that neither sample sizes nor a window may be set.
    pub min_sample_size: Option<u32>,
    /// Valid range of a boundary.
    pub boundary: BoundaryRange,
    /// Default boundary; `None` if a boundary is required.
    pub default_boundary: Option<f64>,
}

/// Valid range of a boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundaryRange {
    /// Every finite number: the boundary is the limit itself.
    Finite,
    /// Every finite number of at least zero: the boundary is a factor.
    Factor,
    /// At least one half and less than one: the boundary is a one-sided probability.
    Probability,
}

/// One row for each test, in the order of [`Test::ALL`].
#[rustfmt::skip]
const PROPERTIES: [TestProperties; 7] = [
    properties("static",     None,      None,    BoundaryRange::Finite,      None),
    properties("percentage", None,      Some(1), BoundaryRange::Factor,      None),
    properties("z_score",    Some("z"), Some(2), BoundaryRange::Probability, Some(DEFAULT_BOUNDARY)),
    properties("t_test",     Some("t"), Some(2), BoundaryRange::Probability, Some(DEFAULT_BOUNDARY)),
    properties("log_normal", None,      Some(2), BoundaryRange::Probability, Some(DEFAULT_BOUNDARY)),
    properties("iqr",        None,      Some(2), BoundaryRange::Factor,      None),
    properties("delta_iqr",  None,      Some(2), BoundaryRange::Factor,      None),
];

const fn properties(
    name: &'static str,
    alias: Option<&'static str>,
    min_sample_size: Option<u32>,
    boundary: BoundaryRange,
    default_boundary: Option<f64>,
) -> TestProperties {
    TestProperties { name, alias, min_sample_size, boundary, default_boundary }
}

impl Test {
    /// All tests, from the simplest to the most complex.
    pub const ALL: [Self; 7] = [
        Self::Static,
        Self::Percentage,
        Self::ZScore,
        Self::TTest,
        Self::LogNormal,
        Self::Iqr,
        Self::DeltaIqr,
    ];

    /// Returns the properties of this test.
    pub const fn properties(self) -> &'static TestProperties {
        &PROPERTIES[self as usize]
    }

    /// Returns the name of the test in requests, responses and storage.
    pub const fn as_str(self) -> &'static str {
        self.properties().name
    }
}

impl fmt::Display for Test {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Test {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::ALL
            .into_iter()
            .find(|test| test.as_str() == text || test.properties().alias == Some(text))
            .ok_or_else(|| {
                Invalid::new(format!("`test` must be one of {}.", Self::ALL.map(Self::as_str).join(", ")))
            })
    }
}

impl BoundaryRange {
    /// Whether the number is in the range.
    pub fn contains(self, number: f64) -> bool {
        number.is_finite()
            && match self {
                Self::Finite => true,
                Self::Factor => number >= 0.0,
                Self::Probability => (0.5..1.0).contains(&number),
            }
    }
}

/// Completes the sentence "it must be …".
impl fmt::Display for BoundaryRange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Finite => "a finite number",
            Self::Factor => "a finite number that is at least 0",
            Self::Probability => "at least 0.5 and less than 1",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_test_has_a_name() {
        let names = ["static", "percentage", "z_score", "t_test", "log_normal", "iqr", "delta_iqr"];
        assert_eq!(Test::ALL.map(Test::as_str), names);
        for test in Test::ALL {
            assert_eq!(test.to_string().parse(), Ok(test));
        }
        assert_eq!("z".parse(), Ok(Test::ZScore));
        assert_eq!("t".parse(), Ok(Test::TTest));
    }

    #[test]
    fn the_error_for_an_unknown_test_lists_the_known_tests() {
        let refused = "median".parse::<Test>().unwrap_err();
        assert_eq!(
            refused.to_string(),
            "`test` must be one of static, percentage, z_score, t_test, log_normal, iqr, delta_iqr."
        );
    }
}
