//! Model `t_test`: prediction limits for one further value of a normal series with estimated mean and standard deviation.

use std::collections::HashMap;

use crate::limits::{Bounds, Limits};
use crate::{moments, student};

/// Cached quantiles for the boundaries of one model, by sample size.
pub(crate) type Quantiles = HashMap<usize, Bounds>;

pub(crate) fn limits(boundaries: Bounds, sample: &[f64], known: &mut Quantiles) -> Option<Limits> {
    if sample.len() < 2 {
        return None;
    }
    let count = sample.len() as f64;
    let quantiles =
        *known.entry(sample.len()).or_insert_with(|| boundaries.map(|p| student::quantile(p, count - 1.0)));
    let mean = moments::mean(sample);
    // The variance of the next value around the true mean adds to the variance of the sample's mean.
    let spread = moments::deviation(sample, mean) * (1.0 + 1.0 / count).sqrt();
    Limits::around(mean, quantiles.map(|t| spread * t))
}
