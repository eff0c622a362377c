//! Variants: a benchmark with one combination of parameters. Each variant is a separate series.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use utoipa::ToSchema;

use crate::{Invalid, VariantUuid};

/// Maximum number of parameters of a variant.
const COUNT_MAX: usize = 32;
/// Maximum length of a parameter name in bytes.
const NAME_MAX: usize = 64;
/// Maximum length of a parameter value in bytes.
const VALUE_MAX: usize = 256;

/// A benchmark with one combination of parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonVariant)]
pub struct Variant {
    /// UUID of the variant.
    pub uuid: VariantUuid,
    /// Parameters of the variant.
    pub parameters: Parameters,
}

/// Parameters of a variant by name. Numbers and booleans count as their JSON text, so `10` and `"10"` are the same series.
//
// Stored as names and values in one text, separated by NUL, which neither contains: a report may have many variants. The order of
// these texts is the order of the names and values.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, ToSchema)]
#[schema(value_type = BTreeMap<String, String>)]
pub struct Parameters(Box<str>);

impl Parameters {
    /// Returns the names and values, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut texts = self.0.split('\0');
        std::iter::from_fn(move || Some((texts.next()?, texts.next()?)))
    }

    /// Returns the parameters as one text, which is not empty, for storage in memory.
    pub fn packed(&self) -> &str {
        &self.0
    }

    /// Returns the parameters of a text that [`Parameters::packed`] returned.
    pub fn from_packed(text: &str) -> Self {
        Self(text.into())
    }
}

impl fmt::Debug for Parameters {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(self.iter()).finish()
    }
}

impl Serialize for Parameters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl TryFrom<BTreeMap<String, String>> for Parameters {
    type Error = Invalid;

    fn try_from(parameters: BTreeMap<String, String>) -> Result<Self, Invalid> {
        Self::try_from(&parameters)
    }
}

impl<N: AsRef<str> + Ord, V: AsRef<str>> TryFrom<&BTreeMap<N, V>> for Parameters {
    type Error = Invalid;

    fn try_from(parameters: &BTreeMap<N, V>) -> Result<Self, Invalid> {
        if !(1..=COUNT_MAX).contains(&parameters.len()) {
            return Err(Invalid::new("a variant has 1 to 32 parameters"));
        }
        for (name, value) in parameters {
            let (name, value) = (name.as_ref(), value.as_ref());
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
        let separated = parameters.iter().map(|(name, value)| name.as_ref().len() + value.as_ref().len() + 2);
        let mut texts = String::with_capacity(separated.sum::<usize>() - 1);
        for text in parameters.iter().flat_map(|(name, value)| [name.as_ref(), value.as_ref()]) {
            // The first text is a name, which is not empty.
            if !texts.is_empty() {
                texts.push('\0');
            }
            texts.push_str(text);
        }
        Ok(Self(texts.into()))
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

/// A string, a number or a boolean as text.
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
                // The shortest text: 2.0 becomes 2.
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
    fn parameters_are_texts_sorted_by_name() {
        assert_eq!(
            read(r#"{"b": 10, "a": "10", "d": true, "c": -2.50}"#).unwrap(),
            r#"{"a":"10","b":"10","c":"-2.5","d":"true"}"#
        );
        assert_eq!(read(r#"{"n": 2.0}"#).unwrap(), read(r#"{"n": "2"}"#).unwrap());
    }

    #[test]
    fn parameters_are_ordered_by_names_and_values() {
        let all = [
            r#"{"a": ""}"#,
            r#"{"a": "", "b": ""}"#,
            r#"{"a": "1"}"#,
            r#"{"a": "1", "b": "2"}"#,
            r#"{"a": "10"}"#,
            r#"{"ab": "0"}"#,
        ];
        let parameters = all.map(|json| serde_json::from_str::<Parameters>(json).unwrap());
        assert!(parameters.is_sorted());
        assert_eq!(parameters[1].iter().collect::<Vec<_>>(), [("a", ""), ("b", "")]);
        assert_eq!(format!("{:?}", parameters[3]), r#"{"a": "1", "b": "2"}"#);
    }

    #[test]
    fn invalid_parameters_are_rejected() {
        for json in ["{}", "[]", r#"{"": 1}"#, r#"{"a": null}"#, r#"{"a": [1]}"#, r#"{"a": "\u0000"}"#] {
            assert!(read(json).is_err(), "{json}");
        }
        assert!(read(&format!(r#"{{"a": "{}"}}"#, "x".repeat(257))).is_err());
    }
}
