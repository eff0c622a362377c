//! Adapter for the summary of oha, as JSON or printed.

use serde::{Deserialize, de::IgnoredAny};
use tidemark_api::{Adapter, Average};

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool, document,
    text::{self, Unit, decimal},
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::LoadOha,
    title: "oha",
    metrics: "latency, its percentiles 75, 90, 95, 99 and, in JSON, 99.9, and its maximum; throughput; bandwidth; error rate; the benchmark is named `oha`, because the summary has no name",
    parameters: "",
    averages: &[Average::Mean, Average::Median],
    formats: &[
        Format::new(
            Syntax::Json,
            "oha --no-tui --output-format json URL",
            &[r#""summary""#, r#""latencyPercentiles""#, r#""statusCodeDistribution""#],
            parse,
        ),
        Format::new(
            Syntax::Text,
            "oha --no-tui URL",
            &["Summary:", "Success rate:", "Response time distribution:"],
            parse_printed,
        ),
    ],
};

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
    slowest: Option<f64>,
    requests_per_sec: f64,
    size_per_sec: f64,
}

/// Times in seconds.
#[derive(Deserialize)]
struct Percentiles {
    p50: f64,
    p75: Option<f64>,
    p90: f64,
    p95: f64,
    p99: f64,
    #[serde(rename = "p99.9")]
    p999: Option<f64>,
}

/// Parses a summary, which is one benchmark.
fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let Document { summary, latency_percentiles: percentiles, .. } = document::read::<Shape, _>(input.text)?;
    let nanoseconds = |seconds| Unit::Seconds.nanoseconds(seconds);
    let optional =
        |slug, seconds: Option<f64>| seconds.map(|seconds| ParsedMetric::of(slug, nanoseconds(seconds)));
    let mut metrics = vec![
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
    metrics.extend(optional("latency-p75", percentiles.p75));
    metrics.extend(optional("latency-p99-9", percentiles.p999));
    metrics.extend(optional("latency-max", summary.slowest));
    Ok(Entries::from(vec![Entry::new(|| Position::Path("summary".to_owned()), NAME, metrics)?]))
}

/// Parses the printed summary, which has the same values with fewer digits.
fn parse_printed(input: &Input<'_>) -> Result<Entries, Failure> {
    let find = |title: &str| {
        let mut lines = text::lines(input.text)
            .filter_map(|line| Some((line, line.text.trim_start().strip_prefix(title)?.trim())));
        match (lines.next(), lines.next()) {
            (_, Some((second, _))) => Err(second.invalid("one summary, because a summary has no name")),
            (Some(found), None) => Ok(found),
            (None, None) => {
                Err(Failure::unrecognized("the lines `Success rate:` and `Requests/sec:` of a summary"))
            }
        }
    };
    let number = |title: &str, parse: &dyn Fn(&str) -> Option<f64>| {
        let (line, value) = find(title)?;
        parse(value).ok_or_else(|| line.invalid("a number with the unit of oha"))
    };
    // Older versions print a fraction.
    let percent = |text: &str| match text.strip_suffix('%') {
        Some(percent) => decimal(percent),
        None => decimal(text).map(|fraction| fraction * 100.0),
    };
    let success = number("Success rate:", &percent)?;
    let rate = number("Requests/sec:", &decimal)?;
    let time = |title: &str| number(title, &time);
    let latency = match input.average.unwrap_or(Average::Mean) {
        Average::Mean => time("Average:")?,
        Average::Median => time("50.00% in")?,
    };
    let metrics = vec![
        ParsedMetric::latency(latency),
        ParsedMetric::of("latency-p90", time("90.00% in")?),
        ParsedMetric::of("latency-p95", time("95.00% in")?),
        ParsedMetric::of("latency-p99", time("99.00% in")?),
        ParsedMetric::throughput(rate),
        ParsedMetric::of("bandwidth", number("Size/sec:", &text::bytes)?),
        ParsedMetric::of("error-rate", 100.0 - success),
        ParsedMetric::of("latency-p75", time("75.00% in")?),
        ParsedMetric::of("latency-max", time("Slowest:")?),
    ];
    Ok(Entries::from(vec![find("Success rate:")?.0.entry(NAME, metrics)?]))
}

/// Parses a time; seconds have the unit `sec` or `secs`.
fn time(text: &str) -> Option<f64> {
    match text.strip_suffix(" secs").or(text.strip_suffix(" sec")) {
        Some(seconds) => decimal(seconds).map(|seconds| Unit::Seconds.nanoseconds(seconds)),
        None => text::duration(text),
    }
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
        oha latency-p75 6024609
        oha latency-p99-9 31615147.000000004
        oha latency-max 31615147.000000004
        ");
        let median = read(text, Some(Average::Median));
        insta::assert_snapshot!(median.lines().next().unwrap(), @"oha latency 3355011");
    }

    #[test]
    fn a_test_without_responses_is_an_error() {
        insta::assert_snapshot!(read(include_str!("../fixtures/load_oha/no_answer.json"), None), @"The adapter `load_oha` cannot read the output at `summary.average`: expected a number, found `null`.");
    }

    #[test]
    fn a_printed_summary() {
        let text = include_str!("../fixtures/load_oha/printed.txt");
        insta::assert_snapshot!(read(text, None), @"
        oha latency 1773000
        oha latency-p90 3505900
        oha latency-p95 5503700
        oha latency-p99 20353600
        oha throughput 2080.1972
        oha bandwidth 70727.68
        oha error-rate 0
        oha latency-p75 1953400
        oha latency-max 22387200
        ");
        assert_eq!(parse(Adapter::Magic, text, None).unwrap().to_string(), read(text, None));
        assert!(read(text, Some(Average::Median)).starts_with("oha latency 1045600"));
        let old = text.replace("1.7730 ms", "0.0018 secs").replace("100.00%", "0.7500");
        assert!(read(&old, None).starts_with("oha latency 1800000\n"));
        assert!(read(&old, None).contains("oha error-rate 25\n"));
        let errors = [
            include_str!("../fixtures/load_oha/no_answer.txt").to_owned(),
            format!("{text}{text}"),
            "x".to_owned(),
        ];
        insta::assert_snapshot!(errors.map(|text| read(&text, None)).join("\n"), @"
        The adapter `load_oha` cannot read the output at line 6: expected a number with the unit of oha, found `Average: NaN ns`.
        The adapter `load_oha` cannot read the output at line 45: expected one summary, because a summary has no name, found `Success rate: 100.00%`.
        The adapter `load_oha` cannot read the output: expected the lines `Success rate:` and `Requests/sec:` of a summary.
        ");
    }
}
