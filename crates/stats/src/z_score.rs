//! Model `z_score`: quantiles of the normal distribution with the sample's mean and standard deviation.

use crate::limits::{Bounds, Limits};
use crate::{moments, normal};

pub(crate) fn limits(boundaries: Bounds, sample: &[f64]) -> Option<Limits> {
    if sample.len() < 2 {
        return None;
    }
    let mean = moments::mean(sample);
    let deviation = moments::deviation(sample, mean);
    Limits::around(mean, boundaries.map(|p| deviation * normal::quantile(p)))
}
