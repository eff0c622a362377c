//! Fixed limits: the boundaries themselves. Earlier values play no part, so the first one is judged too.

use crate::limits::{Bounds, Limits};

pub(crate) fn limits(boundaries: Bounds) -> Option<Limits> {
    Limits { baseline: None, lower: boundaries.lower, upper: boundaries.upper }.if_finite()
}
