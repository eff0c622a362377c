//! Adapter for the reports of Vegeta, as JSON or text. One attack is one benchmark; a report has no name.

use serde::{Deserialize, de::IgnoredAny};
use tidemark_api::{Adapter, Average};

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool, document,
    text::{self, Line, Unit, decimal, go_duration},
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::Vegeta,
    title: "Vegeta",
    metrics: "latency and its percentiles 90, 95 and 99 and its maximum; throughput of successful requests; bandwidth received; error rate; the benchmark is named `vegeta`, because a report has no name",
    parameters: "",
    averages: &[Average::Mean, Average::Median],
    formats: &[
        Format::new(
            Syntax::Json,
            "vegeta report -type=json results.bin",
            &[r#""latencies""#, r#""bytes_in""#, r#""status_codes""#],
            parse,
        ),
        Format::new(
            Syntax::Text,
            "vegeta report results.bin",
            &["Latencies ", "Bytes In ", "Success ", "[ratio]"],
            parse_printed,
        ),
    ],
};

/// Name of the benchmark: a report does not include the URL.
const NAME: &str = "vegeta";

#[derive(Deserialize)]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct Shape {
    latencies: IgnoredAny,
    bytes_in: IgnoredAny,
    status_codes: IgnoredAny,
}

#[derive(Deserialize)]
struct Document {
    latencies: Latencies,
    bytes_in: Bytes,
    #[expect(dead_code, reason = "its presence identifies the tool")]
    status_codes: IgnoredAny,
    /// Nanoseconds from the first to the last request.
    duration: f64,
    /// Nanoseconds from the last request to its response.
    wait: f64,
    requests: f64,
    throughput: Option<f64>,
    /// Fraction.
    success: f64,
}

/// Times in nanoseconds. Older versions do not report the percentile 90.
#[derive(Default, Deserialize)]
struct Latencies {
    mean: f64,
    #[serde(rename = "50th")]
    p50: f64,
    #[serde(rename = "90th")]
    p90: Option<f64>,
    #[serde(rename = "95th")]
    p95: f64,
    #[serde(rename = "99th")]
    p99: f64,
    max: f64,
}

#[derive(Deserialize)]
struct Bytes {
    total: f64,
}

/// What both formats report.
struct Report {
    latencies: Latencies,
    /// Bytes received.
    received: f64,
    /// Nanoseconds of the attack and of the wait for the last response.
    total: f64,
    throughput: Option<f64>,
    success_percent: f64,
}

fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let document: Document = document::read::<Shape, _>(input.text)?;
    if document.requests <= 0.0 {
        return Err(Failure::missing(Position::Path("requests".to_owned()), "at least one request"));
    }
    let report = Report {
        latencies: document.latencies,
        received: document.bytes_in.total,
        total: document.duration + document.wait,
        throughput: document.throughput,
        success_percent: document.success * 100.0,
    };
    Ok(Entries::from(vec![Entry::new(
        || Position::Path("latencies".to_owned()),
        NAME,
        report.metrics(input.average),
    )?]))
}

impl Report {
    fn metrics(&self, average: Option<Average>) -> Vec<ParsedMetric> {
        let Latencies { mean, p50, p90, p95, p99, max } = self.latencies;
        let latency = match average {
            Some(Average::Median) => p50,
            _ => mean,
        };
        let bandwidth = Some(Unit::Nanoseconds.per_second(self.received) / self.total);
        let metrics = [
            ("latency", Some(latency)),
            ("latency-p90", p90),
            ("latency-p95", Some(p95)),
            ("latency-p99", Some(p99)),
            ("latency-max", Some(max)),
            ("throughput", self.throughput),
            ("bandwidth", bandwidth.filter(|_| self.total > 0.0)),
            ("error-rate", Some(100.0 - self.success_percent)),
        ];
        metrics.into_iter().filter_map(|(slug, value)| Some(ParsedMetric::of(slug, value?))).collect()
    }
}

