//! Adapter for the JSON summary of oha. It does not read the printed summary.

use serde::{Deserialize, de::IgnoredAny};
use tidemark_api::Average;

use crate::{Entry, Failure, Input, ParsedMetric, Position, document, text::Unit};

/// Name of the benchmark: a summary does not include the URL.
const NAME: &str = "oha";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct Shape {
    summary: IgnoredAny,
    latency_percentiles: IgnoredAny,
    status_code_distribution: IgnoredAny,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    summary: Summary,
    latency_percentiles: Percentiles,
    #[expect(dead_code, reason = "its presence identifies the tool")]
    status_code_distribution: IgnoredAny,
}

/// The whole test; times are in seconds.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    success_rate: f64,
    average: f64,
    requests_per_sec: f64,
    size_per_sec: f64,
}

/// Times in seconds.
#[derive(Deserialize)]
struct Percentiles {
    p50: f64,
    p90: f64,
    p95: f64,
    p99: f64,
}

/// Parses a summary, which is one benchmark.
pub(crate) fn parse(input: &Input<'_>) -> Result<Vec<Entry>, Failure> {
    let Document { summary, latency_percentiles: percentiles, .. } = document::read::<Shape, _>(input.text)?;
    let nanoseconds = |seconds| Unit::Seconds.nanoseconds(seconds);
    let metrics = vec![
        ParsedMetric::latency(nanoseconds(match input.average.unwrap_or(Average::Mean) {
            Average::Mean => summary.average,
            Average::Median => percentiles.p50,
        })),
        ParsedMetric::of("latency-p90", nanoseconds(percentiles.p90)),
        ParsedMetric::of("latency-p95", nanoseconds(percentiles.p95)),
        ParsedMetric::of("latency-p99", nanoseconds(percentiles.p99)),
        ParsedMetric::throughput(summary.requests_per_sec),
        ParsedMetric::of("bandwidth", summary.size_per_sec),
        ParsedMetric::of("error-rate", (1.0 - summary.success_rate) * 100.0),
    ];
    Ok(vec![Entry::new(|| Position::Path("summary".to_owned()), NAME, metrics)?])
}

#[cfg(test)]
mod tests {
    use tidemark_api::{Adapter, Average};

    use crate::parse;

    fn read(text: &str, average: Option<Average>) -> String {
        parse(Adapter::LoadOha, text, average)
            .map_or_else(|error| error.to_string(), |results| results.to_string())
    }

    #[test]
    fn a_summary() {
        let text = include_str!("../fixtures/load_oha/summary.json");
        insta::assert_snapshot!(read(text, None), @"
        oha latency 5059419.119999998
        oha latency-p90 10234781
        oha latency-p95 13437880
        oha latency-p99 30967552
        oha throughput 779.7954864688638
        oha bandwidth 4678.772918813183
        oha error-rate 0
        ");
        let median = read(text, Some(Average::Median));
        insta::assert_snapshot!(median.lines().next().unwrap(), @"oha latency 3355011");
    }

    #[test]
    fn a_test_without_responses_is_an_error() {
        insta::assert_snapshot!(read(include_str!("../fixtures/load_oha/no_answer.json"), None), @"The adapter `load_oha` cannot read the output at `summary.average`: expected a number, found `null`.");
    }
}
