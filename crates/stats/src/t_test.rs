//! Prediction limits for one more value of a normal series whose mean and deviation are both only estimated.

use std::collections::HashMap;

use crate::limits::{Bounds, Limits};
use crate::{moments, student};

/// The quantiles already worked out for the boundaries of one model, by size of the sample.
pub(crate) type Quantiles = HashMap<usize, Bounds>;

pub(crate) fn limits(boundaries: Bounds, sample: &[f64], known: &mut Quantiles) -> Option<Limits> {
    if sample.len() < 2 {
        return None;
    }
    let count = sample.len() as f64;
    let quantiles =
        *known.entry(sample.len()).or_insert_with(|| boundaries.map(|p| student::quantile(p, count - 1.0)));
    let mean = moments::mean(sample);
    // The next value strays from the true mean as every value does, and the sample's mean strays on its own.
    let spread = moments::deviation(sample, mean) * (1.0 + 1.0 / count).sqrt();
    Limits::around(mean, quantiles.map(|t| spread * t))
}
