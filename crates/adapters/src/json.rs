//! Tidemark's own format: an object of benchmarks with their measures, or an array of benchmarks that may have parameters.
//! Tools without an adapter write it, so it is parsed in one pass without building a tree. Results of any tool are serialized
//! in it, too.

use std::{cell::Cell, fmt, str::FromStr};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::Value;
use tidemark_api::{Adapter, Average, BenchmarkName, MeasureDirection, Parameters, ResourceName};

use crate::{
    Entries, Entry, EntryRef, Failure, Format, Input, Label, MetricRef, Metrics, ParsedMetric, Results,
    Syntax, Tool, document,
    group::{are_unique, group},
    results::shared_name,
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::Json,
    title: "any tool",
    metrics: "any measure, in the [format below](#the-format-json)",
    parameters: "`parameters` of an entry",
    averages: &[Average::Mean, Average::Median],
    formats: &[Format::new(Syntax::Json, "", &[], parse)],
};

/// Depth of the members of a metric in a document.
const METRIC_DEPTH: usize = 3;

/// Parses the format. The average setting has no effect.
fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let metric_seen = Cell::new(false);
    let document = Document { metric_seen: &metric_seen };
    let mut deserializer = serde_json::Deserializer::from_str(input.text);
    let read =
        document.deserialize(&mut deserializer).and_then(|entries| deserializer.end().map(|()| entries));
    read.or_else(|_| {
        document::track(document, input.text).map_err(|(reason, depth)| {
            if metric_seen.get() || depth >= METRIC_DEPTH {
                Failure::Invalid(reason)
            } else {
                Failure::Unrecognized(reason)
            }
        })
    })
}

/// The whole document.
#[derive(Clone, Copy)]
struct Document<'a> {
    /// Set at the first complete metric, which identifies a document of this format.
    metric_seen: &'a Cell<bool>,
}

impl<'de> DeserializeSeed<'de> for Document<'_> {
    type Value = Entries;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Entries, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Document<'_> {
    type Value = Entries;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object or an array of benchmarks")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut benchmarks: A) -> Result<Entries, A::Error> {
        let mut entries = Entries::default();
        while let Some(name) = benchmarks.next_key::<BenchmarkName>()? {
            let metrics = benchmarks.next_value_seed(Measures { metric_seen: self.metric_seen })?;
            entries.push(Entry { label: Label::Reference(name), parameters: None, ignored: false, metrics });
        }
        Ok(last_of_each(entries))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut benchmarks: A) -> Result<Entries, A::Error> {
        let mut entries = Entries::default();
        while let Some(entry) = benchmarks.next_element_seed(ArrayEntry { metric_seen: self.metric_seen })? {
            entries.push(entry);
        }
        Ok(entries)
    }
}

/// Keeps the last of the entries with the same key, as usual for JSON.
fn last_of_each(mut entries: Entries) -> Entries {
    fn key(entry: EntryRef<'_>) -> (&[u8], bool) {
        (entry.key(), entry.ignored)
    }
    if !are_unique(entries.iter().map(key)) {
        let (groups, count) = group(&entries.iter().map(key).collect::<Vec<_>>());
        let mut last = vec![0; count];
        for (index, group) in groups.iter().enumerate() {
            last[*group as usize] = index;
        }
        let mut groups = groups.into_iter().enumerate();
        entries.retain(|_| groups.next().is_some_and(|(index, group)| last[group as usize] == index));
    }
    entries
}

/// A benchmark in the array.
struct ArrayEntry<'a> {
    metric_seen: &'a Cell<bool>,
}

/// Members of a benchmark in the array. An unknown member is an error, because a misspelled `parameters` would mix series.
#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum ArrayEntryMember {
    Name,
    Parameters,
    Measures,
}

