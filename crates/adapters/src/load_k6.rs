//! Adapter for k6: the summary as JSON (the file of `--summary-export`, or the data of `handleSummary`), the printed summary, and
//! the points of `--out json`, which it aggregates.

use std::collections::BTreeMap;

use serde::{Deserialize, de::IgnoredAny};
use tidemark_api::{Adapter, Average, Parameters, Timestamp, excerpt};

use crate::{
    Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool, document,
    text::{self, Unit, decimal},
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::LoadK6,
    title: "k6",
    metrics: "for each metric: latency and its percentiles 90, 95 and 99 where the summary has them; throughput; bandwidth; error rate",
    averages: &[Average::Mean, Average::Median],
    formats: &[
        Format::new(
            Syntax::Ndjson,
            "k6 run --out json=points.json script.js",
            &[r#""type":"Point""#, r#""metric":""#],
            parse_points,
        ),
        Format::new(
            Syntax::Json,
            "k6 run --summary-export=summary.json script.js",
            &[r#""root_group""#, r#""metrics""#],
            parse,
        ),
        Format::new(Syntax::Text, "k6 run script.js", &["iterations...", "...: "], parse_printed),
    ],
};

/// Counters of completed operations, whose rates are throughputs.
const THROUGHPUTS: [&str; 5] = ["http_reqs", "iterations", "ws_sessions", "ws_msgs_sent", "ws_msgs_received"];
/// Counters of bytes.
const BANDWIDTHS: [&str; 2] = ["data_received", "data_sent"];

#[derive(Deserialize)]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct Shape {
    root_group: IgnoredAny,
    metrics: BTreeMap<String, IgnoredAny>,
}

#[derive(Deserialize)]
struct Document {
    #[expect(dead_code, reason = "its presence identifies the tool")]
    root_group: IgnoredAny,
    metrics: BTreeMap<String, Metric>,
}

/// A metric. The two formats differ in whether its numbers are in a nested object.
#[derive(Default, Deserialize)]
struct Metric {
    contains: Option<String>,
    values: Option<Numbers>,
    #[serde(flatten)]
    own: Numbers,
}

/// The numbers of a metric, all optional; times are in milliseconds.
#[derive(Default, Deserialize)]
struct Numbers {
    avg: Option<f64>,
    med: Option<f64>,
    #[serde(rename = "p(90)")]
    p90: Option<f64>,
    #[serde(rename = "p(95)")]
    p95: Option<f64>,
    #[serde(rename = "p(99)")]
    p99: Option<f64>,
    rate: Option<f64>,
    value: Option<f64>,
}

/// Parses a summary. Each metric is a benchmark, and the tags of a submetric are its parameters. Counts of users and checks
/// are not performance measures and are ignored.
fn parse(input: &Input<'_>) -> Result<Vec<Entry>, Failure> {
    let Document { metrics, .. } = document::read::<Shape, _>(input.text)?;
    let average = input.average.unwrap_or(Average::Mean);
    let mut entries = Vec::new();
    for (key, metric) in &metrics {
        let position = || Position::Path(excerpt::of_path(&format!("metrics.{key}")));
        let (name, parameters) = split(key);
        let measured = metric.measured(name, average);
        if !measured.is_empty() {
            entries.push(Entry { parameters, ..Entry::new(position, name, measured)? });
        }
    }
    document::require_entries(entries, "metrics")
}

impl Metric {
    fn measured(&self, name: &str, average: Average) -> Vec<ParsedMetric> {
        let numbers = self.values.as_ref().unwrap_or(&self.own);
        let is_time = match &self.contains {
            Some(contains) => contains == "time",
            None => name.ends_with("_duration") || name.starts_with("http_req_") || name.starts_with("ws_"),
        };
        let average = match average {
            Average::Mean => numbers.avg,
            Average::Median => numbers.med,
        };
        let all = if THROUGHPUTS.contains(&name) {
            vec![("throughput", numbers.rate)]
        } else if BANDWIDTHS.contains(&name) {
            vec![("bandwidth", numbers.rate)]
        } else if name == "http_req_failed" {
            vec![("error-rate", numbers.value.or(numbers.rate).map(|rate| rate * 100.0))]
        } else if is_time {
            let nanoseconds = |milliseconds: Option<f64>| Some(Unit::Milliseconds.nanoseconds(milliseconds?));
            vec![
                ("latency", nanoseconds(average)),
                ("latency-p90", nanoseconds(numbers.p90)),
                ("latency-p95", nanoseconds(numbers.p95)),
                ("latency-p99", nanoseconds(numbers.p99)),
            ]
        } else {
            // A custom metric of the script: only its name is known.
            return average.and_then(|value| ParsedMetric::named_by_units(name, value)).into_iter().collect();
        };
        all.into_iter().filter_map(|(slug, value)| Some(ParsedMetric::of(slug, value?))).collect()
    }
}

/// A line of the points: the definition of a metric, or a value of it.
#[derive(Deserialize)]
struct Record {
    r#type: String,
    metric: String,
    data: RecordData,
}

#[derive(Deserialize)]
struct RecordData {
    /// Type of the metric.
    r#type: Option<String>,
    contains: Option<String>,
    time: Option<Timestamp>,
    value: Option<f64>,
}

/// The points of a metric.
#[derive(Default)]
struct Series {
    kind: Option<String>,
    contains: Option<String>,
    values: Vec<f64>,
}

/// Aggregates points: rates are relative to the time from the first to the last point.
fn parse_points(input: &Input<'_>) -> Result<Vec<Entry>, Failure> {
    let mut all: BTreeMap<String, Series> = BTreeMap::new();
    let mut span: Option<(Timestamp, Timestamp)> = None;
    for line in text::lines(input.text).filter(|line| !line.text.trim().is_empty()) {
        let expected = "a point or a metric of k6 as JSON";
        let Ok(Record { r#type, metric, data }) = serde_json::from_str(line.text) else {
            return Err(if all.is_empty() {
                Failure::unrecognized(expected)
            } else {
                line.invalid(expected)
            });
        };
        let series = all.entry(metric).or_default();
        match (r#type.as_str(), data.time, data.value) {
            ("Point", Some(time), Some(value)) => {
                let (first, last) = span.unwrap_or((time, time));
                span = Some((first.min(time), last.max(time)));
                series.values.push(value);
            }
            ("Metric", ..) => (series.kind, series.contains) = (data.r#type, data.contains),
            _ => return Err(line.invalid(expected)),
        }
    }
    let microseconds = span.map_or(0, |(first, last)| last.micros() - first.micros());
    let seconds = i32::try_from(microseconds / 1000).ok().map(|milliseconds| f64::from(milliseconds) / 1e3);
    let seconds = seconds.filter(|seconds| *seconds > 0.0);
    let mut entries = Vec::new();
    for (name, series) in all {
        let metric = series.metric(seconds);
        let measured = metric.measured(&name, input.average.unwrap_or(Average::Mean));
        if !measured.is_empty() {
            entries.push(Entry::new(|| Position::Path(excerpt::of_path(&name)), &name, measured)?);
        }
    }
    text::require_entries(entries, "the points of k6 as JSON")
}

impl Series {
    /// Aggregates the points as the summary of k6 does.
    fn metric(mut self, seconds: Option<f64>) -> Metric {
        self.values.sort_by(f64::total_cmp);
        let sum: f64 = self.values.iter().sum();
        let count: f64 = self.values.iter().map(|_| 1.0).sum();
        let mean = (count > 0.0).then(|| sum / count);
        let percentile = |percent| percentile(&self.values, percent);
        let numbers = match self.kind.as_deref() {
            Some("counter") => Numbers { rate: seconds.map(|seconds| sum / seconds), ..Numbers::default() },
            Some("rate") => Numbers { value: mean, ..Numbers::default() },
            Some("trend") => Numbers {
                avg: mean,
                med: percentile(50),
                p90: percentile(90),
                p95: percentile(95),
                p99: percentile(99),
                ..Numbers::default()
            },
            _ => Numbers::default(),
        };
        Metric { contains: self.contains, values: Some(numbers), own: Numbers::default() }
    }
}

/// Returns a percentile of sorted values, interpolated between its neighbors.
fn percentile(sorted: &[f64], percent: usize) -> Option<f64> {
    let position = percent * sorted.len().checked_sub(1)?;
    let (index, remainder) = (position / 100, u8::try_from(position % 100).ok()?);
    let (lower, upper) = (sorted.get(index)?, sorted.get(index + 1).or(sorted.get(index))?);
    Some(lower + (upper - lower) * f64::from(remainder) / 100.0)
}

/// Parses the printed summary: lines such as `http_reqs......: 300 29.75/s`. The line of a submetric has only its tags.
fn parse_printed(input: &Input<'_>) -> Result<Vec<Entry>, Failure> {
    let mut entries = Vec::new();
    let mut parent = "";
    let mut is_recognized = false;
    for line in text::lines(input.text) {
        let Some((title, values)) = line.text.split_once("...: ") else { continue };
        let title = title.trim().trim_end_matches('.');
        let title = title.strip_prefix("✓ ").or(title.strip_prefix("✗ ")).unwrap_or(title).trim();
        let key = match title.strip_prefix('{').and_then(|tags| tags.strip_suffix('}')) {
            Some(tags) => format!("{parent}{{{}}}", tags.trim()),
            None => {
                parent = title;
                title.to_owned()
            }
        };
        is_recognized |= title == "iterations" && values.trim_end().ends_with("/s");
        let (name, parameters) = split(&key);
        let metric = printed(name, values).ok_or_else(|| line.invalid("numbers with the units of k6"))?;
        let measured = metric.measured(name, input.average.unwrap_or(Average::Mean));
        if !measured.is_empty() {
            entries.push(Entry { parameters, ..line.entry(name, measured)? });
        }
    }
    if !is_recognized {
        return Err(Failure::unrecognized("a line such as `iterations.....: 300 29.75/s`"));
    }
    text::require_entries(entries, "the summary of k6")
}

/// Parses the values of a metric: a trend, a rate in percent, or a count and its rate per second.
fn printed(name: &str, values: &str) -> Option<Metric> {
    let words: Vec<_> = values.split_whitespace().collect();
    let mut numbers = Numbers::default();
    let mut contains = "default";
    if words.iter().all(|word| word.contains('=')) {
        for (key, value) in words.iter().filter_map(|word| word.split_once('=')) {
            let number = match text::go_duration(value) {
                Some(nanoseconds) => {
                    contains = "time";
                    nanoseconds / Unit::Milliseconds.nanoseconds(1.0)
                }
                None => decimal(value)?,
            };
            match key {
                "avg" => numbers.avg = Some(number),
                "med" => numbers.med = Some(number),
                "p(90)" => numbers.p90 = Some(number),
                "p(95)" => numbers.p95 = Some(number),
                "p(99)" => numbers.p99 = Some(number),
                _ => {}
            }
        }
    } else if let Some(percent) = words.first()?.strip_suffix('%') {
        numbers.value = Some(decimal(percent)? / 100.0);
    } else if THROUGHPUTS.contains(&name) {
        numbers.rate = Some(decimal(words.last()?.strip_suffix("/s")?)?);
    } else if let ([.., number, unit], true) = (words.as_slice(), BANDWIDTHS.contains(&name)) {
        numbers.rate = Some(text::bytes(&format!("{number} {}", unit.strip_suffix("/s")?))?);
    }
    Some(Metric { contains: Some(contains.to_owned()), values: Some(numbers), own: Numbers::default() })
}

/// Separates the tags from a submetric: `http_req_duration{scenario:buy}`.
fn split(key: &str) -> (&str, Option<Parameters>) {
    let tags = key.strip_suffix('}').and_then(|key| key.split_once('{'));
    let parameters = tags.and_then(|(_, tags)| {
        let tags = tags.split(',').map(|tag| {
            let (name, value) = tag.split_once(':')?;
            Some((name.trim().to_owned(), value.trim().to_owned()))
        });
        Parameters::try_from(tags.collect::<Option<BTreeMap<_, _>>>()?).ok()
    });
    match (tags, parameters) {
        (Some((name, _)), Some(parameters)) => (name, Some(parameters)),
        _ => (key, None),
    }
}

#[cfg(test)]
mod tests {
    use tidemark_api::{Adapter, Average};

    use super::split;
    use crate::parse;

    fn read(text: &str, average: Option<Average>) -> String {
        parse(Adapter::LoadK6, text, average)
            .map_or_else(|error| error.to_string(), |results| results.to_string())
    }

    #[test]
    fn both_formats_give_the_same_results() {
        let text = include_str!("../fixtures/load_k6/summary_export.json");
        insta::assert_snapshot!(read(text, None), @"
        data_received bandwidth 91392
        data_sent bandwidth 2380
        http_req_duration latency 5250000
        http_req_duration latency-p90 8750000
        http_req_duration latency-p95 11500000
        http_req_duration {expected_response=true} latency 5000000
        http_req_duration {expected_response=true} latency-p90 8500000
        http_req_duration {expected_response=true} latency-p95 11250000
        http_req_duration {method=POST, scenario=checkout} latency 7000000
        http_req_duration {method=POST, scenario=checkout} latency-p90 12000000
        http_req_duration {method=POST, scenario=checkout} latency-p95 16000000
        http_req_failed error-rate 1
        http_req_waiting latency 5000000
        http_req_waiting latency-p90 8500000
        http_req_waiting latency-p95 11250000
        http_reqs throughput 29.75
        iteration_duration latency 1005500000
        iteration_duration latency-p90 1009000000
        iteration_duration latency-p95 1012000000
        iterations throughput 29.75
        queue_depth queue_depth 3.5
        ");
        assert_eq!(read(include_str!("../fixtures/load_k6/handle_summary.json"), None), read(text, None));
        assert!(read(text, Some(Average::Median)).contains("http_req_duration latency 4500000\n"));
    }

    #[test]
    fn points_are_aggregated() {
        let text = include_str!("../fixtures/load_k6/points.ndjson");
        insta::assert_snapshot!(read(text, None), @"
        data_received bandwidth 1500
        http_req_duration latency 7000000
        http_req_duration latency-p90 10000000
        http_req_duration latency-p95 10500000
        http_req_duration latency-p99 10900000
        http_req_failed error-rate 50
        http_reqs throughput 1.5
        ");
        assert_eq!(parse(Adapter::Magic, text, None).unwrap().to_string(), read(text, None));
        assert!(read(text, Some(Average::Median)).contains("http_req_duration latency 6000000\n"));
        insta::assert_snapshot!(read(&format!("{text}x"), None), @"The adapter `load_k6` cannot read the output at line 16: expected a point or a metric of k6 as JSON, found `x`.");
    }

    #[test]
    fn printed_summaries() {
        let text = include_str!("../fixtures/load_k6/printed.txt");
        insta::assert_snapshot!(read(text, None), @"
        data_received bandwidth 91000
        data_sent bandwidth 2400
        http_req_duration latency 5250000
        http_req_duration latency-p90 8750000
        http_req_duration latency-p95 11500000
        http_req_duration {expected_response=true} latency 5000000
        http_req_duration {expected_response=true} latency-p90 8500000
        http_req_duration {expected_response=true} latency-p95 11250000
        http_req_failed error-rate 1
        http_req_waiting latency 980500
        http_req_waiting latency-p90 1250000
        http_req_waiting latency-p95 1500000
        http_reqs throughput 29.75
        iteration_duration latency 1010000000
        iteration_duration latency-p90 1010000000
        iteration_duration latency-p95 1010000000
        iterations throughput 29.75
        queue_depth queue_depth 3.5
        ");
        assert_eq!(parse(Adapter::Magic, text, None).unwrap().to_string(), read(text, None));
        insta::assert_snapshot!(parse(Adapter::Magic, include_str!("../fixtures/load_k6/printed_v1.txt"), None).unwrap(), @"
        http_req_duration latency 5250000
        http_req_duration latency-p90 8750000
        http_req_duration latency-p95 11500000
        http_req_duration {expected_response=true} latency 5000000
        http_req_duration {expected_response=true} latency-p90 8500000
        http_req_duration {expected_response=true} latency-p95 11250000
        http_req_failed error-rate 1
        http_reqs throughput 29.75
        iteration_duration latency 1010000000
        iteration_duration latency-p90 1010000000
        iteration_duration latency-p95 1010000000
        iterations throughput 29.75
        data_received bandwidth 91000
        data_sent bandwidth 2400
        ");
        insta::assert_snapshot!(read(&text.replace("avg=5.25ms", "avg=x"), None), @"The adapter `load_k6` cannot read the output at line 7: expected numbers with the units of k6, found `✓ http_req_duration..............: avg=x  min=1.2ms   med=4.…`.");
        insta::assert_snapshot!(read("a...: 5", None), @"The adapter `load_k6` cannot read the output: expected a line such as `iterations.....: 300 29.75/s`.");
    }

    #[test]
    fn tags_are_parameters() {
        assert_eq!(split("http_reqs"), ("http_reqs", None));
        let (name, parameters) = split("http_req_duration{scenario:buy, group:::cart}");
        assert_eq!(name, "http_req_duration");
        assert_eq!(
            parameters.unwrap().iter().collect::<Vec<_>>(),
            [("group", "::cart"), ("scenario", "buy")]
        );
        for key in ["a{}", "a{b}", "a{b:c", "{", "}"] {
            assert_eq!(split(key), (key, None));
        }
    }

    #[test]
    fn an_invalid_metric_is_reported_with_its_path() {
        let errors = [
            r#"{"root_group":{},"metrics":{"http_reqs":{"rate":"x"}}}"#,
            r#"{"root_group":{},"metrics":{"http_reqs":{"values":{"rate":"x"}}}}"#,
            r#"{"root_group":{},"metrics":{"vus":{"value":1}}}"#,
            r#"{"metrics":{}}"#,
        ]
        .map(|text| read(text, None));
        insta::assert_snapshot!(errors.join("\n"), @r#"
        The adapter `load_k6` cannot read the output at `metrics.http_reqs`: expected a number, found `string "x"`.
        The adapter `load_k6` cannot read the output at `metrics.http_reqs.values.rate`: expected a number, found `string "x"`.
        The adapter `load_k6` cannot read the output at `metrics`: expected at least one benchmark.
        The adapter `load_k6` cannot read the output: expected the member `root_group`.
        "#);
    }
}
