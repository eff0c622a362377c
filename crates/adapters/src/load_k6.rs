//! Adapter for the summary of k6: the file of `--summary-export`, or the data of `handleSummary` as JSON. It does not read
//! the individual metrics of `--out json`.

use std::collections::BTreeMap;

use serde::{Deserialize, de::IgnoredAny};
use tidemark_api::{Average, Parameters, excerpt};

use crate::{Entry, Failure, Input, ParsedMetric, Position, document, text::Unit};

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
#[derive(Deserialize)]
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
pub(crate) fn parse(input: &Input<'_>) -> Result<Vec<Entry>, Failure> {
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