impl<'de> DeserializeSeed<'de> for ArrayEntry<'_> {
    type Value = Entry;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Entry, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ArrayEntry<'_> {
    type Value = Entry;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object with `name` and `measures`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Entry, A::Error> {
        let (mut name, mut parameters, mut metrics) = (None, None, None);
        while let Some(member) = members.next_key()? {
            match member {
                ArrayEntryMember::Name => name = Some(members.next_value::<BenchmarkName>()?),
                ArrayEntryMember::Parameters => parameters = members.next_value::<Option<Parameters>>()?,
                ArrayEntryMember::Measures => {
                    metrics = Some(members.next_value_seed(Measures { metric_seen: self.metric_seen })?);
                }
            }
        }
        Ok(Entry {
            label: Label::Reference(name.ok_or_else(|| A::Error::missing_field("name"))?),
            parameters,
            ignored: false,
            metrics: metrics.ok_or_else(|| A::Error::missing_field("measures"))?,
        })
    }
}

/// The measures of a benchmark.
struct Measures<'a> {
    metric_seen: &'a Cell<bool>,
}

impl<'de> DeserializeSeed<'de> for Measures<'_> {
    type Value = Vec<ParsedMetric>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<ParsedMetric>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Measures<'_> {
    type Value = Vec<ParsedMetric>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object of measures")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut measures: A) -> Result<Vec<ParsedMetric>, A::Error> {
        let mut metrics = Vec::with_capacity(2);
        while let Some(SharedName(measure)) = measures.next_key()? {
            let Metric { units, direction, value, lower_value, upper_value } = measures.next_value()?;
            self.metric_seen.set(true);
            metrics.push(ParsedMetric { measure, units, direction, value, lower_value, upper_value });
        }
        Ok(metrics)
    }
}

/// The name of a measure, which shares its text with equal names.
struct SharedName(ResourceName);

impl<'de> Deserialize<'de> for SharedName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor;

        impl Visitor<'_> for NameVisitor {
            type Value = SharedName;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a string")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<SharedName, E> {
                match shared_name(name) {
                    Some(name) => Ok(SharedName(name)),
                    None => name.parse().map(SharedName).map_err(E::custom),
                }
            }
        }

        deserializer.deserialize_str(NameVisitor)
    }
}

/// The numbers of a measure, its units if the server has to create the measure, and its direction if the server does not know it.
struct Metric {
    units: Option<ResourceName>,
    direction: Option<MeasureDirection>,
    value: f64,
    lower_value: Option<f64>,
    upper_value: Option<f64>,
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum MetricMember {
    Units,
    Direction,
    Value,
    LowerValue,
    UpperValue,
    #[serde(other)]
    Other,
}

// Not derived, because the derived implementation would reject a repeated member and accept an array as a metric.
impl<'de> Deserialize<'de> for Metric {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MetricVisitor;

        impl<'de> Visitor<'de> for MetricVisitor {
            type Value = Metric;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object with a `value`")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Metric, A::Error> {
                let (mut units, mut direction) = (None, None);
                let (mut value, mut lower_value, mut upper_value) = (None, None, None);
                while let Some(member) = members.next_key()? {
                    match member {
                        // The contract ignores all other members, so `units` and `direction` are never errors.
                        MetricMember::Units => {
                            units = members.next_value::<Value>()?.as_str().and_then(shared_name);
                        }
                        MetricMember::Direction => direction = text(&members.next_value()?),
                        MetricMember::Value => value = Some(members.next_value()?),
                        MetricMember::LowerValue => lower_value = members.next_value()?,
                        MetricMember::UpperValue => upper_value = members.next_value()?,
                        MetricMember::Other => drop(members.next_value::<IgnoredAny>()?),
                    }
                }
                let value = value.ok_or_else(|| A::Error::missing_field("value"))?;
                Ok(Metric { units, direction, value, lower_value, upper_value })
            }
        }

        deserializer.deserialize_map(MetricVisitor)
    }
}

/// Parses a text; `None` if it is not valid.
fn text<T: FromStr>(value: &Value) -> Option<T> {
    value.as_str()?.parse().ok()
}

/// Suffix with which an ignored benchmark is serialized, so that parsing the output ignores it again.
const IGNORED_SUFFIX: &str = "_tidemark_ignore";