/// Parses the text report: each line has a title, the names of its values in brackets, and the values.
fn parse_printed(input: &Input<'_>) -> Result<Entries, Failure> {
    let find = |title: &str| {
        let mut lines = text::lines(input.text).filter(|line| {
            line.text.strip_prefix(title).is_some_and(|rest| rest.trim_start().starts_with('['))
        });
        let line = lines.next();
        match (line, lines.next()) {
            (_, Some(second)) => Err(second.invalid("one report, because a report has no name")),
            (Some(line), None) => Ok(line),
            (None, None) => {
                Err(Failure::unrecognized("the lines `Requests`, `Latencies` and `Success` of a report"))
            }
        }
    };
    let (requests, duration, latencies) = (find("Requests")?, find("Duration")?, find("Latencies")?);
    let (received, success) = (find("Bytes In")?, find("Success")?);
    let time = |name: &str| value(latencies, name, go_duration);
    let required = |name: &str| require(latencies, time(name));
    let report = Report {
        latencies: Latencies {
            mean: required("mean")?,
            p50: required("50")?,
            p90: time("90"),
            p95: required("95")?,
            p99: required("99")?,
            max: required("max")?,
        },
        received: require(received, value(received, "total", decimal))?,
        total: require(duration, value(duration, "total", go_duration))?,
        throughput: value(requests, "throughput", decimal),
        success_percent: require(
            success,
            value(success, "ratio", |percent| decimal(percent.strip_suffix('%')?)),
        )?,
    };
    if value(requests, "total", decimal).is_none_or(|count| count <= 0.0) {
        return Err(requests.invalid("at least one request"));
    }
    Ok(Entries::from(vec![latencies.entry(NAME, report.metrics(input.average))?]))
}

/// Returns the value with a name in a line such as `Duration  [total, attack, wait]  10s, 9.9s, 100ms`.
fn value(line: Line<'_>, name: &str, parse: impl Fn(&str) -> Option<f64>) -> Option<f64> {
    let (_, rest) = line.text.split_once('[')?;
    let (names, values) = rest.split_once(']')?;
    let index = names.split(',').position(|known| known.trim() == name)?;
    parse(values.split(',').nth(index)?.trim())
}

fn require(line: Line<'_>, value: Option<f64>) -> Result<f64, Failure> {
    value.ok_or_else(|| line.invalid("the values of a report of Vegeta"))
}

#[cfg(test)]
mod tests {
    use tidemark_api::{
        Adapter::{Magic, Vegeta},
        Average,
    };

    use crate::{
        parse,
        tests::{first_value, read},
    };

    #[test]
    fn reports() {
        let text = include_str!("../fixtures/vegeta/report.json");
        insta::assert_snapshot!(read(Vegeta, text), @"
        vegeta latency 2500000
        vegeta latency-p90 4500000
        vegeta latency-p95 6250000
        vegeta latency-p99 12500000
        vegeta latency-max 30125000
        vegeta throughput 49.04904904904905
        vegeta bandwidth 1667.6676676676675
        vegeta error-rate 2
        ");
        assert_eq!(read(Magic, text), read(Vegeta, text));
        assert_eq!(first_value(&parse(Magic, text, Some(Average::Median)).unwrap()), 1_750_000.0);
        let text = include_str!("../fixtures/vegeta/report.txt");
        insta::assert_snapshot!(read(Magic, text), @"
        vegeta latency 2500000
        vegeta latency-p90 4500000
        vegeta latency-p95 6250000
        vegeta latency-p99 12500000
        vegeta latency-max 30125000
        vegeta throughput 49.05
        vegeta bandwidth 1667.6676676676675
        vegeta error-rate 2
        ");
        assert_eq!(first_value(&parse(Magic, text, Some(Average::Median)).unwrap()), 1_750_000.0);
    }

    #[test]
    fn errors_have_a_position() {
        let json = include_str!("../fixtures/vegeta/report.json");
        let text = include_str!("../fixtures/vegeta/report.txt");
        let errors = [
            json.replace("\"requests\": 500", "\"requests\": 0"),
            json.replace("\"success\": 0.98", "\"success\": null"),
            text.replace("1.75ms", "1.75"),
            text.replace("500, 50.10, 49.05", "0, 0.00, 0.00"),
            format!("{text}{text}"),
            "{}".to_owned(),
            "Latencies".to_owned(),
        ];
        insta::assert_snapshot!(errors.map(|text| read(Vegeta, &text)).join("\n"), @"
        The adapter `vegeta` cannot read the output at `requests`: expected at least one request.
        The adapter `vegeta` cannot read the output at `success`: expected a number, found `null`.
        The adapter `vegeta` cannot read the output at line 3: expected the values of a report of Vegeta, found `Latencies     [min, mean, 50, 90, 95, 99, max]  750µs, 2.5ms…`.
        The adapter `vegeta` cannot read the output at line 1: expected at least one request, found `Requests      [total, rate, throughput]         0, 0.00, 0.0…`.
        The adapter `vegeta` cannot read the output at line 10: expected one report, because a report has no name, found `Requests      [total, rate, throughput]         500, 50.10, …`.
        The adapter `vegeta` cannot read the output: expected the member `latencies`.
        The adapter `vegeta` cannot read the output: expected the lines `Requests`, `Latencies` and `Success` of a report.
        ");
    }
}
