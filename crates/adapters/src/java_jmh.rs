//! Adapter for the JSON format of JMH. It does not read secondary metrics, which profilers add.

use std::{collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, Visitor},
};

use crate::{Entry, Failure, Input, ParsedMetric, Position, document, text::Unit, variant};

#[derive(Deserialize)]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct Shape {
    benchmark: IgnoredAny,
    #[serde(rename = "primaryMetric")]
    primary_metric: IgnoredAny,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    benchmark: String,
    mode: Option<String>,
    params: Option<BTreeMap<String, String>>,
    primary_metric: Metric,
    /// Metrics that profilers add.
    secondary_metrics: Option<BTreeMap<String, IgnoredAny>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metric {
    score: f64,
    score_confidence: [Bound; 2],
    score_unit: String,
}

/// One end of a confidence interval. A single iteration has none; JMH then writes a string.
#[derive(Clone, Copy)]
struct Bound(Option<f64>);

/// Parses a document: time per operation as latency, operations per time as throughput.
pub(crate) fn parse(input: &Input<'_>) -> Result<Vec<Entry>, Failure> {
    let rows: Vec<Row> = document::read::<Vec<Shape>, _>(input.text)?;
    let position = |index| Position::Path(format!("[{index}]"));
    let entries = rows.iter().enumerate().map(|(index, row)| {
        let Row { benchmark, params, primary_metric, .. } = row;
        let metric = primary_metric.measured().ok_or_else(|| {
            let expected = "a unit such as `ms/op` or `ops/s` as `scoreUnit`";
            Failure::invalid(position(index), expected, &primary_metric.score_unit)
        })?;
        for name in row.secondary_metrics.iter().flat_map(BTreeMap::keys) {
            input.skip(format!("{benchmark}: {name}"), "they are secondary metrics of a profiler");
        }
        let parameters = variant::of_texts(|| position(index), params.clone().unwrap_or_default())?;
        Ok(Entry { parameters, ..Entry::new(|| position(index), benchmark, vec![metric])? })
    });
    let mut entries = entries.collect::<Result<Vec<_>, Failure>>()?;
    // Average, sampled and single-shot times are all latencies.
    variant::distinguish(position, &mut entries, &[("mode", &|index| rows[index].mode.as_deref())])?;
    document::require_entries(entries, "[]")
}

