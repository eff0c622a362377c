//! What the fields of patches have in common. The patches themselves stand with their nouns.

use serde::{Deserialize, Deserializer};

/// Reads a field that is there, whatever it holds, so that null and absence can be told apart; for
/// `#[serde(deserialize_with)]`.
pub(crate) fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
