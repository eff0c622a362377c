//! Model `delta_iqr`: multiples of the interquartile range of relative changes, as a share of the median.

use crate::limits::{Bounds, Limits};
use crate::quartile::Quartiles;

pub(crate) fn limits(boundaries: Bounds, sample: &[f64], scratch: &mut Vec<f64>) -> Option<Limits> {
    if sample.len() < 2 {
        return None;
    }
    scratch.clear();
    scratch.extend_from_slice(sample);
    let median = Quartiles::of(scratch).median;
    scratch.clear();
    // Each change is relative to the newer of the two values. The outer absolute value also clears the sign of a NaN, which
    // keeps it at the end of the sort order.
    scratch.extend(sample.windows(2).map(|pair| ((pair[1] - pair[0]) / pair[0]).abs()));
    let changes = Quartiles::of(scratch);
    Limits::around(median, boundaries.map(|factor| median.abs() * changes.interquartile_range() * factor))
}
