//! Adapter for k6: the summary as JSON (the file of `--summary-export`, or the data of `handleSummary`), and the points of `--out json`,
//! which it aggregates. `load_k6_text` parses the printed summary.

use std::collections::BTreeMap;

use serde::{Deserialize, de::IgnoredAny};
use tidemark_api::{Adapter, Average, Parameters, Timestamp, excerpt};

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool,
    document::{self, Number},
    load_k6_text::parse_printed,
    ndjson,
    text::{self, Unit},
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::LoadK6,
    title: "k6",
    metrics: "for each metric: latency and its percentiles 90, 95, 99 and 99.9 where the summary has them; throughput; bandwidth; error rate; custom trends without a time as `value`, custom counters as `rate` per second, custom rates as `share` in percent; scenarios and groups of `--summary-mode=full` as parameters",
    parameters: "the tags of a submetric: `http_req_duration{scenario:buy}` is `http_req_duration`; `scenario` and `group` of a full summary",
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
pub(crate) const THROUGHPUTS: [&str; 5] =
    ["http_reqs", "iterations", "ws_sessions", "ws_msgs_sent", "ws_msgs_received"];
/// Counters of bytes.
pub(crate) const BANDWIDTHS: [&str; 2] = ["data_received", "data_sent"];

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

/// A metric.
#[derive(Default, Deserialize)]
#[serde(from = "MetricDocument")]
pub(crate) struct Metric {
    /// Whether the values are times, if the summary says so.
    pub(crate) is_time: Option<bool>,
    // Boxed, because a map of many metrics has free places.
    pub(crate) numbers: Box<Numbers>,
}

/// A metric of a summary. The two formats differ in whether its numbers are in a nested object.
#[derive(Deserialize)]
struct MetricDocument {
    contains: Option<String>,
    values: Option<Box<Numbers>>,
    #[serde(flatten)]
    own: Box<Numbers>,
}

impl From<MetricDocument> for Metric {
    fn from(metric: MetricDocument) -> Self {
        let MetricDocument { contains, values, own } = metric;
        Self { is_time: contains.as_deref().map(is_time), numbers: values.unwrap_or(own) }
    }
}

/// Whether the values of a metric with this content are times.
fn is_time(contains: &str) -> bool {
    contains == "time"
}

/// The numbers of a metric, all optional; times are in milliseconds.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Numbers {
    pub(crate) avg: Number,
    pub(crate) med: Number,
    #[serde(rename = "p(90)")]
    pub(crate) p90: Number,
    #[serde(rename = "p(95)")]
    pub(crate) p95: Number,
    #[serde(rename = "p(99)")]
    pub(crate) p99: Number,
    #[serde(rename = "p(99.9)")]
    pub(crate) p999: Number,
    pub(crate) rate: Number,
    pub(crate) value: Number,
    /// Number of events, of a counter.
    pub(crate) count: Number,
    /// Number of values that are not zero, of a rate.
    pub(crate) passes: Number,
}

/// Metrics of k6 itself that are not performance measures.
const COUNTS: [&str; 3] = ["checks", "vus", "vus_max"];

/// Reason why a custom gauge is not read.
const GAUGE: &str = "they are gauges, of which k6 reports only the last value";

/// Parses a summary. Each metric is a benchmark, and the tags of a submetric are its parameters. Counts of users and checks
/// are not performance measures and are ignored.
fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let Document { metrics, .. } = document::read::<Shape, _>(input.text)?;
    let average = input.average.unwrap_or(Average::Mean);
    let mut entries = Entries::default();
    for (key, metric) in &metrics {
        let position = || Position::Path(excerpt::of_path(&format!("metrics.{key}")));
        let (name, parameters) = split(key);
        let measured = metric.measured(name, average);
        if measured.is_empty() && metric.is_gauge(name) {
            input.skip(key, GAUGE);
        }
        if !measured.is_empty() {
            entries.push(Entry { parameters, ..Entry::new(position, name, measured)? });
        }
    }
    document::require_entries(entries, "metrics")
}

