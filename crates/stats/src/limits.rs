//! From a model and a sample to limits, and from limits to a verdict. Each model's own arithmetic has its file.

use crate::t_test::Quantiles;
use crate::{Model, Test, delta_iqr, iqr, log_normal, percentage, r#static, t_test, z_score};

/// What a new value is held against.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// The value to expect; none for fixed limits, which expect nothing.
    pub baseline: Option<f64>,
    /// The smallest value that is fine; none when the model has no lower boundary.
    pub lower: Option<f64>,
    /// The greatest value that is fine; none when the model has no upper boundary.
    pub upper: Option<f64>,
}

/// The limit that a value has crossed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The value is too small.
    Lower,
    /// The value is too great.
    Upper,
}

impl Side {
    /// The word for the side in requests, answers and storage.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Lower => "lower",
            Self::Upper => "upper",
        }
    }
}

/// Tells which limit the value crosses, if any. A value on a limit is fine.
pub fn judge(value: f64, limits: &Limits) -> Option<Side> {
    if limits.lower.is_some_and(|lower| value < lower) {
        Some(Side::Lower)
    } else if limits.upper.is_some_and(|upper| value > upper) {
        Some(Side::Upper)
    } else {
        None
    }
}

/// The most values that are ever looked at. A model that asks for more, or for all, gets the newest of them: what came
/// before has no say in what is normal today, and one report must not take forever.
pub const MAX_SAMPLE: usize = 4096;

/// A model made ready for many samples: costly quantiles and the room for sorting are kept between them.
#[derive(Clone, Debug)]
pub struct Prepared {
    test: Test,
    fewest: usize,
    most: usize,
    boundaries: Bounds,
    quantiles: Quantiles,
    scratch: Vec<f64>,
}

impl Prepared {
    /// Makes a model ready. A boundary outside the range of its test is treated as absent.
    pub fn new(model: &Model) -> Self {
        let valid = |boundary: &f64| model.test.facts().boundary.contains(*boundary);
        Self {
            test: model.test,
            fewest: model.min_sample_size.map_or(1, saturate).clamp(1, MAX_SAMPLE),
            most: model.max_sample_size.map_or(MAX_SAMPLE, saturate).min(MAX_SAMPLE),
            boundaries: Bounds {
                lower: model.lower_boundary.filter(valid),
                upper: model.upper_boundary.filter(valid),
            },
            quantiles: Quantiles::new(),
            scratch: Vec::new(),
        }
    }

    /// How many values of a sample count at the most.
    pub fn most(&self) -> usize {
        self.most
    }

    /// The limits for the value that follows the sample, which is in order from the newest value to the oldest.
    ///
    /// None when the sample is too small for the model or cannot be described by it, when the model has no valid
    /// boundary, and when a number leaves the range of finite ones.
    pub fn limits(&mut self, sample: &[f64]) -> Option<Limits> {
        let boundaries = self.boundaries;
        if boundaries.lower.is_none() && boundaries.upper.is_none() {
            return None;
        }
        let sample = &sample[..sample.len().min(self.most)];
        if sample.len() < self.fewest && self.test != Test::Static {
            return None;
        }
        let scratch = &mut self.scratch;
        match self.test {
            Test::Static => r#static::limits(boundaries),
            Test::Percentage => percentage::limits(boundaries, sample),
            Test::ZScore => z_score::limits(boundaries, sample),
            Test::TTest => t_test::limits(boundaries, sample, &mut self.quantiles),
            Test::LogNormal => log_normal::limits(boundaries, sample, scratch),
            Test::Iqr => iqr::limits(boundaries, sample, scratch),
            Test::DeltaIqr => delta_iqr::limits(boundaries, sample, scratch),
        }
    }
}

pub(crate) fn saturate(size: u32) -> usize {
    usize::try_from(size).unwrap_or(usize::MAX)
}

/// A number for each side that has one: boundaries, quantiles or distances.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) lower: Option<f64>,
    pub(crate) upper: Option<f64>,
}

impl Bounds {
    pub(crate) fn map(self, change: impl Fn(f64) -> f64) -> Self {
        Self { lower: self.lower.map(&change), upper: self.upper.map(&change) }
    }
}

impl Limits {
    /// Limits at the given distances from the baseline.
    pub(crate) fn around(baseline: f64, distance: Bounds) -> Option<Self> {
        Self {
            baseline: Some(baseline),
            lower: distance.lower.map(|distance| baseline - distance),
            upper: distance.upper.map(|distance| baseline + distance),
        }
        .if_finite()
    }

    /// Withholds limits that contain an overflow or an undefined number: they would judge nothing.
    pub(crate) fn if_finite(self) -> Option<Self> {
        let finite = |number: Option<f64>| number.is_none_or(f64::is_finite);
        (finite(self.baseline) && finite(self.lower) && finite(self.upper)).then_some(self)
    }
}
