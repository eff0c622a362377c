//! Model `iqr`: multiples of the interquartile range around the median.

use crate::limits::{Bounds, Limits};
use crate::quartile::Quartiles;

pub(crate) fn limits(boundaries: Bounds, sample: &[f64], scratch: &mut Vec<f64>) -> Option<Limits> {
    scratch.clear();
    scratch.extend_from_slice(sample);
    let quartiles = Quartiles::of(scratch);
    Limits::around(quartiles.median, boundaries.map(|factor| quartiles.interquartile_range() * factor))
}
