//! Model `static`: fixed limits, equal to the boundaries. It uses no earlier values, so it also applies to the first value.

use crate::limits::{Bounds, Limits};

pub(crate) fn limits(boundaries: Bounds) -> Option<Limits> {
    Limits { baseline: None, lower: boundaries.lower, upper: boundaries.upper }.if_finite()
}
