//! Macros for the scalar types of the API: validated text, integers and enums. The validation rules are defined with the types.

use std::fmt;

use serde::de::{self, Unexpected, Visitor};

/// Validation error: one sentence that states the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Invalid(&'static str);

impl Invalid {
    /// Creates an error from the violated rule.
    pub const fn new(rule: &'static str) -> Self {
        Self(rule)
    }
}

/// Joins the doc lines of a type to its description in the OpenAPI document.
pub(crate) fn description(doc: &str) -> String {
    doc.lines().map(str::trim).collect::<Vec<_>>().join(" ").trim().to_owned()
}

/// Defines a text newtype: `text! { /// doc  Name, debug, check, |object| constraints }`. `Name(Arc<str>)` is a text that many
/// values share.
///
/// `check` takes the text of the request and returns the stored form. `debug` is `shown`, `hidden`, or `custom` if the type
/// implements `Debug`. The closure adds the same rule to the OpenAPI schema, so that generated values are valid.
macro_rules! text {
    ($(#[doc = $doc:literal])+ $name:ident, $debug:ident, $check:expr, $schema:expr) => {
        $crate::scalar::text! { $(#[doc = $doc])+ $name(Box<str>), $debug, $check, $schema }
    };
    ($(#[doc = $doc:literal])+ $name:ident($text:ty), $debug:ident, $check:expr, $schema:expr) => {
        $(#[doc = $doc])+
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name($text);

        impl $name {
            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = $crate::Invalid;

            fn try_from(text: String) -> Result<Self, $crate::Invalid> {
                let check: fn(String) -> Result<String, $crate::Invalid> = $check;
                check(text).map(|text| Self(text.into()))
            }
        }

        $crate::scalar::text!(@debug $debug $name);
        $crate::scalar::text!(@traits $name);

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                let add: fn(utoipa::openapi::ObjectBuilder) -> utoipa::openapi::ObjectBuilder = $schema;
                add(utoipa::openapi::ObjectBuilder::new()
                    .schema_type(utoipa::openapi::schema::Type::String)
                    .description(Some($crate::scalar::description(concat!($($doc, "\n"),+)))))
                .into()
            }
        }

        impl utoipa::ToSchema for $name {
            fn name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
        }
    };
    (@debug shown $name:ident) => {
        impl std::fmt::Debug for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(&self.0, formatter)
            }
        }
    };
    (@debug hidden $name:ident) => {
        impl std::fmt::Debug for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str($crate::name::MASK)
            }
        }
    };
    (@debug custom $name:ident) => {};
    (@traits $name:ident) => {
        impl std::str::FromStr for $name {
            type Err = $crate::Invalid;

            fn from_str(text: &str) -> Result<Self, $crate::Invalid> {
                Self::try_from(text.to_owned())
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> Self {
                (*value.0).to_owned()
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.try_into().map_err(serde::de::Error::custom)
            }
        }
    };
}

/// Defines an integer newtype: `integer! { /// doc  Name(u32, "uint32"), 1, 64 }`. The two numbers are the minimum and the
/// maximum.
macro_rules! integer {
    ($(#[doc = $doc:literal])+ $name:ident($number:ident, $format:literal), $min:literal, $max:literal) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name($number);

        impl $name {
            const EXPECTED: &'static str = concat!("an integer from ", $min, " to ", $max);

            /// Returns the number.
            pub const fn get(self) -> $number {
                self.0
            }
        }

        impl TryFrom<$number> for $name {
            type Error = $crate::Invalid;

            fn try_from(number: $number) -> Result<Self, $crate::Invalid> {
                if ($min..=$max).contains(&number) {
                    return Ok(Self(number));
                }
                Err($crate::Invalid::new(concat!("expected an integer from ", $min, " to ", $max)))
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&self.0, formatter)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serde::Serialize::serialize(&self.0, serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let read = |number| $number::try_from(number).ok().and_then(|number| Self::try_from(number).ok());
                deserializer.deserialize_u64($crate::scalar::Integer { read, expected: Self::EXPECTED })
            }
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                utoipa::openapi::ObjectBuilder::new()
                    .schema_type(utoipa::openapi::schema::Type::Integer)
                    .format(Some(utoipa::openapi::SchemaFormat::Custom($format.into())))
                    .minimum(Some::<$number>($min))
                    .maximum(Some::<$number>($max))
                    .description(Some($crate::scalar::description(concat!($($doc, "\n"),+))))
                    .into()
            }
        }

        impl utoipa::ToSchema for $name {
            fn name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
        }
    };
}

