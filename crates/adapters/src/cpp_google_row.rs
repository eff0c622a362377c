//! A row of the JSON of Google Benchmark: its known members and its counters; and the values of printed counters.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use tidemark_api::ResourceName;

use crate::{results::shared_name, text};

/// A row of the JSON; counters are members of the row.
#[derive(Default)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) run_name: Option<String>,
    pub(crate) aggregate_name: Option<String>,
    pub(crate) real_time: Option<f64>,
    pub(crate) time_unit: Option<String>,
    pub(crate) error_occurred: bool,
    pub(crate) error_message: Option<String>,
    pub(crate) skipped: bool,
    /// Counters whose name is a valid name of a measure.
    pub(crate) counters: Vec<(ResourceName, f64)>,
}

/// Members of a row that are not counters.
const OTHERS: [&str; 19] = [
    "family_index",
    "per_family_instance_index",
    "repetitions",
    "repetition_index",
    "threads",
    "iterations",
    "cpu_time",
    "cpu_coefficient",
    "real_coefficient",
    "rms",
    "allocs_per_iter",
    "max_bytes_used",
    "total_allocated_bytes",
    "net_heap_growth",
    "run_type",
    "aggregate_unit",
    "label",
    "big_o",
    "skip_message",
];

/// Name of a member. Known names are not copied.
enum Member {
    Name,
    RunName,
    AggregateName,
    RealTime,
    TimeUnit,
    ErrorOccurred,
    ErrorMessage,
    Skipped,
    Counter(ResourceName),
    /// Not a counter, or a counter whose name is not valid for a measure.
    Other,
}

impl<'de> Deserialize<'de> for Member {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_identifier(MemberVisitor)
    }
}

struct MemberVisitor;

impl Visitor<'_> for MemberVisitor {
    type Value = Member;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text")
    }

    fn visit_str<E>(self, name: &str) -> Result<Member, E> {
        Ok(match name {
            "name" => Member::Name,
            "run_name" => Member::RunName,
            "aggregate_name" => Member::AggregateName,
            "real_time" => Member::RealTime,
            "time_unit" => Member::TimeUnit,
            "error_occurred" => Member::ErrorOccurred,
            "error_message" => Member::ErrorMessage,
            "skipped" => Member::Skipped,
            known if OTHERS.contains(&known) => Member::Other,
            counter => shared_name(counter).map_or(Member::Other, Member::Counter),
        })
    }
}

impl<'de> Deserialize<'de> for Row {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RowVisitor)
    }
}

struct RowVisitor;

impl<'de> Visitor<'de> for RowVisitor {
    type Value = Row;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    /// Counters are members of the row with any other name.
    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Row, A::Error> {
        let mut row = Row::default();
        let mut name = None;
        while let Some(member) = members.next_key()? {
            match member {
                Member::Name => name = Some(members.next_value()?),
                Member::RunName => row.run_name = members.next_value()?,
                Member::AggregateName => row.aggregate_name = members.next_value()?,
                Member::RealTime => row.real_time = members.next_value()?,
                Member::TimeUnit => row.time_unit = members.next_value()?,
                Member::ErrorOccurred => row.error_occurred = members.next_value()?,
                Member::ErrorMessage => row.error_message = members.next_value()?,
                Member::Skipped => row.skipped = members.next_value()?,
                Member::Other => drop(members.next_value::<IgnoredAny>()?),
                Member::Counter(name) => {
                    if let Counter(Some(value)) = members.next_value()? {
                        row.counters.push((name, value));
                    }
                }
            }
        }
        row.counters.shrink_to_fit();
        row.name = name.ok_or_else(|| A::Error::missing_field("name"))?;
        Ok(row)
    }
}

/// Value of a counter; `None` for other members, such as texts.
struct Counter(Option<f64>);

impl<'de> Deserialize<'de> for Counter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CounterVisitor)
    }
}

struct CounterVisitor;

impl<'de> Visitor<'de> for CounterVisitor {
    type Value = Counter;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a number")
    }

    fn visit_f64<E>(self, value: f64) -> Result<Counter, E> {
        Ok(Counter(Some(value)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Counter, E> {
        Ok(Counter(Some(value as f64)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Counter, E> {
        Ok(Counter(Some(value as f64)))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Counter, E> {
        Ok(Counter(None))
    }

    fn visit_str<E>(self, _: &str) -> Result<Counter, E> {
        Ok(Counter(None))
    }

    fn visit_unit<E>(self) -> Result<Counter, E> {
        Ok(Counter(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Counter, A::Error> {
        while values.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Counter(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Counter, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Counter(None))
    }
}

/// Parses the value of a counter: `42.5`, `123.456k`, `1.2Gi/s`, `13.8us`. Versions before 1.8 print bytes in powers of 1024
/// without the `i`.
pub(crate) fn counter(name: &str, text: &str) -> Option<f64> {
    let text = text.strip_suffix("/s").or(text.strip_suffix(['s', '%'])).unwrap_or(text);
    let is_number = |character: char| matches!(character, '0'..='9' | '.' | '+' | '-' | 'e');
    let (number, prefix) = text.split_at(text.find(|character| !is_number(character)).unwrap_or(text.len()));
    let number = text::decimal(number)?;
    let (prefix, is_binary) = match prefix.strip_suffix('i') {
        Some(prefix) => (prefix, true),
        None => (prefix, name == "bytes_per_second" || prefix == "K"),
    };
    let power = match prefix {
        "" => return Some(number),
        "k" | "K" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        "P" => 5,
        "E" => 6,
        "Z" => 7,
        "Y" => 8,
        "m" => -1,
        "u" => -2,
        "n" => -3,
        "p" => -4,
        "f" => -5,
        "a" => -6,
        "z" => -7,
        "y" => -8,
        _ => return None,
    };
    let base: f64 = if is_binary { 1024.0 } else { 1000.0 };
    // A division is exact where a multiplication by a fraction is not.
    Some(if power < 0 { number / base.powi(-power) } else { number * base.powi(power) })
}

#[cfg(test)]
mod tests {
    use super::counter;

    #[test]
    fn counters_have_prefixes() {
        assert_eq!(counter("bytes_per_second", "1.5G/s"), Some(1.5 * 1024.0_f64.powi(3)));
        assert_eq!(counter("a", "1.5G/s"), Some(1.5e9));
        assert_eq!(counter("a", "1.5Ki"), Some(1536.0));
        assert_eq!(counter("a", "500u"), Some(0.0005));
        assert_eq!(counter("a", "13.5us"), Some(13.5e-6));
        assert_eq!(counter("a", "-1e+30"), Some(-1e30));
        assert_eq!(
            (counter("a", ""), counter("a", "x"), counter("a", "1x"), counter("a", "nan")),
            (None, None, None, None)
        );
    }
}
