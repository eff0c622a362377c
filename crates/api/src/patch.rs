//! Deserialization of the fields of patches. The patches are defined with their resources.

use serde::{Deserialize, Deserializer};

/// Deserializes a field that is present, including null, so that null and a missing field can be distinguished; for
/// `#[serde(deserialize_with)]`.
pub(crate) fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
