//! Model `percentage`: a share of the mean on either side of it, for values of either sign.

use crate::limits::{Bounds, Limits};
use crate::moments;

pub(crate) fn limits(boundaries: Bounds, sample: &[f64]) -> Option<Limits> {
    let mean = moments::mean(sample);
    Limits::around(mean, boundaries.map(|share| mean.abs() * share))
}