/// Visitor for an integer. Its errors state the whole range.
pub(crate) struct Integer<R> {
    pub(crate) read: R,
    pub(crate) expected: &'static str,
}

impl<T, R: FnOnce(u64) -> Option<T>> Visitor<'_> for Integer<R> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.expected)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        let Self { read, expected } = self;
        read(number).ok_or_else(|| E::invalid_value(Unexpected::Unsigned(number), &expected))
    }

    /// TOML has only signed integers.
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(E::invalid_type(Unexpected::Signed(number), &self)),
        }
    }

    /// In JSON Schema, `2.0` is an integer, like `2`.
    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        let Self { read, expected } = self;
        // `u64::MAX as f64` rounds up to 2^64. Every integral `f64` below 2^64 converts to `u64` without loss.
        let is_integral = number.fract() == 0.0 && (0.0..u64::MAX as f64).contains(&number);
        is_integral
            .then_some(number as u64)
            .and_then(read)
            .ok_or_else(|| E::invalid_value(Unexpected::Float(number), &expected))
    }
}

/// An enum whose values are fixed strings.
pub trait FixedString: Copy + std::str::FromStr<Err = Invalid> + Send + Sync + 'static {
    /// All values, in order.
    const ALL: &'static [Self];

    /// Returns the string of the value.
    fn as_str(self) -> &'static str;
}

/// Defines an enum whose values are fixed strings, in the API and in the database.
macro_rules! fixed_string {
    (
        $(#[$meta:meta])*
        $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $string:tt),+ $(,)? }
    ) => {
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, utoipa::ToSchema,
        )]
        $(#[$meta])*
        pub enum $name {
            $($(#[$variant_meta])* #[serde(rename = $string)] $variant,)+
        }

        impl $name {
            /// All values, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the string of the value.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $string,)+
                }
            }
        }

        impl $crate::FixedString for $name {
            const ALL: &'static [Self] = Self::ALL;

            fn as_str(self) -> &'static str {
                self.as_str()
            }
        }

        // Not derived: the derived implementation reports null and numbers as invalid JSON, and accepts objects.
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'_, str> as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(|_| serde::de::Error::unknown_variant(&text, &[$($string),+]))
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::Invalid;

            fn from_str(text: &str) -> Result<Self, $crate::Invalid> {
                match text {
                    $($string => Ok(Self::$variant),)+
                    _ => Err($crate::Invalid::new(concat!("expected one of:", $(" ", $string),+))),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(self.as_str())
            }
        }
    };
}

pub(crate) use {fixed_string, integer, text};

#[cfg(test)]
pub(crate) mod tests {
    use std::str::FromStr;

    use utoipa::PartialSchema;

    /// Returns whether the schema of a text type accepts a text. It must accept exactly the texts that the type accepts.
    pub(crate) fn schema_accepts<T: PartialSchema>() -> impl Fn(&str) -> bool {
        let schema = serde_json::to_value(T::schema()).unwrap();
        let validator = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
        move |text| validator.is_valid(&text.into())
    }
    /// Checks which texts a text type accepts, and that its schema accepts them, too.
    #[track_caller]
    pub(crate) fn check<T: FromStr + PartialSchema>(good: &[&str], bad: &[&str]) {
        let accepts = schema_accepts::<T>();
        for text in good {
            assert!(text.parse::<T>().is_ok(), "{text:?} should be accepted");
            assert!(accepts(text), "{text:?} should fit the schema");
        }
        for text in bad {
            assert!(text.parse::<T>().is_err(), "{text:?} should be rejected");
        }
    }
}