impl Metric {
    fn measured(&self) -> Option<ParsedMetric> {
        let [Bound(lower), Bound(upper)] = self.score_confidence;
        let convert = |slug, convert: &dyn Fn(f64) -> f64| ParsedMetric {
            lower_value: lower.map(convert),
            upper_value: upper.map(convert),
            ..ParsedMetric::of(slug, convert(self.score))
        };
        match self.score_unit.split_once('/')? {
            ("ops", unit) => {
                let unit = Unit::from_symbol(unit)?;
                Some(convert("throughput", &|score| unit.per_second(score)))
            }
            (unit, "op") => {
                let unit = Unit::from_symbol(unit)?;
                Some(convert("latency", &|score| unit.nanoseconds(score)))
            }
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for Bound {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BoundVisitor;

        impl Visitor<'_> for BoundVisitor {
            type Value = Bound;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a number or `NaN`")
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Bound, E> {
                Ok(Bound(Some(value)))
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Bound, E> {
                Ok(Bound(Some(value as f64)))
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Bound, E> {
                Ok(Bound(Some(value as f64)))
            }

            fn visit_str<E: Error>(self, value: &str) -> Result<Bound, E> {
                match value {
                    "NaN" | "Infinity" | "-Infinity" => Ok(Bound(None)),
                    other => Err(E::invalid_value(serde::de::Unexpected::Str(other), &self)),
                }
            }
        }

        deserializer.deserialize_any(BoundVisitor)
    }
}

#[cfg(test)]
mod tests {
    use tidemark_api::{Adapter, Average};

    use crate::parse;

    fn read(text: &str) -> String {
        parse(Adapter::JavaJmh, text, Some(Average::Mean))
            .map_or_else(|error| error.to_string(), |results| results.to_string())
    }

    fn row(score: &str, confidence: &str, unit: &str) -> String {
        format!(
            r#"[{{"benchmark":"a.B.c","primaryMetric":{{"score":{score},"scoreConfidence":{confidence},"scoreUnit":"{unit}"}},"secondaryMetrics":{{}}}}]"#
        )
    }

    #[test]
    fn latency_and_throughput() {
        assert_eq!(read(&row("2.0", "[1.5,2.5]", "ms/op")), "a.B.c latency 2000000 [1500000, 2500000]\n");
        assert_eq!(read(&row("2", "[1,3]", "ops/ms")), "a.B.c throughput 2000 [1000, 3000]\n");
    }

    #[test]
    fn parameters_and_single_iterations() {
        insta::assert_snapshot!(read(include_str!("../fixtures/java_jmh/parameters.json")), @"
        org.sample.SortBenchmark.sort {kind=random, size=64} latency 1204.5 [1192, 1217]
        org.sample.SortBenchmark.sort {kind=random, size=512} latency 14750 [14500, 15000]
        org.sample.ParseBenchmark.parse throughput 2500 [2000, 3000]
        org.sample.ParseBenchmark.coldStart latency 125000000
        ");
    }

    #[test]
    fn the_mode_is_a_parameter_if_two_modes_have_the_same_measure() {
        let rows = |modes: &[(&str, &str)]| {
            let rows = modes.iter().enumerate().map(|(score, (mode, unit))| {
                format!(
                    r#"{{"benchmark":"a.B.c","mode":"{mode}","primaryMetric":{{"score":{score},"scoreConfidence":["NaN","NaN"],"scoreUnit":"{unit}"}}}}"#
                )
            });
            read(&format!("[{}]", rows.collect::<Vec<_>>().join(",")))
        };
        insta::assert_snapshot!(rows(&[("thrpt", "ops/s"), ("avgt", "ns/op")]), @"
        a.B.c throughput 0
        a.B.c latency 1
        ");
        insta::assert_snapshot!(rows(&[("thrpt", "ops/s"), ("avgt", "ns/op"), ("sample", "ns/op")]), @"
        a.B.c throughput 0
        a.B.c {mode=avgt} latency 1
        a.B.c {mode=sample} latency 2
        ");
        insta::assert_snapshot!(rows(&[("avgt", "ns/op"), ("ss", "ns/op"), ("ss", "ns/op")]), @"The adapter `java_jmh` cannot read the output at `[2]`: expected a benchmark with a unique combination of name and parameters, found `a.B.c`.");
    }

    #[test]
    fn an_invalid_row_is_reported_with_its_position() {
        let errors = [
            row("2.0", "[1.5,2.5]", "min/op"),
            row("2.0", "[1.5,2.5]", "op"),
            row("\"NaN\"", "[1.5,2.5]", "s/op"),
            row("2.0", "[1.5]", "s/op"),
            row("2.0", "[1.5,\"x\"]", "s/op"),
            r#"[{"benchmark":"a","primaryMetric":{}}]"#.to_owned(),
            "[]".to_owned(),
            "[{}]".to_owned(),
        ]
        .map(|text| read(&text));
        insta::assert_snapshot!(errors.join("\n"), @r#"
        The adapter `java_jmh` cannot read the output at `[0]`: expected a unit such as `ms/op` or `ops/s` as `scoreUnit`, found `min/op`.
        The adapter `java_jmh` cannot read the output at `[0]`: expected a unit such as `ms/op` or `ops/s` as `scoreUnit`, found `op`.
        The adapter `java_jmh` cannot read the output at `[0].primaryMetric.score`: expected a number, found `string "NaN"`.
        The adapter `java_jmh` cannot read the output at `[0].primaryMetric.scoreConfidence`: expected an array of length 2, found `1`.
        The adapter `java_jmh` cannot read the output at `[0].primaryMetric.scoreConfidence[1]`: expected a number or `NaN`, found `string "x"`.
        The adapter `java_jmh` cannot read the output at `[0].primaryMetric`: expected the member `score`.
        The adapter `java_jmh` cannot read the output at `[]`: expected at least one benchmark.
        The adapter `java_jmh` cannot read the output at `[0]`: expected the member `benchmark`.
        "#);
    }
}
