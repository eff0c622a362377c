//! Variants: a benchmark run with parameters is a series of its own for each set of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, de};
use utoipa::ToSchema;

use crate::{Invalid, VariantUuid};

/// The most parameters that a variant has.
const COUNT_MAX: usize = 32;
/// The longest name of a parameter, in bytes.
const NAME_MAX: usize = 64;
/// The longest value of a parameter, in bytes.
const VALUE_MAX: usize = 256;

/// A variant of a benchmark.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonVariant)]
pub struct Variant {
    /// Its identifier.
    pub uuid: VariantUuid,
    /// What it was run with.
    pub parameters: Parameters,
}

/// The parameters of a variant by their names. A number or a truth value counts as the text that JSON writes for it, so
/// that `10` and `"10"` are one series.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, ToSchema)]
#[schema(value_type = BTreeMap<String, String>)]
pub struct Parameters(BTreeMap<String, String>);

impl Parameters {
    /// The names and values, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl TryFrom<BTreeMap<String, String>> for Parameters {
    type Error = Invalid;

    fn try_from(parameters: BTreeMap<String, String>) -> Result<Self, Invalid> {
        if !(1..=COUNT_MAX).contains(&parameters.len()) {
            return Err(Invalid::new("a variant has 1 to 32 parameters"));
        }
        for (name, value) in &parameters {
            if !(1..=NAME_MAX).contains(&name.len()) || name.contains('\0') {
                return Err(Invalid::new(
                    "the name of a parameter is 1 to 64 bytes without the character NUL",
                ));
            }
            if value.len() > VALUE_MAX || value.contains('\0') {
                return Err(Invalid::new(
                    "the value of a parameter is at most 256 bytes without the character NUL",
                ));
            }
        }
        Ok(Self(parameters))
    }
}

impl<'de> Deserialize<'de> for Parameters {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = BTreeMap::<String, Scalar>::deserialize(deserializer)?;
        let parameters: BTreeMap<_, _> =
            given.into_iter().map(|(name, Scalar(value))| (name, value)).collect();
        parameters.try_into().map_err(de::Error::custom)
    }
}

/// A text, a number or a truth value, as text.
struct Scalar(String);

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ScalarVisitor;

        impl de::Visitor<'_> for ScalarVisitor {
            type Value = Scalar;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a text, a number or a truth value")
            }

            fn visit_bool<E: de::Error>(self, value: bool) -> Result<Scalar, E> {
                Ok(Scalar(value.to_string()))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Scalar, E> {
                Ok(Scalar(value.to_string()))
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Scalar, E> {
                Ok(Scalar(value.to_string()))
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Scalar, E> {
                // The shortest text: 2.0 is 2.
                Ok(Scalar(value.to_string()))
            }

            fn visit_str<E: de::Error>(self, value: &str) -> Result<Scalar, E> {
                Ok(Scalar(value.to_owned()))
            }
        }

        deserializer.deserialize_any(ScalarVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<String, String> {
        serde_json::from_str::<Parameters>(json)
            .map(|parameters| serde_json::to_string(&parameters).unwrap())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn values_are_texts_in_the_order_of_their_names() {
        assert_eq!(
            read(r#"{"b": 10, "a": "10", "d": true, "c": -2.50}"#).unwrap(),
            r#"{"a":"10","b":"10","c":"-2.5","d":"true"}"#
        );
        assert_eq!(read(r#"{"n": 2.0}"#).unwrap(), read(r#"{"n": "2"}"#).unwrap());
    }

    #[test]
    fn what_is_no_parameter_is_refused() {
        for json in ["{}", "[]", r#"{"": 1}"#, r#"{"a": null}"#, r#"{"a": [1]}"#, r#"{"a": "\u0000"}"#] {
            assert!(read(json).is_err(), "{json}");
        }
        assert!(read(&format!(r#"{{"a": "{}"}}"#, "x".repeat(257))).is_err());
    }
}
