//! Computes limits from a model and a sample, and checks values against limits. Each model has its own file.

use crate::t_test::Quantiles;
use crate::{Model, Test, delta_iqr, iqr, log_normal, percentage, r#static, t_test, z_score};

/// Limits for a new value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Expected value; `None` for fixed limits.
    pub baseline: Option<f64>,
    /// Smallest value within the limits; `None` if the model has no lower boundary.
    pub lower: Option<f64>,
    /// Greatest value within the limits; `None` if the model has no upper boundary.
    pub upper: Option<f64>,
}

/// The limit that a value has crossed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The value is below the lower limit.
    Lower,
    /// The value is above the upper limit.
    Upper,
}

impl Side {
    /// Returns the name of the side in requests, responses and storage.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Lower => "lower",
            Self::Upper => "upper",
        }
    }
}

/// Returns the limit that the value crosses, if any. A value equal to a limit does not cross it.
pub fn crossed_limit(value: f64, limits: &Limits) -> Option<Side> {
    if limits.lower.is_some_and(|lower| value < lower) {
        Some(Side::Lower)
    } else if limits.upper.is_some_and(|upper| value > upper) {
        Some(Side::Upper)
    } else {
        None
    }
}

/// Maximum number of values in a sample. A model without a maximum, or with a greater one, gets the newest values: older
/// values do not describe the current behavior, and the time per report must be bounded.
pub const MAX_SAMPLE: usize = 4096;

/// A model prepared for many samples: it caches costly quantiles and the buffer for sorting.
#[derive(Clone, Debug)]
pub struct PreparedModel {
    test: Test,
    min_sample_size: usize,
    max_sample_size: usize,
    boundaries: Bounds,
    quantiles: Quantiles,
    scratch: Vec<f64>,
}

impl PreparedModel {
    /// Prepares a model. A boundary outside the range of its test is ignored.
    pub fn new(model: &Model) -> Self {
        let valid = |boundary: &f64| model.test.properties().boundary.contains(*boundary);
        Self {
            test: model.test,
            min_sample_size: model.min_sample_size.map_or(1, saturate).clamp(1, MAX_SAMPLE),
            max_sample_size: model.max_sample_size.map_or(MAX_SAMPLE, saturate).min(MAX_SAMPLE),
            boundaries: Bounds {
                lower: model.lower_boundary.filter(valid),
                upper: model.upper_boundary.filter(valid),
            },
            quantiles: Quantiles::new(),
            scratch: Vec::new(),
        }
    }

    /// Returns the maximum number of values in a sample.
    pub fn max_sample_size(&self) -> usize {
        self.max_sample_size
    }

    /// Computes the limits for the value that follows the sample, which is sorted from the newest value to the oldest.
    ///
    /// Returns `None` if the sample is too small or unsuitable for the model, if the model has no valid boundary, or if a
    /// result is not finite.
    pub fn limits(&mut self, sample: &[f64]) -> Option<Limits> {
        let boundaries = self.boundaries;
        if boundaries.lower.is_none() && boundaries.upper.is_none() {
            return None;
        }
        let sample = &sample[..sample.len().min(self.max_sample_size)];
        if sample.len() < self.min_sample_size && self.test != Test::Static {
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

/// An optional number for each side: boundaries, quantiles or distances.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) lower: Option<f64>,
    pub(crate) upper: Option<f64>,
}

impl Bounds {
    pub(crate) fn map(self, convert: impl Fn(f64) -> f64) -> Self {
        Self { lower: self.lower.map(&convert), upper: self.upper.map(&convert) }
    }
}

impl Limits {
    /// Returns the limits at the given distances from the baseline.
    pub(crate) fn around(baseline: f64, distance: Bounds) -> Option<Self> {
        Self {
            baseline: Some(baseline),
            lower: distance.lower.map(|distance| baseline - distance),
            upper: distance.upper.map(|distance| baseline + distance),
        }
        .if_finite()
    }

    /// Returns `None` if any limit is infinite or NaN: it could not be checked.
    pub(crate) fn if_finite(self) -> Option<Self> {
        let finite = |number: Option<f64>| number.is_none_or(f64::is_finite);
        (finite(self.baseline) && finite(self.lower) && finite(self.upper)).then_some(self)
    }
}