impl Metric {
    pub(crate) fn measured(&self, name: &str, average: Average) -> Vec<ParsedMetric> {
        let numbers = &self.numbers;
        let is_time = self.is_time.unwrap_or_else(|| {
            name.ends_with("_duration") || name.starts_with("http_req_") || name.starts_with("ws_")
        });
        let average = match average {
            Average::Mean => numbers.avg.get(),
            Average::Median => numbers.med.get(),
        };
        let all = if THROUGHPUTS.contains(&name) {
            vec![("throughput", numbers.rate.get())]
        } else if BANDWIDTHS.contains(&name) {
            vec![("bandwidth", numbers.rate.get())]
        } else if name == "http_req_failed" {
            vec![("error-rate", numbers.value.get().or(numbers.rate.get()).map(|rate| rate * 100.0))]
        } else if is_time {
            let nanoseconds = |milliseconds: Option<f64>| Some(Unit::Milliseconds.nanoseconds(milliseconds?));
            vec![
                ("latency", nanoseconds(average)),
                ("latency-p90", nanoseconds(numbers.p90.get())),
                ("latency-p95", nanoseconds(numbers.p95.get())),
                ("latency-p99", nanoseconds(numbers.p99.get())),
                ("latency-p99-9", nanoseconds(numbers.p999.get())),
            ]
        } else {
            return self.custom(name, average).into_iter().collect();
        };
        all.into_iter().filter_map(|(slug, value)| Some(ParsedMetric::of(slug, value?))).collect()
    }
}

impl Metric {
    /// Returns the metric of the script: the unit and the direction of its numbers are not known.
    fn custom(&self, name: &str, average: Option<f64>) -> Option<ParsedMetric> {
        let numbers = &self.numbers;
        // Newer versions print `checks_total`, `checks_succeeded` and `checks_failed`.
        if COUNTS.contains(&name) || name.starts_with("checks_") {
            return None;
        }
        if let Some(value) = average {
            return ParsedMetric::named("value", None, value);
        }
        let share = numbers.value.get().or(numbers.rate.get()).filter(|_| numbers.passes.get().is_some());
        match (share, numbers.count.get().and(numbers.rate.get())) {
            (Some(share), _) => ParsedMetric::named("share", Some("percentage (%)"), share * 100.0),
            (None, Some(rate)) => ParsedMetric::named("rate", Some("events / second"), rate),
            (None, None) => None,
        }
    }

