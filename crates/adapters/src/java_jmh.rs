//! Adapter for JMH: parses its JSON format; `java_jmh_text` parses its CSV formats and the table of the console. Of the secondary
//! metrics, it reads percentiles, the methods of a group, and the allocated bytes per operation.

use std::{collections::BTreeMap, fmt, rc::Rc};

use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, Visitor},
};
use serde_json::Value;

use tidemark_api::{Adapter, Average};

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool, document,
    java_jmh_text::{parse_console, parse_csv},
    text::Unit,
    variant,
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::JavaJmh,
    title: "JMH",
    metrics: "latency or throughput within its confidence interval; percentiles of sampled times; each method of a group, after a colon; allocated bytes per operation of the profiler `gc`; the table of the console shortens the names of benchmarks",
    parameters: "`params`; `mode` where several modes measured the same, such as `avgt` and `sample`",
    averages: &[Average::Mean],
    formats: &[
        Format::new(
            Syntax::Json,
            "java -jar benchmarks.jar -rf json",
            &[r#""benchmark""#, r#""primaryMetric""#],
            parse,
        ),
        Format::new(
            Syntax::Csv,
            "java -jar benchmarks.jar -rf csv",
            &["Benchmark", "Mode", "Score Error ("],
            parse_csv,
        ),
        Format::new(
            Syntax::Text,
            "java -jar benchmarks.jar",
            &["Benchmark ", " Mode ", " Score ", " Units"],
            parse_console,
        ),
    ],
};

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
    /// Methods of a group, percentiles, and metrics that profilers add. The score of a profiler can be a text.
    secondary_metrics: Option<BTreeMap<String, Value>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metric {
    score: f64,
    score_confidence: [Bound; 2],
    /// Percentiles of the samples, or of the iterations in other modes.
    score_percentiles: Option<BTreeMap<String, Bound>>,
    score_unit: String,
}

/// One end of a confidence interval. A single iteration has none; JMH then writes a string.
#[derive(Clone, Copy)]
struct Bound(Option<f64>);

/// Parses a document: time per operation as latency, operations per time as throughput.
fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let position = |index| Position::Path(format!("[{index}]"));
    let mut entries = Entries::default();
    // Index and mode of the row of each entry.
    let mut modes: Vec<(usize, Option<Rc<str>>)> = Vec::new();
    document::read_rows::<Shape, Row>(input.text, |index, row| {
        let mode = variant::shared(row.mode.as_deref(), modes.last().and_then(|(_, mode)| mode.as_ref()));
        let mut metrics = vec![row.primary_metric.measured().ok_or_else(|| {
            let expected = "a unit such as `ms/op` or `ops/s` as `scoreUnit`";
            Failure::invalid(position(index), expected, &row.primary_metric.score_unit)
        })?];
        if row.mode.as_deref() == Some(SAMPLE) {
            metrics.extend(row.primary_metric.percentiles());
        }
        let parameters = variant::of_texts(|| position(index), row.params.clone().unwrap_or_default())?;
        let mut methods = Vec::new();
        for (name, value) in row.secondary_metrics.iter().flatten() {
            let metric = Metric::deserialize(value).ok();
            let secondary = metric
                .as_ref()
                .and_then(|metric| Secondary::of(name, row.mode.as_deref(), &metric.score_unit));
            match (secondary, metric) {
                (Some(Secondary::Percentile(_)), _) => {}
                (Some(Secondary::Allocated), Some(metric)) => {
                    let [Bound(lower_value), Bound(upper_value)] = metric.score_confidence;
                    let allocated = ParsedMetric::of("allocated", metric.score);
                    metrics.push(ParsedMetric { lower_value, upper_value, ..allocated });
                }
                (Some(Secondary::Method), Some(metric)) => {
                    let name = format!("{}:{name}", row.benchmark);
                    let metrics = metric.measured().into_iter().collect();
                    let parameters = parameters.clone();
                    methods.push(Entry { parameters, ..Entry::new(|| position(index), &name, metrics)? });
                }
                _ => input.skip(format!("{}: {name}", row.benchmark), PROFILER),
            }
        }
        let main = Entry::new(|| position(index), &row.benchmark, metrics)?;
        for entry in std::iter::once(Entry { parameters, ..main }).chain(methods) {
            entries.push(entry);
            modes.push((index, mode.clone()));
        }
        Ok(())
    })?;
    // Average, sampled and single-shot times are all latencies.
    let position = |index: usize| position(modes[index].0);
    variant::distinguish(position, &mut entries, &[("mode", &|index| modes[index].1.as_deref())])?;
    document::require_entries(entries, "[]")
}

impl Metric {
    fn measured(&self) -> Option<ParsedMetric> {
        let [Bound(lower), Bound(upper)] = self.score_confidence;
        measured(self.score, [lower, upper], &self.score_unit)
    }

    fn percentiles(&self) -> impl Iterator<Item = ParsedMetric> {
        PERCENTILES.iter().filter_map(|(_, key, slug)| {
            let Bound(value) = self.score_percentiles.as_ref()?.get(*key)?;
            Some(ParsedMetric {
                measure: slug.parse().ok()?,
                ..measured((*value)?, [None; 2], &self.score_unit)?
            })
        })
    }
}

/// Mode that measures the time of single operations.
const SAMPLE: &str = "sample";

/// Why a metric of a profiler is skipped.
pub(crate) const PROFILER: &str = "they are secondary metrics of a profiler";

