//! Deserialization of integers. JSON Schema accepts 3.0 as an integer, and so does this module; serde accepts only 3.

use std::num::NonZeroU32;

use serde::{
    Deserialize, Deserializer,
    de::{Error, Unexpected},
};

use crate::scalar::Integer;

/// Deserializes a non-negative integer; for `#[serde(deserialize_with)]`.
pub(crate) fn unsigned<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    Unsigned::deserialize(deserializer).map(|number| number.0)
}

/// Deserializes a positive integer or null; for `#[serde(deserialize_with)]`.
pub(crate) fn positive<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<NonZeroU32>, D::Error> {
    Option::<Unsigned>::deserialize(deserializer)?
        .map(|Unsigned(number)| {
            u32::try_from(number).ok().and_then(NonZeroU32::new).ok_or_else(|| {
                D::Error::invalid_value(Unexpected::Unsigned(number), &"a number from 1 to 4294967295")
            })
        })
        .transpose()
}

struct Unsigned(u64);

impl<'de> Deserialize<'de> for Unsigned {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let integer =
            Integer { read: |number| Some(Self(number)), expected: "a whole number that is not negative" };
        deserializer.deserialize_u64(integer)
    }
}
