//! A row of the JSON of Google Benchmark: its known members, and the counters of the benchmark.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use tidemark_api::ResourceName;

use crate::results::shared_name;

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

/// Members of a row with a number that is not a counter.
const NUMBERS: [&str; 14] = [
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
];

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
        while let Some(member) = members.next_key::<String>()? {
            match member.as_str() {
                "name" => name = Some(members.next_value()?),
                "run_name" => row.run_name = members.next_value()?,
                "aggregate_name" => row.aggregate_name = members.next_value()?,
                "real_time" => row.real_time = members.next_value()?,
                "time_unit" => row.time_unit = members.next_value()?,
                "error_occurred" => row.error_occurred = members.next_value()?,
                "error_message" => row.error_message = members.next_value()?,
                "skipped" => row.skipped = members.next_value()?,
                known if NUMBERS.contains(&known) => drop(members.next_value::<IgnoredAny>()?),
                counter => {
                    if let Counter(Some(value)) = members.next_value()? {
                        row.counters.extend(shared_name(counter).map(|name| (name, value)));
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
