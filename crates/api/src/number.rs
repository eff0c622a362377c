//! How whole numbers are read. To JSON Schema 3.0 is an integer, and so it is here; serde takes only 3.

use std::num::NonZeroU32;

use serde::{
    Deserialize, Deserializer,
    de::{Error, Unexpected},
};

use crate::scalar::Integer;

/// Reads a whole number; for `#[serde(deserialize_with)]`.
pub(crate) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    Whole::deserialize(deserializer).map(|number| number.0)
}

/// Reads a number above zero that may be null; for `#[serde(deserialize_with)]`.
pub(crate) fn positive<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<NonZeroU32>, D::Error> {
    Option::<Whole>::deserialize(deserializer)?
        .map(|Whole(number)| {
            u32::try_from(number).ok().and_then(NonZeroU32::new).ok_or_else(|| {
                D::Error::invalid_value(Unexpected::Unsigned(number), &"a number from 1 to 4294967295")
            })
        })
        .transpose()
}

struct Whole(u64);

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let integer =
            Integer { read: |number| Some(Self(number)), expected: "a whole number that is not negative" };
        deserializer.deserialize_u64(integer)
    }
}
