//! Timestamps. This crate has no clock; the server provides the current time.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{KnownFormat, ObjectBuilder, RefOr, Schema, SchemaFormat, schema::Type},
};

use crate::Invalid;

/// A time in UTC with millisecond precision, stored as microseconds since 1970-01-01.
///
/// The API uses RFC 3339 with exactly three fractional digits and `Z`. Years have four digits; values outside this range are
/// clamped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(i64);

const MILLI: i64 = 1_000;
const SECOND: i64 = 1_000_000;

impl Timestamp {
    /// Start of the year 0.
    pub const MIN: Self = Self(-62_167_219_200 * SECOND);
    /// Latest time with a four-digit year in every time zone: `9999-12-30T22:00:00.000Z`.
    pub const MAX: Self = Self(253_402_207_200 * SECOND);

    /// Creates a timestamp from microseconds since 1970-01-01, rounded down to milliseconds and clamped to the valid range.
    pub const fn from_micros(micros: i64) -> Self {
        let micros = micros.div_euclid(MILLI).saturating_mul(MILLI);
        if micros < Self::MIN.0 {
            Self::MIN
        } else if micros > Self::MAX.0 {
            Self::MAX
        } else {
            Self(micros)
        }
    }

    /// Returns the microseconds since 1970-01-01.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Returns the seconds since 1970-01-01, rounded down.
    pub const fn seconds(self) -> i64 {
        self.0.div_euclid(SECOND)
    }

    /// Returns the time `seconds` later, or earlier if `seconds` is negative.
    #[must_use]
    pub const fn plus_seconds(self, seconds: i64) -> Self {
        Self::from_micros(self.0.saturating_add(seconds.saturating_mul(SECOND)))
    }
}

impl FromStr for Timestamp {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        text.parse::<jiff::Timestamp>()
            .ok()
            .map(jiff::Timestamp::as_microsecond)
            .filter(|micros| *micros >= Self::MIN.0)
            .map(Self::from_micros)
            .ok_or(Invalid::new("a date and time looks like 2026-01-31T12:00:00Z (RFC 3339)"))
    }
}

impl TryFrom<String> for Timestamp {
    type Error = Invalid;

    fn try_from(text: String) -> Result<Self, Invalid> {
        text.parse()
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Every value in the range converts; see `from_micros`.
        let moment = jiff::Timestamp::from_microsecond(self.0).map_err(|_| fmt::Error)?;
        write!(formatter, "{moment:.3}")
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // As one string: the JSON serializer scans each piece for characters to escape.
        serializer.serialize_str(&self.to_string())
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl PartialSchema for Timestamp {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
            .description(Some("A date and time (RFC 3339); answers are in UTC with milliseconds."))
            .into()
    }
}

impl ToSchema for Timestamp {
    fn name() -> std::borrow::Cow<'static, str> {
        "DateTime".into()
    }
}

/// A time in milliseconds since 1970-01-01 UTC, for query strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(transparent)]
#[schema(as = DateTimeMillis)]
pub struct Millis(i64);

impl From<Timestamp> for Millis {
    fn from(time: Timestamp) -> Self {
        Self(time.0.div_euclid(MILLI))
    }
}

impl From<Millis> for Timestamp {
    fn from(millis: Millis) -> Self {
        Self::from_micros(millis.0.saturating_mul(MILLI))
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl<'de> Deserialize<'de> for Millis {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // In a query string, the number is text.
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(|_| {
            serde::de::Error::custom("expected a time in milliseconds since 1970, such as 1790000000000")
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn time(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn times_are_formatted_with_milliseconds_and_z() {
        assert_eq!(Timestamp::from_micros(0).to_string(), "1970-01-01T00:00:00.000Z");
        assert_eq!(Timestamp::from_micros(1_999).to_string(), "1970-01-01T00:00:00.001Z");
        assert_eq!(Timestamp::from_micros(-1).to_string(), "1969-12-31T23:59:59.999Z");
    }

    #[test]
    fn any_offset_is_parsed() {
        let expected = Timestamp::from_micros(1_790_000_000_500_000);
        for text in ["2026-09-21T14:13:20.5Z", "2026-09-21T16:13:20.500999+02:00", "2026-09-21t14:13:20.5z"] {
            assert_eq!(time(text), expected, "{text}");
        }
        for text in [
            "",
            "now",
            "2026-09-21",
            "2026-09-21T14:13:20",
            "2026-02-30T00:00:00Z",
            "-000001-01-01T00:00:00Z",
        ] {
            assert!(text.parse::<Timestamp>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_minimum_and_maximum_are_valid() {
        assert_eq!(Timestamp::MIN.to_string(), "0000-01-01T00:00:00.000Z");
        assert_eq!(Timestamp::MAX.to_string(), "9999-12-30T22:00:00.000Z");
        assert_eq!(Timestamp::from_micros(i64::MAX), Timestamp::MAX);
        assert_eq!(Timestamp::from_micros(i64::MIN), Timestamp::MIN);
        assert_eq!(Timestamp::MAX.plus_seconds(1), Timestamp::MAX);
        assert_eq!(Timestamp::MIN.plus_seconds(i64::MIN), Timestamp::MIN);
        assert_eq!(time(&Timestamp::MAX.to_string()), Timestamp::MAX);
        assert_eq!(time(&Timestamp::MIN.to_string()), Timestamp::MIN);
    }

    #[test]
    fn seconds_round_down() {
        assert_eq!(Timestamp::from_micros(-1).seconds(), -1);
        assert_eq!(time("1970-01-01T00:00:01.999Z").seconds(), 1);
        assert_eq!(time("1970-01-01T00:00:00Z").plus_seconds(4_294_967_295).seconds(), 4_294_967_295);
    }

    proptest! {
        #[test]
        fn formatted_times_are_parsed_back(micros in any::<i64>(), near in -4_000_000_000_000_000_i64..=4_000_000_000_000_000) {
            for micros in [micros, near] {
                let moment = Timestamp::from_micros(micros);
                prop_assert_eq!(moment.to_string().parse(), Ok(moment));
                prop_assert_eq!(moment.micros() % 1_000, 0);
                let json = serde_json::to_string(&moment).unwrap();
                prop_assert_eq!(serde_json::from_str::<Timestamp>(&json).unwrap(), moment);
            }
        }
    }
}