/// Serializes as an object, or as an array if any benchmark has parameters.
impl Serialize for Results {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.entries.iter().any(|entry| entry.has_parameters()) {
            serializer.collect_seq(self.entries.iter().map(SerializedEntry::new))
        } else {
            let pairs = self
                .entries
                .iter()
                .map(|entry| (serialized_name(entry), SerializedMeasures(entry.metrics())));
            serializer.collect_map(pairs)
        }
    }
}

fn serialized_name(entry: EntryRef<'_>) -> String {
    format!("{}{}", entry.label.as_str(), if entry.ignored { IGNORED_SUFFIX } else { "" })
}

/// A benchmark in the array, for serialization.
#[derive(Serialize)]
struct SerializedEntry<'a> {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<Parameters>,
    measures: SerializedMeasures<'a>,
}

impl<'a> SerializedEntry<'a> {
    fn new(entry: EntryRef<'a>) -> Self {
        let measures = SerializedMeasures(entry.metrics());
        Self { name: serialized_name(entry), parameters: entry.parameters(), measures }
    }
}

/// The measures of a benchmark, for serialization.
struct SerializedMeasures<'a>(Metrics<'a>);

impl Serialize for SerializedMeasures<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.map(|measured| {
            let MetricRef { measure, units, direction, value, lower_value, upper_value } = measured;
            (measure, SerializedMetric { value, lower_value, upper_value, units, direction })
        }))
    }
}

/// The numbers of a measure, for serialization.
#[derive(Serialize)]
struct SerializedMetric<'a> {
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    units: Option<&'a ResourceName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    direction: Option<MeasureDirection>,
}

#[cfg(test)]
mod tests {
    use tidemark_api::{Adapter, Average};

    use crate::{Label, parse, tests::first_value};

    fn read(text: &str) -> String {
        parse(Adapter::Json, text, None).map_or_else(|error| error.to_string(), |results| results.to_string())
    }

    #[test]
    fn serialized_results_are_parsed_unchanged() {
        for text in [
            r#"{"b":{"latency":{"value":1.5,"lower_value":1.0},"my own":{"value":-2.0,"units":"u","direction":"higher_is_better"}},"a_tidemark_ignore":{},"1":{}}"#,
            r#"[{"name":"sort","parameters":{"n":"10"},"measures":{"latency":{"value":0.1,"upper_value":2e300}}},{"name":"sort","measures":{}}]"#,
            "{}",
        ] {
            let results = parse(Adapter::Json, text, None).unwrap();
            let written = serde_json::to_string(&results).unwrap();
            assert_eq!(parse(Adapter::Json, &written, None).unwrap(), results, "{written}");
            assert_eq!(
                written.parse::<serde_json::Value>().unwrap(),
                text.parse::<serde_json::Value>().unwrap()
            );
        }
    }

    #[test]
    fn benchmarks_by_key() {
        let text = r#"{
            "suite::sort_small": {
                "latency": {"value": 88.0, "lower_value": 87.5, "upper_value": 88.7},
                "Peak Bytes": {"value": 4096, "note": [1, {"a": null}]}
            },
            "7c9d2a52-5f2b-4f1e-9d0a-2f4a5b6c7d8e": {"throughput": {"value": -12000.5, "upper_value": null}},
            "empty": {}
        }"#;
        insta::assert_snapshot!(read(text), @"
        suite::sort_small latency 88 [87.5, 88.7]
        suite::sort_small Peak Bytes 4096
        7c9d2a52-5f2b-4f1e-9d0a-2f4a5b6c7d8e throughput -12000.5
        empty
        ");
        let results = parse(Adapter::Json, text, Some(Average::Median)).unwrap();
        assert!(matches!(results.entries.iter().next().unwrap().label, Label::Reference(_)));
        assert_eq!(read("{}"), "");
        assert_eq!(read(" [] "), "");
    }

