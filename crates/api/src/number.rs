//! How whole numbers are read. To JSON Schema 3.0 is an integer, and so it is here; serde takes only 3.

use std::{fmt, num::NonZeroU32};

use serde::{
    Deserialize, Deserializer,
    de::{Error, Unexpected, Visitor},
};

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
        struct WholeVisitor;

        impl Visitor<'_> for WholeVisitor {
            type Value = Whole;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a whole number that is not negative")
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Whole, E> {
                Ok(Whole(number))
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Whole, E> {
                // The largest u64 is no f64; the one above it is 2^64, and every whole f64 below that converts as it is.
                if number.fract() == 0.0 && (0.0..u64::MAX as f64).contains(&number) {
                    Ok(Whole(number as u64))
                } else {
                    Err(E::invalid_value(Unexpected::Float(number), &self))
                }
            }
        }

        deserializer.deserialize_u64(WholeVisitor)
    }
}