    /// Whether the metric is a gauge of the script.
    pub(crate) fn is_gauge(&self, name: &str) -> bool {
        let numbers = &self.numbers;
        let is_other =
            numbers.passes.get().is_some() || numbers.count.get().is_some() || numbers.avg.get().is_some();
        numbers.value.get().is_some() && !is_other && !COUNTS.contains(&name)
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
fn parse_points(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut all: BTreeMap<String, Series> = BTreeMap::new();
    let mut span: Option<(Timestamp, Timestamp)> = None;
    ndjson::read(input, |line, Record { r#type, metric, data }| {
        let series = all.entry(metric).or_default();
        match (r#type.as_str(), data.time, data.value) {
            ("Point", Some(time), Some(value)) => {
                let (first, last) = span.unwrap_or((time, time));
                span = Some((first.min(time), last.max(time)));
                series.values.push(value);
            }
            ("Metric", ..) => (series.kind, series.contains) = (data.r#type, data.contains),
            _ => return Err(line.invalid("a point or a metric of k6 as JSON")),
        }
        Ok(())
    })?;
    let microseconds = span.map_or(0, |(first, last)| last.micros() - first.micros());
    let seconds = i32::try_from(microseconds / 1000).ok().map(|milliseconds| f64::from(milliseconds) / 1e3);
    let seconds = seconds.filter(|seconds| *seconds > 0.0);
    let mut entries = Entries::default();
    for (name, series) in all {
        let metric = series.metric(seconds);
        let measured = metric.measured(&name, input.average.unwrap_or(Average::Mean));
        if metric.is_gauge(&name) {
            input.skip(&name, GAUGE);
        }
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
            Some("counter") => Numbers {
                rate: seconds.map(|seconds| sum / seconds).into(),
                count: sum.into(),
                ..Numbers::default()
            },
            Some("rate") => Numbers { value: mean.into(), passes: sum.into(), ..Numbers::default() },
            Some("gauge") => Numbers { value: mean.into(), ..Numbers::default() },
            Some("trend") => Numbers {
                avg: mean.into(),
                med: percentile(50).into(),
                p90: percentile(90).into(),
                p95: percentile(95).into(),
                p99: percentile(99).into(),
                ..Numbers::default()
            },
            _ => Numbers::default(),
        };
        Metric { is_time: self.contains.as_deref().map(is_time), numbers: Box::new(numbers) }
    }
}

/// Returns a percentile of sorted values, interpolated between its neighbors.
fn percentile(sorted: &[f64], percent: usize) -> Option<f64> {
    let position = percent * sorted.len().checked_sub(1)?;
    let (index, remainder) = (position / 100, u8::try_from(position % 100).ok()?);
    let (lower, upper) = (sorted.get(index)?, sorted.get(index + 1).or(sorted.get(index))?);
    Some(lower + (upper - lower) * f64::from(remainder) / 100.0)
}

/// Separates the tags from a submetric: `http_req_duration{scenario:buy}`.
pub(crate) fn split(key: &str) -> (&str, Option<Parameters>) {
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
    fn summaries() {
        let text = include_str!("../fixtures/load_k6/summary_export.json");
        insta::assert_snapshot!(read(text, None), @"
        cache_hits share 99.30458970792768
        data_received bandwidth 194889.86420204505
        data_sent bandwidth 50221.724726574736
        group_duration latency 8742856.8
        group_duration latency-p90 20849325
        group_duration latency-p95 25907545.999999996
        group_duration {group=::cart} latency 8742856.8
        group_duration {group=::cart} latency-p90 20849325
        group_duration {group=::cart} latency-p95 25907545.999999996
        http_req_duration latency 2346694.1961057037
        http_req_duration latency-p90 4385929.800000001
        http_req_duration latency-p95 7135218.800000005
        http_req_duration {expected_response=true} latency 2331568.0896358555
        http_req_duration {expected_response=true} latency-p90 4355847.000000001
        http_req_duration {expected_response=true} latency-p95 6793723.050000011
        http_req_duration {method=GET, scenario=buy} latency 4506702.2
        http_req_duration {method=GET, scenario=buy} latency-p90 8700900.8
        http_req_duration {method=GET, scenario=buy} latency-p95 9899746.399999999
        http_req_failed error-rate 0.6954102920723227
        http_reqs throughput 706.8635987473032
        iteration_duration latency 2867576.6286509032
        iteration_duration latency-p90 4969525.8
        iteration_duration latency-p95 7794261.9
        iterations throughput 706.8635987473032
        orders rate 4.9156022166015525
        queue_depth value 3.0139082058414464
        render_time value 4.663136179271711
        ");
        assert_ne!(read(text, Some(Average::Median)), read(text, None));
        let text = include_str!("../fixtures/load_k6/handle_summary.json");
        insta::assert_snapshot!(read(text, None), @"
        cache_hits share 99.47089947089947
        data_received bandwidth 259714.21042694213
        data_sent bandwidth 67014.97134824963
        group_duration latency 3135549.5999999996
        group_duration latency-p90 4996101
        group_duration latency-p95 5167245
        group_duration {group=::cart} latency 3135549.5999999996
        group_duration {group=::cart} latency-p90 4996101
        group_duration {group=::cart} latency-p95 5167245
        http_req_duration latency 1690385.3767195765
        http_req_duration latency-p90 2362061.4000000004
        http_req_duration latency-p95 3873627.799999998
        http_req_duration {expected_response=true} latency 1684417.3659574473
        http_req_duration {expected_response=true} latency-p90 2356585.5
        http_req_duration {expected_response=true} latency-p95 3834481.6499999994
        http_req_duration {method=GET, scenario=buy} latency 2812371.4
        http_req_duration {method=GET, scenario=buy} latency-p90 4858763.8
        http_req_duration {method=GET, scenario=buy} latency-p95 5034471.4
        http_req_failed error-rate 0.5291005291005291
        http_reqs throughput 943.3807228377165
        iteration_duration latency 2108895.055026453
        iteration_duration latency-p90 2952486.8000000003
        iteration_duration latency-p95 5155633.999999996
        iterations throughput 943.3807228377165
        orders rate 4.991432395966753
        queue_depth value 3.0105820105820107
        render_time latency 3368834.7319148947
        render_time latency-p90 4713171
        render_time latency-p95 7668963.299999999
        ");
    }

    #[test]
    fn custom_metrics_have_a_measure_without_unit() {
        let exported = r#"{"root_group":{},"metrics":{
            "depth":{"avg":3,"med":2,"min":1,"max":5,"p(90)":4,"p(95)":4},
            "orders":{"count":30,"rate":2.5},
            "hits":{"passes":3,"fails":1,"value":0.75},
            "checks":{"passes":3,"fails":1,"value":0.75},
            "memory":{"value":7,"min":1,"max":9},
            "vus":{"value":1,"min":1,"max":1}}}"#;
        insta::assert_snapshot!(read(exported, None), @"
        depth value 3
        hits share 75
        orders rate 2.5
        ");
        let (_, skipped) = crate::parse_with_skipped(Adapter::LoadK6, exported, None).unwrap();
        assert_eq!(skipped.iter().flat_map(|one| &one.names).collect::<Vec<_>>(), ["memory"]);
        let summary = r#"{"root_group":{},"metrics":{
            "orders":{"type":"counter","contains":"default","values":{"count":30,"rate":2.5}},
            "hits":{"type":"rate","contains":"default","values":{"passes":3,"fails":1,"rate":0.75}}}}"#;
        insta::assert_snapshot!(read(summary, None), @"
        hits share 75
        orders rate 2.5
        ");
        let printed = "depth....: avg=3 min=1 med=2 max=5 p(90)=4 p(95)=4\norders....: 30 2.5/s\nhits....: 75.00% 3 out of 4\n\
            checks....: 75.00% 3 out of 4\nchecks_total....: 4 1.1/s\nmemory....: 7 min=1 max=9\niterations....: 2 1/s\n";
        insta::assert_snapshot!(read(printed, None), @"
        depth value 3
        orders rate 2.5
        hits share 75
        iterations throughput 1
        ");
        let directions: Vec<_> = parse(Adapter::LoadK6, exported, None)
            .unwrap()
            .entries
            .iter()
            .flat_map(|entry| entry.metrics())
            .map(|metric| (metric.units.as_ref().map(ToString::to_string), metric.direction))
            .collect();
        assert_eq!(directions[0], (None, None));
    }

    #[test]
    fn points_are_aggregated() {
        let text = include_str!("../fixtures/load_k6/points.ndjson");
        insta::assert_snapshot!(read(text, None), @"
        data_received bandwidth 1642.1923474663909
        data_sent bandwidth 308.1695966907963
        group_duration latency 9906644
        group_duration latency-p90 23378435.500000004
        group_duration latency-p95 27172101.250000004
        group_duration latency-p99 30207033.85
        http_req_duration latency 12582409.250000002
        http_req_duration latency-p90 25803503.900000002
        http_req_duration latency-p95 28954556.450000003
        http_req_duration latency-p99 31475398.49
        http_req_failed error-rate 50
        http_reqs throughput 4.1365046535677354
        iteration_duration latency 17965825.75
        iteration_duration latency-p90 32275156.699999996
        iteration_duration latency-p95 32536903.85
        iteration_duration latency-p99 32746301.57
        iterations throughput 4.1365046535677354
        queue_depth value 4
        render_time latency 35695070.5
        render_time latency-p90 68411383.2
        render_time latency-p95 69311418.6
        render_time latency-p99 70031446.92
        ");
        assert_eq!(parse(Adapter::Magic, text, None).unwrap().to_string(), read(text, None));
        assert_ne!(read(text, Some(Average::Median)), read(text, None));
        let truncated = format!("{text}{{\"metric\":\"http");
        assert_eq!(read(&truncated, None), read(text, None));
        let (_, skipped) = crate::parse_with_skipped(Adapter::LoadK6, &truncated, None).unwrap();
        assert_eq!(skipped.last().unwrap().names[0], "line 53");
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