    #[test]
    fn benchmarks_with_parameters() {
        let text = r#"[
            {"name": "sort", "parameters": {"n": 10, "kind": "heap"}, "measures": {"latency": {"value": 1}}},
            {"measures": {"latency": {"value": 2}}, "name": "sort", "parameters": {"n": "20", "kind": "heap"}},
            {"name": "sort", "measures": {"latency": {"value": 3}}},
            {"name": "sort", "parameters": null, "measures": {"throughput": {"value": 4}}},
            {"name": "sort-bencher-ignore", "parameters": {"n": true}, "measures": {}}
        ]"#;
        insta::assert_snapshot!(read(text), @"
        sort {kind=heap, n=10} latency 1
        sort {kind=heap, n=20} latency 2
        sort latency 3
        sort throughput 4
        sort {n=true} (ignored)
        ");
        let plain = r#"{"a": {"latency": {"value": 1}}}"#;
        let listed = r#"[{"name": "a", "measures": {"latency": {"value": 1}}}]"#;
        assert_eq!(parse(Adapter::Json, plain, None), parse(Adapter::Json, listed, None));
    }

    #[test]
    fn the_last_of_two_equal_keys_is_kept() {
        assert_eq!(
            read(r#"{"a": {"x": {"value": 1}}, "b": {}, "a": {"y": {"value": 2, "value": 3}}}"#),
            "b\na y 3\n"
        );
        assert_eq!(read(r#"{"a": {"x": {"value": 1}, "x": {"value": 2}}}"#), "a x 2\n");
    }

    #[test]
    fn numbers_are_exact() {
        let results = parse(Adapter::Json, r#"{"a": {"x": {"value": 0.29999999999999998889776975}}}"#, None);
        assert_eq!(first_value(&results.unwrap()).to_bits(), 0.3_f64.to_bits());
    }

    #[test]
    fn errors_have_the_path_of_the_value() {
        let long = format!(r#"{{"{}": {{"x": {{"value": 1}}}}}}"#, "é".repeat(513));
        let errors: Vec<_> = [
            r#"{"a": {"x": {"value": "1"}}}"#,
            r#"{"a": {"x": {"value": 1}}, "b": {"y": {"value": 1e400}}}"#,
            r#"{"a": {"x": {}}}"#,
            r#"{"a": {"x": [1, 2, 3]}}"#,
            r#"{"a": 5}"#,
            r#"{"a": {"": {"value": 1}}}"#,
            r#"{"": {}}"#,
            &long,
            r#"{"a": {"x": {"value": 1}}} done"#,
            "warming up\n{}",
            "",
            "5",
            r#"[{"name": "a"}]"#,
            r#"[{"name": "a", "params": {}}]"#,
            r#"[{"name": "a", "parameters": {"n": []}, "measures": {}}]"#,
        ]
        .map(read)
        .into();
        insta::assert_snapshot!(errors.join("\n"), @r#"
        The adapter `json` cannot read the output at `a.x.value`: expected a number, found `string "1"`.
        The adapter `json` cannot read the output at `b.y.value`: expected valid JSON (number out of range at line 1 column 53).
        The adapter `json` cannot read the output at `a.x`: expected the member `value`.
        The adapter `json` cannot read the output at `a.x`: expected an object with a `value`, found `an array`.
        The adapter `json` cannot read the output at `a`: expected an object of measures, found `integer 5`.
        The adapter `json` cannot read the output at `a.`: expected a valid value (a name is 1 to 64 characters, without spaces at either end, line breaks and the character NUL).
        The adapter `json` cannot read the output: expected a valid value (a benchmark name is 1 to 1024 bytes without the character NUL).
        The adapter `json` cannot read the output at `…éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé`: expected a valid value (a benchmark name is 1 to 1024 bytes without the character NUL).
        The adapter `json` cannot read the output: expected valid JSON (trailing characters at line 1 column 28).
        The adapter `json` cannot read the output: expected valid JSON (expected value at line 1 column 1).
        The adapter `json` cannot read the output: expected valid JSON (EOF while parsing a value at line 1 column 0).
        The adapter `json` cannot read the output: expected an object or an array of benchmarks, found `integer 5`.
        The adapter `json` cannot read the output at `[0]`: expected the member `measures`.
        The adapter `json` cannot read the output at `[0].params`: expected one of `name`, `parameters`, `measures`, found `params`.
        The adapter `json` cannot read the output at `[0].parameters.n`: expected a text, a number or a truth value, found `an array`.
        "#);
    }
}