/// Percentiles of sampled times: their names as secondary metrics and as `scorePercentiles`, and the measures.
const PERCENTILES: [(&str, &str, &str); 6] = [
    ("p0.50", "50.0", "latency-p50"),
    ("p0.90", "90.0", "latency-p90"),
    ("p0.95", "95.0", "latency-p95"),
    ("p0.99", "99.0", "latency-p99"),
    ("p0.999", "99.9", "latency-p99-9"),
    ("p1.00", "100.0", "latency-max"),
];

/// A secondary metric that is read.
pub(crate) enum Secondary {
    /// Percentile of sampled times, with its measure; `None` if there is no measure for the percentile.
    Percentile(Option<&'static str>),
    /// Allocated bytes per operation.
    Allocated,
    /// Score of a method in a group of threads, or of an auxiliary counter.
    Method,
}

impl Secondary {
    /// Classifies a secondary metric; `None` for other metrics of profilers.
    pub(crate) fn of(name: &str, mode: Option<&str>, unit: &str) -> Option<Self> {
        // Versions before 1.36 write the percentile as `method·p0.50`, and a metric of a profiler as `·gc.alloc.rate`.
        let name = name.rsplit('·').next().unwrap_or(name);
        let is_percentile = name.strip_prefix('p').is_some_and(|number| number.parse::<f64>().is_ok());
        if mode == Some(SAMPLE) && is_percentile {
            let known = PERCENTILES.iter().find(|(known, ..)| *known == name);
            return Some(Self::Percentile(known.map(|(.., slug)| *slug)));
        }
        if name == "gc.alloc.rate.norm" && unit == "B/op" {
            return Some(Self::Allocated);
        }
        measured(0.0, [None; 2], unit).map(|_| Self::Method)
    }
}

/// Converts a score and its confidence interval from a unit such as `ms/op` or `ops/s`.
pub(crate) fn measured(score: f64, [lower, upper]: [Option<f64>; 2], unit: &str) -> Option<ParsedMetric> {
    let convert = |slug, convert: &dyn Fn(f64) -> f64| ParsedMetric {
        lower_value: lower.map(convert),
        upper_value: upper.map(convert),
        ..ParsedMetric::of(slug, convert(score))
    };
    match unit.split_once('/')? {
        ("ops", unit) => {
            let (count, unit) = time_unit(unit)?;
            Some(convert("throughput", &|score| unit.per_second(score) / count))
        }
        (unit, "op") => {
            let (count, unit) = time_unit(unit)?;
            Some(convert("latency", &|score| unit.nanoseconds(score) * count))
        }
        _ => None,
    }
}

/// Returns a unit of time as a multiple of another unit.
fn time_unit(symbol: &str) -> Option<(f64, Unit)> {
    match symbol {
        "min" => Some((60.0, Unit::Seconds)),
        "hr" => Some((3600.0, Unit::Seconds)),
        "day" => Some((86400.0, Unit::Seconds)),
        symbol => Some((1.0, Unit::from_symbol(symbol)?)),
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

    use crate::{parse, parse_with_skipped};

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
        assert_eq!(read(&row("0.5", r#"["NaN","NaN"]"#, "min/op")), "a.B.c latency 30000000000\n");
        assert_eq!(read(&row("7200", r#"["NaN","NaN"]"#, "ops/hr")), "a.B.c throughput 2\n");
    }

    #[test]
    fn groups_parameters_and_percentiles() {
        insta::assert_snapshot!(read(include_str!("../fixtures/java_jmh/modes.json")), @"
        org.example.Collections.counter throughput 1338243478.9029605 [-960886642.1768047, 3637373599.982726]
        org.example.Collections.counter:read throughput 524156683.1473866 [-1513361178.3546803, 2561674544.6494536]
        org.example.Collections.sum {kind=array,list, size=10} latency 17.217523525615714 [-26.60323719090759, 61.03828424213902]
        org.example.Collections.allocate latency 2816.335017780274 [469.0217228954072, 5163.648312665141]
        org.example.Collections.allocate latency-p50 1484
        org.example.Collections.allocate latency-p90 1818
        org.example.Collections.allocate latency-p95 3184
        org.example.Collections.allocate latency-p99 5862.55999999991
        org.example.Collections.allocate latency-p99-9 95650.30400000047
        org.example.Collections.allocate latency-max 5029888
        org.example.Collections.start latency 295396 [73717.62943180799, 517074.3705681919]
        ");
    }

    #[test]
    fn single_iterations_and_profilers() {
        let text = include_str!("../fixtures/java_jmh/single.json");
        let (results, skipped) = parse_with_skipped(Adapter::Magic, text, None).unwrap();
        insta::assert_snapshot!(results, @"
        org.example.Collections.log throughput 6349705.528362624
        org.example.Collections.log allocated 0.008701352531182297
        org.example.Collections.start latency 354964
        org.example.Collections.start allocated 5728
        ");
        let skipped: Vec<_> = skipped.into_iter().flat_map(|one| one.names).collect();
        insta::assert_snapshot!(skipped.join("\n"), @"
        org.example.Collections.log: gc.alloc.rate
        org.example.Collections.log: gc.count
        org.example.Collections.start: gc.alloc.rate
        org.example.Collections.start: gc.count
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
            row("2.0", "[1.5,2.5]", "weeks/op"),
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
        The adapter `java_jmh` cannot read the output at `[0]`: expected a unit such as `ms/op` or `ops/s` as `scoreUnit`, found `weeks/op`.
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
